import type { Gap, Reading, Run } from './run.ts'
import type { Spell } from './upstream.ts'
import type { Place, Truth } from './world.ts'

/** The bar that coverage is held to (reliability.md, B6), as counts. */
export type Verdict = {
  feed_days: number
  items: number
  requests: number
  /** Items that could have been seen and were not. */
  missed: number
  /** Of those, the ones during whose day health once read complete. */
  missed_in_silence: string[]
  /** Items that were seen long after they could have been, and while they were not health once read complete. */
  late_in_silence: string[]
  /** Of what was missed, the ones that lie in no gap: whoever reads all gaps is not told of them. */
  missed_beside_gaps: string[]
  /** Items that were seen when a monitor of everything was on, and did not become a match. */
  unmatched: string[]
  readings: Record<string, number>
  floor_above_truth: number
  gaps: number
  healed: number
  /** Unhealed gaps with an estimate below what was really missed, and the sums of both. */
  estimates: number
  low_estimates: string[]
  estimated: number
  really_missed: number
  /** Cut checks by which nothing was hidden, while the platform answered and the place was open. */
  false_degraded: string[]
}

/** How long something has to be there for a check to meet it, in intervals. */
const SEEN_IN = 4
const DAY_S = 86_400
/** How long nobody need wonder that something is not seen yet, in seconds. */
const LATE_SEEN_S = 900
/** Clocks that differ by less than this are taken for one. */
const CLOCKS_S = 61
/** A look with all its tries takes no longer. */
const LOOK_S = 150
/** From here on something has come to light late. */
const LATE_S = 4
/** A first page holds this many rows, however short it is cut. */
const SHALLOW = 18

/** Compares what the store holds and what health said with what there really was. */
export function judge(run: Run, days: number): Verdict {
  const verdict: Verdict = {
    feed_days: days * run.places.length,
    items: 0,
    requests: run.upstream.requests(),
    missed: 0,
    missed_in_silence: [],
    late_in_silence: [],
    missed_beside_gaps: [],
    unmatched: [],
    readings: {},
    floor_above_truth: 0,
    gaps: run.gaps.length,
    healed: run.gaps.filter(({ healed_at }) => healed_at !== null).length,
    estimates: 0,
    low_estimates: [],
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
  if (place === undefined) throw new Error(`there is no place ${name}`)
  const gaps = run.gaps.filter((it) => it.place === name)
  const missed = missedIn(run, place, verdict)
  verdict.missed += missed.length
  for (const { truth, since } of missed) {
    const called = `${name} ${truth.name} ${truth.created - run.begun_s}`
    if (run.readings.some((it) => it.place === name && isSilent(it, truth, since)))
      verdict.missed_in_silence.push(called)
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

/** What could have been seen of a place, and was not; counts what is wrong with what was. */
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
    // After a pause only what is written from then on is anybody's.
    const [pause] = pauses.filter((it) => it.until >= truth.created)
    const ended = Math.min(run.ended_s, pause?.from ?? Infinity)
    const sinceWhen = (until: number, needed_s: number): number | null => {
      const shown = { from: truth.from, until: Math.min(truth.until, until, ended) }
      const since = observableSince(shown, blind, needed_s)
      // What comes to light late may do so beneath what is read.
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
      // What had not been seen when its monitor was paused is as good as written meanwhile.
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

/** Whether what came late stood on the first page of whatever was asked, until it had to be seen. */
function isShallow({ world, places }: Run, { created }: Truth, blind: Spell[], since: number) {
  if (blind.some(({ from, until }) => from < since && until > created)) return false
  let above = 0
  for (const { name } of places) above += world.createdIn(name, created, since)
  return above <= SHALLOW
}

/** Whether health spoke of the time in which an item was created, when it had been missed, and saw nothing missing. */
const isSilent = ({ status, at, since: from }: Reading, { created }: Truth, since: number) =>
  status === 'complete' && at >= since && created >= from && at <= created + DAY_S

/**
 * Whether a gap says that something may be missing: for good, or because it was gone when the next check read so far
 * that it closed the gap, or left it behind.
 */
function covers(gap: Gap, { created, until }: Truth): boolean {
  const { from_at, until_at, healed_at, recorded_at, recorded_s } = gap
  const from_s = (from_at ?? 0) / 1000 - CLOCKS_S
  if (healed_at === null && within(created, from_s, (until_at ?? Infinity) / 1000 + CLOCKS_S))
    return true
  const closed_s = recorded_s + (healed_at === null ? 0 : (healed_at - recorded_at) / 1000)
  return within(created, from_s, closed_s) && until <= closed_s
}

const within = (at: number, from: number, until: number): boolean => at >= from && at <= until

function judgeGaps(run: Run, place: Place, missed: readonly Missed[], verdict: Verdict): void {
  const seen = run.seen.get(place.name) ?? new Map<string, number>()
  for (const gap of run.gaps) {
    if (gap.place !== place.name) continue
    const from = (gap.from_at ?? 0) / 1000
    const until = (gap.until_at ?? Infinity) / 1000
    const called = `${place.name} ${gap.reason} ${Math.round(gap.recorded_s - run.begun_s)}`
    if (!isExplained(run, place, gap) && !hides(place, gap, seen))
      verdict.false_degraded.push(called)
    if (gap.healed_at !== null || gap.until_at === null) continue
    if (gap.missed_estimate === null || gap.missed_estimate === 0) continue
    const really = missed.filter(({ truth }) => within(truth.created, from, until)).length
    verdict.estimates += 1
    verdict.estimated += gap.missed_estimate
    verdict.really_missed += really
    if (gap.missed_estimate < really)
      verdict.low_estimates.push(`${called}: ${gap.missed_estimate} of ${really}`)
  }
}

/** So many errors in one look, and the platform has given no answer to it. */
const TRIES = 3

/** Whether the platform would not show the place when the check was cut, or the disk not take it. */
function isExplained({ upstream }: Run, { name, closures }: Place, gap: Gap): boolean {
  const { recorded_s, reason } = gap
  const since = recorded_s - LOOK_S
  // What was read could not be written.
  if (reason === 'storage_full') return true
  if (closures.some(({ from, until }) => from <= recorded_s && until >= since)) return true
  const faults = upstream.faults.filter(
    ({ at, places }) => at > since && at < recorded_s + 1 && places.includes(name),
  )
  return faults.length >= TRIES
}

/** Whether the cut check had left something unseen that was there. */
function hides({ truths }: Place, gap: Gap, seen: ReadonlyMap<string, number>): boolean {
  const { recorded_s } = gap
  const from = (gap.from_at ?? 0) / 1000 - CLOCKS_S
  return truths.some(
    (it) =>
      within(it.created, from, recorded_s) &&
      it.from < recorded_s &&
      it.until > recorded_s - LOOK_S &&
      (seen.get(it.name) ?? Infinity) > gap.seen_at,
  )
}

/** Since when an item had been there, open to be looked at, for so long; null: never. Seconds. */
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
