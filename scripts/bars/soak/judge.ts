import { faultsOf } from '../../../test/chaos/faults.ts'
import { quantile } from '../abuse/watch.ts'
import { CALLS } from './billing.ts'
import { ITEMS_PER_DELIVERY, type Soaked } from './daemon.ts'
import { ends, floors, growthPerHour, median, type Sample } from './figures.ts'

/** A figure of a soak with its upper bound `most` and lower bound `least`. */
export type Judged = { name: string; value: number; most?: number; least?: number }

/** Growth per hour is judged from this duration on; shorter runs are still warming up. */
const FULL_MINUTES = 60
const WARM_UP_MS = 15 * 60_000
const WINDOW_MS = 60_000
const GROWTH_MIB_H = 1
const WARM_UP_MIB = 48
/** Allowed change of the number of descriptors, threads and files. */
const STEP = 5
const LIFE_MIB = 16
const START_P99_MS = 2000
const WAL_MIB = 64
const ATTEMPT_P99_MS = 2000
const SLOWER = 1.5
const DUPLICATES = 0.08
const STALL_P999_MS = 50
const HEALTH_P99_MS = 250
const LATER_FILE = 1.25
const RATE_SHARE = 0.95

/** Figures of a soak, for the daemon without kills and the one with kills. */
export function judgeSoak(
  { steady, killed }: { steady: Soaked; killed: Soaked },
  plan: { minutes: number; deliveries_per_s: number; kills: number },
): Judged[] {
  const daemons = Object.entries({ steady, killed })
  const warm = steady.samples.filter(({ at_ms }) => at_ms > warmUpOf(plan.minutes))
  return [
    ...daemons.flatMap(([name, it]) => [
      { name: `${name}: violations`, value: faultsOf(it).length, most: 0 },
      {
        name: `${name}: posts a second`,
        value: it.items_per_s,
        least: plan.deliveries_per_s * ITEMS_PER_DELIVERY * RATE_SHARE,
      },
      {
        name: `${name}: accepted twice, most of a receiver, share`,
        value: Math.max(...it.duplicates),
        most: DUPLICATES,
      },
      ...delaysJudged(name, it),
      {
        name: `${name}: largest log of the database, MiB`,
        value: Math.max(...it.samples.map(({ wal_mib }) => wal_mib)),
        most: WAL_MIB,
      },
      ...filesJudged(name, it, plan.minutes),
      ...moneyJudged(name, it),
      { name: `${name}: exit code of SIGTERM`, value: it.exit_code ?? -1, most: 0, least: 0 },
    ]),
    ...memoryJudged(warm, plan.minutes),
    change('steady: descriptors', warm, ({ descriptors }) => descriptors),
    change('steady: threads', warm, ({ threads }) => threads),
    {
      name: 'steady: event loop late in a minute of the last quarter, p99.9, ms',
      value: median(ends(steady.minutes).last.map((it) => it.stall_p999_ms)),
      most: STALL_P999_MS,
    },
    {
      name: 'steady: /health in a minute of the last quarter, p99, ms',
      value: median(ends(steady.minutes).last.map((it) => it.health_p99_ms)),
      most: HEALTH_P99_MS,
    },
    {
      name: 'steady: /health not answered with 200',
      value: steady.minutes.reduce((sum, it) => sum + it.health_failed, 0),
      most: 0,
    },
    { name: 'killed: kills', value: killed.lives.length, least: plan.kills },
    change(
      'killed: descriptors at the end of a life',
      killed.lives,
      ({ descriptors }) => descriptors,
    ),
    change('killed: threads at the end of a life', killed.lives, ({ threads }) => threads),
    {
      name: 'killed: memory at the end of a life, last quarter over first, MiB',
      value: grownBy(killed.lives.map(({ rss_mib }) => rss_mib)),
      most: LIFE_MIB,
    },
    {
      name: 'killed: from start to listening, p99, ms',
      value: quantile(killed.start_times_ms, 0.99),
      most: START_P99_MS,
    },
  ]
}

/** True if a figure is within its bounds. NaN is not. */
export const isWithinBound = ({ value, most = Infinity, least = -Infinity }: Judged): boolean =>
  value <= most && value >= least

const warmUpOf = (minutes: number) => Math.min(WARM_UP_MS, (minutes * 60_000) / 4)

/** A value that must stay constant, in both directions. */
function change(name: string, samples: readonly Sample[], of: (it: Sample) => number): Judged {
  return { name: `${name}, changed by`, value: Math.abs(grownBy(samples.map(of))), most: STEP }
}

/** Median of the last quarter divided by that of the first. */
function grownBy(values: readonly number[]): number {
  const { first, last } = ends(values)
  return median(last) - median(first)
}

function memoryJudged(warm: readonly Sample[], minutes: number): Judged[] {
  const perHour = (of: (it: Sample) => number) => growthPerHour(floors(warm, WINDOW_MS, of))
  if (minutes >= FULL_MINUTES)
    return [
      {
        name: 'steady: memory, MiB an hour',
        value: perHour(({ rss_mib }) => rss_mib),
        most: GROWTH_MIB_H,
      },
      {
        name: 'steady: memory that no file backs, MiB an hour',
        value: perHour(({ own_mib }) => own_mib),
        most: GROWTH_MIB_H,
      },
    ]
  const value = grownBy(warm.map(({ rss_mib }) => rss_mib))
  return [{ name: 'steady: memory while warming up, MiB', value, most: WARM_UP_MIB }]
}

function delaysJudged(name: string, { delays }: Soaked): Judged[] {
  const { first, last } = ends(delays.map(({ ms }) => ms))
  return [
    {
      name: `${name}: seen to first attempt, p99, ms`,
      value: quantile(
        delays.map(({ ms }) => ms),
        0.99,
      ),
      most: ATTEMPT_P99_MS,
    },
    {
      name: `${name}: the same in the last quarter, p99, ms`,
      value: quantile(last, 0.99),
      most: ATTEMPT_P99_MS,
    },
    {
      name: `${name}: its median in the last quarter, of that in the first`,
      value: median(last) / median(first),
      most: SLOWER,
    },
  ]
}

/** The database may grow by as much in the last quarter as in the second; no other file may be added. */
function filesJudged(name: string, { samples }: Soaked, minutes: number): Judged[] {
  const grown = (from: number, to: number) =>
    (samples.at(Math.floor(samples.length * to) - 1)?.db_mib ?? 0) -
    (samples.at(Math.floor(samples.length * from))?.db_mib ?? 0)
  return [
    change(`${name}: files`, samples, ({ files }) => files),
    // Within a few minutes the file grows by whole checkpoints only.
    ...(minutes < FULL_MINUTES / 3
      ? []
      : [
          {
            name: `${name}: growth of the database in the last quarter, of that in the second`,
            value: grown(0.75, 1) / grown(0.25, 0.5),
            most: LATER_FILE,
          },
        ]),
  ]
}

function moneyJudged(name: string, { spent }: Soaked): Judged[] {
  const { affordable, answers, billed, credits_remaining, holds, unbalanced } = spent
  const exactly = (what: string, value: number, wanted: number) => ({
    name: `${name}: of 10,000 calls and money for ${affordable}, ${what}`,
    value,
    most: wanted,
    least: wanted,
  })
  return [
    exactly('answered', answers[200] ?? 0, affordable),
    exactly('refused with 402', answers[402] ?? 0, CALLS - affordable),
    exactly('billed', billed, affordable),
    exactly('left, USD', credits_remaining, 0),
    exactly('on hold', holds, 0),
    exactly('customers with an unbalanced ledger', unbalanced, 0),
  ]
}
