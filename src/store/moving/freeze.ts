import { release } from '../customers/ledger.ts'
import { type Db, transact } from '../db/connection.ts'
import { updateFeedPace } from '../monitoring/feeds.ts'
import { type FeedPosition, resumeFeeds } from './feeds.ts'
import { isLeaving } from './frozen.ts'

/** The state of a customer that is being moved. Instants are epoch ms. */
export type Move = {
  frozen_at: number
  /** Positions of its feeds at that moment. */
  feeds: FeedPosition[]
  /** Shown by the import of a file; {@link forgetCustomer} is for who has it. */
  receipt: string
  /** Time of the last complete file; null: none was written. */
  exported_at: number | null
}

/** The move of a customer; null when it is not frozen. */
export function findMove(db: Db, customer_id: string): Move | null {
  const row = db
    .query<Omit<Move, 'feeds'> & { feeds: string }, [{ customer_id: string }]>(
      'SELECT frozen_at, feeds, receipt, exported_at FROM customer_moves WHERE customer_id = $customer_id',
    )
    .get({ customer_id })
  return row && { ...row, feeds: JSON.parse(row.feeds) as FeedPosition[] }
}

/** Writes a line of the audit. */
export const noteMove = (
  db: Db,
  line: {
    kind:
      | 'customer.frozen'
      | 'customer.unfrozen'
      | 'customer.imported'
      | 'customer.leaving'
      | 'customer.moved'
    customer_id: string
    detail: object
    now: number
  },
): void =>
  void db
    .query('INSERT INTO audit (at, kind, subject, detail) VALUES ($at, $kind, $subject, $detail)')
    .run({
      at: line.now,
      kind: line.kind,
      subject: line.customer_id,
      detail: JSON.stringify(line.detail),
    })

function requireWhole(db: Db, customer_id: string): void {
  if (isLeaving(db, customer_id)) throw new RangeError('the deletion of the customer has begun')
}

const feedKeysOf = (db: Db, customer_id: string): string[] =>
  db
    .query<{ key: string }, [{ customer_id: string }]>(
      `SELECT DISTINCT f.key FROM monitors m JOIN monitor_feeds mf ON mf.monitor_id = m.id JOIN feeds f ON f.id = mf.feed_id
        WHERE m.customer_id = $customer_id`,
    )
    .all({ customer_id })
    .map(({ key }) => key)

/**
 * Freezes a customer: from the commit on nothing is matched, sent or written for it, except the ends of what is under way.
 * The positions of its feeds are those of this moment, because feeds that others watch go on. Does nothing if it is frozen.
 *
 * @throws {RangeError} its deletion has begun
 */
export function freezeCustomer(
  db: Db,
  { customer_id, receipt, now }: { customer_id: string; receipt: string; now: number },
): Move {
  return transact(db, () => {
    requireWhole(db, customer_id)
    const frozen = findMove(db, customer_id)
    if (frozen !== null) return frozen
    const keys = feedKeysOf(db, customer_id)
    const feeds = positionsOf(db, keys)
    db.query(
      `INSERT INTO customer_moves (customer_id, frozen_at, feeds, receipt) VALUES ($customer_id, $now, $feeds, $receipt)`,
    ).run({ customer_id, now, receipt, feeds: JSON.stringify(feeds) })
    updateFeedPace(db, now, keys)
    noteMove(db, { kind: 'customer.frozen', customer_id, detail: {}, now })
    return { frozen_at: now, feeds, receipt, exported_at: null }
  })
}

const positionsOf = (db: Db, keys: readonly string[]): FeedPosition[] => {
  const stream = db.query<FeedPosition['feed'], [{ id: number }]>(
    'SELECT * FROM feed_streams WHERE feed_id = $id',
  )
  return db
    .query<FeedPosition['feed'], [{ keys: string }]>(
      'SELECT * FROM feeds WHERE key IN (SELECT value FROM json_each($keys)) ORDER BY id',
    )
    .all({ keys: JSON.stringify(keys) })
    .map((feed) => ({ feed, stream: stream.get({ id: Number(feed['id']) }) }))
}

/**
 * Ends what a dead daemon has left under way, as its next start would: attempts are repeated with the same ids, prices are
 * given back, and the outcome of a draft is unknown.
 */
export function endDeadWork(
  db: Db,
  { customer_id, unknown, now }: { customer_id: string; unknown: object; now: number },
): void {
  transact(db, () => {
    const holds = db
      .query<{ id: string }, [{ customer_id: string }]>(
        'SELECT id FROM holds WHERE customer_id = $customer_id',
      )
      .all({ customer_id })
    for (const { id } of holds) release(db, id, now)
    db.query(
      'UPDATE deliveries SET lease = NULL, interrupted = interrupted + 1 WHERE lease IS NOT NULL AND customer_id = $customer_id',
    ).run({ customer_id })
    db.query(
      "UPDATE drafts SET state = 'failed', answer = $answer WHERE customer_id = $customer_id AND state = 'running'",
    ).run({ customer_id, answer: JSON.stringify(unknown) })
  })
}

/** Records that a complete file exists. */
export const recordExport = (db: Db, customer_id: string, now: number): void =>
  void db
    .query('UPDATE customer_moves SET exported_at = $now WHERE customer_id = $customer_id')
    .run({ customer_id, now })

/**
 * Unfreezes a customer: its monitors go on where they stopped, and read what came meanwhile. False when it is not frozen.
 *
 * @throws {RangeError} its deletion has begun
 */
export function unfreezeCustomer(db: Db, customer_id: string, now: number): boolean {
  return transact(db, () => {
    const move = findMove(db, customer_id)
    if (move === null) return false
    requireWhole(db, customer_id)
    db.query('DELETE FROM customer_moves WHERE customer_id = $customer_id').run({ customer_id })
    resumeFeeds(db, { customer_id, positions: move.feeds, now })
    noteMove(db, { kind: 'customer.unfrozen', customer_id, detail: {}, now })
    return true
  })
}
