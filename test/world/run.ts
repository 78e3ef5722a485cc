/**
 * The named command: `bun test/world/run.ts [--worlds a,b] [--seeds 3 | --seed N] [--minutes 5]
 * [--parallel 4] [--binary PATH] [--audit-interval S] [--cadence S] [--json FILE]`. It prints its
 * seeds and a table, and ends with 0 only if every bar holds in every world.
 */
import type { WorldResult } from './assess.ts'
import { runWorld } from './live.ts'
import { createRunner, wholeNumber } from './runner.ts'
import { SCENARIO_NAMES } from './scenarios.ts'

const LISTED = 3

const COLUMNS: readonly (readonly [string, (one: WorldResult) => string])[] = [
  ['world', (one) => one.world],
  ['seed', (one) => String(one.seed)],
  ['kills', (one) => String(one.kills.length)],
  ['pairs', (one) => String(one.verdict.pairs)],
  ['delivered', (one) => String(one.verdict.delivered)],
  ['reported', (one) => String(one.verdict.reported)],
  ['silent', (one) => String(one.silent.length)],
  ['beyond', (one) => String(one.beyondSilent.length)],
  ['withdrawn', (one) => String(one.verdict.withdrawn)],
  ['vague', (one) => String(one.verdict.vague)],
  ['share', (one) => `${(one.deliveredShare * 100).toFixed(1)}%`],
  ['false', (one) => String(one.verdict.falseMatches.length)],
  ['early claims', (one) => String(one.earlyClaims.length)],
  ['not public', (one) => String(one.notPublic.length)],
  ['changed', (one) => String(one.changed.length)],
  ['early', (one) => String(one.verdict.early.length)],
  ['dup', (one) => String(one.verdict.duplicates.length)],
  ['unstable', (one) => String(one.verdict.unstable.length)],
  ['over', (one) => String(one.overRate)],
  ['requests', (one) => `${one.requests}/${one.naiveRequests}`],
  ['ratio', (one) => one.ratio.toFixed(2)],
  ['naive missed', (one) => String(one.naiveMissed)],
  ['statuses', (one) => statusText(one)],
  ['audit lag', (one) => (one.auditLagS === null ? '-' : `${one.auditLagS.toFixed(0)}s`)],
]

const statusText = (one: WorldResult): string =>
  Object.entries(one.statuses)
    .map(([status, count]) => `${count} ${status}`)
    .join(', ')

const accountOf = (one: WorldResult): string[] => [
  ...Object.entries(one.measures).map(
    ([name, value]) => `  ${one.world} ${one.seed}: ${name} ${value}`,
  ),
  ...one.failures.map((failure) => `! ${one.world} ${one.seed}: ${failure}`),
  ...(['notPublic', 'changed', 'earlyClaims'] as const).flatMap((kind) =>
    one[kind].slice(0, LISTED).map((text) => `    ${kind}: ${text}`),
  ),
]

export const { runAll, tableOf, main } = createRunner({
  script: import.meta.path,
  worlds: SCENARIO_NAMES,
  expand: (names) => names.split(','),
  minutes: '5',
  option: ['audit-interval', ''],
  jobOf: (job, interval) => ({
    ...job,
    auditIntervalS: interval === '' ? null : wholeNumber(interval, 'audit-interval'),
  }),
  run: runWorld,
  columns: COLUMNS,
  accountOf,
})

if (import.meta.main) await main()
