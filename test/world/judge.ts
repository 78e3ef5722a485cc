/**
 * The judge: classifies every pair of a monitor and an item that it should deliver.
 *
 * - A pair is EXPECTED when the item's text matches the filter, it was created after the second in
 *   which the monitor began, and the feed that the monitor names, read by itself, showed it within
 *   its newest 1,000 rows for at least two cadences (the most cautious reading: slowest copy, no
 *   time in which the daemon was down, the place closed, or the platform unreachable). It has to
 *   have begun to be shown at least four cadences before the end.
 * - An item that its place shows never, but another feed that the daemon watches does, is expected
 *   of the monitors of the place as EVIDENCE; one edited into matching is expected as EDITED when
 *   its new text was shown for two audit intervals.
 * - DELIVERED: a signed delivery of that monitor named it.
 * - SILENT: not delivered, and the last health of the monitor reads `complete` and speaks about it:
 *   created at or before `audited_until`, or, for a daemon without that field, at any time.
 * - REPORTED: every other loss. VAGUE is the part of it that no gap and no event covers.
 * - WITHDRAWN: a loss, reported or beyond reach, in the span of a gap that health calls healed, and
 *   in no open one: health once reported it, and took that back although it never came.
 * - BEYOND: an item that matched and was listed, but for less than two cadences (scrolled out of
 *   reach). It is no pair; but where it was lost and health speaks of it as complete, that is
 *   a loss that health does not report, and counted.
 */

import type { DeliveredItem } from './daemon.ts'

export type Claim = {
  readonly status: string
  readonly reason: string | null
  /** undefined: a daemon without the field; null: nothing audited yet. */
  readonly auditedUntilMs: number | null | undefined
  /** Spans that gaps and unobserved events cover; a healed gap covers nothing. */
  readonly covered: readonly (readonly [number, number])[]
  readonly healed: readonly (readonly [number, number])[]
}

export type Pair = {
  readonly monitorId: string
  readonly name: string
  readonly place: string
  readonly note: string
  readonly createdMs: number
  readonly shownFromMs: number
  readonly observableMs: number
  readonly category: 'place' | 'evidence' | 'edited' | 'beyond'
}

export type JudgedMonitor = {
  readonly id: string
  readonly label: string
  readonly startMs: number
  readonly claim: Claim
  /** The relation of a delivered item to the filter, regardless of its time. */
  readonly verdictOn: (name: string) => 'match' | 'no-match' | 'before-start'
}

type Delivery = {
  readonly atMs: number
  readonly deliveryId: string
  readonly monitorId: string
  readonly names: readonly string[]
  readonly body: string
  readonly signed: boolean
  readonly items?: readonly DeliveredItem[]
}

export type JudgeInput = {
  readonly cadenceMs: number
  readonly auditIntervalMs: number
  readonly endMs: number
  readonly monitors: readonly JudgedMonitor[]
  readonly pairs: readonly Pair[]
  readonly deliveries: readonly Delivery[]
}

export type Loss = Pair & {
  readonly label: string
  readonly status: string
  readonly auditedUntilMs: number | null | undefined
  /** Shown only after the last audit's horizon: lost only if no later audit would find it. */
  readonly afterAudit: boolean
}

export type Verdict = {
  readonly pairs: number
  readonly delivered: number
  readonly reported: number
  readonly silent: readonly Loss[]
  readonly vague: number
  readonly withdrawn: number
  readonly beyondSilent: readonly Loss[]
  /** The pairs shown for four cadences, and the delivered ones among them. */
  readonly shown: number
  readonly shownDelivered: number
  readonly late: readonly Loss[]
  readonly missed: readonly Loss[]
  readonly falseMatches: readonly string[]
  readonly early: readonly string[]
  readonly duplicates: readonly string[]
  readonly unstable: readonly string[]
  readonly unsigned: readonly string[]
  readonly repeats: number
}

const LISTED = 500

export const pairKey = (monitorId: string, name: string): string => `${monitorId} ${name}`

/** Tests whether `claim` says that nothing created at `createdMs` is missing. */
const speaksFor = (claim: Claim, createdMs: number): boolean => {
  if (claim.status !== 'complete') return false
  if (claim.auditedUntilMs === undefined) return true
  return claim.auditedUntilMs !== null && createdMs <= claim.auditedUntilMs
}

const within = (spans: Claim['covered'], createdMs: number): boolean =>
  spans.some(([from, until]) => from - 1000 <= createdMs && createdMs <= until + 1000)

const isCovered = (claim: Claim, createdMs: number): boolean => within(claim.covered, createdMs)

const isWithdrawn = (claim: Claim, createdMs: number): boolean =>
  within(claim.healed, createdMs) && !isCovered(claim, createdMs)

/** Tests whether health counts as honest about a loss: it does not claim it, or names a span with it. */
const isReported = (claim: Claim, createdMs: number): boolean =>
  !speaksFor(claim, createdMs) || isCovered(claim, createdMs)

const judgeDeliveries = (input: JudgeInput) => {
  const bodies = new Map<string, string>()
  const byPair = new Map<string, Set<string>>()
  const monitors = new Map(input.monitors.map((monitor) => [monitor.id, monitor]))
  const falseMatches: string[] = []
  const early: string[] = []
  const unstable: string[] = []
  const unsigned: string[] = []
  let repeats = 0
  for (const one of input.deliveries) {
    if (!one.signed) {
      unsigned.push(one.deliveryId)
      continue
    }
    const known = bodies.get(one.deliveryId)
    if (known !== undefined) {
      repeats += 1
      if (known !== one.body) unstable.push(one.deliveryId)
      continue
    }
    bodies.set(one.deliveryId, one.body)
    const monitor = monitors.get(one.monitorId)
    for (const name of one.names) {
      const key = pairKey(one.monitorId, name)
      byPair.set(key, (byPair.get(key) ?? new Set()).add(one.deliveryId))
      const verdict = monitor?.verdictOn(name) ?? 'no-match'
      if (verdict === 'no-match') falseMatches.push(key)
      if (verdict === 'before-start') early.push(key)
    }
    if (one.names.length === 0) falseMatches.push(`${one.monitorId} (no item)`)
  }
  const duplicates = [...byPair].filter(([, ids]) => ids.size > 1).map(([key]) => key)
  return { byPair, falseMatches, early, duplicates, unstable, unsigned, repeats }
}

/** The verdict on a world. It reads nothing but its input, so that a test can invent one. */
export const judgeWorld = (input: JudgeInput): Verdict => {
  const { byPair, ...found } = judgeDeliveries(input)
  const monitors = new Map(input.monitors.map((monitor) => [monitor.id, monitor]))
  const silent: Loss[] = []
  const beyondSilent: Loss[] = []
  const late: Loss[] = []
  const missed: Loss[] = []
  let pairs = 0
  let delivered = 0
  let reported = 0
  let vague = 0
  let withdrawn = 0
  let shown = 0
  let shownDelivered = 0
  for (const pair of input.pairs) {
    const monitor = monitors.get(pair.monitorId)
    if (monitor === undefined) throw new Error(`a pair of an unknown monitor ${pair.monitorId}`)
    const { claim, label } = monitor
    const arrived = byPair.has(pairKey(pair.monitorId, pair.name))
    const { status, auditedUntilMs } = claim
    const afterAudit = typeof auditedUntilMs === 'number' && pair.shownFromMs > auditedUntilMs
    const loss: Loss = { ...pair, label, status, auditedUntilMs, afterAudit }
    if (!arrived && isWithdrawn(claim, pair.createdMs) && isAsked(pair, input)) withdrawn += 1
    if (pair.category === 'beyond') {
      if (!arrived && !isReported(claim, pair.createdMs)) beyondSilent.push(loss)
      continue
    }
    if (!isExpected(pair, input)) continue
    pairs += 1
    const long = pair.observableMs >= 4 * input.cadenceMs
    if (long) shown += 1
    if (arrived) {
      delivered += 1
      if (long) shownDelivered += 1
      continue
    }
    missed.push(loss)
    if (long) late.push(loss)
    if (!isReported(claim, pair.createdMs)) silent.push(loss)
    else {
      reported += 1
      if (!isCovered(claim, pair.createdMs)) vague += 1
    }
  }
  return {
    pairs,
    delivered,
    reported,
    silent,
    vague,
    withdrawn,
    beyondSilent,
    shown,
    shownDelivered,
    late: late.slice(0, LISTED),
    missed,
    ...found,
  }
}

/** Tests whether a pair was shown long enough to be polled. */
export const isExpected = (pair: Pair, input: JudgeInput): boolean => {
  const neededMs = pair.category === 'edited' ? 2 * input.auditIntervalMs : 2 * input.cadenceMs
  const latestMs = input.endMs - Math.max(neededMs, 4 * input.cadenceMs)
  return pair.observableMs >= neededMs && pair.shownFromMs <= latestMs
}

const isAsked = (pair: Pair, input: JudgeInput): boolean =>
  pair.category === 'beyond' || isExpected(pair, input)

/** The share of what was shown for four cadences that was delivered; 1 where nothing was. */
export const deliveredShare = (verdict: Verdict): number =>
  verdict.shown === 0 ? 1 : verdict.shownDelivered / verdict.shown

export type Estimate = {
  readonly label: string
  readonly truth: number
  readonly estimate: number | null
  readonly floor: number | null
  readonly listed: number
}

/** The fault of an estimate, or null. The truth counts rows that no answer has shown. */
const estimateFault = (one: Estimate): string | null => {
  if (one.floor !== null && one.floor > one.listed) {
    return `${one.label}: floor ${one.floor} over ${one.listed}`
  }
  if (one.truth <= 20 || one.estimate === null) return null
  const off = one.estimate > 3 * one.truth || one.estimate < one.truth / 3
  return off ? `${one.label}: estimate ${one.estimate} for ${one.truth}` : null
}

/** The facts about a world that the bars use. */
export type Facts = {
  readonly verdict: Verdict
  readonly deliveredShare: number
  readonly overRate: number
  readonly ratio: number
  readonly missed: number
  readonly naiveMissed: number
  readonly statuses: Readonly<Record<string, number>>
  readonly auditLagS: number | null
  readonly estimates: readonly Estimate[]
  readonly measures: Readonly<Record<string, number | string>>
  readonly notPublic: readonly string[]
  readonly changed: readonly string[]
  readonly earlyClaims: readonly string[]
  readonly monitors: number
  readonly cadenceS: number
  readonly auditS: number
  readonly skewed: boolean
  /** A world without faults, long enough for every monitor to end complete. */
  readonly staysComplete: boolean
  readonly pauseBarS: number
}

const MAX_RATIO = 0.6
const MIN_SHARE = 0.98
const UNREACHABLE_PER_MINUTE = 20
const PROBE_S = 60

/** The bars that a world does not hold, each as a sentence. */
export const failuresOf = (facts: Facts): string[] => {
  const { verdict } = facts
  const failures: string[] = []
  const ask = (holds: boolean, text: string) => {
    if (!holds) failures.push(text)
  }
  ask(verdict.silent.length === 0, `${verdict.silent.length} silent`)
  ask(verdict.beyondSilent.length === 0, `${verdict.beyondSilent.length} silent beyond reach`)
  ask(verdict.withdrawn === 0, `${verdict.withdrawn} losses withdrawn by a healed gap`)
  ask(facts.deliveredShare >= MIN_SHARE, `delivered ${(facts.deliveredShare * 100).toFixed(1)} %`)
  ask(verdict.falseMatches.length === 0, `${verdict.falseMatches.length} false matches`)
  ask(verdict.duplicates.length === 0, `${verdict.duplicates.length} delivered under two ids`)
  ask(verdict.unstable.length === 0, `${verdict.unstable.length} unstable bodies`)
  ask(verdict.unsigned.length === 0, `${verdict.unsigned.length} bad signatures`)
  ask(facts.skewed || verdict.early.length === 0, `${verdict.early.length} from before the start`)
  ask(facts.notPublic.length === 0, `${facts.notPublic.length} delivered, not public`)
  ask(facts.changed.length === 0, `${facts.changed.length} delivered with other content`)
  ask(facts.earlyClaims.length === 0, `${facts.earlyClaims.length} early claims`)
  ask(facts.overRate === 0, `${facts.overRate} requests over the rate headers`)
  ask(facts.ratio <= MAX_RATIO, `${facts.ratio.toFixed(2)} of the naive requests`)
  ask(facts.missed <= facts.naiveMissed, `missed ${facts.missed}, naive ${facts.naiveMissed}`)
  for (const one of facts.estimates) {
    const fault = estimateFault(one)
    if (fault !== null) failures.push(fault)
  }
  if (facts.staysComplete) {
    const complete = facts.statuses['complete'] ?? 0
    ask(complete === facts.monitors, `${complete} of ${facts.monitors} monitors complete`)
    const fresh = facts.auditLagS !== null && facts.auditLagS <= 2 * facts.auditS
    ask(fresh, `audited_until ${facts.auditLagS ?? 'missing'} s behind`)
  }
  for (const [name, value] of Object.entries(facts.measures)) {
    ask(holdsMeasure(name, value, facts), `${name}: ${value}`)
  }
  return failures
}

const holdsMeasure = (name: string, value: number | string, facts: Facts): boolean => {
  if (name.startsWith('pause')) return Number(value) <= facts.pauseBarS
  if (name.startsWith('requests a minute')) return Number(value) <= UNREACHABLE_PER_MINUTE
  if (name.startsWith('first answer')) return Number(value) <= PROBE_S + 2
  if (name.startsWith('first poll')) return Number(value) <= facts.cadenceS + 0.5
  if (name === 'reads in outage') return value === 'degraded' || value === ''
  if (name !== 'platform events') return true
  return ['platform.unreachable', 'platform.recovered'].every((event) =>
    String(value).includes(event),
  )
}
