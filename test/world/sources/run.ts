/**
 * The named command: `bun test/world/sources/run.ts [--worlds a,b] [--seeds 3 | --seed N] [--minutes 3]
 * [--cadence 3] [--kills 2] [--parallel 4] [--binary PATH] [--json FILE]`. It prints its seeds, a table and
 * an account of every loss, and ends with 0 only if every bar holds in every world.
 */
import { createRunner, wholeNumber } from '../runner.ts'
import type { Loss } from './judge.ts'
import { runSourceWorld } from './live.ts'
import type { SourceResult } from './live.ts'
import { expandNames, worldNames } from './worlds.ts'

const LISTED = 3

const split = (counts: Readonly<Record<string, number>>): string =>
  `${counts['fresh'] ?? 0}/${counts['late'] ?? 0}/${counts['edited'] ?? 0}`

const COLUMNS: readonly (readonly [string, (one: SourceResult) => string | number])[] = [
  ['world', (one) => one.world],
  ['seed', (one) => one.seed],
  ['kills', (one) => one.kills.length],
  ['pairs f/l/e', (one) => split(one.verdict.pairs)],
  ['delivered', (one) => split(one.verdict.delivered)],
  ['silent', (one) => one.verdict.silent.length],
  ['reported', (one) => one.verdict.reported.length],
  ['vague', (one) => one.verdict.vague.length],
  ['withdrawn', (one) => one.verdict.withdrawn.length],
  ['early claims', (one) => one.verdict.earlyClaims.length + one.verdict.blindClaims.length],
  ['not public', (one) => one.verdict.notPublic.length],
  ['half', (one) => one.verdict.half.length],
  ['changed', (one) => one.verdict.changed.length],
  ['complete', (one) => `${(one.verdict.completeShare * 100).toFixed(1)} %`],
  ['false', (one) => one.verdict.falseDeliveries.length],
  ['dup', (one) => one.verdict.duplicates.length],
  ['requests', (one) => one.requests],
  ['a minute', (one) => Object.values(one.verdict.mostPerMinute).join(' ')],
  ['over', (one) => one.verdict.overLimit],
  ['in pause', (one) => one.verdict.inPause],
  [
    'p50 p99 s',
    (one) =>
      `${(one.verdict.delayP50Ms / 1000).toFixed(1)} ${(one.verdict.delayP99Ms / 1000).toFixed(1)}`,
  ],
  [
    'statuses',
    (one) =>
      Object.entries(one.statuses)
        .map(([name, count]) => `${count} ${name}`)
        .join(', '),
  ],
]

const s = (ms: number | null) => (ms === null ? 'null' : (ms / 1000).toFixed(1))

const describeLoss = (kind: string, loss: Loss): string => {
  const served = loss.servedAtMs.length === 0 ? 'never' : loss.servedAtMs.map(s).join(' ')
  return (
    `    ${kind} ${loss.category}: ${loss.label} ${loss.name} (id ${loss.gapId}) ${loss.note}; created ${s(loss.createdMs)} s, ` +
    `shown and matching ${s(loss.shownMs[0])} to ${s(loss.shownMs[1])} s, in answers at ${served}; ` +
    `health ${loss.status} ${loss.reason ?? ''} audited_until ${s(loss.auditedUntilMs)}`
  )
}

/** The bars that a world fails, with the first losses of each sort. */
const accountOf = (one: SourceResult): string[] => {
  const lines = one.failures.map((failure) => `! ${one.world} ${one.seed}: ${failure}`)
  for (const kind of ['silent', 'vague', 'reported', 'withdrawn'] as const) {
    const groups = Map.groupBy(one.verdict[kind], (loss) => `${loss.label} ${loss.category}`)
    for (const [group, losses] of groups) {
      lines.push(`  ${kind}, ${group}: ${losses.length}`)
      for (const loss of losses.slice(0, LISTED)) lines.push(describeLoss(kind, loss))
    }
  }
  for (const kind of [
    'earlyClaims',
    'blindClaims',
    'notPublic',
    'half',
    'changed',
    'falseDeliveries',
    'duplicates',
    'unstable',
    'early',
  ] as const) {
    for (const text of one.verdict[kind].slice(0, LISTED)) lines.push(`    ${kind}: ${text}`)
  }
  return lines
}

const { main } = createRunner({
  script: import.meta.path,
  worlds: worldNames(),
  expand: expandNames,
  minutes: '3',
  option: ['kills', '2'],
  jobOf: (job, kills) => ({ ...job, kills: wholeNumber(kills, 'kills', 0) }),
  run: runSourceWorld,
  columns: COLUMNS,
  accountOf,
})

await main()
