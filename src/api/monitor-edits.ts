import { placesOf } from '../core/filter-places.ts'
import { encodeFilterSpec, parseFilterSpec } from '../core/filter.ts'
import { beginningAt, effectiveCadence, type Plan } from '../core/gate.ts'
import { streamKey } from '../core/stream.ts'
import { wireCode, type Words } from '../core/wire.ts'
import type { Watch } from '../gateway/watch.ts'
import type { Customer } from '../store/customers.ts'
import { type Db, transact } from '../store/db.ts'
import { findMonitor, type Monitor } from '../store/monitors.ts'
import { listStreamKeys } from '../store/stream-life.ts'
import { changeMonitor, type Place, startMonitor } from '../store/watching.ts'
import type { Infra } from './infra.ts'
import { checkPlaces, checkSlots, checkWebhooks, findBaseline } from './monitor-checks.ts'
import { absentMonitor, toMonitor } from './monitor-shapes.ts'

export type MonitorDeps = {
  db: Db
  /** The way to the platform; its deadline should be short, because a caller waits. */
  watch: Watch
  plan_of: (name: string) => Plan
  /** The address at which a monitor's feed answers now. */
  feed_url: (monitor_id: string) => string
  /** Called after a change is committed. */
  nudge: () => void
}

type Given = {
  filter_spec?: unknown
  webhook_ids?: string[] | null | undefined
  name?: string | null | undefined
  cadence_s?: number | undefined
}

/** Creates a monitor. Everything is checked before it is written; it begins with the second it was asked for. */
export async function addMonitor(
  { words, clock, random }: Infra,
  { db, watch, plan_of, nudge, feed_url }: MonitorDeps,
  customer: Customer,
  given: Given & { baseline_item_id?: string | undefined },
) {
  const spec = parseFilterSpec(given.filter_spec, words)
  const plan = plan_of(customer.plan)
  const places = placesOf(spec)
  const id = `mon_${random.uuid()}`
  const asked_at = clock.now()
  const webhook_ids = targeting(given.webhook_ids ?? null)
  const check = () => {
    checkSlots(db, customer, plan, { used: 1, sitewide_used: sitewide(places) })
    checkWebhooks(db, customer.id, webhook_ids, [])
  }
  // Once now, so that nobody waits for the platform in vain, and once where it counts.
  check()
  const warnings = await checkPlaces(db, watch, words, places)
  const baseline = await findBaseline(watch, spec, given.baseline_item_id)
  const requested = given.cadence_s ?? null
  transact(db, () => {
    check()
    const monitor: Monitor = {
      id,
      customer_id: customer.id,
      name: given.name ?? null,
      filter_spec: encodeFilterSpec(spec),
      cadence_s: effectiveCadence(plan, requested),
      requested_cadence_s: requested,
      baseline_item_id: baseline?.fullname ?? null,
      webhook_ids,
      active: true,
      active_since: baseline?.created_at ?? beginningAt(asked_at, watch.clock_measured_ms()),
      created_at: asked_at,
      updated_at: asked_at,
      last_match_at: null,
    }
    startMonitor(db, monitor, places)
  })
  nudge()
  const added = toMonitor(db, words, wantMonitor(db, customer.id, id), feed_url)
  return { ...added, ...warned(words, warnings) }
}

/** Changes a monitor: what is not given stays. Only resuming, and places newly named, begin afresh. */
export async function editMonitor(
  { words, clock }: Infra,
  { db, watch, plan_of, nudge, feed_url }: MonitorDeps,
  customer: Customer,
  id: string,
  given: Given & { active?: boolean | undefined },
) {
  wantMonitor(db, customer.id, id)
  const spec = given.filter_spec === undefined ? null : parseFilterSpec(given.filter_spec, words)
  const places = spec && placesOf(spec)
  const plan = plan_of(customer.plan)
  const asked_at = clock.now()
  const begins_at = beginningAt(asked_at, watch.clock_measured_ms())
  const known = new Set(listStreamKeys(db, id))
  const added = (places ?? []).filter((it) => !known.has(streamKey(it)))
  const warnings = await checkPlaces(db, watch, words, added)
  transact(db, () => {
    const before = wantMonitor(db, customer.id, id)
    const now = Math.max(asked_at, before.updated_at + 1)
    const webhook_ids =
      given.webhook_ids === undefined ? before.webhook_ids : targeting(given.webhook_ids)
    if (given.webhook_ids !== undefined)
      checkWebhooks(db, customer.id, webhook_ids, before.webhook_ids ?? [])
    if (places !== null && sitewide(places) > 0 && !listStreamKeys(db, id).some(isSearch))
      checkSlots(db, customer, plan, { used: 0, sitewide_used: 1 })
    const resumed = given.active === true && !before.active
    const requested = given.cadence_s ?? before.requested_cadence_s
    const monitor: Monitor = {
      ...before,
      name: given.name === undefined ? before.name : given.name,
      filter_spec: spec === null ? before.filter_spec : encodeFilterSpec(spec),
      requested_cadence_s: requested,
      cadence_s:
        given.cadence_s === undefined ? before.cadence_s : effectiveCadence(plan, requested),
      webhook_ids,
      active: given.active ?? before.active,
      active_since: resumed ? begins_at : before.active_since,
      baseline_item_id: resumed ? null : before.baseline_item_id,
      updated_at: now,
    }
    changeMonitor(db, monitor, { places, restart: resumed, begins_at, now })
  })
  nudge()
  const edited = toMonitor(db, words, wantMonitor(db, customer.id, id), feed_url)
  return { ...edited, ...warned(words, warnings) }
}

/** A customer's monitor. @throws ApiError NOT_FOUND, the same for what is absent and what is somebody else's */
export function wantMonitor(db: Db, customer_id: string, id: string): Monitor {
  const monitor = findMonitor(db, customer_id, id)
  if (monitor === null) throw absentMonitor()
  return monitor
}

// An empty list from a caller means every active webhook; only a deleted target can leave one empty for good.
const targeting = (ids: string[] | null): string[] | null =>
  ids === null || ids.length === 0 ? null : [...new Set(ids)]

const sitewide = (places: readonly Place[]): number =>
  places.some(({ kind }) => kind === 'search') ? 1 : 0
const isSearch = (key: string): boolean => key.startsWith('search:')

const warned = (words: Words, unverified: boolean) =>
  unverified ? { warnings: [wireCode(words, 'subforum_unverified')] } : {}
