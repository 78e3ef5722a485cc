/** The assessment of a finished world: its pairs, measures and failed bars. */
import { auditField } from './daemon.ts'
import type { Health } from './daemon.ts'
import { deliveredShare, failuresOf, isExpected, judgeWorld, pairKey } from './judge.ts'
import type {
  Claim,
  Estimate,
  Facts,
  JudgedMonitor,
  JudgeInput,
  Loss,
  Pair,
  Verdict,
} from './judge.ts'
import { wordsAt } from './plan.ts'
import type { Item } from './plan.ts'
import type { Logged } from './platform.ts'
import type { MonitorSpec, Scenario } from './scenarios.ts'
import { belongsTo, createdS, feedKey, observableSpans, simulateNaive } from './view.ts'
import type { Feed, Span, World } from './view.ts'

export type LiveOptions = {
  readonly world: string
  readonly seed: number
  readonly durationMs: number
  readonly cadenceS: number
  readonly auditIntervalS: number | null
  readonly binary: string
  readonly dir: string
}

export type Status = {
  readonly atMs: number
  readonly label: string
  readonly status: string
  readonly reason: string | null
  readonly auditedUntil: unknown
}

export type WorldResult = Omit<
  Facts,
  'verdict' | 'monitors' | 'cadenceS' | 'auditS' | 'skewed' | 'staysComplete' | 'pauseBarS'
> & {
  readonly world: string
  readonly seed: number
  readonly failures: readonly string[]
  readonly verdict: Omit<Verdict, 'silent' | 'beyondSilent' | 'late' | 'missed'>
  readonly silent: readonly object[]
  readonly beyondSilent: readonly object[]
  readonly undelivered: readonly object[]
  readonly requests: number
  readonly naiveRequests: number
  readonly kills: readonly Span[]
  readonly history: readonly Status[]
  readonly finals: readonly { label: string; health: Health }[]
  readonly log: readonly Logged[]
}

export type Watched = {
  readonly spec: MonitorSpec
  readonly id: string
  readonly startMs: number
  readonly streams: number
}

export type Lived = {
  readonly options: LiveOptions
  readonly scenario: Scenario
  readonly world: World
  readonly finals: readonly { watched: Watched; health: Health }[]
  readonly kills: readonly Span[]
  readonly history: readonly Status[]
  readonly reads: readonly { atMs: number; reads: string }[]
  readonly log: readonly Logged[]
  readonly served: ReadonlySet<string>
  readonly overRate: number
  readonly deliveries: JudgeInput['deliveries']
  readonly events: readonly { atMs: number; event: string }[]
}

const claimOf = (health: Health, startMs: number): Claim => {
  const coverage = health.coverage_24h
  const audited = auditField(health, 'audited_until')
  const at = (iso: string | null): number | null =>
    iso === null ? null : Date.parse(iso) - startMs
  const covered: Span[] = []
  const healed: Span[] = []
  for (const gap of coverage.gaps) {
    const span = [at(gap.from) ?? -Infinity, at(gap.until) ?? at(gap.at) ?? Infinity] as const
    if (gap.healed_at === null) covered.push(span)
    else healed.push(span)
  }
  for (const event of coverage.unobserved_events) {
    covered.push([at(event.at) ?? -Infinity, at(event.until) ?? Infinity])
  }
  return {
    status: coverage.status,
    reason: coverage.reason,
    auditedUntilMs:
      audited === undefined ? undefined : typeof audited === 'string' ? at(audited) : null,
    covered,
    healed,
  }
}

const spanLength = (spans: readonly Span[]): number =>
  spans.reduce((sum, [from, until]) => sum + until - from, 0)

/** The longest of the feeds' spans in which they show `item`, read by themselves. */
const bestSpans = (
  lived: Lived,
  feeds: readonly Feed[],
  item: Item,
  fromMs: number,
  down: readonly Span[],
): Span[] =>
  feeds
    .filter((feed) => belongsTo(feed)(item, Infinity))
    .map((feed) => {
      const endMs = lived.options.durationMs
      return observableSpans(lived.world, feed, item, fromMs, endMs, down)
    })
    .reduce((best, spans) => (spanLength(spans) > spanLength(best) ? spans : best), [])

/** The pair of a monitor and a matching item, or null where the item was never to be had. */
const pairOf = (lived: Lived, monitor: Watched, item: Item): Pair | null => {
  const { options, kills } = lived
  const { spec } = monitor
  const edited = !spec.matches(item, item.words)
  const fromMs = edited ? (item.edit?.atMs ?? 0) : 0
  let spans = bestSpans(lived, spec.feeds, item, fromMs, kills)
  let category: Pair['category'] = edited ? 'edited' : 'place'
  if (spans.length === 0 && item.placeMs === Infinity) {
    const others = lived.finals
      .filter((other) => other.watched.startMs < item.createdMs)
      .flatMap((other) => other.watched.spec.feeds.filter((feed) => feed.type !== 'places'))
    spans = bestSpans(lived, others, item, fromMs, kills)
    category = 'evidence'
  }
  const observableMs = spanLength(spans)
  if (category === 'place' && observableMs < 2 * options.cadenceS * 1000) {
    if (!wasScrolledOut(lived, spec.feeds, item)) return null
    category = 'beyond'
  }
  return {
    monitorId: monitor.id,
    name: item.name,
    place: item.place,
    note: item.note,
    createdMs: item.createdMs,
    shownFromMs: Math.min(...spans.map(([from]) => from), Infinity),
    observableMs,
    category,
  }
}

/** Tests whether newer rows pushed a listed item beyond the reach of its feed before the end. */
const wasScrolledOut = (lived: Lived, feeds: readonly Feed[], item: Item): boolean => {
  const endMs = lived.options.durationMs
  const last = bestSpans(lived, feeds, item, 0, []).at(-1)
  return last !== undefined && last[1] < endMs
}

const DEFAULT_AUDIT_S = 60

/** The result of a world. It starts and reads nothing. */
export const assess = (lived: Lived): WorldResult => {
  const { options, world, finals, scenario } = lived
  const cadenceMs = options.cadenceS * 1000
  const auditMs = Math.max(
    (options.auditIntervalS ?? Math.max(DEFAULT_AUDIT_S, 10 * options.cadenceS)) * 1000,
    ...finals.map(({ health }) => Number(auditField(health, 'audit_interval_s') ?? 0) * 1000),
  )
  const pairs: Pair[] = []
  for (const { watched } of finals) {
    for (const item of world.items) {
      const began = createdS(world, item) > Math.floor((world.startMs + watched.startMs) / 1000) + 1
      if (!began) continue
      const last = wordsAt(item, Infinity)
      if (!watched.spec.matches(item, last)) continue
      const pair = pairOf(lived, watched, item)
      if (pair !== null) pairs.push(pair)
    }
  }
  const monitors = finals.map(({ watched, health }): JudgedMonitor => {
    const { spec, id, startMs } = watched
    return {
      id,
      label: spec.label,
      startMs,
      claim: claimOf(health, world.startMs),
      verdictOn: (name) => {
        const item = world.byName.get(name)
        if (item === undefined) return 'no-match'
        const ever = spec.matches(item, item.words) || spec.matches(item, wordsAt(item, Infinity))
        if (!ever) return 'no-match'
        return item.createdMs < startMs - 2000 ? 'before-start' : 'match'
      },
    }
  })
  const input: JudgeInput = {
    cadenceMs,
    auditIntervalMs: auditMs,
    endMs: options.durationMs,
    monitors,
    pairs,
    deliveries: lived.deliveries,
  }
  const verdict = judgeWorld(input)
  const feeds = new Map<string, { feed: Feed; fromMs: number }>()
  for (const { watched } of finals) {
    for (const feed of watched.spec.feeds) {
      const known = feeds.get(feedKey(feed))
      const fromMs = Math.min(known?.fromMs ?? Infinity, watched.startMs)
      feeds.set(feedKey(feed), { feed, fromMs })
    }
  }
  const streams = [...feeds.values()]
  const naive = simulateNaive(world, streams, cadenceMs, options.durationMs, lived.kills)
  const specs = new Map(finals.map(({ watched }) => [watched.id, watched.spec]))
  const naiveMissed = pairs.filter((pair) => {
    if (pair.category === 'beyond' || !isExpected(pair, input)) return false
    const own = specs.get(pair.monitorId)?.feeds ?? []
    return !own.some((feed) => naive.yielded.get(feedKey(feed))?.has(pair.name) === true)
  }).length
  const firstMs = Math.min(...finals.map(({ watched }) => watched.startMs))
  const requests = lived.log.filter((entry) => entry.atMs >= firstMs).length
  const lags = monitors.map(({ claim }) =>
    typeof claim.auditedUntilMs === 'number' ? options.durationMs - claim.auditedUntilMs : null,
  )
  const statuses: Record<string, number> = {}
  for (const { claim } of monitors) statuses[claim.status] = (statuses[claim.status] ?? 0) + 1
  const content = contentFaults(lived)
  const claims = scenario.dateSkewMs === 0 ? earlyClaims(lived, pairs) : []
  const worst = lags.includes(null) || lags.length === 0 ? null : Math.max(...lags.map(Number))
  const base = {
    world: scenario.name,
    seed: options.seed,
    deliveredShare: deliveredShare(verdict),
    silent: verdict.silent.map((loss) => describe(lived, loss)),
    beyondSilent: verdict.beyondSilent.slice(0, 100).map((loss) => describe(lived, loss)),
    undelivered: verdict.missed.slice(0, 300).map((loss) => describe(lived, loss)),
    overRate: lived.overRate,
    requests,
    naiveRequests: naive.requests,
    ratio: naive.requests === 0 ? 0 : requests / naive.requests,
    missed: verdict.missed.length,
    naiveMissed,
    statuses,
    auditLagS: worst === null ? null : worst / 1000,
    estimates: estimatesOf(lived),
    measures: measure(lived),
    notPublic: content.notPublic,
    changed: content.changed,
    earlyClaims: claims,
  }
  return {
    ...base,
    verdict: (({ silent: _a, beyondSilent: _b, late: _c, missed: _d, ...rest }) => rest)(verdict),
    failures: failuresOf({
      ...base,
      verdict,
      monitors: finals.length,
      cadenceS: options.cadenceS,
      skewed: scenario.dateSkewMs !== 0,
      // A world shorter than that ends before its second audit can be due.
      staysComplete: scenario.faultFree && options.durationMs >= 2 * auditMs + 30_000,
      auditS: auditMs / 1000,
      pauseBarS: scenario.pauseBarS,
    }),
    kills: lived.kills,
    history: lived.history,
    finals: finals.map(({ watched, health }) => ({ label: watched.spec.label, health })),
    log: lived.log,
  }
}

/** The time from the read of an item to its delivery. */
const ON_THE_WAY_MS = 20_000
/** The time for which a delivery may be on its way when health is read. */
const IN_FLIGHT_MS = 1000
const SLACK_MS = 1000

/** Deliveries of what nobody could read then, or with other words than the platform showed. */
const contentFaults = (lived: Lived): { notPublic: string[]; changed: string[] } => {
  const notPublic: string[] = []
  const changed: string[] = []
  const seen = new Set<string>()
  for (const one of lived.deliveries) {
    if (seen.has(one.deliveryId)) continue
    seen.add(one.deliveryId)
    const downMs = lived.kills
      .filter(([from, until]) => from < one.atMs && until > one.atMs - 60_000)
      .reduce((sum, [from, until]) => sum + until - from, 0)
    const sinceMs = one.atMs - ON_THE_WAY_MS - downMs
    for (const given of one.items ?? []) {
      const item = lived.world.byName.get(given.name)
      if (item === undefined) continue
      const label = `${given.name} ${item.note} at ${(one.atMs / 1000).toFixed(1)} s`
      if (item.visibleMs > one.atMs || item.goneMs < sinceMs) notPublic.push(label)
      const text = item.kind === 'post' ? given.title : given.text
      const isShown = [sinceMs, one.atMs].some((atMs) => wordsAt(item, atMs).join(' ') === text)
      if (!isShown) changed.push(`${label}: ${text}`)
    }
  }
  return { notPublic, changed }
}

/** Claims that included an item before its first delivery. Edits, which no platform announces, are left out. */
const earlyClaims = (lived: Lived, pairs: readonly Pair[]): string[] => {
  const labels = new Map(lived.finals.map(({ watched }) => [watched.id, watched.spec.label]))
  const firstMs = new Map<string, number>()
  for (const one of lived.deliveries) {
    for (const name of one.names) {
      const key = pairKey(one.monitorId, name)
      firstMs.set(key, Math.min(firstMs.get(key) ?? Infinity, one.atMs))
    }
  }
  const samples = Map.groupBy(lived.history, ({ label }) => label)
  return pairs.flatMap((pair) => {
    if (pair.category !== 'place') return []
    const arrivedMs = firstMs.get(pairKey(pair.monitorId, pair.name))
    if (arrivedMs === undefined) return []
    const sinceMs = Math.max(pair.createdMs, pair.shownFromMs) + SLACK_MS
    const claim = (samples.get(labels.get(pair.monitorId) ?? '') ?? []).find(
      ({ atMs, status, auditedUntil }) =>
        status === 'complete' &&
        typeof auditedUntil === 'string' &&
        Date.parse(auditedUntil) - lived.world.startMs > sinceMs &&
        arrivedMs > atMs + IN_FLIGHT_MS,
    )
    if (claim === undefined) return []
    const lateS = ((arrivedMs - claim.atMs) / 1000).toFixed(1)
    return [`${claim.label} ${pair.name} ${pair.note}: delivered ${lateS} s after the claim`]
  })
}

const describe = (lived: Lived, loss: Loss): object => {
  const { world } = lived
  const iso = (ms: number | null | undefined) =>
    typeof ms === 'number' && Number.isFinite(ms) ? new Date(world.startMs + ms).toISOString() : ms
  const item = world.byName.get(loss.name)
  return {
    ...loss,
    author: item?.author,
    createdUtc: item === undefined ? null : createdS(world, item),
    created: iso(loss.createdMs),
    listedFrom: iso(loss.shownFromMs),
    visibleFrom: iso(item?.visibleMs),
    auditedUntil: iso(loss.auditedUntilMs),
    servedToDaemon: lived.served.has(loss.name),
    key: pairKey(loss.monitorId, loss.name),
  }
}

/** Estimates of monitors that watch the posts of places, beside the truth of what was never shown. */
const estimatesOf = (lived: Lived): Estimate[] => {
  const { world, options, scenario } = lived
  const lastMs = options.durationMs - 4 * options.cadenceS * 1000
  return lived.finals.flatMap(({ watched, health }) => {
    const { spec, startMs } = watched
    if (!spec.feeds.every((feed) => feed.type === 'places' && feed.kind === 'post')) return []
    const rows = world.items.filter(
      (item) =>
        item.kind === 'post' &&
        spec.places.includes(item.place) &&
        item.createdMs >= startMs - 2000 - Math.abs(scenario.dateSkewMs) &&
        item.placeMs < options.durationMs,
    )
    const lost = rows.filter(
      (item) => item.createdMs >= startMs && item.placeMs < lastMs && !lived.served.has(item.name),
    )
    const { posts_in_window_at_least: floor, posts_missed_estimate: estimate } = health.coverage_24h
    return [{ label: spec.label, truth: lost.length, estimate, floor, listed: rows.length }]
  })
}

const feedRequests = (lived: Lived): Logged[] => lived.log.filter((entry) => entry.feed !== null)

/** Tests whether a request for the feed `key` reads what a bad answer for `bad` kept from us. */
const readsAgain = (key: string, bad: string): boolean => {
  const [type = '', names = ''] = key.split(':')
  const [badType = '', badNames = ''] = bad.split(':')
  if (type !== badType) return false
  if (type === 'search') return true
  return names.split('+').some((name) => badNames.split('+').includes(name))
}

/**
 * The seconds after a bad answer until the same feed is requested again, or the longest silence of all feeds in the 90 s
 * after it if that is longer.
 */
const pauseAfter = (lived: Lived, bad: Logged): number => {
  const untilMs = Math.min(bad.atMs + 90_000, lived.options.durationMs)
  const later = feedRequests(lived).filter(
    (entry) => entry.atMs > bad.atMs && entry.atMs <= untilMs && entry !== bad,
  )
  const times = [bad.atMs, ...later.map((entry) => entry.atMs), untilMs]
  const again = later.find((entry) => readsAgain(entry.feed ?? '', bad.feed ?? ''))
  let longest = (again?.atMs ?? untilMs) - bad.atMs
  for (const [index, atMs] of times.entries()) {
    longest = Math.max(longest, (times[index + 1] ?? atMs) - atMs)
  }
  return longest / 1000
}

const SINGLE = new Set(['blank', 'limited', 'block'])

/** Measures that only worlds with `pause` or `outage` have. */
const measure = (lived: Lived): Record<string, number | string> => {
  const measures: Record<string, number | string> = {}
  const { scenario } = lived
  if (scenario.checks.includes('pause')) {
    for (const bad of lived.log.filter((entry) => SINGLE.has(entry.note))) {
      measures[`pause after ${bad.note} (s)`] = pauseAfter(lived, bad)
    }
  }
  const gone = scenario.conditions.find((one) => one.type === 'unreachable')
  if (!scenario.checks.includes('outage') || gone?.type !== 'unreachable') return measures
  const minutes = Math.max(1, (gone.untilMs - gone.fromMs) / 60_000)
  const inside = (entry: { atMs: number }) => entry.atMs >= gone.fromMs && entry.atMs < gone.untilMs
  if (gone.how === 'reset') {
    measures['requests a minute unreachable'] = lived.log.filter(inside).length / minutes
  }
  const answered = lived.log.find((entry) => entry.atMs >= gone.untilMs && entry.status === 200)
  if (answered !== undefined) {
    measures['first answer after recovery (s)'] = (answered.atMs - gone.untilMs) / 1000
    const next = feedRequests(lived).find(
      (entry) => entry !== answered && entry.atMs >= answered.atMs && entry.status === 200,
    )
    measures['first poll after that (s)'] =
      next === undefined ? 9999 : (next.atMs - answered.atMs) / 1000
  }
  const first = lived.deliveries.find((one) => one.atMs >= gone.untilMs)
  if (first !== undefined) {
    measures['first delivery after recovery (s)'] = (first.atMs - gone.untilMs) / 1000
  }
  const settledMs = gone.fromMs + 20_000
  const worse = lived.reads.filter((one) => one.atMs > settledMs && one.atMs < gone.untilMs)
  measures['reads in outage'] = [...new Set(worse.map((one) => one.reads))].join(' ')
  const events = lived.events.map((one) => one.event)
  measures['platform events'] = events.filter((event) => event.startsWith('platform.')).join(' ')
  return measures
}
