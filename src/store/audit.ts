import { createHash } from 'node:crypto'

import { type Db, transact } from './db.ts'

// The rows are written by triggers, in the transaction of the change itself, so that nobody who changes something, in
// the daemon or beside it, can forget to. SQLite has no SHA-256: the daemon chains them, five minutes later at most.

/** One change of who may what, or of whose money; `detail` is JSON. */
type AuditRow = { seq: number; at: number; kind: string; subject: string; detail: string }

type Chained = AuditRow & { prev_hash: Uint8Array | null; hash: Uint8Array | null }

const COLUMNS = 'seq, at, kind, subject, detail, prev_hash, hash'
const GENESIS = new Uint8Array(32)

function hashOf(prev: Uint8Array, { seq, at, kind, subject, detail }: AuditRow): Buffer {
  return createHash('sha256')
    .update(prev)
    .update(JSON.stringify([seq, at, kind, subject, detail]))
    .digest()
}

/** Chains what was written since the last time; returns how many rows that were. */
export function chainAudit(db: Db): number {
  return transact(db, () => {
    const open = db
      .query<AuditRow, []>(`SELECT ${COLUMNS} FROM audit WHERE hash IS NULL ORDER BY seq`)
      .all()
    const [first] = open
    if (!first) return 0
    const set = db.query('UPDATE audit SET prev_hash = $prev, hash = $hash WHERE seq = $seq')
    let prev = lastHash(db, first.seq)
    for (const row of open) {
      const hash = hashOf(prev, row)
      set.run({ seq: row.seq, prev, hash })
      prev = hash
    }
    return open.length
  })
}

const lastHash = (db: Db, before: number): Uint8Array =>
  db
    .query<{ hash: Uint8Array }, [{ before: number }]>(
      'SELECT hash FROM audit WHERE seq < $before AND hash IS NOT NULL ORDER BY seq DESC LIMIT 1',
    )
    .get({ before })?.hash ?? GENESIS

/** The newest row of the chain, to be kept where nobody can cut it off; null before there is one. */
export function auditHead(db: Db): { seq: number; hash: string } | null {
  const row = db
    .query<{ seq: number; hash: Uint8Array }, []>(
      'SELECT seq, hash FROM audit WHERE hash IS NOT NULL ORDER BY seq DESC LIMIT 1',
    )
    .get()
  return row && { seq: row.seq, hash: Buffer.from(row.hash).toString('hex') }
}

/** The first row whose content is not what was chained, or after which rows are missing; null when all is as it was. */
export function findEdited(db: Db): { seq: number; what: 'edited' | 'removed_before' } | null {
  let prev: Uint8Array = GENESIS
  let expected = 1
  const rows = db.query<Chained, []>(
    `SELECT ${COLUMNS} FROM audit WHERE hash IS NOT NULL ORDER BY seq`,
  )
  for (const row of rows.iterate()) {
    const { seq, prev_hash, hash } = row
    if (seq !== expected || prev_hash === null || !Buffer.from(prev).equals(prev_hash))
      return { seq, what: 'removed_before' }
    if (hash === null || !hashOf(prev, row).equals(hash)) return { seq, what: 'edited' }
    prev = hash
    expected = seq + 1
  }
  return null
}
