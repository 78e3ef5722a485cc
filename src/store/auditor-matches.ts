import { deliveryId } from '../core/delivery-id.ts'
import { CEILING_ROWS_A_DAY, utcDay } from '../core/gate.ts'
import type { Db } from './db.ts'
import { inOneGo, type Parts } from './parts.ts'
import { listTargets } from './targets.ts'

/** Of what was matched lately as much is looked at, the newest first: a look must not hold up the house. */
const MATCHES_MAX = 5000

/** So many of them in one go: a matter of milliseconds. */
const AT_ONCE = 100
/** Of what seems to lack something as much is looked at again. */
const SUSPECTS_MAX = 100

type Recent = {
  monitor_id: string
  item_id: string
  matched_at: number
  customer_id: string
  webhook_ids: string | null
  /** Whether the monitor is there, and as it was at the match. */
  is_sure: number
}

/**
 * Matches of which a target should have a row and has none, as `monitor item`, a part at a time. A monitor or target
 * that was edited since then is given the benefit of the doubt: nobody knows any more who was to hear of it.
 */
export function* findUndelivered(
  db: Db,
  scope: { instance_id: string; since_at: number },
): Parts<string[]> {
  const suspects: Recent[] = []
  const changed = changedSince(db, scope.since_at)
  let before = { matched_at: Number.MAX_SAFE_INTEGER, monitor_id: '', item_id: '' }
  for (let looked = 0; looked < MATCHES_MAX && suspects.length < SUSPECTS_MAX;) {
    const part = listBefore(db, { since_at: scope.since_at, ...before })
    const sure = part.filter(({ is_sure }) => is_sure)
    suspects.push(...(yield* lacking(db, scope.instance_id, sure, changed)))
    const last = part.at(-1)
    if (last === undefined || part.length < AT_ONCE) break
    const { matched_at, monitor_id, item_id } = last
    before = { matched_at, monitor_id, item_id }
    looked += sure.length
    yield
  }
  const lost: string[] = []
  for (const suspect of suspects) {
    yield
    // Others have had their turn meanwhile: what they have edited is no breach.
    const match = findMatch(db, suspect)
    if (!match?.is_sure) continue
    const left = inOneGo(lacking(db, scope.instance_id, [match], changedSince(db, scope.since_at)))
    if (left.length > 0) lost.push(`${match.monitor_id} ${match.item_id}`)
  }
  return lost
}

function* lacking(
  db: Db,
  instance_id: string,
  matches: readonly Recent[],
  changed: ReadonlySet<string>,
): Parts<Recent[]> {
  const targets = new Map<string, readonly { id: string; created_at: number }[]>()
  const sure = (match: Recent) => {
    const known = targets.get(match.monitor_id) ?? sureTargets(db, match, changed)
    targets.set(match.monitor_id, known)
    return known.filter(({ created_at }) => created_at < match.matched_at)
  }
  const has = db.query<{ one: 1 }, [string]>('SELECT 1 AS one FROM deliveries WHERE id = ?')
  const found: Recent[] = []
  for (const match of matches) {
    const { monitor_id, item_id } = match
    const none = sure(match).filter(
      ({ id }) => has.get(deliveryId(instance_id, monitor_id, id, [item_id])) === null,
    )
    if (none.length === 0) continue
    const excused =
      isWaiting(db, match) ||
      isOnlyCounted(db, match) ||
      none.every(({ id }) => travelsWithOthers(db, match, id))
    if (!excused) found.push(match)
    yield
  }
  return found
}

const COLUMNS = `m.monitor_id, m.item_id, m.matched_at, mo.customer_id, mo.webhook_ids,
              mo.removed_at IS NULL AND mo.updated_at < m.matched_at AS is_sure`

type Before = { since_at: number; matched_at: number; monitor_id: string; item_id: string }

const listBefore = (db: Db, before: Before): Recent[] =>
  db
    .query<Recent, [Before]>(
      `SELECT ${COLUMNS} FROM matches m JOIN monitors mo ON mo.id = m.monitor_id
        WHERE m.matched_at >= $since_at
          AND (m.matched_at, m.monitor_id, m.item_id) < ($matched_at, $monitor_id, $item_id)
        ORDER BY m.matched_at DESC, m.monitor_id DESC, m.item_id DESC LIMIT ${AT_ONCE}`,
    )
    .all(before)

const findMatch = (db: Db, { monitor_id, item_id }: Recent): Recent | null =>
  db
    .query<Recent, [{ monitor_id: string; item_id: string }]>(
      `SELECT ${COLUMNS} FROM matches m JOIN monitors mo ON mo.id = m.monitor_id
        WHERE m.monitor_id = $monitor_id AND m.item_id = $item_id`,
    )
    .get({ monitor_id, item_id })

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
      `SELECT 1 FROM deliveries JOIN delivery_bodies ON delivery_row = row
        WHERE monitor_id = $monitor_id AND created_at >= $matched_at AND webhook_id = $webhook_id
          AND instr(CAST(body AS TEXT), $named) > 0 LIMIT 1`,
    )
    .get({ monitor_id, matched_at, webhook_id, named: `"name":${JSON.stringify(item_id)}` }) !==
  null
