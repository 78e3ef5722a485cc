import { deliveryId } from '../core/delivery-id.ts'
import { CEILING_ROWS_A_DAY, utcDay } from '../core/gate.ts'
import type { Db } from './db.ts'
import { listTargets } from './targets.ts'

/** Of what was matched lately as much is looked at, the newest first: a look must not hold up the house. */
const MATCHES_MAX = 5000

type Recent = {
  monitor_id: string
  item_id: string
  matched_at: number
  customer_id: string
  webhook_ids: string | null
}

/**
 * Matches of which a target should have a row and has none, as `monitor item`. A monitor or target that was edited
 * since then is given the benefit of the doubt: nobody knows any more who was to hear of it.
 */
export function findUndelivered(
  db: Db,
  { instance_id, since_at }: { instance_id: string; since_at: number },
): string[] {
  const changed = changedSince(db, since_at)
  const targets = new Map<string, readonly { id: string; created_at: number }[]>()
  const sure = (match: Recent) => {
    const known = targets.get(match.monitor_id) ?? sureTargets(db, match, changed)
    targets.set(match.monitor_id, known)
    return known.filter(({ created_at }) => created_at < match.matched_at)
  }
  const has = db.query<{ one: 1 }, [string]>('SELECT 1 AS one FROM deliveries WHERE id = ?')

  return listRecent(db, since_at).flatMap((match) => {
    const { monitor_id, item_id } = match
    const lacking = sure(match).filter(
      ({ id }) => has.get(deliveryId(instance_id, monitor_id, id, [item_id])) === null,
    )
    const excused =
      lacking.length === 0 ||
      isWaiting(db, match) ||
      isOnlyCounted(db, match) ||
      lacking.every(({ id }) => travelsWithOthers(db, match, id))
    return excused ? [] : [`${monitor_id} ${item_id}`]
  })
}

const listRecent = (db: Db, since_at: number): Recent[] =>
  db
    .query<Recent, [{ since_at: number }]>(
      `SELECT m.monitor_id, m.item_id, m.matched_at, mo.customer_id, mo.webhook_ids
         FROM matches m JOIN monitors mo ON mo.id = m.monitor_id
        WHERE m.matched_at >= $since_at AND mo.removed_at IS NULL AND mo.updated_at < m.matched_at
        ORDER BY m.matched_at DESC LIMIT ${MATCHES_MAX}`,
    )
    .all({ since_at })

const changedSince = (db: Db, since_at: number): Set<string> =>
  new Set(
    db
      .query<{ subject: string }, [{ since_at: number }]>(
        "SELECT DISTINCT subject FROM audit WHERE kind = 'webhook.changed' AND at >= $since_at",
      )
      .all({ since_at })
      .map(({ subject }) => subject),
  )

function sureTargets(
  db: Db,
  { monitor_id, customer_id, webhook_ids }: Recent,
  changed: ReadonlySet<string>,
): { id: string; created_at: number }[] {
  const ids = webhook_ids === null ? null : idsOf(db, webhook_ids)
  const created = db.query<{ created_at: number }, [string]>(
    'SELECT created_at FROM webhooks WHERE id = ?',
  )
  return listTargets(db, customer_id, ids, monitor_id)
    .filter(({ id, paused }) => !paused && !changed.has(id))
    .map(({ id }) => ({ id, created_at: created.get(id)?.created_at ?? Infinity }))
}

const idsOf = (db: Db, webhook_ids: string): string[] =>
  db
    .query<{ value: string }, [string]>('SELECT value FROM json_each(?)')
    .all(webhook_ids)
    .map(({ value }) => value)

/** It is in a bundle that has yet to close. */
const isWaiting = (db: Db, { monitor_id, item_id }: Recent): boolean =>
  db
    .query(
      `SELECT 1 FROM bundles b JOIN bundle_items i ON i.bundle_id = b.id
        WHERE b.monitor_id = $monitor_id AND i.item_id = $item_id`,
    )
    .get({ monitor_id, item_id }) !== null

/** The ceiling of that day, or of the next, had more to withhold than rows are kept of. */
const isOnlyCounted = (db: Db, { monitor_id, matched_at }: Recent): boolean =>
  db
    .query(
      `SELECT 1 FROM monitor_days WHERE monitor_id = $monitor_id AND day IN ($day, $day + 1)
        AND ceiling_suppressed > ${CEILING_ROWS_A_DAY}`,
    )
    .get({ monitor_id, day: utcDay(matched_at) }) !== null

/** It went out in a bundle, whose id is made of all that is in it. */
const travelsWithOthers = (
  db: Db,
  { monitor_id, item_id, matched_at }: Recent,
  webhook_id: string,
): boolean =>
  db
    .query(
      `SELECT 1 FROM deliveries
        WHERE monitor_id = $monitor_id AND created_at >= $matched_at AND webhook_id = $webhook_id
          AND instr(CAST(body AS TEXT), $named) > 0 LIMIT 1`,
    )
    .get({ monitor_id, matched_at, webhook_id, named: `"name":${JSON.stringify(item_id)}` }) !==
  null
