import { Database } from 'bun:sqlite'
import { join } from 'node:path'

import { deliveryId } from '../../src/core/delivery/envelope.ts'
import { ofItemKey } from '../../src/core/forum/items.ts'
import { CEILING_ROWS_A_DAY, utcDay } from '../../src/core/limits/plan.ts'
import type { Db } from '../../src/store/db/connection.ts'
import { messageOf } from '../../src/store/delivery/messages.ts'
import { IN_FLIGHT } from '../../src/store/delivery/pending.ts'
import { listTargets } from '../../src/store/delivery/targets.ts'
import { findJudgement } from '../../src/store/relevance/judgements.ts'

/** A row that contradicts a rule of every commit. `subject`: id of the row. */
export type Breach = {
  invariant:
    | 'match_without_delivery'
    | 'delivered_without_yes'
    | 'too_many_attempts'
    | 'day_miscounted'
    | 'waits_too_long'
    | 'stale_claim'
    | 'unbalanced'
  subject: string
}

type Scope = {
  now: number
  /** Oldest match and delivery to check. */
  since_at: number
  instance_id: string
  /** Most attempts of one round. */
  attempts_max?: number
  /** Longest wait of any delivery, ms. */
  wait_max_ms?: number
  /** True if a delivery may be in flight; default: none is. */
  may_be_in_flight?: (delivery_id: string) => boolean
}

/** Finds the rows of a database that contradict each other. */
export function findBreaches(db: Db, scope: Scope): Breach[] {
  const of = (invariant: Breach['invariant'], subjects: readonly string[]): Breach[] =>
    subjects.map((subject) => ({ invariant, subject }))
  return [
    ...of('match_without_delivery', findUndelivered(db, scope)),
    ...of('delivered_without_yes', findUnconfirmed(db, scope)),
    ...of('too_many_attempts', findAttemptedTooOften(db, scope)),
    ...of(
      'unbalanced',
      listUnbalanced(db).map(({ customer_id }) => customer_id),
    ),
    ...of('day_miscounted', findMiscounted(db, scope)),
    ...of('waits_too_long', findOverdue(db, scope)),
    ...of('stale_claim', findStaleClaims(db, scope)),
  ]
}

/**
 * Finds them in the data folder of a daemon, which may be running: its claims are not judged, and rows that it writes
 * during the check are left out.
 */
export function findBreachesIn(
  data: string,
  scope: Pick<Scope, 'attempts_max' | 'wait_max_ms'> = {},
): Breach[] {
  const db = new Database(join(data, 'forumd.sqlite'), { readonly: true, strict: true })
  try {
    // One transaction: the checks see one state.
    return db.transaction(() => {
      const instance_id = db.query<{ id: string }, []>('SELECT id FROM instance').get()?.id ?? ''
      const now = Date.now()
      return findBreaches(db, {
        now,
        since_at: 0,
        instance_id,
        may_be_in_flight: () => true,
        ...scope,
      })
    })()
  } finally {
    db.close()
  }
}

const ids = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id)

const findUnconfirmed = (db: Db, { since_at }: Scope): string[] =>
  ids(
    db
      .query<{ id: string }, [{ since_at: number }]>(
        `SELECT id FROM deliveries d WHERE created_at >= $since_at AND status = 'delivered' AND NOT EXISTS
           (SELECT 1 FROM attempts a WHERE a.delivery_row = d.row AND a.round = d.round AND a.error IS NULL)
          ORDER BY id`,
      )
      .all({ since_at }),
  )

const findAttemptedTooOften = (db: Db, { since_at, attempts_max = 6 }: Scope): string[] =>
  ids(
    db
      .query<{ id: string }, [{ since_at: number; attempts_max: number }]>(
        `SELECT DISTINCT d.id FROM attempts a JOIN deliveries d ON d.row = a.delivery_row
          WHERE d.created_at >= $since_at GROUP BY d.row, a.round HAVING count(*) > $attempts_max ORDER BY d.id`,
      )
      .all({ since_at, attempts_max }),
  )

const DAY_MS = 86_400_000

/** Monitors whose deliveries of today differ from their counter. After a clock jump the two cannot be compared. */
const findMiscounted = (db: Db, { now }: Scope): string[] =>
  ids(
    db
      .query<{ id: string }, [Record<'day' | 'from' | 'until', number>]>(
        `SELECT monitor_id AS id FROM monitor_days t
          WHERE day = $day AND NOT EXISTS
              (SELECT 1 FROM observation_events WHERE kind = 'clock_jump' AND at >= $from - ${DAY_MS})
            AND deliveries <> (SELECT count(*) FROM deliveries d JOIN messages g ON g.row = ${messageOf('d.row')}
               WHERE d.monitor_id = t.monitor_id
                 AND d.created_at >= $from AND d.created_at < $until AND g.event IS NULL
                 AND (d.status <> 'suppressed' OR d.reason = 'item_deleted'))`,
      )
      .all({ day: utcDay(now), from: utcDay(now) * DAY_MS, until: (utcDay(now) + 1) * DAY_MS }),
  )

const findOverdue = (db: Db, { now, wait_max_ms = 1_200_000 }: Scope): string[] =>
  ids(
    db
      .query<{ id: string }, [{ latest: number }]>(
        `SELECT id FROM deliveries WHERE status = 'pending'
            AND next_attempt_at > max($latest, coalesce(held_until, 0))`,
      )
      .all({ latest: now + wait_max_ms }),
  )

const findStaleClaims = (db: Db, { may_be_in_flight = () => false }: Scope): string[] =>
  ids(
    db.query<{ id: string }, []>(`SELECT id FROM deliveries WHERE row IN ${IN_FLIGHT}`).all(),
  ).filter((id) => !may_be_in_flight(id))

type Match = {
  monitor_id: string
  item_id: string
  matched_at: number
  customer_id: string
  webhook_ids: string | null
}

/**
 * Matches without the row that a target should have, as `monitor item`. A monitor or target that was edited since then is
 * left out, because its targets at that time are unknown.
 */
function findUndelivered(db: Db, { instance_id, since_at }: Scope): string[] {
  const changed = new Set(
    db
      .query<{ subject: string }, [{ since_at: number }]>(
        "SELECT subject FROM audit WHERE kind = 'webhook.changed' AND at >= $since_at",
      )
      .all({ since_at })
      .map(({ subject }) => subject),
  )
  const has = db.query<{ one: 1 }, [string]>('SELECT 1 AS one FROM deliveries WHERE id = ?')
  const targets = new Map<string, { id: string; created_at: number }[]>()
  return db
    .query<Match, [{ since_at: number }]>(
      `SELECT m.monitor_id, m.item_id, m.matched_at, mo.customer_id, mo.webhook_ids
         FROM matches m JOIN monitors mo ON mo.id = m.monitor_id
        WHERE m.matched_at >= $since_at AND mo.removed_at IS NULL AND mo.updated_at < m.matched_at
        ORDER BY m.monitor_id, m.item_id`,
    )
    .all({ since_at })
    .filter((match) => {
      const { monitor_id, item_id, matched_at } = match
      const of = targets.get(monitor_id) ?? targetsOf(db, match, changed)
      targets.set(monitor_id, of)
      const lacking = of
        .filter(({ created_at }) => created_at < matched_at)
        .filter(({ id }) => has.get(deliveryId(instance_id, monitor_id, id, [item_id])) === null)
      return (
        lacking.length > 0 &&
        !isInOpenBundle(db, match) &&
        !isWaiting(db, match) &&
        !isOnlyCounted(db, match) &&
        !isErased(db, match) &&
        !lacking.every(({ id }) => wasBundled(db, match, id))
      )
    })
    .map(({ monitor_id, item_id }) => `${monitor_id} ${item_id}`)
}

function targetsOf(
  db: Db,
  { monitor_id, customer_id, webhook_ids }: Match,
  changed: ReadonlySet<string>,
): { id: string; created_at: number }[] {
  const created = db.query<{ created_at: number }, [string]>(
    'SELECT created_at FROM webhooks WHERE id = ?',
  )
  const wanted = webhook_ids === null ? null : (JSON.parse(webhook_ids) as string[])
  return listTargets(db, customer_id, wanted, monitor_id)
    .filter(({ id, paused }) => !paused && !changed.has(id))
    .map(({ id }) => ({ id, created_at: created.get(id)?.created_at ?? Infinity }))
}

const isInOpenBundle = (db: Db, { monitor_id, item_id }: Match): boolean =>
  db
    .query(
      `SELECT 1 FROM bundles b JOIN bundle_items i ON i.bundle_id = b.id
        WHERE b.monitor_id = $monitor_id AND i.item_id = $item_id`,
    )
    .get({ monitor_id, item_id }) !== null

/** The item was erased: a delivery that waited for more of its bundle has left it out. */
const isErased = (db: Db, { item_id }: Match): boolean =>
  db
    .query("SELECT 1 FROM item_tombstones WHERE item_id = $item_id AND reason <> 'author_gone'")
    .get({ item_id }) !== null

/** The ceiling of that day, or of the next, or of the day of its verdict, suppressed more matches than rows are stored for. */
const isOnlyCounted = (db: Db, { monitor_id, item_id, matched_at }: Match): boolean =>
  db
    .query(
      `SELECT 1 FROM monitor_days WHERE monitor_id = $monitor_id AND day IN ($day, $day + 1)
        AND ceiling_suppressed > ${CEILING_ROWS_A_DAY}`,
    )
    .get({
      monitor_id,
      day: utcDay(findJudgement(db, { monitor_id, item_id })?.at ?? matched_at),
    }) !== null

/** The match waits for a verdict. */
const isWaiting = (db: Db, match: Match): boolean => {
  const judgement = findJudgement(db, match)
  return judgement !== null && judgement.outcome === null
}

/** The match was sent in a bundle, whose id is a hash of its whole content. */
const wasBundled = (
  db: Db,
  { monitor_id, item_id, matched_at }: Match,
  webhook_id: string,
): boolean =>
  db
    .query(
      `SELECT 1 FROM deliveries d JOIN messages g ON g.row = ${messageOf('d.row')}
        WHERE d.monitor_id = $monitor_id AND d.created_at >= $matched_at AND d.webhook_id = $webhook_id
          AND instr(CAST(g.body AS TEXT), $named) > 0 LIMIT 1`,
    )
    .get({
      monitor_id,
      matched_at,
      webhook_id,
      named: `"name":${JSON.stringify(ofItemKey(item_id).name)}`,
    }) !== null

/** Customers whose balance differs from the sum of payments, costs and holds. A correct database has none. */
export const listUnbalanced = (db: Db): { customer_id: string; off_by_micros: number }[] =>
  db
    .query<{ customer_id: string; off_by_micros: number }, []>(
      `SELECT * FROM (
         SELECT c.id AS customer_id, c.balance_micros
             - (SELECT coalesce(sum(amount_micros), 0) FROM payments WHERE customer_id = c.id)
             + (SELECT coalesce(sum(cost_micros), 0) FROM usage_hours WHERE customer_id = c.id)
             + (SELECT coalesce(sum(amount_micros), 0) FROM holds WHERE customer_id = c.id) AS off_by_micros
           FROM customers c)
        WHERE off_by_micros <> 0`,
    )
    .all()
