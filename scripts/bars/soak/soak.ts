/**
 * Checks that the daemon does not degrade over time (B10 of docs/reliability.md). Two daemons each watch fifty
 * subforums, match, deliver twenty times a second and serve billed reads, while one in twenty platform
 * responses fails. One is never killed and is checked for growth; the other is killed repeatedly and must lose
 * nothing. Then faults planted in copies of the tree must be detected: leaked memory, leaked descriptors, and a
 * match that is not sent.
 *
 *     bun run bar:soak [--minutes 60 | --hours 24] [--kill-every S] [--mutant-minutes 3] [--seed N]
 *         [--under 'chrt -r 1']   command that runs the daemons, for a machine with other load
 *
 * A kill every minute, or every ten minutes with `--hours`. In less than an hour memory is still warming up:
 * only a large leak is detected, and growth of the database is not judged. `--mutant-minutes 0` plants no
 * fault.
 */
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'

import * as z from 'zod'

import { root, runOn, withPlanted } from '../mutants.ts'
import { SOAK_MUTANTS } from '../planted.ts'
import { SEED } from '../seed.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    hours: { type: 'string' },
    'kill-every': { type: 'string' },
    'mutant-minutes': { type: 'string', default: '3' },
    under: { type: 'string', default: '' },
    seed: SEED,
  },
})
const DEFAULT_MINUTES = 60
const minutes =
  values.hours === undefined ? Number(values.minutes ?? DEFAULT_MINUTES) : Number(values.hours) * 60
const kill_every = values['kill-every'] ?? (values.hours === undefined ? '60' : '600')

const SHORTEST_MINUTES = 2
const mutant_minutes = Number(values['mutant-minutes'])
if (
  !(minutes >= SHORTEST_MINUTES) ||
  !(mutant_minutes === 0 || mutant_minutes >= SHORTEST_MINUTES)
) {
  console.error(`minutes: a number from ${SHORTEST_MINUTES}, or 0 for --mutant-minutes`)
  process.exit(2)
}

const figures = z.looseObject({
  judged: z.array(
    z.object({
      name: z.string(),
      // NaN is null in JSON.
      value: z
        .number()
        .nullable()
        .transform((it) => it ?? NaN),
      most: z.number().optional(),
      least: z.number().optional(),
      kept: z.boolean(),
    }),
  ),
})

/** One soak on the executable of a tree; its figures are null if it was aborted. */
async function run(tree: string, options: Record<string, string>) {
  const { passed, report } = await runOn(tree, 'scripts/bars/soak/run.ts', {
    ...options,
    seed: values.seed,
  })
  return { passed, report: report === null ? null : figures.parse(report) }
}

async function isNoticed({ by, ...mutant }: (typeof SOAK_MUTANTS)[number]): Promise<boolean> {
  const options = { minutes: String(mutant_minutes), 'kill-every': '30', under: values.under }
  const { report } = await withPlanted(mutant, (it) => run(it, options))
  const over = report?.judged.filter(({ name, kept }) => !kept && name.includes(by)) ?? []
  const how = over.map(({ name, value }) => `${name}: ${value.toFixed(1)}`).join('; ')
  console.log(`mutant, ${mutant.name}: ${how === '' ? 'NOT DETECTED' : `detected, ${how}`}`)
  return over.length > 0
}

const load = () => loadavg()[0]?.toFixed(1)
console.log(`seed ${values.seed}, ${minutes} minutes, a kill every ${kill_every} s, load ${load()}`)
const { under } = values
const size = { minutes: String(minutes), 'kill-every': kill_every, under }
const { passed, report } = await run(root, size)
for (const { name, value, most, least, kept } of report?.judged ?? []) {
  const bounds = [
    least === undefined ? '' : `at least ${least.toFixed(1)}`,
    most === undefined ? '' : `at most ${most}`,
  ].filter(Boolean)
  console.log(`${kept ? 'ok  ' : 'OVER'} ${name}: ${value.toFixed(2)}, ${bounds.join(', ')}`)
}
console.log(JSON.stringify({ ...report, judged: undefined }, null, 2))
console.log(`${passed ? 'passed' : 'FAILED'}, load ${load()}`)
const noticed: boolean[] = []
if (mutant_minutes > 0) for (const mutant of SOAK_MUTANTS) noticed.push(await isNoticed(mutant))
process.exit(passed && noticed.every(Boolean) ? 0 : 1)
