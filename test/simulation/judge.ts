import type { Gap, Reading, Run } from './run.ts'
import type { Spell } from './upstream.ts'
import type { Place, Truth } from './world.ts'

/** Counts that decide the coverage bar. */
export type Verdict = {
  feed_days: number
  items: number
  requests: number
  /** Observable items that were not observed. */
  missed: number
  /** Missed items although coverage was complete at some time in the day after them. */
  missed_in_silence: string[]
  /** Items observed much later than possible, although coverage was complete meanwhile. */
  late_in_silence: string[]
  /** Missed items in what the coverage of days calls complete. */
  missed_in_complete: string[]
  /** Hours in which the coverage of days leaves something open that health calls complete. */
  disputed: number
  complete_h: number
  /** Missed items outside of every gap: a reader of all gaps does not learn about them. */
  missed_beside_gaps: string[]
  /** Items observed while a match-all monitor was active, without a match. */
  unmatched: string[]
  readings: Record<string, number>
  floor_above_truth: number
  gaps: number
  healed: number
  /** Unhealed gaps with an estimate, those off by more than a factor of three, and both sums. */
  estimates: number
  wrong_estimates: string[]
  estimated: number
  really_missed: number
  /** Truncated polls that hid no item, while the platform answered and the subforum was open. */
  false_degraded: string[]
}

/** Poll intervals for which an item must be visible to count as observable. */
const SEEN_IN = 4
const DAY_S = 86_400
/** Seconds for which an unobserved item is not yet late. */
const LATE_SEEN_S = 900
/** Smaller differences between clocks are not detected. */
const CLOCKS_S = 61
/** Upper bound of the duration of a poll with all attempts. */
const POLL_MAX_S = 150
/** Delay from which an item counts as approved late. */
const LATE_S = 4
/** Rows of a first page at least, however short the page. */
const SHALLOW = 18

/** Compares stored items and reported coverage with the truth. */
export function judge(run: Run, days: number): Verdict {
  const verdict: Verdict = {
    feed_days: days * run.places.length,
    items: 0,
    requests: run.upstream.requests(),
    missed: 0,
    missed_in_silence: [],
    late_in_silence: [],
    missed_in_complete: [],
    disputed: run.readings.filter((it) => it.is_disputed).length,
    complete_h: run.readings.filter((it) => it.complete.length > 0).length,
    missed_beside_gaps: [],
    unmatched: [],
    readings: {},
    floor_above_truth: 0,
    gaps: run.gaps.length,
    healed: run.gaps.filter(({ closed_at }) => closed_at !== null).length,
    estimates: 0,
    wrong_estimates: [],
    estimated: 0,
    really_missed: 0,
    false_degraded: [],
  }
  for (const { name } of run.places) judgePlace(run, name, verdict)
  for (const { status } of run.readings)
    verdict.readings[status] = (verdict.readings[status] ?? 0) + 1
  return verdict
}

function judgePlace(run: Run, name: string, verdict: Verdict): void {
  const place = run.world.places.get(name)
  if (place === undefined) throw new Error(`unknown subforum ${name}`)
  const gaps = run.gaps.filter((it) => it.place === name)
  const missed = missedIn(run, place, verdict)
  verdict.missed += missed.length
  for (const { truth, since } of missed) {
    const called = `${name} ${truth.name} ${truth.created - run.begun_s}`
    if (run.readings.some((it) => it.place === name && isSilent(it, truth, since)))
      verdict.missed_in_silence.push(called)
    const { created } = truth
    const is_complete = run.readings.some(
      (it) =>
        it.place === name &&
        it.at >= since &&
        it.complete.some(({ from, until }) => created >= from && created < until),
    )
    if (is_complete) verdict.missed_in_complete.push(called)
    if (!gaps.some((gap) => covers(gap, truth))) verdict.missed_beside_gaps.push(called)
  }
  for (const reading of run.readings) {
    if (reading.place !== name || reading.floor === null) continue
    const from = reading.at - DAY_S - CLOCKS_S
    if (reading.floor > run.world.createdIn(name, from, reading.at + 1))
      verdict.floor_above_truth += 1
  }
  judgeGaps(run, place, missed, verdict)
}

type Missed = { truth: Truth; since: number }

/** Missed items of a subforum; also counts errors of observed ones. */
function missedIn(run: Run, place: Place, verdict: Verdict): Missed[] {
  const { name } = place
  const seen = run.seen.get(name) ?? new Map<string, number>()
  const pauses = run.pauses.get(name) ?? []
  const { outages, olds } = run.upstream
  const old = [...olds].flatMap(([spell, places]) => (places.includes(name) ? [spell] : []))
  const blind = [...run.downs, ...run.fulls, ...outages, ...old, ...place.closures, ...pauses]
  const missed: Missed[] = []
  for (const truth of place.truths) {
    if (truth.created < run.begun_s || truth.created >= run.ended_s) continue
    verdict.items += 1
    const seen_at = seen.get(truth.name)
    // After a pause, a monitor covers only items created after it.
    const [pause] = pauses.filter((it) => it.until >= truth.created)
    const ended = Math.min(run.ended_s, pause?.from ?? Infinity)
    const sinceWhen = (until: number, needed_s: number): number | null => {
      const visible = { from: truth.from, until: Math.min(truth.until, until, ended) }
      const since = observableSince(visible, blind, needed_s)
      // An item approved late may appear below the rows that are read.
      return since === null || (isLate(truth) && !isShallow(run, truth, blind, since))
        ? null
        : since
    }
    if (seen_at !== undefined) {
      const seen_s = seen_at / 1000
      const since = seen_s - truth.from < LATE_SEEN_S ? null : sinceWhen(seen_s, LATE_SEEN_S)
      const waited = (it: Reading) => it.place === name && it.at < seen_s
      if (since !== null && run.readings.some((it) => waited(it) && isSilent(it, truth, since)))
        verdict.late_in_silence.push(`${name} ${truth.name} ${truth.created - run.begun_s}`)
      // An item unobserved at the start of a pause counts as created during it.
      const off = pauses.some((it) => truth.created <= it.until + 1 && seen_s >= it.from)
      if (!off && !run.matched.has(`${name} ${truth.name}`))
        verdict.unmatched.push(`${name} ${truth.name}`)
      continue
    }
    const since = sinceWhen(Infinity, SEEN_IN * run.cadence_s)
    if (since === null) continue
    missed.push({ truth, since })
  }
  return missed
}

const isLate = ({ from, created }: Truth): boolean => from - created > LATE_S

/** True if an item approved late was on the first page of each poll until it had to be observed. */
function isShallow({ world, places }: Run, { created }: Truth, blind: Spell[], since: number) {
  if (blind.some(({ from, until }) => from < since && until > created)) return false
  let above = 0
  for (const { name } of places) above += world.createdIn(name, created, since)
  return above <= SHALLOW
}

/** True if the coverage of the period of a missed item was complete. */
const isSilent = ({ status, at, since: from }: Reading, { created }: Truth, since: number) =>
  status === 'complete' && at >= since && created >= from && at <= created + DAY_S

/**
 * True if a gap covers an item: permanently, or because it was deleted by the time the next poll
 * closed the gap or passed it.
 */
function covers(gap: Gap, { created, until }: Truth): boolean {
  const { from_at, until_at, closed_at, recorded_at, recorded_s } = gap
  const from_s = (from_at ?? 0) / 1000 - CLOCKS_S
  if (closed_at === null && within(created, from_s, (until_at ?? Infinity) / 1000 + CLOCKS_S))
    return true
  const closed_s = recorded_s + (closed_at === null ? 0 : (closed_at - recorded_at) / 1000)
  return within(created, from_s, closed_s) && until <= closed_s
}

const within = (at: number, from: number, until: number): boolean => at >= from && at <= until

/** For fewer missed items an estimate may be off by chance. */
const CHANCE_MAX = 20

const isFar = (estimate: number, really: number): boolean =>
  estimate < really / 3 || estimate > really * 3

function judgeGaps(run: Run, place: Place, missed: readonly Missed[], verdict: Verdict): void {
  const seen = run.seen.get(place.name) ?? new Map<string, number>()
  for (const gap of run.gaps) {
    if (gap.place !== place.name) continue
    const from = (gap.from_at ?? 0) / 1000
    const until = (gap.until_at ?? Infinity) / 1000
    const called = `${place.name} ${gap.reason} ${Math.round(gap.recorded_s - run.begun_s)}`
    if (!isExplained(run, place, gap) && !hides(place, gap, seen))
      verdict.false_degraded.push(called)
    if (gap.closed_at !== null || gap.until_at === null) continue
    if (gap.missed_estimate === null || gap.missed_estimate === 0) continue
    const really = missed.filter(({ truth }) => within(truth.created, from, until)).length
    verdict.estimates += 1
    verdict.estimated += gap.missed_estimate
    verdict.really_missed += really
    if (really > CHANCE_MAX && isFar(gap.missed_estimate, really))
      verdict.wrong_estimates.push(`${called}: ${gap.missed_estimate} of ${really}`)
  }
}

/** Failed attempts after which a poll counts as unanswered. */
const TRIES = 3

/** True if the platform refused the subforum when the poll was truncated, or the disk was full. */
function isExplained({ upstream }: Run, { name, closures }: Place, gap: Gap): boolean {
  const { recorded_s, reason } = gap
  const since = recorded_s - POLL_MAX_S
  // The items were read but could not be stored.
  if (reason === 'storage_full') return true
  if (closures.some(({ from, until }) => from <= recorded_s && until >= since)) return true
  const faults = upstream.faults.filter(
    ({ at, places }) => at > since && at < recorded_s + 1 && places.includes(name),
  )
  return faults.length >= TRIES
}

/** True if a truncated poll left an existing item unobserved. */
function hides({ truths }: Place, gap: Gap, seen: ReadonlyMap<string, number>): boolean {
  const { recorded_s } = gap
  const from = (gap.from_at ?? 0) / 1000 - CLOCKS_S
  return truths.some(
    (it) =>
      within(it.created, from, recorded_s) &&
      it.from < recorded_s &&
      it.until > recorded_s - POLL_MAX_S &&
      (seen.get(it.name) ?? Infinity) > gap.seen_at,
  )
}

/**
 * First instant in seconds at which an item had been visible for `needed_s` without a blind spell;
 * null: never.
 */
function observableSince(
  { from, until }: Spell,
  blind: readonly Spell[],
  needed_s: number,
): number | null {
  let since = from
  const spells = blind.filter((it) => it.until > from && it.from < until)
  for (const spell of spells.toSorted((a, b) => a.from - b.from)) {
    if (spell.from - since >= needed_s) return since + needed_s
    since = Math.max(since, spell.until)
  }
  return until - since >= needed_s ? since + needed_s : null
}
