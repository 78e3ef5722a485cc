import type { Measured, Options, Ratio, Variant } from '../figures/results.ts'
import { cpuOf, NotHere, temporaryFolder } from './children.ts'
import { load } from './load.ts'

/** A server and its process, with the request that is measured. */
export type Served = { name: string; url: string; path: string; key?: string; pid: number }

const FIGURES: Measured['figures'] = [
  { key: 'per_s', label: 'requests/s', digits: 0 },
  { key: 'p50_ms', label: 'p50, ms', digits: 2 },
  { key: 'p99_ms', label: 'p99, ms', digits: 2 },
  { key: 'cpu_us', label: 'processor time a request, µs', digits: 0 },
]

/** Loads the servers alternately, round after round; the first round warms up and does not count. */
export async function inTurns(
  served: readonly Served[],
  { rounds, smoke }: Options,
): Promise<{ figures: Measured['figures']; variants: Variant[] }> {
  using folder = temporaryFolder()
  const variants = served.map(({ name }): Variant => ({ name, rounds: {} }))
  for (let round = smoke ? 1 : 0; round <= rounds; round++)
    for (const [at, it] of served.entries()) {
      const before = cpuOf(it.pid)
      const found = await load(it, { seconds: smoke ? 1 : 3, folder: folder.path })
      const cpu_us = ((cpuOf(it.pid) - before) * 1000) / found.requests
      const values = { ...found, cpu_us }
      const variant = variants[at]
      if (round > 0 && variant)
        for (const { key } of FIGURES)
          (variant.rounds[key] ??= []).push(values[key as keyof typeof values])
    }
  return { figures: FIGURES, variants }
}

const LATE = /^forumd_event_loop_late_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm
const LATE_AIM_S = 0.02

/**
 * p99.9 of the delay of forumd's event loop since its start, to 20 ms. Interpolated within its bucket, as Prometheus does.
 */
export async function loopRatio(url: string): Promise<Ratio> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const buckets = [...text.matchAll(LATE)].map(([, bound, count]) => ({
    bound_s: bound === '+Inf' ? Infinity : Number(bound),
    count: Number(count),
  }))
  const wanted = (buckets.at(-1)?.count ?? 0) * 0.999
  const at = buckets.findIndex(({ count }) => count >= wanted)
  const [below, above] = [buckets[at - 1] ?? { bound_s: 0, count: 0 }, buckets[at]]
  const share = above ? (wanted - below.count) / (above.count - below.count) : Number.NaN
  // The last bucket has no upper bound.
  const bound_s = above?.bound_s === Infinity ? below.bound_s : (above?.bound_s ?? Number.NaN)
  const late_s = below.bound_s + share * (bound_s - below.bound_s)
  return { label: 'event loop late, p99.9 to 20 ms', value: late_s / LATE_AIM_S, most: 1 }
}

/** Start of a note about a skipped peer. */
export const LEFT_OUT = 'Left out:'

/** Result of `make`, or null and a note if this machine lacks a program. */
export async function ifHere<T>(notes: string[], make: () => Promise<T>): Promise<T | null> {
  try {
    return await make()
  } catch (error) {
    if (!(error instanceof NotHere)) throw error
    notes.push(`${LEFT_OUT} ${error.message}.`)
    return null
  }
}
