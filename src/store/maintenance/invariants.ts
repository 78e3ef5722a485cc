import { deliveryId } from '../../core/delivery/envelope.ts'
import { ofItemKey } from '../../core/forum/items.ts'
import { CEILING_ROWS_A_DAY, utcDay } from '../../core/limits/plan.ts'
import { isUnbalanced } from '../customers/ledger.ts'
import { type Chunks, runNow } from '../db/chunked.ts'
import type { Db } from '../db/connection.ts'
import { listTargets } from '../delivery/targets.ts'
import { FROZEN, originOf } from '../moving/frozen.ts'
import { findJudgement } from '../relevance/judgements.ts'
import { findWaiting } from '../relevance/waiting.ts'

/** Deliveries checked in one step, which takes milliseconds. */
const DELIVERIES_AT_ONCE = 250

type DeliveryRow = { id: string; created_at: number; is_unsaid: number; is_many: number }

/** Deliveries with a violation: delivered without a confirming response, or with too many attempts. */
type SuspectDeliveries = { unsaid: string[]; many: string[] }

/** Checks a customer's deliveries since an instant, in steps. */
function* findSuspectDeliveries(
  db: Db,
  customer_id: string,
  { since_at, attempts_max }: { since_at: number; attempts_max: number },
): Chunks<SuspectDeliveries> {
  const suspects: SuspectDeliveries = { unsaid: [], many: [] }
  let after = { created_at: since_at - 1, id: '' }
  for (;;) {
    const rows = listAfter(db, { customer_id, attempts_max, ...after })
    for (const { id, is_unsaid, is_many } of rows) {
      if (is_unsaid) suspects.unsaid.push(id)
      if (is_many) suspects.many.push(id)
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < DELIVERIES_AT_ONCE) return suspects
    after = { created_at: last.created_at, id: last.id }
    yield
  }
}

type After = { customer_id: string; created_at: number; id: string; attempts_max: number }

// In the order of an index that begins with the customer, so that each step reads only its own rows.
const listAfter = (db: Db, after: After): DeliveryRow[] =>
  db
    .query<DeliveryRow, [After]>(
      `SELECT d.id, d.created_at,
              d.status = 'delivered' AND NOT EXISTS
                (SELECT 1 FROM attempts a WHERE a.delivery_row = d.row AND a.round = d.round AND a.error IS NULL)
                AS is_unsaid,
              (SELECT count(*) FROM attempts a WHERE a.delivery_row = d.row) > $attempts_max
                AND EXISTS (SELECT 1 FROM attempts a WHERE a.delivery_row = d.row
                             GROUP BY a.round HAVING count(*) > $attempts_max) AS is_many
         FROM deliveries d
        WHERE d.customer_id = $customer_id AND (d.created_at, d.id) > ($created_at, $id)
        ORDER BY d.created_at, d.id LIMIT ${DELIVERIES_AT_ONCE}`,
    )
    .all(after)

/** Most recent matches checked, newest first: a check must not block the daemon. */
const MATCHES_MAX = 5000

/** Matches checked in one step, which takes milliseconds. */
const MATCHES_AT_ONCE = 100
/** Most suspects that are checked again. */
const SUSPECTS_MAX = 100

type Recent = {
  monitor_id: string
  item_id: string
  matched_at: number
  customer_id: string
  webhook_ids: string | null
  /** 1 when the monitor exists and is unchanged since the match. */
  is_sure: number
}

/**
 * Matches without the row that a target should have, as `monitor item`, in steps. A monitor or target that was edited
 * since then is not reported, because its targets at that time are unknown.
 */
export function* findUndelivered(
  db: Db,
  scope: { instance_id: string; since_at: number },
): Chunks<string[]> {
  const suspects: Recent[] = []
  const changed = changedSince(db, scope.since_at)
  let before = { matched_at: Number.MAX_SAFE_INTEGER, monitor_id: '', item_id: '' }
  for (let scanned_count = 0; scanned_count < MATCHES_MAX && suspects.length < SUSPECTS_MAX;) {
    const part = listBefore(db, { since_at: scope.since_at, ...before })
    const sure = part.filter(({ is_sure }) => is_sure)
    suspects.push(...(yield* findLacking(db, scope.instance_id, sure, changed)))
    const last = part.at(-1)
    if (last === undefined || part.length < MATCHES_AT_ONCE) break
    const { matched_at, monitor_id, item_id } = last
    before = { matched_at, monitor_id, item_id }
    scanned_count += sure.length
    yield
  }
  const lost: string[] = []
  for (const suspect of suspects) {
    yield
    // Other work ran between two steps: edits made meanwhile are no violation.
    const match = findMatch(db, suspect)
    if (!match?.is_sure) continue
    const left = runNow(
      findLacking(db, scope.instance_id, [match], changedSince(db, scope.since_at)),
    )
    if (left.length > 0) lost.push(`${match.monitor_id} ${match.item_id}`)
  }
  return lost
}

function* findLacking(
  db: Db,
  instance_id: string,
  matches: readonly Recent[],
  changed: ReadonlySet<string>,
): Chunks<Recent[]> {
  const targets = new Map<string, readonly { id: string; created_at: number }[]>()
  const sure = (match: Recent) => {
    const sure_targets = targets.get(match.monitor_id) ?? sureTargets(db, match, changed)
    targets.set(match.monitor_id, sure_targets)
    return sure_targets.filter(({ created_at }) => created_at < match.matched_at)
  }
  const has = db.query<{ one: 1 }, [string]>('SELECT 1 AS one FROM deliveries WHERE id = ?')
  const found: Recent[] = []
  for (const match of matches) {
    const { monitor_id, item_id } = match
    const origin_id = originOf(db, match.customer_id, instance_id)
    const none = sure(match).filter(
      ({ id }) => has.get(deliveryId(origin_id, monitor_id, id, [item_id])) === null,
    )
    if (none.length === 0) continue
    const excused =
      isInOpenBundle(db, match) ||
      findWaiting(db, match) !== null ||
      isOnlyCounted(db, match) ||
      isErased(db, match) ||
      none.every(({ id }) => wasBundled(db, match, id))
    if (!excused) found.push(match)
    yield
  }
  return found
}

const COLUMNS = `m.monitor_id, m.item_id, m.matched_at, mo.customer_id, mo.webhook_ids,
              mo.removed_at IS NULL AND mo.updated_at < m.matched_at
                AND mo.customer_id NOT IN ${FROZEN} AS is_sure`

type Before = { since_at: number; matched_at: number; monitor_id: string; item_id: string }

const listBefore = (db: Db, before: Before): Recent[] =>
  db
    .query<Recent, [Before]>(
      `SELECT ${COLUMNS} FROM matches m JOIN monitors mo ON mo.id = m.monitor_id
        WHERE m.matched_at >= $since_at
          AND (m.matched_at, m.monitor_id, m.item_id) < ($matched_at, $monitor_id, $item_id)
        ORDER BY m.matched_at DESC, m.monitor_id DESC, m.item_id DESC LIMIT ${MATCHES_AT_ONCE}`,
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

/** The match is in an open bundle. */
const isInOpenBundle = (db: Db, { monitor_id, item_id }: Recent): boolean =>
  db
    .query(
      `SELECT 1 FROM bundles b JOIN bundle_items i ON i.bundle_id = b.id
        WHERE b.monitor_id = $monitor_id AND i.item_id = $item_id`,
    )
    .get({ monitor_id, item_id }) !== null

/** The item was erased: a delivery that waited for more of its bundle has left it out. */
const isErased = (db: Db, { item_id }: Recent): boolean =>
  db
    .query("SELECT 1 FROM item_tombstones WHERE item_id = $item_id AND reason <> 'author_gone'")
    .get({ item_id }) !== null

/** The ceiling of that day, or of the next, or of the day of its verdict, suppressed more matches than rows are stored for. */
const isOnlyCounted = (db: Db, { monitor_id, item_id, matched_at }: Recent): boolean =>
  db
    .query(
      `SELECT 1 FROM monitor_days WHERE monitor_id = $monitor_id AND day IN ($day, $day + 1)
        AND ceiling_suppressed > ${CEILING_ROWS_A_DAY}`,
    )
    .get({
      monitor_id,
      day: utcDay(findJudgement(db, { monitor_id, item_id })?.at ?? matched_at),
    }) !== null

/** The match was sent in a bundle, whose id is a hash of its whole content. */
const wasBundled = (
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
    .get({
      monitor_id,
      matched_at,
      webhook_id,
      named: `"name":${JSON.stringify(ofItemKey(item_id).name)}`,
    }) !== null

/** A violation of an invariant. `subject`: id of the affected row. */
export type Breach = {
  invariant:
    | 'match_without_delivery'
    | 'delivered_without_yes'
    | 'too_many_attempts'
    | 'day_miscounted'
    | 'waits_too_long'
    | 'stale_lease'
    | 'unbalanced'
  subject: string
}

/** Scope of an invariant check. */
export type AuditScope = {
  now: number
  /** Oldest creation time of the deliveries to check, where checking all would take long. */
  since_at: number
  run_id: string
  instance_id: string
  /** Most attempts of one round. */
  attempts_max: number
  /** Longest wait of any delivery, ms. */
  wait_max_ms: number
  /** True while an attempt of this delivery is in flight. */
  in_flight: (delivery_id: string) => boolean
}

/** Violations reported of each kind; more add no information. */
const BREACHES_PER_KIND_MAX = 20

/**
 * Finds rows that contradict the invariants of every commit. Runs in steps, between which the caller lets other work
 * run, because there may be millions of rows. Reads only; repairs nothing.
 */
export function* scanForBreaches(db: Db, scope: AuditScope): Chunks<Breach[]> {
  const found: Breach[] = []
  const note = (invariant: Breach['invariant'], subjects: readonly string[]) => {
    const reported_count = found.filter((it) => it.invariant === invariant).length
    for (const subject of subjects.slice(0, BREACHES_PER_KIND_MAX - reported_count))
      found.push({ invariant, subject })
  }

  note('match_without_delivery', yield* findUndelivered(db, scope))
  // Nothing is written for a customer that is being moved, except that its rows are deleted at the end, table by table.
  const isFrozen = db.query<{ one: 1 }, [{ id: string }]>(`SELECT 1 AS one WHERE $id IN ${FROZEN}`)
  for (const { id } of db.query<{ id: string }, []>('SELECT id FROM customers').all()) {
    yield
    const { unsaid, many } = yield* findSuspectDeliveries(db, id, scope)
    // Asked last: its deletion, which takes many commits, may have begun between two steps.
    if (isFrozen.get({ id }) !== null) continue
    note('delivered_without_yes', unsaid)
    note('too_many_attempts', many)
    note('unbalanced', isUnbalanced(db, id) ? [id] : [])
  }
  note('day_miscounted', yield* findMiscounted(db, scope.now))
  yield
  note('waits_too_long', findOverdue(db, scope))
  note('stale_lease', findStaleLeases(db, scope))
  return found
}

/** The same without pauses, for callers that block nothing else. */
export const findBreaches = (db: Db, scope: AuditScope): Breach[] =>
  runNow(scanForBreaches(db, scope))

/**
 * Monitors whose number of deliveries today differs from their counter. After a clock jump the two cannot be compared.
 */
function* findMiscounted(db: Db, now: number): Chunks<string[]> {
  const day = utcDay(now)
  const from = day * DAY_MS
  const hasJumped = () =>
    db
      .query("SELECT 1 FROM observation_events WHERE kind = 'clock_jump' AND at >= $since_at")
      .get({ since_at: from - DAY_MS }) !== null
  if (hasJumped()) return []
  const isMiscounted = db.query<{ one: 1 }, [Record<string, string | number>]>(
    `SELECT 1 AS one FROM monitor_days t
      WHERE t.monitor_id = $id AND t.day = $day
        AND t.deliveries <> (SELECT count(*) FROM deliveries d WHERE d.monitor_id = t.monitor_id
              AND d.created_at >= $from AND d.created_at < $until
              AND (d.status <> 'suppressed' OR d.reason = 'item_deleted')
              AND d.event IS NULL)
        AND NOT EXISTS (SELECT 1 FROM monitors WHERE id = $id AND customer_id IN ${FROZEN})`,
  )
  const found: string[] = []
  for (const { id } of db.query<{ id: string }, []>('SELECT id FROM monitors').all()) {
    yield
    if (isMiscounted.get({ id, day, from, until: from + DAY_MS }) !== null) found.push(id)
  }
  // A jump during the count may have changed it.
  return hasJumped() ? [] : found
}

const DAY_MS = 86_400_000

/** By target, with which the index of due deliveries begins. */
const findOverdue = (db: Db, { now, wait_max_ms }: AuditScope): string[] =>
  db
    .query<{ id: string }, [{ latest: number }]>(
      `SELECT d.id FROM (SELECT id FROM webhooks UNION ALL SELECT NULL) w
         CROSS JOIN deliveries d ON d.webhook_id IS w.id
        WHERE d.status = 'pending' AND d.lease IS NULL
          AND d.next_attempt_at > max($latest, coalesce(d.held_until, 0)) LIMIT ${BREACHES_PER_KIND_MAX}`,
    )
    .all({ latest: now + wait_max_ms })
    .map(({ id }) => id)

function findStaleLeases(db: Db, { run_id, in_flight }: AuditScope): string[] {
  return db
    .query<{ id: string; lease: string }, []>(
      'SELECT id, lease FROM deliveries WHERE lease IS NOT NULL',
    )
    .all()
    .filter(({ id, lease }) => lease !== run_id || !in_flight(id))
    .map(({ id }) => id)
}
