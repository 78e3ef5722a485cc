/**
 * Runs the executable beside hostile sites of every kind, which mutate the answers of honest ones, phase by phase. Exit code 0
 * only if `/health` stays fast, nothing restarts or throws, memory and database stay small, reads have a known answer, every
 * post that no answer has hidden is delivered, and no claim of completeness is refuted.
 *
 *     bun run bar:fuzz [--minutes 60] [--seed N] [--kind values,ids,...] [--site discourse,...] [--settle 15] [--keep] [--json]
 *
 * `--settle`: longest wait, in minutes, for the last posts: a source may ask for a pause of 13 minutes. `--keep`: leaves the
 * folder of the daemon, with its log. `FORUMD_SOURCES` and `FORUMD_RECORDINGS` add recorded answers.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { MUTATION_KINDS } from '../../../test/support/mutations.ts'
import { builtFrom } from '../binary.ts'
import { SEED } from '../seed.ts'
import { fuzz, SITES } from './run.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    kind: { type: 'string', default: MUTATION_KINDS.join() },
    site: { type: 'string', default: SITES.join() },
    seed: SEED,
    keep: { type: 'boolean', default: false },
    settle: { type: 'string', default: '15' },
    json: { type: 'boolean', default: false },
  },
})
const minutes = Number(values.minutes)
const kinds = listOf('kind', values.kind, MUTATION_KINDS)
const sites = listOf('site', values.site, SITES)
const settle = Number(values.settle)
if (!(minutes > 0)) refuse('--minutes: expected a number above 0')
if (!(settle >= 0)) refuse('--settle: expected minutes')

const dir = mkdtempSync(join(tmpdir(), 'forumd-bar-'))
try {
  process.env['FORUMD_BINARY'] ??= await builtFrom(
    join(import.meta.dir, '../../..'),
    join(dir, 'it'),
  )
  const seed = Number(values.seed)
  console.error(`seed ${seed}`)
  const plan = { minutes, seed, kinds, sites, keep: values.keep, settle_ms: settle * 60_000 }
  const report = await fuzz(plan, (line) =>
    console.error(`${new Date().toISOString().slice(11, 19)} ${line}`),
  )
  if (values.json) console.log(JSON.stringify(report, null, 2))
  else {
    const { health_ms, turns_ms, rss_mib, db_mib, reads, log } = report
    console.log({ seed, health_ms, turns_ms, rss_mib, db_mib, log })
    console.table(report.sites)
    for (const [name, { served }] of Object.entries(report.sites)) console.log(name, served)
    console.log(reads.count, 'reads', reads.statuses, `slowest ${reads.slowest_ms.toFixed(0)} ms`)
  }
  for (const line of report.wrong) console.error(`FAILED ${line}`)
  process.exitCode = report.wrong.length === 0 ? 0 : 1
} finally {
  rmSync(dir, { recursive: true, force: true })
}

function listOf(option: string, text: string, known: readonly string[]): string[] {
  const names = text.split(',')
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined)
    refuse(`--${option}: there is no ${unknown}; there are ${known.join(', ')}`)
  return names
}

function refuse(line: string): never {
  console.error(line)
  process.exit(64)
}
