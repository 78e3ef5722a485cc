/**
 * Checks that the daemon stays responsive and small under abuse, and that nothing is injected. Attacks:
 * expensive patterns, JSON bombs, bodies of a GiB, unread responses, receivers and a platform that answer with
 * bombs, a thousand slow connections, ten thousand texts with header injection. Event loop, `/health` and
 * memory are watched from outside. Exit code 0 only if nothing was injected, every attack ended as expected,
 * and all figures are within their bounds.
 *
 *     bun scripts/bars/abuse/abuse.ts [--rounds 4] [--connections 1000] [--texts 10000] [--only NAME] [--seed N]
 *         [--under 'chrt -r 1']   command that runs the daemon, for a machine with other load
 */
import { parseArgs } from 'node:util'

import { answerWithBombs, matchRegexes, readBombs } from '../../../test/support/abuse/answers.ts'
import { startAbused } from '../../../test/support/abuse/fixture.ts'
import { injectHeaders } from '../../../test/support/abuse/headers.ts'
import {
  leaveMcpUnread,
  openUnreadDocuments,
  pipelineUnread,
  sendMcpBatches,
  sendRefusedBodies,
} from '../../../test/support/abuse/in-flight.ts'
import { attackWithPatterns } from '../../../test/support/abuse/patterns.ts'
import { openSlowly, sendHugeBodies, sendJsonBombs } from '../../../test/support/abuse/requests.ts'
import type { Outcome } from '../../../test/support/abuse/target.ts'
import { SEED } from '../seed.ts'
import { quantile, stallsFile, startWatch } from './watch.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '4' },
    connections: { type: 'string', default: '1000' },
    texts: { type: 'string', default: '10000' },
    only: { type: 'string' },
    under: { type: 'string', default: '' },
    seed: SEED,
  },
})
const ROUNDS = Number(values.rounds)
const STALL_P999_MS = 50
const STALL_MAX_MS = 250
const HEALTH_P99_MS = 250
/** Per attack that fills memory. */
const FILLED_MIB = 256
const UNREAD_MS = 10_000
const CADENCE_MS = 1000
const LATE_MAX_MS = 1000
const GROWTH_MIB = 64
const LEFT_MIB = 16
/** Longest text of a post that a pattern is matched against. */
const TEXT_LENGTH = 9900
// forumd's own limits are off: these pauses keep the load at ten times the limit of one key, and within the
// budget of a pool of eight accounts.
const REST_MS = 40
const READ_REST_MS = 250
const SETTLE_MS = 10_000
const AFTER_MS = 60_000

const file = stallsFile()
await using abused = await startAbused({
  under: [
    ...values.under.split(' ').filter(Boolean),
    'env',
    `BUN_OPTIONS=--preload=${import.meta.dir}/probe.ts`,
    `FORUMD_STALLS=${file}`,
  ],
})
const { target, tls, pid } = abused

/** Attacks on memory, in bytes sent or left unread. Their growth has a separate bound. */
const FILLS: Record<string, () => Promise<Outcome>> = {
  pipelined: () => pipelineUnread(target, 2500, UNREAD_MS),
  unread: () => openUnreadDocuments(target, 300, UNREAD_MS),
  batches: () =>
    sendMcpBatches(target, { clients: 20, lists: 100, rounds: ROUNDS * 5, allowed: [400] }),
  lists: () =>
    sendMcpBatches(target, { clients: 20, lists: 1, rounds: ROUNDS * 5, allowed: [200] }),
  mcp_unread: () => leaveMcpUnread(target, { clients: 200, lists: 1, for_ms: UNREAD_MS }),
  foreign_bodies: () =>
    sendRefusedBodies(
      { ...target, key: 'fk_wrong' },
      { width: 30, rounds: ROUNDS, allowed: [403] },
    ),
  own_bodies: () => sendRefusedBodies(target, { width: 30, rounds: ROUNDS, allowed: [400, 503] }),
}

/** No attack: noise of the machine itself. */
async function idle(): Promise<Outcome> {
  await Bun.sleep(SETTLE_MS)
  return { requests: 0, wrong: [] }
}

/**
 * The most expensive patterns that are accepted, from ten customers at once, while other customers watch
 * another subforum.
 */
async function attackOthers(): Promise<Outcome> {
  const options = { customers: 10, posts: 100, length: 40_000, seconds: 20 }
  const { ready_ms, found_ms } = await attackWithPatterns(abused, options)
  const late_ms = Math.max(...found_ms.words, ...found_ms.pattern) - CADENCE_MS
  const bounds = [
    ['/health/ready, p99, ms', quantile(ready_ms, 0.99), HEALTH_P99_MS],
    ['delay of other customers’ matches, longest, ms', late_ms, LATE_MAX_MS],
  ] as const
  return {
    requests: ready_ms.length,
    wrong: bounds
      .filter(([, value, most]) => value > most)
      .map(([name, value, most]) => `${name}: ${Math.round(value)}, at most ${most}`),
  }
}

const ATTACKS: Record<string, () => Promise<Outcome>> = {
  patterns: () => matchRegexes(target, TEXT_LENGTH, 120_000),
  budgets: attackOthers,
  json: () => sendJsonBombs(target, ROUNDS, REST_MS),
  bodies: () => sendHugeBodies(target, ROUNDS),
  receivers: () => answerWithBombs(target, ROUNDS * 5, tls),
  platform: () => readBombs(target, ROUNDS, { rest_ms: READ_REST_MS }),
  slow: () => openSlowly(target, Number(values.connections), 60_000),
  headers: () => injectHeaders(target, Number(values.texts), Number(values.seed)),
  ...FILLS,
}
const attacks = Object.entries(ATTACKS).filter(([name]) => (values.only ?? name) === name)
const figured = new Set(attacks.map(([name]) => name))

// Each attack runs once first: modules loaded and compiled at first use are neither growth nor a stall of an
// attack.
for (const warm of [
  () => matchRegexes(target, 200, 20_000),
  () => sendJsonBombs(target, 1),
  () => injectHeaders(target, 100, 1),
  () => sendMcpBatches(target, { clients: 1, lists: 1, rounds: 20, allowed: [200] }),
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
let slowest_ms = 0
let [grown_mib, filled_mib] = [0, 0]
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
    if (name in FILLS) {
      filled_mib = Math.max(filled_mib, seen.rss_max_mib)
      slowest_ms = Math.max(slowest_ms, quantile(seen.health_ms, 0.99))
    } else grown_mib = Math.max(grown_mib, seen.rss_max_mib - before_mib)
  }
  table[name] = {
    asked: outcome.requests,
    wrong: outcome.wrong.length,
    'stall p99.9 ms': Math.round(quantile(seen.stalls_ms, 0.999)),
    'stall max ms': Math.round(quantile(seen.stalls_ms, 1)),
    'health p99 ms': Math.round(quantile(seen.health_ms, 0.99)),
    'rss max MiB': Math.round(seen.rss_max_mib),
  }
}
await Bun.sleep(AFTER_MS)
const after_mib = watch.rss()

console.table(table)
for (const it of wrong.slice(0, 20)) console.log(it)
const figures: [string, number, number][] = [
  ['event loop stall, p99.9, ms', quantile(stalls, 0.999), STALL_P999_MS],
  ['event loop stall, longest, ms', quantile(stalls, 1), STALL_MAX_MS],
  ['/health, p99, ms', quantile(answers, 0.99), HEALTH_P99_MS],
  ['memory, growth, MiB', grown_mib, GROWTH_MIB],
  ['memory filled, most, MiB', filled_mib, FILLED_MIB],
  ['/health while memory is filled, p99 of the worst attack, ms', slowest_ms, HEALTH_P99_MS],
  ['memory, left after a minute, MiB', after_mib - before_mib, LEFT_MIB],
  ['unexpected results', wrong.length, 0],
]
for (const [name, value, most] of figures)
  console.log(`${value <= most ? 'ok  ' : 'OVER'} ${name}: ${value.toFixed(1)}, at most ${most}`)
process.exitCode = figures.every(([, value, most]) => value <= most) ? 0 : 1
