import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createRing } from '../../../../src/core/base/secrets.ts'
import type { Db } from '../../../../src/store/db/connection.ts'
import { openDb } from '../../../../src/store/db/connection.ts'
import { migrations } from '../../../../src/store/db/migrations.ts'
import { exportCustomer } from '../../../../src/store/moving/export.ts'
import { endDeadWork, freezeCustomer, recordExport } from '../../../../src/store/moving/freeze.ts'
import { importCustomer } from '../../../../src/store/moving/import.ts'
import { openMoveFile } from '../../../../src/store/moving/reader.ts'
import { rowsAt } from '../db/upgrade-rows.ts'

/** Time of the moves in these tests, epoch ms. */
export const NOW = 5_000_000
export const KEY = new Uint8Array(32).fill(7)

const bytes = (fill: number) => (count: number) => new Uint8Array(count).fill(fill)
export const RINGS = {
  here: createRing(new Uint8Array(32).fill(1), bytes(1)),
  there: createRing(new Uint8Array(32).fill(2), bytes(2)),
}

/** An instance with a row in every table; those of `cus_1` are whole: sealed by its ring, with a balance that is right. */
export function filledInstance(): Db {
  const db = openDb(':memory:', { create: true })
  db.run(rowsAt(migrations.length))
  db.run(`INSERT INTO monitor_feeds VALUES ('mon_1', 3, 1000, 0);
    UPDATE feeds SET audited_until = 1900, last_seen_at = 2000 WHERE id = 1`)
  const ring = RINGS.here
  const seal = (table: string, column: string, key: string, place: string) =>
    db
      .query(`UPDATE ${table} SET ${column} = ? WHERE ${key} AND ${column} IS NOT NULL`)
      .run(ring.seal(place, `secret of ${place}`))
  for (const id of ['wh_1', 'wh_2']) {
    seal('webhooks', 'secret', `id = '${id}'`, `webhooks.secret:${id}`)
    seal('webhooks', 'old_secret', `id = '${id}'`, `webhooks.secret:${id}`)
    seal('webhooks', 'credentials', `id = '${id}'`, `webhooks.credentials:${id}`)
  }
  for (const name of ['once', 'running'])
    seal(
      'idempotent_writes',
      'answer',
      `name = '${name}'`,
      `idempotent_writes.answer:key_1:POST /x:${name}`,
    )
  db.run(
    `UPDATE customers SET balance_micros = (SELECT sum(amount_micros) FROM payments WHERE customer_id = 'cus_1')
       - (SELECT sum(cost_micros) FROM usage_hours WHERE customer_id = 'cus_1')
       - (SELECT sum(amount_micros) FROM holds WHERE customer_id = 'cus_1') WHERE id = 'cus_1'`,
  )
  return db
}

/** Another instance, with a few rows of its own, so that numbers of rows differ. */
export function otherInstance(): Db {
  const db = openDb(':memory:', { create: true })
  db.run(`INSERT INTO instance (one, id) VALUES (1, 'inst-2');
    INSERT INTO customers (id, name, plan, balance_micros, created_at) VALUES ('cus_9', 'zoe', 'entry', 0, 1);
    INSERT INTO monitors (id, customer_id, filter_spec, cadence_s, active_since, created_at, updated_at)
      VALUES ('mon_9', 'cus_9', '{}', 60, 1, 1, 1);
    INSERT INTO deliveries (row, id, customer_id, monitor_id, status, created_at) VALUES (40, 'dlv_9', 'cus_9', 'mon_9', 'suppressed', 1);
    INSERT INTO delivery_bodies VALUES (40, x'7b7d', x'00');
    INSERT INTO match_bodies (monitor_id, seq, body, matched_at, row) VALUES ('mon_9', 1, x'7b7d', 1, 50);
    INSERT INTO item_tombstones VALUES (9, 't3_other', 'main', 'author', 1);`)
  return db
}

/** A temporary folder. */
export function folder() {
  const dir = mkdtempSync(join(tmpdir(), 'forumd-move-'))
  return {
    file: (name: string) => join(dir, name),
    [Symbol.dispose]: () => rmSync(dir, { recursive: true }),
  }
}

/** Freezes `cus_1` and writes its file. */
export function exportTo(db: Db, path: string, now = NOW): void {
  freezeCustomer(db, { customer_id: 'cus_1', receipt: 'receipt', now })
  endDeadWork(db, { customer_id: 'cus_1', unknown: {}, now })
  const parts: Uint8Array[] = []
  const write = (part: Uint8Array) => void parts.push(Uint8Array.from(part))
  exportCustomer(db, { customer_id: 'cus_1', ring: RINGS.here, key: KEY, now, write })
  recordExport(db, 'cus_1', now)
  writeFileSync(path, Buffer.concat(parts))
}

/** Key and configuration of an import. */
export const WANTED = {
  key: KEY,
  name: undefined as string | undefined,
  plan: undefined as string | undefined,
  plans: ['entry'],
  sources: ['hn'],
}

/** Imports a file. */
export function importFrom(db: Db, path: string, wanted: Partial<typeof WANTED> = {}) {
  using file = openMoveFile(path)
  return importCustomer(db, file, { ring: RINGS.there, now: NOW + 1000 }, { ...WANTED, ...wanted })
}

/** Changes one byte of a file, counted from its end if negative. */
export function flip(path: string, at: number): void {
  const content = readFileSync(path)
  const index = at < 0 ? content.length + at : at
  content[index] = (content[index] ?? 0) ^ 1
  writeFileSync(path, content)
}
