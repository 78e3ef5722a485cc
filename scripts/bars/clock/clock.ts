/**
 * Checks that clock changes, a wrong clock and other time zones do not change what is delivered and when:
 * twelve scenarios in virtual time, with the production sender, pacing, upkeep and plan limits, each in a
 * process with its own time zone. Results are judged by true time. Exit code 0 only if there is no violation.
 *
 *     bun scripts/bars/clock/clock.ts [--only NAME] [--seed N] [--at-once 2]
 */
import { parseArgs } from 'node:util'

import * as z from 'zod'

import { SEED } from '../seed.ts'
import { judge } from './judge.ts'
import { run, type Size } from './run.ts'
import { SCENARIOS } from './scenarios.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    seed: SEED,
    'at-once': { type: 'string', default: '2' },
    /** Set by this script for its child processes. */
    run: { type: 'string' },
  },
})
const SIZE: Size = {
  seed: Number(values.seed),
  days: 7.1,
  ceiling: 10_000,
  busy_every_ms: 7000,
  busy_days: 3,
  calm_every_ms: 20 * 60_000,
  cadence_s: 300,
}
const counts = z.record(z.string(), z.number())
const report = z.object({ zone: z.string(), wrong: counts, shown: counts })

const jobs = SCENARIOS.filter(({ name }) => name.includes(values.only)).flatMap((scenario) =>
  scenario.runs.map(({ zone, start }) => ({ scenario, zone, start })),
)

if (values.run === undefined) {
  console.log(`${jobs.length} runs of ${SCENARIOS.length} scenarios, seed ${values.seed}`)
  const waiting = [...jobs.entries()]
  const bad: string[] = []
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [n, { scenario, zone }] = next
      const child = Bun.spawn(
        [process.execPath, ...process.argv.slice(1), '--run', String(n), '--seed', values.seed],
        {
          env: { ...process.env, TZ: zone },
          stdout: 'pipe',
          stderr: 'inherit',
        },
      )
      const report_line = report.safeParse(
        await new Response(child.stdout).json().catch(() => null),
      )
      const name = `${scenario.name}, ${zone}`
      if (!report_line.success) {
        bad.push(name)
        console.log(`${name}: ended with ${await child.exited} without a result`)
        continue
      }
      const wrong = Object.entries(report_line.data.wrong).filter(([, count]) => count > 0)
      const totals = Object.entries(report_line.data.shown).map(
        ([what, count]) => `${what} ${count}`,
      )
      const in_zone = report_line.data.zone === zone
      if (wrong.length > 0 || !in_zone) bad.push(name)
      const verdict =
        wrong.length === 0 ? 'ok' : wrong.map(([what, count]) => `${what} ${count}`).join(', ')
      console.log(
        `${name}: ${in_zone ? verdict : `ran in ${report_line.data.zone}`} (${totals.join(', ')})`,
      )
    }
  }
  await Promise.all(Array.from({ length: Number(values['at-once']) }, work))
  console.log(bad.length === 0 ? 'nothing wrong' : `wrong: ${bad.join('; ')}`)
  process.exit(bad.length === 0 && jobs.length > 0 ? 0 : 1)
}

const job = jobs[Number(values.run)]
if (job === undefined) throw new RangeError('there is no such run')
const { zone, scenario, start } = job
const { wrong, shown: totals } = judge(await run(scenario, start, SIZE), SIZE)
const own_zone = new Intl.DateTimeFormat().resolvedOptions().timeZone
console.log(
  JSON.stringify({ zone: sameZone(own_zone, zone) ? zone : own_zone, wrong, shown: totals }),
)

/** Kathmandu has two spellings. */
function sameZone(a: string, b: string): boolean {
  const [one, other] = [a, b].map(
    (timeZone) => new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone,
  )
  return one === other
}
