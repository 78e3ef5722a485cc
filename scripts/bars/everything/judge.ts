import type { LedgerTotals } from '../../../test/chaos/ledger-check.ts'
import { quantile } from '../abuse/watch.ts'
import { ends, median } from '../soak/figures.ts'
import type { Judged } from '../soak/judge.ts'

/** A request at a receiver. `pairs`: a monitor's id and an item's source and name. */
export type Arrival = {
  at: number
  delivery_id: string
  pairs: readonly string[]
  digest: string
  epoch: number
  accepted: boolean
  signed: boolean
}

/** A match that has to be delivered, or with `is_wanted: false` must not be, because the model rejects it. */
export type Expected = { pair: string; appeared_at: number; is_wanted: boolean }

/** Comparison of what appeared on the platforms with what arrived at the receivers; counts, and delays in ms. */
export type Verdict = {
  expected: number
  lost: string[]
  /** Delivered, though the model rejects the item. */
  unwanted: number
  /** Delivered, though nothing matches. */
  invented: number
  under_two_ids: number
  /** Deliveries with two bodies of one epoch. */
  changed: number
  /** Deliveries that a new primary composed again: what its predecessor did last was not replicated. */
  composed_again: number
  badly_signed: number
  /** Requests with an epoch below one that arrived before. */
  epochs_back: number
  accepted: number
  /** Accepted requests beyond the first of a delivery. */
  repeated: number
  /** From the appearance of an item to its first request. */
  p50_ms: number
  p99_ms: number
}

type Sets = Map<string, Set<string>>

const add = (map: Sets, key: string, value: string) =>
  map.set(key, (map.get(key) ?? new Set()).add(value))
/** Number of keys with several values. */
const several = (map: Sets) => [...map.values()].filter(({ size }) => size > 1).length

/** Judges a run by the receivers' logs alone. */
export function judgeArrivals(
  expected: readonly Expected[],
  arrivals: readonly Arrival[],
): Verdict {
  const ids_of: Sets = new Map()
  const first_at = new Map<string, number>()
  const accepted_pairs = new Set<string>()
  const accepted_ids = new Map<string, number>()
  const digests_of: Sets = new Map()
  const bodies_of: Sets = new Map()
  let [badly_signed, epochs_back, highest] = [0, 0, 0]
  for (const { at, delivery_id, pairs, digest, epoch, accepted, signed } of arrivals) {
    if (!signed) badly_signed++
    if (epoch < highest) epochs_back++
    highest = Math.max(highest, epoch)
    add(digests_of, `${delivery_id} ${epoch}`, digest)
    add(bodies_of, delivery_id, digest)
    if (accepted) accepted_ids.set(delivery_id, (accepted_ids.get(delivery_id) ?? 0) + 1)
    for (const pair of pairs) {
      add(ids_of, pair, delivery_id)
      if (!first_at.has(pair)) first_at.set(pair, at)
      if (accepted) accepted_pairs.add(pair)
    }
  }
  const known = new Map(expected.map((it) => [it.pair, it]))
  const wanted = expected.filter(({ is_wanted }) => is_wanted)
  const delays = wanted.flatMap(({ pair, appeared_at }) => {
    const at = first_at.get(pair)
    return at === undefined ? [] : [at - appeared_at]
  })
  const accepted = [...accepted_ids.values()].reduce((sum, it) => sum + it, 0)
  return {
    expected: wanted.length,
    lost: wanted.flatMap(({ pair }) => (accepted_pairs.has(pair) ? [] : [pair])),
    unwanted: [...first_at.keys()].filter((it) => known.get(it)?.is_wanted === false).length,
    invented: [...first_at.keys()].filter((it) => !known.has(it)).length,
    under_two_ids: several(ids_of),
    changed: several(digests_of),
    composed_again: several(bodies_of) - several(digests_of),
    badly_signed,
    epochs_back,
    accepted,
    repeated: accepted - accepted_ids.size,
    p50_ms: quantile(delays, 0.5),
    p99_ms: quantile(delays, 0.99),
  }
}

/** Figures of a minute of the run. Sizes in MiB, counts since the start. */
export type Minute = {
  minute: number
  primary: string
  epoch: number
  rss: number
  own: number
  standby_rss: number
  descriptors: number
  threads: number
  database: number
  log: number
  archive: number
  /** Event loop of the primary late since its takeover or the last minute, p99.9, ms; null: a takeover was under way. */
  late_p999_ms: number | null
  expected: number
  accepted: number
  /** Matches that appeared more than two minutes ago and were not accepted yet. */
  waiting: number
  repeated: number
  takeovers: number
  reads_asked: number
  reads_answered: number
  inbox_changes: number
  searches: number
  slowest_search_ms: number
  calls_failed: number
  model_calls: number
  errors: number
}

/** Counts of a whole run beside the receivers' logs. */
export type Counts = {
  minutes: readonly Minute[]
  takeovers_ms: readonly number[]
  /** Memory of each primary just before its end, MiB. */
  lives_mib: readonly number[]
  reads: { asked: number; answered: number }
  books: LedgerTotals
  exit_code: number | null
}

/** Share of accepted deliveries that may arrive twice. */
const REPEATED = 0.08
const LATE_P999_MS = 50
const GROWTH_MIB = 32
const LOG_MIB = 64
/** Answered reads whose bill may be lost with the last second before a takeover. */
const UNBILLED_PER_TAKEOVER = 5
/** Lives that a trend of the memory needs. */
const LIVES_LEAST = 8

const none = (name: string, value: number): Judged => ({ name, value, most: 0 })

/** Figures of a run with their bounds. */
export function judgeEverything(
  verdict: Verdict,
  { minutes, takeovers_ms, lives_mib, reads, books, exit_code }: Counts,
  takeovers_least: number,
): Judged[] {
  const late = minutes.flatMap(({ late_p999_ms }) => late_p999_ms ?? [])
  const { first, last } = ends(lives_mib)
  return [
    none('lost', verdict.lost.length),
    none('delivered against the verdict of the model', verdict.unwanted),
    none('invented', verdict.invented),
    none('under two ids', verdict.under_two_ids),
    none('changed bodies', verdict.changed),
    none('bad signatures', verdict.badly_signed),
    none('deliveries of an older epoch', verdict.epochs_back),
    {
      name: 'accepted twice, share',
      value: verdict.repeated / Math.max(1, verdict.accepted),
      most: REPEATED,
    },
    none('reads billed beyond those asked', Math.max(0, books.reads_billed - reads.asked)),
    {
      name: 'answered reads that were not billed',
      value: Math.max(0, reads.answered - books.reads_billed),
      most: UNBILLED_PER_TAKEOVER * takeovers_ms.length,
    },
    none('holds left', books.holds),
    none('unbalanced accounts', books.unbalanced),
    none('matches that the inbox lacks', books.strayed),
    none('damage of the database', books.integrity === 'ok' ? 0 : 1),
    { name: 'takeovers', value: takeovers_ms.length, least: takeovers_least },
    {
      name: 'event loop late, median minute, p99.9, ms',
      value: late.length === 0 ? NaN : median(late),
      most: LATE_P999_MS,
    },
    {
      name: 'largest log of the database, MiB',
      // None while the primary is being replaced.
      value: Math.max(0, ...minutes.map(({ log }) => log).filter(Number.isFinite)),
      most: LOG_MIB,
    },
    ...(lives_mib.length < LIVES_LEAST
      ? []
      : [
          {
            name: 'memory at the end of a life, last quarter over first, MiB',
            value: median(last) - median(first),
            most: GROWTH_MIB,
          },
        ]),
    { name: 'exit code of SIGTERM', value: exit_code ?? -1, most: 0, least: 0 },
  ]
}
