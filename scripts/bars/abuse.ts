/**
 * Whether the daemon stays quick and small while it is abused, and lets nothing through. Evil patterns, bombs of JSON,
 * bodies of a GiB, receivers and a platform that answer with bombs, a thousand slow connections, ten thousand texts that
 * try to become headers; meanwhile its event loop, `/health` and its memory are watched from outside. Exit 0 only when
 * nothing was injected, everything ended as it must, and the figures are within their bounds.
 *
 *     bun scripts/bars/abuse.ts [--rounds 4] [--connections 1000] [--texts 10000] [--only NAME] [--seed N]
 *         [--under 'chrt -r 1']   what the daemon is run under, on a machine that others use too
 */
import { parseArgs } from 'node:util'

import { answerWithBombs, matchRegexes, readBombs } from '../../test/support/abuse/answers.ts'
import { injectHeaders } from '../../test/support/abuse/headers.ts'
import { openSlowly, pourBodies, throwJson } from '../../test/support/abuse/requests.ts'
import { startAbused } from '../../test/support/abuse/stage.ts'
import type { Outcome } from '../../test/support/abuse/target.ts'
import { quantile, stallsFile, startWatch } from './abuse-watch.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '4' },
    connections: { type: 'string', default: '1000' },
    texts: { type: 'string', default: '10000' },
    only: { type: 'string' },
    under: { type: 'string', default: '' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
  },
})
const ROUNDS = Number(values.rounds)
const STALL_P999_MS = 50
const STALL_MAX_MS = 250
const HEALTH_P99_MS = 250
const GROWTH_MIB = 64
const LEFT_MIB = 16
/** Longest text that a post can have and a pattern is shown. */
const TEXT_LENGTH = 9900
// No limit of ours is on: these keep it to ten times what one key may, and to what a pool of eight accounts may ask.
const REST_MS = 40
const READ_REST_MS = 250
const SETTLE_MS = 10_000
const AFTER_MS = 60_000

const file = stallsFile()
await using abused = await startAbused({
  under: [
    ...values.under.split(' ').filter(Boolean),
    'env',
    `BUN_OPTIONS=--preload=${import.meta.dir}/abuse-probe.ts`,
    `FORUMD_STALLS=${file}`,
  ],
})
const { target, tls, pid } = abused

/** Nobody attacks: what the machine itself does to the figures. */
async function idle(): Promise<Outcome> {
  await Bun.sleep(SETTLE_MS)
  return { asked: 0, wrong: [] }
}

const ATTACKS: Record<string, () => Promise<Outcome>> = {
  patterns: () => matchRegexes(target, TEXT_LENGTH, 120_000),
  json: () => throwJson(target, ROUNDS, REST_MS),
  bodies: () => pourBodies(target, ROUNDS),
  receivers: () => answerWithBombs(target, ROUNDS * 5, tls),
  platform: () => readBombs(target, ROUNDS, { rest_ms: READ_REST_MS }),
  slow: () => openSlowly(target, Number(values.connections), 60_000),
  headers: () => injectHeaders(target, Number(values.texts), Number(values.seed)),
}
const attacks = Object.entries(ATTACKS).filter(([name]) => (values.only ?? name) === name)
const figured = new Set(attacks.map(([name]) => name))

// Once of everything first: what is loaded and compiled at the first use is no growth, and no stall of an attack.
for (const warm of [
  () => matchRegexes(target, 200, 20_000),
  () => throwJson(target, 1),
  () => injectHeaders(target, 100, 1),
])
  await warm()
await Bun.sleep(SETTLE_MS)

console.log(`seed ${values.seed}`)
await using watch = await startWatch({ pid, url: target.url, file })
const before_mib = watch.rss()
const wrong: string[] = []
const table: Record<string, object> = {}
const stalls: number[] = []
const answers: number[] = []
for (const [name, attack] of [['idle', idle] as const, ...attacks]) {
  await watch.take()
  const outcome = await attack()
  const seen = await watch.take()
  wrong.push(
    ...outcome.wrong.map((it) => `${name}: ${it}`),
    ...seen.failed.map((it) => `${name}: ${it}`),
  )
  if (figured.has(name)) {
    stalls.push(...seen.stalls_ms)
    answers.push(...seen.health_ms)
  }
  table[name] = {
    asked: outcome.asked,
    wrong: outcome.wrong.length,
    'stall p99.9 ms': Math.round(quantile(seen.stalls_ms, 0.999)),
    'stall max ms': Math.round(quantile(seen.stalls_ms, 1)),
    'health p99 ms': Math.round(quantile(seen.health_ms, 0.99)),
    'rss max MiB': Math.round(seen.rss_max_mib),
  }
}
const most_mib = watch.rssMax()
await Bun.sleep(AFTER_MS)
const after_mib = watch.rss()

console.table(table)
for (const it of wrong.slice(0, 20)) console.log(it)
const figures: [string, number, number][] = [
  ['event loop stall, p99.9, ms', quantile(stalls, 0.999), STALL_P999_MS],
  ['event loop stall, longest, ms', quantile(stalls, 1), STALL_MAX_MS],
  ['/health, p99, ms', quantile(answers, 0.99), HEALTH_P99_MS],
  ['memory, growth, MiB', most_mib - before_mib, GROWTH_MIB],
  ['memory, left after a minute, MiB', after_mib - before_mib, LEFT_MIB],
  ['not as it must', wrong.length, 0],
]
for (const [name, value, most] of figures)
  console.log(`${value <= most ? 'ok  ' : 'OVER'} ${name}: ${value.toFixed(1)}, at most ${most}`)
process.exitCode = figures.every(([, value, most]) => value <= most) ? 0 : 1
