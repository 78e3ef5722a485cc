/**
 * Measures what sources cost and how late matches are: the executable watches simulated forums in real time, on
 * the loopback. Prints a row for each scenario: requests a minute and forum, beside those of a client that polls
 * once for each monitor; the time from the appearance of an item to its match and to its receipt; processor and
 * memory. Exit code 0 only if no match is lost, requests stay within the limit of the scenario, and the p99 of
 * the match is at most 2 s above the cadence.
 *
 *     bun run bar:sources [discourse] [forums] [hackernews] [lemmy] [--minutes 5] [--cadence 30] [--monitors N]
 *                         [--requests N] [--seed N] [--short] [--json]
 *
 * `--short`: half a minute at a cadence of 5 s, to see that it works. `--monitors`: of each forum.
 * `--requests`: the `requests_per_minute` of each forum.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { builtFrom } from '../binary.ts'
import { SEED } from '../seed.ts'
import { measure, type Measured } from './run.ts'
import { type Scenario, SCENARIOS } from './scenarios.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '5' },
    cadence: { type: 'string', default: '30' },
    monitors: { type: 'string' },
    requests: { type: 'string' },
    seed: SEED,
    short: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const unknown = positionals.find((it) => !Object.hasOwn(SCENARIOS, it))
if (unknown !== undefined) {
  console.error(`there is no scenario ${unknown}; there are ${Object.keys(SCENARIOS).join(', ')}`)
  process.exit(64)
}
const run = {
  minutes: values.short ? 0.5 : numberOf('minutes', values.minutes),
  cadence_s: values.short ? 5 : numberOf('cadence', values.cadence),
  seed: numberOf('seed', values.seed),
  requests_per_minute: values.requests === undefined ? null : numberOf('requests', values.requests),
}
const monitors = values.monitors === undefined ? null : numberOf('monitors', values.monitors)
const HEADINGS = [
  'watched',
  'monitors',
  'requests a minute and forum',
  'one poll a monitor',
  'to the match: p50, p99',
  'to receipt: p50, p99',
  'processor, of one core',
  'memory',
]
const LATE_MAX_MS = run.cadence_s * 1000 + 2000

const dir = mkdtempSync(join(tmpdir(), 'forumd-bar-'))
try {
  process.env['FORUMD_BINARY'] ??= await builtFrom(
    join(import.meta.dir, '../../..'),
    join(dir, 'it'),
  )
  const results: { name: string; scenario: Scenario; measured: Measured; failed: string[] }[] = []
  for (const [name, planned] of Object.entries(SCENARIOS)) {
    if (positionals.length > 0 && !positionals.includes(name)) continue
    const scenario = { ...planned, monitors_per_site: monitors ?? planned.monitors_per_site }
    const measured = await measure(scenario, run)
    results.push({ name, scenario, measured, failed: failuresOf(scenario, measured) })
  }
  const load = Number(loadavg()[0]?.toFixed(1))
  if (values.json) console.log(JSON.stringify({ ...run, load, results }, null, 2))
  else {
    console.log(
      `seed ${run.seed}, ${run.minutes} minutes, cadence ${run.cadence_s} s, ` +
        `${availableParallelism()} cores (${cpus()[0]?.model}), load ${load}\n`,
    )
    console.log(HEADINGS.map((it) => `| ${it} `).join('') + '|')
    console.log(HEADINGS.map(() => '| --- ').join('') + '|')
    for (const { scenario, measured } of results)
      console.log(`| ${rowOf(scenario, measured).join(' | ')} |`)
    console.log('\nrequests a minute and forum, by path')
    for (const { name, measured } of results)
      for (const [path, count] of Object.entries(measured.paths))
        console.log(`${name}: ${count.toFixed(1)} ${path}`)
  }
  const failed = results.flatMap(({ name, failed: all }) => all.map((it) => `${name}: ${it}`))
  for (const line of failed) console.error(`FAILED ${line}`)
  process.exitCode = failed.length === 0 ? 0 : 1
} finally {
  rmSync(dir, { recursive: true, force: true })
}

function failuresOf({ requests_max }: Scenario, it: Measured): string[] {
  const { most } = it.requests
  const { lost } = it
  return [
    it.matches === 0 && 'nothing matched',
    lost.matches > 0 && `${lost.matches} matches are lost`,
    lost.deliveries > 0 && `${lost.deliveries} matches were not received`,
    most > requests_max && `${most.toFixed(1)} requests a minute, at most ${requests_max}`,
    it.to_match.p99 > LATE_MAX_MS &&
      `p99 to the match ${it.to_match.p99} ms, at most ${LATE_MAX_MS} ms; ${it.failed_steps} failed steps`,
  ].filter((line) => line !== false)
}

function seconds({ p50, p99 }: { p50: number; p99: number }): string {
  return `${(p50 / 1000).toFixed(1)} s, ${(p99 / 1000).toFixed(1)} s`
}

function rowOf({ title, sites, monitors_per_site }: Scenario, it: Measured): string[] {
  return [
    title,
    String(sites * monitors_per_site),
    it.requests.mean.toFixed(1),
    it.naive.toFixed(0),
    seconds(it.to_match),
    seconds(it.to_receipt),
    `${(it.cpu * 100).toFixed(1)} %`,
    `${it.rss_mib.toFixed(0)} MiB`,
  ]
}

function numberOf(name: string, text: string): number {
  const number = Number(text)
  if (text === '' || !(number > 0)) {
    console.error(`--${name}: expected a number above 0`)
    process.exit(64)
  }
  return number
}
