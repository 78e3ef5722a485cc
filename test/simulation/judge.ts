import type { Run } from './run.ts'
import type { Truth } from './world.ts'

/** The bar that coverage is held to (reliability.md, B6), as counts. */
export type Verdict = {
  feed_days: number
  items: number
  requests: number
  /** Items that could have been seen and were not. */
  missed: number
  /** Of those, the ones during whose day health once read complete. */
  missed_in_silence: string[]
  readings: Record<string, number>
  floor_above_truth: number
  gaps: number
  healed: number
  /** Unhealed gaps with an estimate below what was really missed, and the sums of both. */
  estimates: number
  low_estimates: number
  estimated: number
  really_missed: number
  /** Cut checks that no fault of the platform explains, and by which nothing was missed. */
  false_degraded: number
}

/** How long something has to be there for a check to meet it, in intervals. */
const SEEN_IN = 4
const DAY_S = 86_400

/** Compares what the store holds and what health said with what there really was. */
export function judge(run: Run, days: number): Verdict {
  const verdict: Verdict = {
    feed_days: days * run.places.length,
    items: 0,
    requests: run.upstream.requests(),
    missed: 0,
    missed_in_silence: [],
    readings: {},
    floor_above_truth: 0,
    gaps: run.gaps.length,
    healed: run.gaps.filter(({ healed_at }) => healed_at !== null).length,
    estimates: 0,
    low_estimates: 0,
    estimated: 0,
    really_missed: 0,
    false_degraded: 0,
  }
  for (const { name } of run.places) judgePlace(run, name, verdict)
  for (const { status } of run.readings)
    verdict.readings[status] = (verdict.readings[status] ?? 0) + 1
  return verdict
}

function judgePlace(run: Run, name: string, verdict: Verdict): void {
  const place = run.world.places.get(name)
  if (place === undefined) throw new Error(`there is no place ${name}`)
  const begun = run.begun_s
  const seen = run.seen.get(name) ?? new Map<string, number>()
  const blind = [...run.downs, ...run.upstream.outages, ...place.closures]
  const missed: Truth[] = []
  for (const truth of place.truths) {
    if (truth.created < begun || truth.created >= run.ended_s) continue
    verdict.items += 1
    if (seen.has(truth.name)) continue
    const since = observableSince(truth, blind, SEEN_IN * run.cadence_s, run.ended_s)
    if (since === null) continue
    // What comes to light late may do so beneath what is read.
    if (truth.from - truth.created > 10) continue
    missed.push(truth)
    const silent = run.readings.some(
      (it) =>
        it.place === name &&
        it.status === 'complete' &&
        it.at >= since &&
        it.at <= truth.created + DAY_S,
    )
    if (silent) verdict.missed_in_silence.push(`${name} ${truth.name} ${truth.created - begun}`)
  }
  verdict.missed += missed.length

  for (const reading of run.readings) {
    if (reading.place !== name || reading.floor === null) continue
    const jump_s = Math.abs(run.jumped_ms) / 1000
    const truth = run.world.createdIn(name, reading.at - DAY_S - jump_s - 1, reading.at + 1)
    if (reading.floor > truth) verdict.floor_above_truth += 1
  }

  for (const gap of run.gaps) {
    if (gap.place !== name) continue
    const [from, until] = [(gap.from_at ?? 0) / 1000, (gap.until_at ?? Infinity) / 1000]
    const really = missed.filter(({ created }) => created >= from && created <= until).length
    if (gap.reason !== 'error' && gap.reason !== 'empty_listing' && really === 0)
      verdict.false_degraded += 1
    if (gap.healed_at !== null || gap.until_at === null) continue
    if (gap.missed_estimate === null || gap.missed_estimate === 0) continue
    verdict.estimates += 1
    verdict.estimated += gap.missed_estimate
    verdict.really_missed += really
    if (gap.missed_estimate < really) verdict.low_estimates += 1
  }
}

/** Since when an item had been there, open to be looked at, for so long; null: never. Seconds. */
function observableSince(
  { from, until }: Truth,
  blind: readonly { from: number; until: number }[],
  needed_s: number,
  ended: number,
): number | null {
  let since = from
  const spells = blind.filter((it) => it.until > from && it.from < until)
  for (const spell of spells.toSorted((a, b) => a.from - b.from)) {
    if (spell.from - since >= needed_s) return since + needed_s
    since = Math.max(since, spell.until)
  }
  return Math.min(until, ended) - since >= needed_s ? since + needed_s : null
}
