import { isDeepStrictEqual } from 'node:util'

import { ApiError, checkAll, invalid } from '../../core/base/errors.ts'
import { meant, nearest } from '../../core/base/text.ts'
import { type Attention, encodeAttention } from '../../core/delivery/attention.ts'
import { checkSources, placesOf } from '../../core/filter/feeds.ts'
import type { FilterSpec } from '../../core/filter/fields.ts'
import { decodeFilterSpec, encodeFilterSpec, parseFilterSpec } from '../../core/filter/parse.ts'
import { watchedSources } from '../../core/filter/spec.ts'
import { HOME } from '../../core/forum/items.ts'
import { nameOfSource, type Naming, wireCode } from '../../core/forum/naming.ts'
import {
  beginningAt,
  effectiveCadence,
  judgeSlots,
  type Plan,
  type Slots,
} from '../../core/limits/plan.ts'
import { feedKey, type WatchedFeed } from '../../core/polling/feed.ts'
import type { PlaceVerdict } from '../../core/polling/listing.ts'
import type { ModelReport } from '../../core/relevance/judgement.ts'
import { encodeRelevance, type RelevanceRules } from '../../core/relevance/rules.ts'
import { coverageContext, earliestOf, type Watch, type Watches } from '../../gateway/watch.ts'
import type { PatternJudge } from '../../patterns/judge.ts'
import type { Customer } from '../../store/customers/customers.ts'
import { type Db, transact } from '../../store/db/connection.ts'
import { listWebhooks } from '../../store/delivery/webhooks.ts'
import { findFeedByKey, listFeedKeys, watchedPlaces } from '../../store/monitoring/feeds.ts'
import {
  changeMonitor,
  countSlots,
  findMonitor,
  type Monitor,
  startMonitor,
  type WrittenMonitor,
} from '../../store/monitoring/monitors.ts'
import type { RouteContext } from '../context.ts'
import { toApiError } from '../http/errors.ts'
import { checkPatternCost } from './patterns.ts'
import { absentMonitor, type Targets, toMonitor } from './shapes.ts'

/** @throws {ApiError} 402 naming the limit and the tier */
function checkSlots(db: Db, customer: Customer, plan: Plan, extra: Slots): void {
  const refusal = judgeSlots(plan, countSlots(db, customer.id), extra)
  if (refusal === null) return
  const { code, limit } = refusal
  const what = code === 'monitor_slots_exhausted' ? 'monitors' : 'site-wide monitors'
  throw new ApiError(code, {
    message: `the plan ${customer.plan} allows ${limit} ${what}, and all are in use`,
    extra: { limit, tier: customer.plan },
  })
}

/**
 * Checks that every webhook named in `field` belongs to the customer, and returns the customer's webhooks.
 * @throws {ApiError} webhook_not_found
 */
function checkOwned(db: Db, customer_id: string, ids: readonly string[], field: string) {
  const owned = new Map(listWebhooks(db, customer_id).map((it) => [it.id, it]))
  const unknown = ids.filter((id) => !owned.has(id))
  const [first] = unknown
  if (first !== undefined) {
    const names = new Map([...owned.values()].map(({ id, name }) => [name ?? id, id]))
    const near = nearest(first, [...names.keys(), ...owned.keys()])
    throw new ApiError('webhook_not_found', {
      field,
      message: `there is no webhook ${unknown.join(', ')}${near === null ? '' : `; did you mean ${names.get(near) ?? near}?`}`,
      extra: { webhook_ids: unknown },
    })
  }
  return owned
}

const targetIds = ({ attention }: Given): string[] =>
  (attention?.targets ?? []).map(({ webhook_id }) => webhook_id)

/**
 * Checks that every target belongs to the customer and is active. `kept`: targets that the monitor
 * already has may be paused.
 * @throws {ApiError} webhook_not_found, webhook_paused
 */
function checkWebhooks(
  db: Db,
  customer_id: string,
  ids: readonly string[] | null,
  current_ids: readonly string[],
): void {
  if (ids === null) return
  const owned = checkOwned(db, customer_id, ids, 'webhook_ids')
  const paused = ids.filter((id) => !current_ids.includes(id) && owned.get(id)?.paused_at !== null)
  if (paused.length > 0)
    throw new ApiError('webhook_paused', {
      field: 'webhook_ids',
      message: `paused: ${paused.join(', ')}`,
      extra: {
        webhook_ids: paused,
        hint: 'fix the receiver, then call webhook/test; a successful test resumes the webhook',
      },
    })
}

/** @throws {ApiError} INVALID_REQUEST */
function checkModel({ relevance }: Given, model: MonitorDeps['model']): void {
  if ((relevance ?? null) !== null && model() === null)
    throw invalid(
      'relevance',
      'relevance must be null or left out: the operator of this service has configured no model',
    )
}

const CONCURRENT_LOOKUPS = 4

/** The contract names the warning of the first source apart. */
const unverified = (words: Naming, sources: readonly Watch[]): string =>
  sources.every(({ name }) => name === HOME)
    ? wireCode(words, 'subforum_unverified')
    : 'places_unverified'

/** Names of places of a Reddit-style platform have no case. */
const ask = ({ proof, place }: Watch, name: string) =>
  place(proof === 'time_listing' ? name.toLowerCase() : name)

/**
 * Asks the sources for the places that a filter names, but for those in `known` and those that a working feed proves to
 * exist. Returns the warning of a place that no source could answer for: nothing of it is proved before it was seen.
 * @throws {ApiError} subforum_not_found, subforum_reserved
 */
async function checkPlaces(
  { db, watches, words }: Pick<MonitorDeps, 'db' | 'watches'> & { words: Naming },
  spec: FilterSpec,
  { customer_id, known }: { customer_id: string; known: readonly string[] },
): Promise<string[]> {
  const sources = sourcesOf(spec, watches)
  if (sources.length === 0) return []
  const field = `filter_spec.${words.community}`
  const names = spec.subforum.filter((it) => !known.includes(it) && !isWorking(db, sources, it))
  const refused: { name: string; why: string | null }[] = []
  for (let i = 0; i < names.length; i += CONCURRENT_LOOKUPS) {
    const asked = await Promise.all(
      names.slice(i, i + CONCURRENT_LOOKUPS).map(async (name) => {
        const possible = sources.filter((it) => it.isPlace(name))
        return { name, verdicts: await Promise.all(possible.map((it) => ask(it, name))) }
      }),
    )
    for (const { name, verdicts } of asked) {
      const has = (kind: PlaceVerdict['kind']) => verdicts.some((it) => it.kind === kind)
      if (has('exists')) continue
      if (has('reserved'))
        throw new ApiError('subforum_reserved', {
          field,
          message: `${name} is not a single place; name each place`,
        })
      // If one cannot be verified, the next ones could not be either.
      if (has('unverified')) return [unverified(words, sources)]
      const found = verdicts.find((it) => it.kind === 'refused' && it.why !== null)
      refused.push({ name, why: found?.kind === 'refused' ? found.why : null })
    }
  }
  const [first] = refused
  if (first === undefined) return []
  const reason = first.why ?? 'absent'
  const of = sources.map(({ name }) => nameOfSource(words, name)).join(', ')
  const listed = await Promise.all(sources.map((it) => it.placeNames()))
  const near = meant(first.name, [...watchedPlaces(db, customer_id), ...listed.flat()])
  const absent = refused.map(({ name }) => name)
  throw new ApiError('subforum_not_found', {
    field,
    message:
      reason === 'private'
        ? `${absent.join(', ')}: ${of} shows the items of a private place to its members only`
        : `${absent.join(', ')} cannot be watched at ${of}${near}`,
    extra: { names: absent, reason },
  })
}

const sourcesOf = (spec: FilterSpec, watches: Watches): Watch[] =>
  watchedSources(spec, watches.keys()).flatMap((it) => watches.get(it) ?? [])

/** A filter with places as the items of its sources name them: another spelling would match nothing. */
function spelledPlaces(spec: FilterSpec, watches: Watches): FilterSpec {
  const sources = sourcesOf(spec, watches)
  const subforum = spec.subforum.flatMap((place) => {
    const possible = sources.filter((it) => it.isPlace(place))
    return possible.length === 0 ? [place] : possible.map((it) => it.spell(place))
  })
  return { ...spec, subforum: [...new Set(subforum)] }
}

/** True when a listing of the place was polled without a fault. */
const isWorking = (db: Db, sources: readonly Watch[], place: string): boolean =>
  sources.some(({ name: source }) =>
    (['posts', 'comments'] as const).some((kind) => {
      const feed = findFeedByKey(db, feedKey({ source, kind, place }))
      return (
        feed !== null && !feed.asleep && feed.last_check_at !== null && feed.last_fault === null
      )
    }),
  )

/** @throws {ApiError} INVALID_REQUEST if the item does not exist */
async function findBaseline(
  watches: Watches,
  spec: FilterSpec,
  id: string | undefined,
): Promise<{ fullname: string; created_at: number } | null> {
  if (id === undefined) return null
  const fullname = /^t\d_/.test(id) ? id : `${spec.kind === 'comment' ? 't1' : 't3'}_${id}`
  const [watch, ...others] = sourcesOf(spec, watches)
  if (watch?.proof !== 'time_listing' || others.length > 0)
    throw invalid(
      'baseline_item_id',
      'baseline_item_id must be left out beside filter_spec.source: a further source is watched from now on',
    )
  const found = await watch.createdAt(fullname)
  if (!found.ok) throw toApiError(found.fault, { flavour: 'read', with_session: false })
  if (found.value === null)
    throw invalid('baseline_item_id', `baseline_item_id: there is no item ${fullname}`)
  return { fullname, created_at: found.value }
}

export type MonitorDeps = {
  db: Db
  patterns: PatternJudge
  /** Sources that can be monitored, by name. */
  watches: Watches
  plan_of: (name: string) => Plan
  /** State of the operator's model; null: none is configured. */
  model: () => ModelReport | null
  feed_url: (monitor_id: string) => string
  /** Called after a change is committed. */
  nudge: () => void
}

type Given = {
  filter_spec?: unknown
  webhook_ids?: string[] | null | undefined
  targets?: Targets | undefined
  name?: string | null | undefined
  cadence_s?: number | undefined
  attention?: Attention | null | undefined
  relevance?: RelevanceRules | null | undefined
}

/** Everything is checked before the write; it begins with the second of the request. */
export async function addMonitor(
  { words, clock, random }: RouteContext,
  { db, watches, patterns, plan_of, model, nudge, feed_url }: MonitorDeps,
  customer: Customer,
  given: Given & { baseline_item_id?: string | undefined },
) {
  const spec = spelledPlaces(parseFilterSpec(given.filter_spec, words), watches)
  const plan = plan_of(customer.plan)
  const places = placesOf(spec, watches)
  const id = `mon_${random.uuid()}`
  const requested_at = clock.now()
  const webhook_ids = requestedWebhooks(given) ?? null
  const checkRoom = () =>
    checkSlots(db, customer, plan, { used: 1, sitewide_used: sitewide(places) })
  const checkTargets = () => checkWebhooks(db, customer.id, webhook_ids, [])
  const checkRuled = () => checkOwned(db, customer.id, targetIds(given), 'attention.targets')
  // Once now, so that no caller waits for the platform in vain, and once in the transaction.
  checkRoom()
  const warnings: string[] = []
  await checkAll(
    () => checkModel(given, model),
    () => checkSources(spec, watches, words),
    checkTargets,
    checkRuled,
    () => checkPatternCost(patterns, spec, customer.id),
    async () => {
      const unseen = { customer_id: customer.id, known: [] }
      warnings.push(...(await checkPlaces({ db, watches, words }, spec, unseen)))
    },
  )
  // Their sources know now how they spell them.
  const named = spelledPlaces(spec, watches)
  const baseline = await findBaseline(watches, spec, given.baseline_item_id)
  const requested = given.cadence_s ?? null
  transact(db, () => {
    checkRoom()
    checkTargets()
    checkRuled()
    const monitor: WrittenMonitor = {
      id,
      customer_id: customer.id,
      name: given.name ?? null,
      filter_spec: encodeFilterSpec(named),
      cadence_s: effectiveCadence(plan, requested),
      requested_cadence_s: requested,
      baseline_item_id: baseline?.fullname ?? null,
      webhook_ids,
      active: true,
      active_since: baseline?.created_at ?? beginningAt(requested_at, earliestOf(watches, spec)),
      created_at: requested_at,
      updated_at: requested_at,
      last_match_at: null,
      attention: encodeAttention(given.attention ?? null),
      relevance: encodeRelevance(given.relevance ?? null),
    }
    const begins_at = beginningAt(requested_at, earliestOf(watches, spec))
    startMonitor(db, monitor, places, begins_at)
  })
  nudge()
  const added = toMonitor(db, words, requireMonitor(db, customer.id, id), feed_url)
  return { ...added, ...(warnings.length > 0 && { warnings }) }
}

/**
 * Changes a monitor: absent fields are unchanged. Only a resumed monitor and new places start over. `also` is called in the
 * transaction of the change, with the monitor before it.
 */
export async function editMonitor(
  { words, clock }: RouteContext,
  { db, watches, patterns, plan_of, model, nudge, feed_url }: MonitorDeps,
  customer: Customer,
  id: string,
  given: Given & { active?: boolean | undefined },
  also: (before: Monitor) => void = () => {},
) {
  const existing_monitor = requireMonitor(db, customer.id, id)
  const spec =
    given.filter_spec === undefined
      ? null
      : spelledPlaces(parseFilterSpec(given.filter_spec, words), watches)
  const places = spec && placesOf(spec, watches)
  const plan = plan_of(customer.plan)
  const requested_at = clock.now()
  const requested_ids = requestedWebhooks(given)
  const checkTargets = (before: Monitor) =>
    requested_ids !== undefined &&
    checkWebhooks(db, customer.id, requested_ids, before.webhook_ids ?? [])
  const checkRuled = () => checkOwned(db, customer.id, targetIds(given), 'attention.targets')
  const warnings: string[] = []
  await checkAll(
    () => checkModel(given, model),
    () => spec !== null && checkSources(spec, watches, words),
    () => checkTargets(existing_monitor),
    checkRuled,
    async () => spec !== null && (await checkPatternCost(patterns, spec, customer.id)),
    async () => {
      if (spec === null) return
      const before = decodeFilterSpec(existing_monitor.filter_spec)
      const known = isDeepStrictEqual(before.source, spec.source) ? before.subforum : []
      const seen = { customer_id: customer.id, known }
      warnings.push(...(await checkPlaces({ db, watches, words }, spec, seen)))
    },
  )
  // Its sources know now how they spell the places.
  const named = spec && spelledPlaces(spec, watches)
  transact(db, () => {
    const before = requireMonitor(db, customer.id, id)
    const watched = named ?? decodeFilterSpec(before.filter_spec)
    const begins_at = beginningAt(requested_at, earliestOf(watches, watched))
    const now = Math.max(requested_at, before.updated_at + 1)
    const webhook_ids = requested_ids === undefined ? before.webhook_ids : requested_ids
    checkTargets(before)
    checkRuled()
    if (places !== null && sitewide(places) > 0 && !listFeedKeys(db, id).some(isSearch))
      checkSlots(db, customer, plan, { used: 0, sitewide_used: 1 })
    const resumed = given.active === true && !before.active
    const requested = given.cadence_s ?? before.requested_cadence_s
    const monitor: Monitor = {
      ...before,
      name: given.name === undefined ? before.name : given.name,
      filter_spec: named === null ? before.filter_spec : encodeFilterSpec(named),
      requested_cadence_s: requested,
      cadence_s:
        given.cadence_s === undefined ? before.cadence_s : effectiveCadence(plan, requested),
      webhook_ids,
      active: given.active ?? before.active,
      active_since: resumed ? begins_at : before.active_since,
      baseline_item_id: resumed ? null : before.baseline_item_id,
      updated_at: now,
      attention:
        given.attention === undefined ? before.attention : encodeAttention(given.attention),
      relevance:
        given.relevance === undefined ? before.relevance : encodeRelevance(given.relevance),
    }
    const change = { places, restart: resumed, begins_at, now }
    changeMonitor(db, monitor, change, coverageContext(watches))
    also(before)
  })
  nudge()
  const edited = toMonitor(db, words, requireMonitor(db, customer.id, id), feed_url)
  return { ...edited, ...(warnings.length > 0 && { warnings }) }
}

/** @throws {ApiError} NOT_FOUND, equal for an absent monitor and one of another customer */
export function requireMonitor(db: Db, customer_id: string, id: string): Monitor {
  const monitor = findMonitor(db, customer_id, id)
  if (monitor === null) throw absentMonitor()
  return monitor
}

/**
 * Targets requested by a body: null for every active webhook, an empty list for none, undefined if
 * neither field is given. An empty `webhook_ids` alone means every active webhook; `targets`
 * removes the ambiguity.
 * @throws {ApiError} INVALID_REQUEST if the two contradict each other
 */
function requestedWebhooks({ webhook_ids, targets }: Given): string[] | null | undefined {
  if (targets === undefined && webhook_ids === undefined) return undefined
  const ids = [...new Set(webhook_ids ?? [])]
  if (targets === 'listed' && ids.length === 0)
    throw invalid('targets', 'targets is listed, so webhook_ids must name at least one webhook')
  if ((targets === 'all' || targets === 'none') && ids.length > 0)
    throw invalid('targets', `targets is ${targets}, so webhook_ids must be empty or left out`)
  if (targets === 'none') return []
  return ids.length === 0 ? null : ids
}

const sitewide = (places: readonly WatchedFeed[]): number =>
  places.some(({ kind }) => kind === 'search') ? 1 : 0
const isSearch = (key: string): boolean => key.startsWith('search:')
