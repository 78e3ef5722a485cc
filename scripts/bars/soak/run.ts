/**
 * One soak of the executable that FORUMD_BINARY names; the last line is its figures as JSON. Exit code 1 if one
 * of them is out of bounds. `soak.ts` runs it on the real tree and on those with a planted fault.
 */
import { parseArgs } from 'node:util'

import { faultsOf } from '../../../test/chaos/faults.ts'
import { quantile } from '../abuse/watch.ts'
import { soak, type Soaked } from './daemon.ts'
import { floors, type Sample } from './figures.ts'
import { isWithinBound, judgeSoak } from './judge.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    'kill-every': { type: 'string', default: '60' },
    under: { type: 'string', default: '' },
    seed: { type: 'string', default: '1' },
  },
})
const MONITORS = 50
const DELIVERIES_PER_S = 20
/** Share of the platform's responses that fail. */
const FAULTS_SHARE = 0.05
const minutes = Number(values.minutes)
const kill_every_s = Number(values['kill-every'])
const plan = {
  minutes,
  deliveries_per_s: DELIVERIES_PER_S,
  monitors: MONITORS,
  faults_share: FAULTS_SHARE,
  under: values.under.split(' ').filter(Boolean),
}
const seed = Number(values.seed)
const reporter = (name: string) => (line: string) => console.error(`${name}, ${line}`)
const [steady, killed] = await Promise.all([
  soak({ ...plan, seed, kill_every_s: null, report: reporter('never killed') }),
  soak({ ...plan, seed: seed + 10, kill_every_s, report: reporter('killed') }),
])
const judged = judgeSoak(
  { steady, killed },
  // A run lasts at most 1.5 times the average.
  {
    minutes,
    deliveries_per_s: DELIVERIES_PER_S,
    kills: Math.floor((minutes * 60) / kill_every_s / 1.5),
  },
)

const twelfths = ({ samples }: Soaked, of: (it: Sample) => number) =>
  floors(samples, (minutes * 60_000) / 12, of).map(({ value }) => Math.round(value * 10) / 10)

/** Figures without a bound, for information. */
const summaryOf = (it: Soaked) => ({
  matches: it.matches,
  lost: it.lost,
  faults_of_the_platform: it.faults,
  answered: it.answered,
  billed: it.books.reads_billed,
  asked: it.requests,
  kills: it.lives.length,
  memory_mib: twelfths(it, ({ rss_mib }) => rss_mib),
  own_memory_mib: twelfths(it, ({ own_mib }) => own_mib),
  database_mib: it.samples.at(-1)?.db_mib,
  boot_ms: { p50: quantile(it.start_times_ms, 0.5), p99: quantile(it.start_times_ms, 0.99) },
  spent: it.spent,
  wrong: faultsOf(it),
})
console.log(
  JSON.stringify({
    judged: judged.map((it) => ({ ...it, kept: isWithinBound(it) })),
    steady: summaryOf(steady),
    killed: summaryOf(killed),
  }),
)
process.exit(judged.every(isWithinBound) ? 0 : 1)
