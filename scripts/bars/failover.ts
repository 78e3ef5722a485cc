/**
 * Checks that two nodes never act at the same time, and that the check would detect it. Fails over again and again at a
 * PostgreSQL and at an etcd of this machine, with Litestream as the replication, then with an executable that does not check
 * before it writes, whose late requests must be detected.
 *
 *     bun run bar:failover [--rounds 100] [--mutant-rounds 40] [--ttl 8] [--seed N]
 */
import { parseArgs } from 'node:util'

import * as z from 'zod'

import { type Mutant, root, runOn, withPlanted } from './mutants.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '100' },
    'mutant-rounds': { type: 'string', default: '40' },
    ttl: { type: 'string', default: '8' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
  },
})

/** The check before the attempt stays: the runtime connects and writes in a thread of its own. */
const MUTANT: Mutant = {
  name: 'no check before the write',
  file: 'src/wiring/lease.ts',
  from: 'fetch: createFencedFetch(fence)',
  to: 'fetch: runtime.fetch',
}
const SCRIPT = 'test/world/failover/run.ts'
const figures = z.looseObject({ overlaps: z.number(), rounds: z.number() })

const run = async (tree: string, options: Record<string, string>) => {
  const { seed, ttl } = values
  const { passed, report } = await runOn(tree, SCRIPT, { seed, ttl, ...options })
  return { passed, report: report === null ? null : figures.parse(report) }
}

let good = true
for (const system of ['postgres', 'etcd']) {
  const { passed, report } = await run(root, { system, rounds: values.rounds, replicate: 'true' })
  console.log(`${system}: ${JSON.stringify(report)} ${passed ? 'passed' : 'FAILED'}`)
  good &&= passed
}
const rounds = values['mutant-rounds']
const { report } = await withPlanted(MUTANT, (tree) =>
  run(tree, { system: 'etcd', rounds, faults: 'stop', items: '200', ttl: '4' }),
)
const noticed = (report?.overlaps ?? 0) > 0
console.log(
  `mutant, ${MUTANT.name}: ${noticed ? `detected in ${report?.overlaps} of ${report?.rounds} rounds` : 'NOT DETECTED'}`,
)
process.exit(good && noticed ? 0 : 1)
