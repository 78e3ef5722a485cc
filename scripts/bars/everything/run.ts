/**
 * One long run of everything on the executable that FORUMD_BINARY names: three platforms, an archive of their feeds, a model,
 * an inbox that changes, receivers that misbehave, and two nodes that take over from each other. `soak.ts --everything` runs
 * it. Writes a line of figures a minute and a plot; the last line is the figures as JSON. Exit code 1 if one is out of bounds.
 */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import * as z from 'zod'

import { createSeededRandom } from '../../../sandbox/world/random.ts'
import { readLedger } from '../../../test/chaos/ledger-check.ts'
import { quantile } from '../abuse/watch.ts'
import { isWithinBound } from '../soak/judge.ts'
import { sample } from '../soak/samples.ts'
import { populate, startCallers } from './callers.ts'
import { judgeArrivals, judgeEverything, type Minute } from './judge.ts'
import { startModel } from './model.ts'
import { FAULTS, startNodes } from './nodes.ts'
import { plotOf } from './plot.ts'
import { startReceivers } from './receivers.ts'
import { startWorld } from './world.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '720' },
    'kill-every': { type: 'string', default: '300' },
    monitors: { type: 'string', default: '500' },
    under: { type: 'string', default: '' },
    seed: { type: 'string', default: '1' },
    out: { type: 'string', default: join(import.meta.dir, '../../../dist/soak') },
  },
})
const minutes = Number(values.minutes)
const kill_every_ms = Number(values['kill-every']) * 1000
const MINUTE_MS = 60_000
const TICK_MS = 250
const REPORT_EVERY = 5
const MIB = 1024 ** 2
/** A match that is not accepted for so long is waiting, for a receiver or for the model. */
const WAITING_MS = 120_000
/** Time for what waits at the end: the longest pauses of the sender and of the model. */
const SETTLE_MAX_MS = 600_000
const ANSWER_MAX = 500

const random = createSeededRandom(Number(values.seed))
await using stack = new AsyncDisposableStack()
// Nodes and PostgreSQL are groups of their own, which a signal to this process does not reach.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void stack.disposeAsync().finally(() => process.exit(1)))
const world = stack.use(await startWorld(random, Number(values.monitors)))
const model = stack.use(startModel(random))
const hooks = stack.use(await startReceivers(random))
const nodes = stack.use(
  await startNodes({
    urls: world.urls,
    model: model.base_url,
    under: values.under.split(' ').filter(Boolean),
  }),
)
const headers = await populate(nodes.primary(), hooks.receivers, world)
// Monitors do not match items of the second in which they were created.
await Bun.sleep(1100)
world.begin()
const callers = startCallers(headers, world.places, () => nodes.primary().url)

mkdirSync(values.out, { recursive: true })
const file = join(values.out, 'minutes.jsonl')
rmSync(file, { force: true })
const figures: Minute[] = []
const takeovers_ms: number[] = []
const lives_mib: number[] = []
/** Errors of the log by event: how many, and the first line. */
const errors: Record<string, { count: number; first: string }> = {}
const [began, began_at] = [performance.now(), Date.now()]
const since = () => performance.now() - began
let seen_until = performance.now()
/** A takeover that is under way. */
let striking: Promise<void> | null = null
const sizeOf = (path: string) => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) / MIB

/** Delays of the event loop since the last call, p99.9; null if the process does not answer. */
async function lateness(name: string, pid: number): Promise<number | null> {
  const stalls = nodes.stallsOf(name)
  rmSync(stalls, { force: true })
  process.kill(pid, 'SIGUSR2')
  for (let n = 0; !existsSync(stalls); n++) {
    if (n === ANSWER_MAX) return null
    await Bun.sleep(10)
  }
  return quantile(z.array(z.number()).parse(JSON.parse(readFileSync(stalls, 'utf8'))), 0.999)
}

/** Accepted arrivals so far, kept up to date incrementally. */
const progress = { read: 0, accepted: 0, ids: new Set<string>(), pairs: new Set<string>() }
function readArrivals(): void {
  for (; progress.read < hooks.arrivals.length; progress.read++) {
    const it = hooks.arrivals[progress.read]
    if (it?.accepted !== true) continue
    progress.accepted++
    progress.ids.add(it.delivery_id)
    for (const pair of it.pairs) progress.pairs.add(pair)
  }
}
let expected_until = 0
let open: { pair: string; appeared_at: number }[] = []
/** Matches that were not accepted yet, of those that appeared before an instant (epoch ms). */
function waiting(before_at: number): number {
  for (; expected_until < world.expected.length; expected_until++) {
    const it = world.expected[expected_until]
    if (it?.is_wanted === true) open.push(it)
  }
  open = open.filter(({ pair }) => !progress.pairs.has(pair))
  return open.filter(({ appeared_at }) => appeared_at < before_at).length
}

async function figuresNow(minute: number): Promise<Minute> {
  const [primary, standby] = [nodes.primary(), nodes.standby()]
  const mine = primary.pid === null ? null : sample(primary.pid, primary.data, since())
  const other = standby.pid === null ? null : sample(standby.pid, standby.data, since())
  const late =
    striking !== null || primary.pid === null ? null : await lateness(primary.name, primary.pid)
  readArrivals()
  const until = performance.now()
  const logged = nodes.errorsSince(seen_until)
  seen_until = until
  for (const { event, line } of logged) (errors[event] ??= { count: 0, first: line }).count++
  const { failed: calls_failed, ...called } = callers.counts
  return {
    minute,
    primary: primary.name,
    epoch: nodes.epoch(),
    rss: mine?.rss_mib ?? NaN,
    own: mine?.own_mib ?? NaN,
    standby_rss: other?.rss_mib ?? NaN,
    descriptors: mine?.descriptors ?? NaN,
    threads: mine?.threads ?? NaN,
    database: mine?.db_mib ?? NaN,
    log: mine?.wal_mib ?? NaN,
    archive: sizeOf(join(primary.data, 'archive.sqlite')),
    late_p999_ms: late,
    expected: world.expected.filter(({ is_wanted }) => is_wanted).length,
    accepted: progress.accepted,
    waiting: waiting(Date.now() - WAITING_MS),
    repeated: progress.accepted - progress.ids.size,
    takeovers: takeovers_ms.length,
    ...called,
    calls_failed,
    model_calls: model.counts().calls,
    errors: logged.length,
  }
}

const pauseMs = () => kill_every_ms * (0.5 + random.fraction())
let [strike_at, minute_at] = [pauseMs(), MINUTE_MS]
async function strike(): Promise<void> {
  const fault = FAULTS[takeovers_ms.length % FAULTS.length] ?? 'kill'
  const { pid, data } = nodes.primary()
  lives_mib.push(pid === null ? NaN : (sample(pid, data, 0)?.rss_mib ?? NaN))
  const took_ms = await nodes.strike(fault)
  takeovers_ms.push(took_ms)
  // Without the delays of its start.
  const next = nodes.primary()
  if (next.pid !== null) await lateness(next.name, next.pid)
  console.error(
    `${(since() / MINUTE_MS).toFixed(1)} min: ${fault}, taken over after ${(took_ms / 1000).toFixed(1)} s`,
  )
}
const failed = new AbortController()
while (since() < minutes * MINUTE_MS && !failed.signal.aborted) {
  await Bun.sleep(TICK_MS)
  // A fault must leave time for its takeover, and none is under way at the end.
  if (striking === null && since() > strike_at && since() < minutes * MINUTE_MS - kill_every_ms / 4)
    striking = strike()
      .catch((error: unknown) => failed.abort(error))
      .then(() => {
        strike_at = since() + pauseMs()
        striking = null
      })
  if (since() < minute_at) continue
  const now = await figuresNow(Math.round(minute_at / MINUTE_MS))
  minute_at += MINUTE_MS
  figures.push(now)
  appendFileSync(file, `${JSON.stringify(now)}\n`)
  if (now.minute % REPORT_EVERY === 0)
    console.error(
      `${now.minute} min: ${now.takeovers} takeovers, ${now.accepted} accepted of ${now.expected}, ${now.waiting} waiting, ` +
        `${now.rss.toFixed(0)} MiB, database ${now.database.toFixed(0)} MiB, archive ${now.archive.toFixed(0)} MiB`,
    )
}
await striking
failed.signal.throwIfAborted()

await world.end()
await callers.stop()
hooks.calm()
model.calm()
const settle_at = performance.now()
for (; performance.now() - settle_at < SETTLE_MAX_MS; await Bun.sleep(1000)) {
  readArrivals()
  if (waiting(Infinity) === 0) break
}
// A repeat, or a match that nothing expects, may still arrive.
await Bun.sleep(5000)
const { data, pid } = nodes.primary()
const last = pid === null ? null : sample(pid, data, since())
const primary = nodes.primary()
await nodes.standby().end()
await primary.end('SIGTERM')
const ended = primary.events.findLast(({ event }) => event === 'ended')
const exit_code =
  z.object({ code: z.number() }).safeParse(JSON.parse(ended?.line ?? 'null')).data?.code ?? null

const verdict = judgeArrivals(world.expected, hooks.arrivals)
const books = readLedger(data)
const reads = { asked: callers.counts.reads_asked, answered: callers.counts.reads_answered }
const judged = judgeEverything(
  verdict,
  { minutes: figures, takeovers_ms, lives_mib, reads, books, exit_code },
  // A pause lasts at most one and a half of the average, and a takeover half a minute.
  Math.floor((minutes * MINUTE_MS) / (kill_every_ms * 1.5 + 30_000)),
)
writeFileSync(
  join(values.out, 'soak.svg'),
  plotOf(figures, `${minutes} minutes from ${new Date(began_at).toISOString().slice(0, 16)} UTC`),
)
console.log(
  JSON.stringify({
    judged: judged.map((it) => ({ ...it, kept: isWithinBound(it) })),
    seed: Number(values.seed),
    minutes,
    load: loadavg()[0],
    ...verdict,
    lost: verdict.lost.length,
    first_lost: verdict.lost.slice(0, 10),
    requests: hooks.arrivals.length,
    takeovers: takeovers_ms.length,
    takeover_ms: { p50: quantile(takeovers_ms, 0.5), most: Math.max(0, ...takeovers_ms) },
    settled_ms: performance.now() - settle_at,
    failed_answers: world.failed_answers(),
    model: model.counts(),
    ...callers.counts,
    reads_billed: books.reads_billed,
    lives_mib: lives_mib.map(Math.round),
    last,
    archive_mib: sizeOf(join(data, 'archive.sqlite')),
    errors,
    figures: file,
  }),
)
await stack.disposeAsync()
process.exit(judged.every(isWithinBound) ? 0 : 1)
