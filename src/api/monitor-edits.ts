import { ApiError, invalid } from '../core/errors.ts'
import { encodeFilterSpec, type FilterSpec, parseFilterSpec, placesOf } from '../core/filter.ts'
import { beginningAt, effectiveCadence, judgeSlots, type Plan, type Slots } from '../core/gate.ts'
import { streamKey } from '../core/stream.ts'
import type { Watch } from '../gateway/watch.ts'
import type { Customer } from '../store/customers.ts'
import { type Db, transact } from '../store/db.ts'
import { countSlots, findMonitor, type Monitor } from '../store/monitors.ts'
import { findStreamByKey, listStreamKeys } from '../store/streams.ts'
import { changeMonitor, type Place, startMonitor } from '../store/watching.ts'
import { listWebhooks } from '../store/webhooks.ts'
import { toApiError } from './faults.ts'
import type { Infra } from './infra.ts'
import { absentMonitor, toMonitor } from './monitor-shapes.ts'

export type MonitorDeps = {
  db: Db
  /** The way to the platform; its deadline should be short, because a caller waits. */
  watch: Watch
  plan_of: (name: string) => Plan
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
  { db, watch, plan_of, nudge }: MonitorDeps,
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
  const warnings = await checkPlaces(db, watch, places)
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
      active_since: baseline?.created_at ?? beginningAt(asked_at + watch.clock_offset_ms()),
      created_at: asked_at,
      updated_at: asked_at,
      last_match_at: null,
    }
    startMonitor(db, monitor, places)
  })
  nudge()
  return { ...toMonitor(db, words, wantMonitor(db, customer.id, id)), ...warned(warnings) }
}

/** Changes a monitor: what is not given stays. Only resuming, and places newly named, begin afresh. */
export async function editMonitor(
  { words, clock }: Infra,
  { db, watch, plan_of, nudge }: MonitorDeps,
  customer: Customer,
  id: string,
  given: Given & { active?: boolean | undefined },
) {
  wantMonitor(db, customer.id, id)
  const spec = given.filter_spec === undefined ? null : parseFilterSpec(given.filter_spec, words)
  const places = spec && placesOf(spec)
  const plan = plan_of(customer.plan)
  const asked_at = clock.now()
  const begins_at = beginningAt(asked_at + watch.clock_offset_ms())
  const known = new Set(listStreamKeys(db, id))
  const added = (places ?? []).filter((it) => !known.has(streamKey(it)))
  const warnings = await checkPlaces(db, watch, added)
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
  return { ...toMonitor(db, words, wantMonitor(db, customer.id, id)), ...warned(warnings) }
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

const warned = (unverified: boolean) => (unverified ? { warnings: ['subforum_unverified'] } : {})

function checkSlots(db: Db, customer: Customer, plan: Plan, extra: Slots): void {
  const refusal = judgeSlots(plan, countSlots(db, customer.id), extra)
  if (refusal === null) return
  const { code, limit } = refusal
  const what = code === 'monitor_slots_exhausted' ? 'monitors' : 'site-wide monitors'
  throw new ApiError(code, {
    message: `the plan ${customer.plan} has room for ${limit} ${what}, and they are used up`,
    extra: { limit, tier: customer.plan },
  })
}

/** `kept`: targets the monitor already has; those may be paused. */
function checkWebhooks(
  db: Db,
  customer_id: string,
  ids: readonly string[] | null,
  kept: readonly string[],
): void {
  if (ids === null) return
  const owned = new Map(listWebhooks(db, customer_id).map((it) => [it.id, it]))
  const unknown = ids.filter((id) => !owned.has(id))
  if (unknown.length > 0)
    throw new ApiError('webhook_not_found', {
      field: 'webhook_ids',
      message: `there is no webhook ${unknown.join(', ')}`,
      extra: { webhook_ids: unknown },
    })
  const paused = ids.filter((id) => !kept.includes(id) && owned.get(id)?.paused_at !== null)
  if (paused.length > 0)
    throw new ApiError('webhook_paused', {
      field: 'webhook_ids',
      message: `paused: ${paused.join(', ')}`,
      extra: {
        webhook_ids: paused,
        hint: 'mend the receiver and send it a test; a test that succeeds un-pauses it',
      },
    })
}

const ASKED_AT_ONCE = 4

/**
 * Asks the platform for each subforum that no working stream proves to exist. True when it could not be asked:
 * the monitor is made all the same, and its health will tell.
 */
async function checkPlaces(db: Db, watch: Watch, places: readonly Place[]): Promise<boolean> {
  const names = [
    ...new Set(places.filter((it) => it.kind !== 'search' && !works(db, it)).map((it) => it.place)),
  ]
  for (let i = 0; i < names.length; i += ASKED_AT_ONCE) {
    const some = names.slice(i, i + ASKED_AT_ONCE)
    const verdicts = await Promise.all(
      some.map(async (name) => ({ name, verdict: await watch.subforum(name) })),
    )
    for (const { name, verdict } of verdicts) {
      if (verdict.kind === 'reserved')
        throw new ApiError('subforum_reserved', {
          message: `${name} stands for many places; name them one by one`,
        })
      if (verdict.kind === 'refused')
        throw new ApiError('subforum_not_found', {
          message: `${name} cannot be watched`,
          extra: { names: [name], reason: verdict.why },
        })
    }
    // One that cannot be asked now speaks for those that would be asked next.
    if (verdicts.some(({ verdict }) => verdict.kind === 'unverified')) return true
  }
  return false
}

function works(db: Db, place: Place): boolean {
  const stream = findStreamByKey(db, streamKey(place))
  return stream !== null && !stream.asleep && stream.head !== null && stream.last_fault === null
}

async function findBaseline(
  watch: Watch,
  spec: FilterSpec,
  id: string | undefined,
): Promise<{ fullname: string; created_at: number } | null> {
  if (id === undefined) return null
  const fullname = /^t\d_/.test(id) ? id : `${spec.kind === 'comment' ? 't1' : 't3'}_${id}`
  const found = await watch.createdAt(fullname)
  if (!found.ok) throw toApiError(found.fault, { flavour: 'read', with_session: false })
  if (found.value === null)
    throw invalid('baseline_item_id', `baseline_item_id: there is no item ${fullname}`)
  return { fullname, created_at: found.value }
}
