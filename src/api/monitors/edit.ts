import { isDeepStrictEqual } from 'node:util'

import { ApiError, checkAll, invalid } from '../../core/base/errors.ts'
import { meant, nearest } from '../../core/base/text.ts'
import { type Attention, encodeAttention } from '../../core/delivery/attention.ts'
import { checkSources, placesOf, withFeeds } from '../../core/filter/feeds.ts'
import type { FilterSpec } from '../../core/filter/fields.ts'
import { decodeFilterSpec, encodeFilterSpec, parseFilterSpec } from '../../core/filter/parse.ts'
import { furtherSources, watchesHome } from '../../core/filter/spec.ts'
import { type Naming, wireCode } from '../../core/forum/naming.ts'
import { parseCommunityName } from '../../core/forum/permalink.ts'
import {
  beginningAt,
  effectiveCadence,
  judgeSlots,
  type Plan,
  type Slots,
} from '../../core/limits/plan.ts'
import { feedKey, type WatchedFeed } from '../../core/polling/feed.ts'
import type { ModelReport } from '../../core/relevance/judgement.ts'
import { encodeRelevance, type RelevanceRules } from '../../core/relevance/rules.ts'
import type { Watch } from '../../gateway/watch.ts'
import { coverageContext, type Watches } from '../../gateway/watches.ts'
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

/** The calls of the platform that monitors need while a caller waits. */
type Lookup = Pick<
  Watch,
  'subforum' | 'createdAt' | 'clock_offset_ms' | 'clock_measured_ms' | 'clock_earliest_ms'
>

const CONCURRENT_LOOKUPS = 4

/**
 * Asks the platform for each subforum that no working feed proves to exist. True if the platform
 * could not answer: the monitor is created anyway, and its health reports the problem.
 * @throws {ApiError} subforum_not_found, subforum_reserved
 */
async function checkPlaces(
  db: Db,
  watch: Lookup,
  words: Naming,
  places: readonly WatchedFeed[],
  customer_id: string,
): Promise<boolean> {
  const field = `filter_spec.${words.community}`
  const names = [
    ...new Set(places.filter((it) => isSubforum(it) && !isWorking(db, it)).map((it) => it.place)),
  ]
  for (let i = 0; i < names.length; i += CONCURRENT_LOOKUPS) {
    const some = names.slice(i, i + CONCURRENT_LOOKUPS)
    const verdicts = await Promise.all(
      some.map(async (name) => ({ name, verdict: await watch.subforum(name) })),
    )
    const reserved = verdicts.find(({ verdict }) => verdict.kind === 'reserved')
    if (reserved !== undefined)
      throw new ApiError('subforum_reserved', {
        field,
        message: `${reserved.name} is not a single place; name each place`,
      })
    const refused = verdicts.flatMap(({ name, verdict }) =>
      verdict.kind === 'refused' ? { name, why: verdict.why } : [],
    )
    const [first] = refused
    if (first !== undefined) {
      const absent = refused.map((it) => it.name)
      throw new ApiError('subforum_not_found', {
        field,
        message: `${absent.join(', ')} cannot be watched${meant(first.name, watchedPlaces(db, customer_id))}`,
        extra: { names: absent, reason: first.why },
      })
    }
    // If one cannot be verified, the next ones could not be either.
    if (verdicts.some(({ verdict }) => verdict.kind === 'unverified')) return true
  }
  return false
}

/**
 * Asks the sources for the places that a filter names, but for those in `known`. True if one could not be verified.
 * @throws {ApiError} subforum_not_found
 */
async function checkSourcePlaces(
  watches: Watches,
  words: Naming,
  spec: FilterSpec,
  known: readonly string[] = [],
): Promise<boolean> {
  const sources = furtherSources(spec, [...watches.keys()]).flatMap((it) => watches.get(it) ?? [])
  const is_home = words.home !== null && watchesHome(spec)
  const names = spec.subforum.filter(
    (it) => !known.includes(it) && !(is_home && parseCommunityName(it) !== null),
  )
  const absent: string[] = []
  const closed: string[] = []
  for (const name of names) {
    const possible = sources.filter((it) => it.isPlace(name))
    const verdicts = await Promise.all(possible.map((it) => it.place(name)))
    if (verdicts.includes('exists')) continue
    // If one cannot be verified, the next ones could not be either.
    if (verdicts.includes('unverified')) return true
    if (verdicts.includes('private')) closed.push(name)
    else absent.push(name)
  }
  const field = `filter_spec.${words.community}`
  if (closed.length > 0)
    throw new ApiError('subforum_not_found', {
      field,
      message: `${closed.join(', ')}: ${sources.map((it) => it.name).join(', ')} shows the items of a private place to its members only`,
      extra: { names: closed, reason: 'private' },
    })
  const [first] = absent
  if (first === undefined) return false
  const listed = await Promise.all(sources.map((it) => it.placeNames()))
  throw new ApiError('subforum_not_found', {
    field,
    message: `${absent.join(', ')} is no place of ${sources.map(({ name }) => name).join(', ')}${meant(first, listed.flat())}`,
    extra: { names: absent, reason: 'absent' },
  })
}

/** A filter with places as the items of its sources name them: another spelling would match nothing. */
const feedPlacesOf = (spec: FilterSpec, watches: Watches, { home }: Pick<Naming, 'home'>) =>
  withFeeds(
    placesOf(spec, [...watches.keys()], home !== null),
    spec,
    (source) => watches.get(source)?.feeds,
  )

function spelledPlaces(spec: FilterSpec, watches: Watches): FilterSpec {
  const sources = furtherSources(spec, [...watches.keys()]).flatMap((it) => watches.get(it) ?? [])
  const subforum = spec.subforum.flatMap((place) => {
    const possible = sources.filter((it) => it.isPlace(place))
    return possible.length === 0 ? [place] : possible.map((it) => it.spell(place))
  })
  return { ...spec, subforum: [...new Set(subforum)] }
}

const isSubforum = ({ kind }: WatchedFeed): boolean => kind === 'posts' || kind === 'comments'

function isWorking(db: Db, place: WatchedFeed): boolean {
  const feed = findFeedByKey(db, feedKey(place))
  return feed !== null && !feed.asleep && feed.last_check_at !== null && feed.last_fault === null
}

/** @throws {ApiError} INVALID_REQUEST if the item does not exist */
async function findBaseline(
  watch: Lookup,
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

export type MonitorDeps = {
  db: Db
  patterns: PatternJudge
  /** Access to the platform; its deadline should be short, because a caller waits. */
  watch: Lookup
  /** Further sources that can be monitored, by name. */
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
  { db, watch, watches, patterns, plan_of, model, nudge, feed_url }: MonitorDeps,
  customer: Customer,
  given: Given & { baseline_item_id?: string | undefined },
) {
  const spec = spelledPlaces(parseFilterSpec(given.filter_spec, words), watches)
  const plan = plan_of(customer.plan)
  const places = feedPlacesOf(spec, watches, words)
  if (given.baseline_item_id !== undefined && places.some(({ kind }) => kind === 'all'))
    throw invalid(
      'baseline_item_id',
      'baseline_item_id must be left out beside filter_spec.source: a further source is watched from now on',
    )
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
      if (await checkPlaces(db, watch, words, places, customer.id))
        warnings.push(wireCode(words, 'subforum_unverified'))
    },
  )
  if (await checkSourcePlaces(watches, words, spec)) warnings.push(PLACES_UNVERIFIED)
  // Their sources know now how they spell them.
  const named = spelledPlaces(spec, watches)
  const baseline = await findBaseline(watch, spec, given.baseline_item_id)
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
      active_since: baseline?.created_at ?? beginningAt(requested_at, watch.clock_earliest_ms()),
      created_at: requested_at,
      updated_at: requested_at,
      last_match_at: null,
      attention: encodeAttention(given.attention ?? null),
      relevance: encodeRelevance(given.relevance ?? null),
    }
    const begins_at = beginningAt(requested_at, watch.clock_earliest_ms())
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
  { db, watch, watches, patterns, plan_of, model, nudge, feed_url }: MonitorDeps,
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
  const places = spec && feedPlacesOf(spec, watches, words)
  const plan = plan_of(customer.plan)
  const requested_at = clock.now()
  const begins_at = beginningAt(requested_at, watch.clock_earliest_ms())
  const existing = new Set(listFeedKeys(db, id))
  const added = (places ?? []).filter((it) => !existing.has(feedKey(it)))
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
      if (await checkPlaces(db, watch, words, added, customer.id))
        warnings.push(wireCode(words, 'subforum_unverified'))
    },
  )
  if (spec !== null) {
    const before = decodeFilterSpec(existing_monitor.filter_spec)
    const known = isDeepStrictEqual(before.source, spec.source) ? before.subforum : []
    if (await checkSourcePlaces(watches, words, spec, known)) warnings.push(PLACES_UNVERIFIED)
  }
  // Its sources know now how they spell the places.
  const named = spec && spelledPlaces(spec, watches)
  transact(db, () => {
    const before = requireMonitor(db, customer.id, id)
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
    changeMonitor(db, monitor, change, coverageContext(watch, watches))
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

/** A warning: a source did not answer for a place, which proves nothing before it was seen. */
const PLACES_UNVERIFIED = 'places_unverified'
