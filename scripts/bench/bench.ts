/**
 * Compares forumd with other software: `bun run bench`. forumd and the peers alternate over several rounds;
 * medians and ratios are printed and saved in docs/benchmarks.md (with every round in docs/benchmarks.json, and
 * a plot).
 *
 *     bun run bench [--only gateway,cached,…] [--rounds 5] [--most-rows 1000000] [--smoke] [--no-keep]
 *
 * `--smoke` checks that every bench runs: small, one round, nothing saved. In CI a skipped peer fails it.
 */
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'

import { cached } from './cached.ts'
import { deliveries, receipt } from './deliveries.ts'
import { type Bench, markdownOf, type Options, type Result } from './figures/results.ts'
import { keep, machine, revision } from './figures/save-results.ts'
import { gateway } from './gateway.ts'
import { growth } from './growth.ts'
import { LEFT_OUT } from './load/load-in-turns.ts'
import { memory } from './memory.ts'
import { trees } from './trees.ts'

const BENCHES: readonly Bench[] = [gateway, cached, deliveries, receipt, trees, growth, memory]
const NAMES = BENCHES.map(({ name }) => name)

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: NAMES.join(',') },
    rounds: { type: 'string', default: '5' },
    'most-rows': { type: 'string', default: '1000000' },
    smoke: { type: 'boolean', default: false },
    'no-keep': { type: 'boolean', default: false },
  },
})
const only = values.only.split(',')
const options: Options = {
  rounds: values.smoke ? 1 : Number(values.rounds),
  smoke: values.smoke,
  most_rows: Number(values['most-rows']),
}
const wrong = [
  ...only
    .filter((it) => !NAMES.includes(it))
    .map((it) => `--only ${it}: there are ${NAMES.join(', ')}`),
  ...(options.rounds >= 1 && Number.isInteger(options.rounds)
    ? []
    : ['--rounds: a whole number from 1']),
  ...(options.most_rows >= 100_000 ? [] : ['--most-rows: a number from 100000']),
]
if (wrong.length > 0) {
  console.error(wrong.join('\n'))
  process.exit(2)
}

const loadNow = () => loadavg()[0] ?? Number.NaN

async function run(bench: Bench): Promise<Result> {
  const { name, title, about } = bench
  const before = loadNow()
  const began = performance.now()
  const measured = await bench.run(options)
  console.error(`${name}: ${((performance.now() - began) / 1000).toFixed(0)} s`)
  return {
    name,
    title,
    about,
    at: new Date().toLocaleDateString('en-GB', {
      day: 'numeric',
      month: 'long',
      year: 'numeric',
    }),
    machine: machine(),
    revision: revision(),
    rounds: options.rounds,
    load: {
      before,
      after: loadNow(),
    },
    ...measured,
  }
}

const results: Result[] = []
for (const bench of BENCHES.filter(({ name }) => only.includes(name))) {
  const result = await run(bench)
  results.push(result)
  console.log(`${markdownOf(result)}\n`)
}
if (!values.smoke && !values['no-keep']) await keep(results, NAMES)
const left_out = results.flatMap(({ notes }) => notes).filter((it) => it.startsWith(LEFT_OUT))
if (process.env['CI'] !== undefined) for (const it of left_out) console.error(it)
// All benches are finished; timers that are still active must not keep the process alive.
process.exit(values.smoke && process.env['CI'] !== undefined && left_out.length > 0 ? 1 : 0)
