/**
 * The judge of a source world. It reads the platform's own truth, the log of the receiver, the log
 * of requests and the answers of health, nothing else.
 *
 * - A pair of a monitor and an item is EXPECTED when the item was created after the monitor began,
 *   and it was shown and matched in one piece, outside the platform's faults and the daemon's
 *   downtime, for the bound of its category (`Bounds`).
 * - DELIVERED: a signed delivery of that monitor named it.
 * - SILENT: not delivered, though the last health of the monitor is `complete` up to after its
 *   creation, and no open gap or event covers it by id or time.
 * - REPORTED: an open gap or event covers it, or it was created after `audited_until`, or it changed and the last
 *   health of its source counts changes that were not read.
 * - VAGUE: not delivered, health is not `complete`, but names no range with it. A bar as well.
 * - EARLY CLAIM: health said `complete` up to after the item was shown, final and matching, and its first
 *   delivery was attempted later than that, or never. Items that are shown again count from the bound of
 *   their category on; edits, which no site announces, do not count.
 * - BLIND CLAIM: health said `complete` up to a time at which the account of the source saw less than it has to.
 * - NOT PUBLIC: a delivered item was shown to nobody at its delivery, nor shortly before.
 * - HALF: an item was delivered as a site that publishes in steps showed it before it was whole.
 * - CHANGED: title, text, link, flag or place of a delivered item are those of none of its states at the time.
 */
import type { DeliveredItem, Health } from '../daemon.ts'
import { auditField } from '../daemon.ts'
import { isWaiting, unreadChanges, without } from './source-world.ts'
import type {
  Bounds,
  ItemState,
  LoggedRequest,
  SourceMonitor,
  Span,
  Truth,
  TruthItem,
  UnreadChanges,
} from './source-world.ts'

type Gap = {
  readonly fromMs: number
  readonly untilMs: number
  readonly fromId: number | null
  readonly toId: number | null
  readonly healed: boolean
}

export type SourceClaim = {
  readonly status: string
  readonly reason: string | null
  readonly auditedUntilMs: number | null
  readonly sinceMs: number
  readonly gaps: readonly Gap[]
  /** Changes that were named and not read; null: the source names none, or all were read. */
  readonly changes: UnreadChanges | null
}

export type Sample = {
  readonly atMs: number
  readonly monitorId: string
  readonly claim: SourceClaim
}

export type Watched = {
  readonly id: string
  readonly startMs: number
  readonly monitor: SourceMonitor
  readonly claim: SourceClaim
}

export type Received = {
  readonly atMs: number
  readonly deliveryId: string
  readonly monitorId: string
  readonly names: readonly string[]
  readonly body: string
  readonly signed: boolean
  /** Absent: content is not judged. */
  readonly items?: readonly DeliveredItem[]
}

export type JudgeInput = {
  readonly truth: Truth
  readonly watched: readonly Watched[]
  readonly samples: readonly Sample[]
  readonly deliveries: readonly Received[]
  readonly log: readonly LoggedRequest[]
  /** Requests a minute that each source allows. */
  readonly limits: Readonly<Record<string, number>>
  readonly down: readonly Span[]
  readonly bounds: Bounds
  readonly cadenceMs: number
  readonly skewMs: number
  readonly cacheMs?: number
  readonly endMs: number
}

type Category = 'fresh' | 'late' | 'edited'

export type Loss = {
  readonly label: string
  readonly name: string
  readonly gapId: number
  readonly note: string
  readonly category: Category
  readonly createdMs: number
  readonly shownMs: Span
  readonly status: string
  readonly reason: string | null
  readonly auditedUntilMs: number | null
  /** Requests whose answer showed the item. */
  readonly servedAtMs: readonly number[]
}

export type SourceVerdict = {
  readonly pairs: Readonly<Record<Category, number>>
  readonly delivered: Readonly<Record<Category, number>>
  readonly silent: readonly Loss[]
  readonly reported: readonly Loss[]
  readonly vague: readonly Loss[]
  readonly withdrawn: readonly Loss[]
  readonly earlyClaims: readonly string[]
  readonly blindClaims: readonly string[]
  readonly notPublic: readonly string[]
  readonly half: readonly string[]
  readonly changed: readonly string[]
  /** Share of the samples of health, outside of faults, that read `complete`. */
  readonly completeShare: number
  readonly falseDeliveries: readonly string[]
  readonly early: readonly string[]
  /** Deliveries that the documentation neither promises nor excludes. */
  readonly either: number
  readonly duplicates: readonly string[]
  readonly unstable: readonly string[]
  readonly unsigned: readonly string[]
  readonly repeats: number
  /** The most requests in any 60 s, by source. */
  readonly mostPerMinute: Readonly<Record<string, number>>
  readonly overLimit: number
  readonly inPause: number
  readonly delayP50Ms: number
  readonly delayP99Ms: number
}

const digits = (value: unknown): number | null => {
  const found = /(\d+)\D*$/.exec(
    typeof value === 'number' ? String(value) : typeof value === 'string' ? value : '',
  )
  return found === null ? null : Number(found[1])
}

/** The claim of an answer of health. `startMs` is the start of the world in Unix time. */
export const claimOf = (health: Health, startMs: number): SourceClaim => {
  const coverage = health.coverage_24h
  const at = (iso: unknown): number | null =>
    typeof iso === 'string' ? Date.parse(iso) - startMs : null
  const gaps: Gap[] = coverage.gaps.map((gap) => ({
    fromMs: at(gap.from) ?? -Infinity,
    untilMs: at(gap.until) ?? at(gap.at) ?? Infinity,
    fromId: digits(Reflect.get(gap, 'from_id')),
    toId: digits(Reflect.get(gap, 'to_id')),
    healed: gap.healed_at !== null,
  }))
  for (const event of coverage.unobserved_events) {
    const fromMs = at(event.at) ?? -Infinity
    gaps.push({
      fromMs,
      untilMs: at(event.until) ?? Infinity,
      fromId: null,
      toId: null,
      healed: false,
    })
  }
  return {
    status: coverage.status,
    reason: coverage.reason,
    auditedUntilMs: at(auditField(health, 'audited_until')),
    sinceMs: at(coverage.since) ?? -Infinity,
    gaps,
    changes: unreadChanges(Reflect.get(health, 'sources'), startMs),
  }
}

const seconds = (ms: number): string => (ms / 1000).toFixed(1)

const SLACK_MS = 1000
/** The time for which a delivery may be on its way when health is read. */
const IN_FLIGHT_MS = 1000
/** The time from the read of an item to its delivery, with what a second read takes. */
const ON_THE_WAY_MS = 20_000
/** The time from the start of a monitor in which its first claims are not expected. */
const WARM_UP_MS = 30_000
const PAUSE_SLACK_MS = 1500
/** A span of downtime ends this long after the daemon listens, with what its start takes. */
const DOWN_SLACK_MS = 2000
/** The time for which what a reply's topic said before may still be believed. */
const FALSE_GRACE_MS = 10_000

const covers = (gap: Gap, item: TruthItem, shownFromMs: number): boolean => {
  if (gap.fromId !== null || gap.toId !== null) {
    return (gap.fromId ?? gap.toId ?? 0) <= item.gapId && item.gapId <= (gap.toId ?? Infinity)
  }
  return [item.createdMs, shownFromMs].some(
    (atMs) => gap.fromMs - SLACK_MS <= atMs && atMs <= gap.untilMs + SLACK_MS,
  )
}

type Stretch = { readonly span: Span; readonly first: ItemState; readonly before: ItemState | null }

/** The stretches of time in which an item was shown and matched, with the state before each. */
const stretchesOf = (item: TruthItem, monitor: SourceMonitor, endMs: number): Stretch[] => {
  const found: Stretch[] = []
  let open: { fromMs: number; first: ItemState; before: ItemState | null } | null = null
  for (const [index, state] of item.states.entries()) {
    const holds = state.visible && monitor.matches(item, state) === 'yes'
    if (holds && open === null) {
      open = { fromMs: state.fromMs, first: state, before: item.states[index - 1] ?? null }
    }
    if (!holds && open !== null) {
      found.push({ span: [open.fromMs, state.fromMs], first: open.first, before: open.before })
      open = null
    }
  }
  if (open !== null)
    found.push({ span: [open.fromMs, endMs], first: open.first, before: open.before })
  return found.filter(({ span }) => span[1] > span[0])
}

const categoryOf = (item: TruthItem, stretch: Stretch): Category => {
  if (stretch.before?.visible === true) return 'edited'
  const late = stretch.span[0] - item.createdMs > 2000
  return late ? 'late' : 'fresh'
}

/** `settledMs`: from then on it is whole. */
type Expected = {
  readonly category: Category
  readonly span: Span
  readonly settledMs: number
  readonly boundMs: number
}

/** The time for which an item must be shown. Ids far below the newest one are read again every five minutes. */
const boundOf = ({ bounds, truth }: JudgeInput, item: TruthItem, stretch: Stretch): number => {
  const category = categoryOf(item, stretch)
  const { recentIds = Infinity } = bounds
  if (category === 'fresh' || recentIds === Infinity) return bounds[category]
  const ids = truth.items.filter((it) => it.createdMs <= stretch.span[0]).map((it) => it.gapId)
  return Math.max(...ids) - item.gapId > recentIds ? 360_000 : bounds[category]
}

const wholeFromMs = (item: TruthItem, fromMs: number): number =>
  Math.max(fromMs, item.states.find((state) => state.whole !== false)?.fromMs ?? fromMs)

/** The first stretch of an item that obliges the monitor to deliver it, or null. */
const expectedOf = (input: JudgeInput, one: Watched, item: TruthItem): Expected | null => {
  const begunMs = Math.min(one.claim.sinceMs, one.startMs + 2 * input.cadenceMs + 10_000)
  // One that is dated ahead was there before its own time.
  const wasMs = Math.min(item.createdMs, item.states[0]?.fromMs ?? Infinity)
  if (wasMs <= Math.max(begunMs, one.startMs) + SLACK_MS) return null
  const holes = [...input.truth.holes, ...input.truth.pauses, ...input.down]
  for (const stretch of stretchesOf(item, one.monitor, input.endMs)) {
    const category = categoryOf(item, stretch)
    const boundMs = boundOf(input, item, stretch)
    const settledMs = wholeFromMs(item, stretch.span[0])
    for (const span of without(stretch.span, holes)) {
      if (span[1] - span[0] >= boundMs) return { category, span: stretch.span, settledMs, boundMs }
    }
  }
  return null
}

/** Tests whether a delivered item ever matched while it was shown, and was shown at all. */
const everMatched = (item: TruthItem, monitor: SourceMonitor, atMs: number): boolean =>
  item.states.some(
    (state) => state.visible && state.fromMs <= atMs && monitor.matches(item, state) !== 'no',
  )

/** The instant at which it became public, which for an item of another instance is later than its own time. */
const appearedMs = ({ createdMs, states }: TruthItem): number =>
  Math.max(createdMs, states.find((state) => state.visible)?.fromMs ?? createdMs)

const isEither = (item: TruthItem, monitor: SourceMonitor): boolean =>
  item.states.some((state) => monitor.matches(item, state) === 'either')

/** Finds the item that a name meant at an instant. */
const finder = (items: readonly TruthItem[]) => {
  const groups = Map.groupBy(items, (item) => item.name)
  return (source: string, name: string, atMs: number): TruthItem | undefined => {
    const same = groups.get(name) ?? []
    const own = same.filter((item) => item.source === source)
    const found = own.length === 0 ? same : own
    return found.find(({ era }) => era === undefined || (era[0] <= atMs && atMs < era[1]))
  }
}

const keyOf = (monitorId: string, item: TruthItem): string =>
  `${monitorId} ${item.name} ${item.era?.[0] ?? ''}`

const plain = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()

/** The fields of a delivered item that differ from a state of it. */
const differences = (given: DeliveredItem, item: TruthItem, state: ItemState): string[] => {
  const wrong: string[] = []
  if (item.kind === 'post' && plain(given.title) !== plain(state.title)) wrong.push('title')
  if (plain(given.text) !== plain(state.body ?? state.text)) wrong.push('text')
  if (state.link !== undefined && given.link !== (state.link ?? '')) wrong.push('link')
  if (state.over18 !== undefined && given.over18 !== state.over18) wrong.push('over_18')
  if (!state.places.includes(given.place)) wrong.push('place')
  return wrong
}

/** Judges the content of one delivery of an item at `atMs`. */
const contentFault = (
  input: JudgeInput,
  item: TruthItem,
  given: DeliveredItem,
  atMs: number,
): { readonly kind: 'notPublic' | 'half' | 'changed'; readonly text: string } | null => {
  const downMs = input.down
    .filter(([from, until]) => from < atMs && until > atMs - 60_000)
    .reduce((sum, [from, until]) => sum + until - from, 0)
  const sinceMs = atMs - ON_THE_WAY_MS - downMs - (input.cacheMs ?? 0)
  const near = item.states.filter(
    (state, index) =>
      state.fromMs <= atMs + Math.abs(input.skewMs) &&
      (item.states[index + 1]?.fromMs ?? Infinity) > sinceMs,
  )
  const shown = near.filter((state) => state.visible)
  if (shown.length === 0) return { kind: 'notPublic', text: '' }
  if (shown.some((state) => state.whole !== false && differences(given, item, state).length === 0))
    return null
  if (shown.some((state) => state.whole === false && differences(given, item, state).length === 0))
    return { kind: 'half', text: '' }
  const [state] = shown
  const wrong = state === undefined ? [] : differences(given, item, state)
  const text = `${wrong.join(', ')}: ${JSON.stringify(given).slice(0, 300)} for ${JSON.stringify(state).slice(0, 300)}`
  return { kind: 'changed', text }
}

const sourceIn = (body: string): string => /"source":\s*"([^"]+)"/.exec(body)?.[1] ?? ''

const judgeDeliveries = (input: JudgeInput) => {
  const find = finder(input.truth.items)
  const content: Record<'notPublic' | 'half' | 'changed', string[]> = {
    notPublic: [],
    half: [],
    changed: [],
  }
  const watched = new Map(input.watched.map((one) => [one.id, one]))
  const bodies = new Map<string, string>()
  const firstMs = new Map<string, number>()
  const idsOf = new Map<string, Set<string>>()
  const falseDeliveries: string[] = []
  const early: string[] = []
  const unstable: string[] = []
  const unsigned: string[] = []
  let repeats = 0
  let either = 0
  /** A repeat is without what was removed since, as the title of a removed thread in a comment under it. */
  const isErased = ({ body, names, atMs }: Received): boolean => {
    const source = sourceIn(body)
    const threads = [...body.matchAll(/"post_id":\s*"([^"]+)"/g)].map(([, id]) => `t3_${id}`)
    return [...names, ...threads].some((name) =>
      find(source, name, atMs)?.states.some((state) => !state.visible && state.fromMs <= atMs),
    )
  }
  for (const one of input.deliveries) {
    if (!one.signed) {
      unsigned.push(one.deliveryId)
      continue
    }
    const known = bodies.get(one.deliveryId)
    if (known !== undefined) {
      repeats += 1
      if (known !== one.body && !isErased(one))
        unstable.push(`${one.deliveryId} at ${seconds(one.atMs)} s: ${known} then ${one.body}`)
      continue
    }
    bodies.set(one.deliveryId, one.body)
    const owner = watched.get(one.monitorId)
    for (const [index, name] of one.names.entries()) {
      const item = find(sourceIn(one.body), name, one.atMs)
      const key = item === undefined ? `${one.monitorId} ${name}` : keyOf(one.monitorId, item)
      firstMs.set(key, Math.min(firstMs.get(key) ?? Infinity, one.atMs))
      idsOf.set(key, (idsOf.get(key) ?? new Set()).add(one.deliveryId))
      const label = `${owner?.monitor.label ?? one.monitorId} ${name} ${item?.note ?? 'unknown item'}`
      if (owner !== undefined && item !== undefined && isEither(item, owner.monitor)) either += 1
      if (
        owner === undefined ||
        item === undefined ||
        !everMatched(item, owner.monitor, one.atMs + FALSE_GRACE_MS)
      ) {
        falseDeliveries.push(label)
      } else if (appearedMs(item) < owner.startMs - 2000 - Math.abs(input.skewMs))
        early.push(`${label} at ${seconds(one.atMs)} s, from ${seconds(appearedMs(item))} s`)
      const given = one.items?.[index]
      const fault =
        item === undefined || given === undefined
          ? null
          : contentFault(input, item, given, one.atMs)
      if (fault !== null)
        content[fault.kind].push(`${label} at ${seconds(one.atMs)} s ${fault.text}`)
    }
    if (one.names.length === 0) falseDeliveries.push(`${one.monitorId} without an item`)
  }
  const duplicates = [...idsOf].filter(([, ids]) => ids.size > 1).map(([key]) => key)
  return {
    firstMs,
    ...content,
    falseDeliveries,
    either,
    early,
    duplicates,
    unstable,
    unsigned,
    repeats,
  }
}

const judgeRequests = (input: JudgeInput) => {
  const mostPerMinute: Record<string, number> = {}
  let overLimit = 0
  for (const [source, limit] of Object.entries(input.limits)) {
    const times = input.log.filter((entry) => entry.source === source).map((entry) => entry.atMs)
    let from = 0
    let most = 0
    for (const [index, atMs] of times.entries()) {
      while ((times[from] ?? atMs) <= atMs - 60_000) from += 1
      const inside = index - from + 1
      most = Math.max(most, inside)
      if (inside > limit) overLimit += 1
    }
    mostPerMinute[source] = most
  }
  // A process that was killed cannot remember a pause: its first request is excused.
  const excused = new Set(
    input.down.map(([, until]) => input.log.find((entry) => entry.atMs >= until - DOWN_SLACK_MS)),
  )
  const inPause = input.log.filter(
    (entry) =>
      !excused.has(entry) &&
      input.truth.pauses.some(
        ([from, until]) =>
          entry.atMs > from + PAUSE_SLACK_MS && entry.atMs < until - PAUSE_SLACK_MS,
      ),
  ).length
  return { mostPerMinute, overLimit, inPause }
}

const quantile = (values: readonly number[], share: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

/** The worst claim that included an item before its first delivery, or null. `firstMs` is Infinity for none. */
const earlyClaim = (
  input: JudgeInput,
  samples: readonly Sample[],
  item: TruthItem,
  { category, span, settledMs, boundMs }: Expected,
  firstMs: number,
): string | null => {
  if (category === 'edited') return null
  const allowedMs = category === 'late' ? boundMs : 0
  const isEarly = ({ atMs, claim }: Sample): boolean =>
    claim.status === 'complete' &&
    claim.auditedUntilMs !== null &&
    claim.auditedUntilMs >
      Math.max(settledMs, item.createdMs) + Math.max(0, input.skewMs) + SLACK_MS &&
    atMs > settledMs + allowedMs &&
    atMs < span[1] &&
    firstMs > atMs + IN_FLIGHT_MS &&
    !(firstMs === Infinity && claim.gaps.some((gap) => !gap.healed && covers(gap, item, span[0])))
  const found = samples.filter((one) => isEarly(one))
  const [first] = found
  if (first === undefined) return null
  const after =
    firstMs === Infinity ? 'never delivered' : `delivered ${seconds(firstMs - first.atMs)} s later`
  return (
    `claimed at ${seconds(first.atMs)} s (until ${seconds(first.claim.auditedUntilMs ?? 0)} s, ` +
    `${found.length} times), ${category} at ${seconds(settledMs)} s, ${after}`
  )
}

const blindClaims = (input: JudgeInput): string[] =>
  (input.truth.blind ?? []).flatMap(({ span, label }) =>
    input.watched
      .filter(({ monitor }) => monitor.label === label)
      .flatMap((one) => {
        const found = input.samples.filter(
          ({ atMs, monitorId, claim }) =>
            monitorId === one.id &&
            atMs > span[0] &&
            atMs < span[1] &&
            claim.status === 'complete' &&
            claim.auditedUntilMs !== null &&
            claim.auditedUntilMs > span[0] + SLACK_MS,
        )
        const [first] = found
        return first === undefined
          ? []
          : [`${label} at ${seconds(first.atMs)} s, ${found.length} times`]
      }),
  )

const completeShareOf = (input: JudgeInput): number => {
  const whole = input.watched.filter(({ monitor }) => monitor.isPartial !== true)
  const begun = new Map(whole.map((one) => [one.id, one.startMs]))
  const holes = [...input.truth.holes, ...input.truth.pauses, ...input.down]
  const judged = input.samples.filter(
    ({ atMs, monitorId }) =>
      atMs > (begun.get(monitorId) ?? Infinity) + WARM_UP_MS &&
      holes.every(([from, until]) => atMs < from || atMs > until + WARM_UP_MS),
  )
  const complete = judged.filter(({ claim }) => claim.status === 'complete').length
  return judged.length === 0 ? 1 : complete / judged.length
}

/** The verdict on a world. It reads nothing but its input. */
export const judgeSource = (input: JudgeInput): SourceVerdict => {
  const { firstMs, ...found } = judgeDeliveries(input)
  const pairs = { fresh: 0, late: 0, edited: 0 }
  const delivered = { fresh: 0, late: 0, edited: 0 }
  const silent: Loss[] = []
  const reported: Loss[] = []
  const vague: Loss[] = []
  const withdrawn: Loss[] = []
  const earlyClaims: string[] = []
  const samplesOf = Map.groupBy(input.samples, (sample) => sample.monitorId)
  const delays: number[] = []
  const served = new Map<string, number[]>()
  for (const entry of input.log) {
    for (const id of entry.ids) {
      const key = `${entry.source} ${id}`
      served.set(key, [...(served.get(key) ?? []), entry.atMs])
    }
  }
  for (const one of input.watched) {
    for (const item of input.truth.items) {
      const expected = expectedOf(input, one, item)
      if (expected === null) continue
      const { category, span } = expected
      pairs[category] += 1
      const firstAtMs = firstMs.get(keyOf(one.id, item))
      const samples = samplesOf.get(one.id) ?? []
      const claimedEarly = earlyClaim(input, samples, item, expected, firstAtMs ?? Infinity)
      if (claimedEarly !== null)
        earlyClaims.push(`${one.monitor.label} ${item.name} ${item.note}: ${claimedEarly}`)
      if (firstAtMs !== undefined) {
        delivered[category] += 1
        if (category === 'fresh') delays.push(firstAtMs - span[0])
        continue
      }
      const { claim } = one
      const loss: Loss = {
        label: one.monitor.label,
        name: item.name,
        gapId: item.gapId,
        note: item.note,
        category,
        createdMs: item.createdMs,
        shownMs: span,
        status: claim.status,
        reason: claim.reason,
        auditedUntilMs: claim.auditedUntilMs,
        servedAtMs: (served.get(`${item.source} ${item.gapId}`) ?? []).slice(0, 12),
      }
      const open = claim.gaps.some((gap) => !gap.healed && covers(gap, item, span[0]))
      const claimed =
        claim.auditedUntilMs !== null &&
        Math.max(item.createdMs, expected.settledMs) + Math.max(0, input.skewMs) <=
          claim.auditedUntilMs
      if (!open && claim.gaps.some((gap) => gap.healed && covers(gap, item, span[0])))
        withdrawn.push(loss)
      if (open || !claimed || (category !== 'fresh' && isWaiting(claim.changes, span[0])))
        reported.push(loss)
      else if (claim.status === 'complete') silent.push(loss)
      else vague.push(loss)
    }
  }
  return {
    pairs,
    delivered,
    silent,
    reported,
    vague,
    withdrawn,
    earlyClaims,
    blindClaims: blindClaims(input),
    completeShare: completeShareOf(input),
    ...found,
    ...judgeRequests(input),
    delayP50Ms: quantile(delays, 0.5),
    delayP99Ms: quantile(delays, 0.99),
  }
}

const countsOf = (losses: readonly Loss[]): string => {
  const counts = new Map<string, number>()
  for (const loss of losses) counts.set(loss.category, (counts.get(loss.category) ?? 0) + 1)
  return [...counts].map(([category, count]) => `${count} ${category}`).join(', ')
}

/** The bars that a world does not hold, each as a sentence. */
export const failuresOf = (
  verdict: SourceVerdict,
  input: JudgeInput,
  faultFree: boolean,
  staysComplete = faultFree,
): string[] => {
  const failures: string[] = []
  const ask = (holds: boolean, text: string) => {
    if (!holds) failures.push(text)
  }
  const total = Object.values(verdict.pairs).reduce((sum, count) => sum + count, 0)
  ask(total > 0, 'no pair was judged')
  ask(verdict.silent.length === 0, `silent: ${countsOf(verdict.silent)}`)
  ask(verdict.vague.length === 0, `lost without a range: ${countsOf(verdict.vague)}`)
  ask(verdict.withdrawn.length === 0, `withdrawn by a healed gap: ${countsOf(verdict.withdrawn)}`)
  ask(verdict.earlyClaims.length === 0, `${verdict.earlyClaims.length} early claims`)
  ask(verdict.blindClaims.length === 0, `${verdict.blindClaims.length} blind claims`)
  ask(verdict.notPublic.length === 0, `${verdict.notPublic.length} delivered, not public`)
  ask(verdict.half.length === 0, `${verdict.half.length} delivered half`)
  ask(verdict.changed.length === 0, `${verdict.changed.length} delivered with other content`)
  ask(verdict.falseDeliveries.length === 0, `${verdict.falseDeliveries.length} false deliveries`)
  ask(
    input.skewMs !== 0 || verdict.early.length === 0,
    `${verdict.early.length} from before the start`,
  )
  ask(verdict.duplicates.length === 0, `${verdict.duplicates.length} under two ids`)
  ask(verdict.unstable.length === 0, `${verdict.unstable.length} unstable bodies`)
  ask(verdict.unsigned.length === 0, `${verdict.unsigned.length} bad signatures`)
  ask(verdict.overLimit === 0, `${verdict.overLimit} requests over the limit`)
  ask(verdict.inPause === 0, `${verdict.inPause} requests in a pause`)
  const share = `complete ${(verdict.completeShare * 100).toFixed(1)} % of the time`
  ask(!staysComplete || verdict.completeShare >= 0.97, share)
  if (!faultFree) return failures
  ask(verdict.reported.length === 0, `lost though nothing failed: ${countsOf(verdict.reported)}`)
  for (const { monitor, claim } of input.watched) {
    if (monitor.isPartial === true) continue
    const lag = claim.auditedUntilMs === null ? Infinity : input.endMs - claim.auditedUntilMs
    ask(claim.status === 'complete', `${monitor.label} ends ${claim.status} ${claim.reason ?? ''}`)
    ask(
      lag <= input.bounds.fresh + Math.abs(input.skewMs) + 60_000,
      `${monitor.label} audited_until ${Math.round(lag / 1000)} s behind`,
    )
  }
  return failures
}
