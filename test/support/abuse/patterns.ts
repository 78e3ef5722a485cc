import { Database } from 'bun:sqlite'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import * as z from 'zod'

import { createSeededRandom } from '../../../sandbox/world/random.ts'
import { runForumd } from '../process.ts'
import type { startAbused } from './fixture.ts'
import { call, type Target } from './target.ts'

type Caller = Pick<Target, 'url' | 'key'>
type Abused = Awaited<ReturnType<typeof startAbused>>

/** Effects of an attack on others. Durations in ms. */
export type Disturbance = {
  ready_ms: number[]
  /** From each post of another place to its match, for a monitor of words and one of a cheap pattern; Infinity: never. */
  found_ms: { words: number[]; pattern: number[] }
  /** Reasons for which the attackers' monitors are paused; null: they are not. */
  paused: (string | null)[]
  rss_mib: { before: number; most: number }
}

const PROBER = join(import.meta.dir, '../../../scripts/bars/abuse/health.ts')
const PROBE_EVERY_MS = '10'
const PATTERNS_OF_A_MONITOR = 10

/** Text in which every position may begin a match of a pattern such as `a[ab]{90}c`, and none does. */
const hostileText = (length: number, seed: number): string =>
  createSeededRandom(seed).text(length, 'ab')

/** Repetitions from which expensive patterns are tried. A slower machine accepts fewer. */
const REPEATS_MAX = 88
const REPEATS_MIN = 28

/** Ten patterns that take long on hostile text. */
const worstPatterns = (customer: number, repeats: number): string[] =>
  Array.from({ length: PATTERNS_OF_A_MONITOR }, (_, i) => `a[ab]{${repeats - i}}c${customer}`)

/** Adds a monitor with the most expensive patterns that registration accepts on this machine. */
async function addWorst(target: Caller, customer: number): Promise<string> {
  for (let repeats = REPEATS_MAX; repeats > REPEATS_MIN; repeats -= 12)
    try {
      return await add(target, { subforum: 'hay', regex: worstPatterns(customer, repeats) })
    } catch (error) {
      if (!String(error).includes('takes too long')) throw error
    }
  throw new Error('no expensive pattern is accepted')
}

async function mint(config: string, customer: string): Promise<string> {
  const printed = await runForumd(
    `key create --config ${config} --customer ${customer} --credits unlimited --json`.split(' '),
  )
  return z.object({ key: z.string() }).parse(JSON.parse(printed)).key
}

async function add(target: Caller, spec: object): Promise<string> {
  const body = JSON.stringify({ filter_spec: spec, cadence_s: 1 })
  const answer = await call(target, '/forum/monitor/add', body)
  if (answer.status !== 200) throw new Error(`${JSON.stringify(spec)}: ${answer.text}`)
  return z.string().parse(answer.body['id'])
}

/**
 * Lets customers watch a place with the worst patterns that are accepted, and fills it each second. `stored`: patterns
 * that registration refuses, as if they had been accepted long ago.
 */
export async function attackWithPatterns(
  { target, config, database, pid }: Abused,
  options: { customers: number; posts: number; length: number; seconds: number; stored?: string[] },
): Promise<Disturbance> {
  const { customers, posts, length, seconds, stored } = options
  const { sandbox, url } = target
  for (const subforum of ['hay', 'quiet']) sandbox.post({ subforum, title: 'first' })
  // What is stored replaces the patterns of these.
  const addAttacker =
    stored === undefined ? addWorst : (as: Caller) => add(as, { subforum: 'hay', regex: ['straw'] })
  const attackers: { key: string; id: string }[] = []
  for (let n = 0; n < customers; n++) {
    const key = await mint(config, `mallory${n}`)
    for (const half of [0, 1])
      attackers.push({ key, id: await addAttacker({ url, key }, 2 * n + half) })
  }
  if (stored !== undefined) storePatterns(database, attackers, stored)
  const words = await add(target, { subforum: 'quiet', include_any: ['needle'] })
  const pattern = await add(target, { subforum: 'quiet', regex: ['\\bneed\\w+'] })
  await Bun.sleep(3000)

  // Made before: the sandbox runs in this process, and its answers must not wait for them.
  const texts = Array.from({ length: posts }, (_, n) => hostileText(length, n + 1))
  const before = residentMib(pid)
  let most = before
  const sampling = setInterval(() => (most = Math.max(most, residentMib(pid))), 50)
  const prober = Bun.spawn([process.execPath, PROBER, `${url}/health/ready`, PROBE_EVERY_MS], {
    stdout: 'pipe',
  })
  const found_ms = { words: [] as number[], pattern: [] as number[] }
  const searches: Promise<void>[] = []
  for (let second = 0; second < seconds; second++) {
    const began = performance.now()
    for (const text of texts) sandbox.post({ subforum: 'hay', title: `straw ${second}`, text })
    const title = `needle ${second}`
    sandbox.post({ subforum: 'quiet', title })
    const waits = { words, pattern }
    for (const kind of ['words', 'pattern'] as const)
      searches.push(waitFor(target, waits[kind], title).then((ms) => void found_ms[kind].push(ms)))
    await Bun.sleep(Math.max(0, 1000 - (performance.now() - began)))
  }
  await Promise.all(searches)
  clearInterval(sampling)
  prober.kill()
  const printed = await new Response(prober.stdout).text()
  const ready_ms = printed.split('\n').flatMap((line) => {
    const ms = Number(line.split(' ')[1])
    return Number.isFinite(ms) ? [ms] : []
  })
  const readPaused = () =>
    Promise.all(attackers.map((it) => pauseReason({ url, key: it.key }, it.id)))
  let paused = await readPaused()
  // The budget is processor time, which a busy machine gives later.
  const until = performance.now() + (stored === undefined ? 0 : PAUSED_WITHIN_MS)
  while (paused.includes(null) && performance.now() < until) {
    await Bun.sleep(200)
    paused = await readPaused()
  }
  return { ready_ms, found_ms, paused, rss_mib: { before, most } }
}

const residentMib = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

const FOUND_WITHIN_MS = 60_000
const PAUSED_WITHIN_MS = 20_000

async function waitFor(target: Target, monitor: string, title: string): Promise<number> {
  const began = performance.now()
  while (performance.now() - began < FOUND_WITHIN_MS) {
    const { text } = await call(target, `/forum/monitor/items?id=${monitor}`).catch(() => ({
      text: '',
    }))
    if (text.includes(title)) return performance.now() - began
    await Bun.sleep(50)
  }
  return Infinity
}

async function pauseReason(target: Caller, id: string): Promise<string | null> {
  const { body } = await call(target, `/forum/monitor/health?id=${id}`)
  return z
    .string()
    .nullable()
    .catch(null)
    .parse(body['pause_reason'] ?? null)
}

function storePatterns(path: string, of: readonly { id: string }[], patterns: readonly string[]) {
  using db = new Database(path)
  db.run('PRAGMA busy_timeout = 5000')
  for (const [at, { id }] of of.entries()) {
    const spec = JSON.stringify({
      subforum: ['hay'],
      kind: 'post',
      regex: [patterns[at % patterns.length]],
    })
    db.run('UPDATE monitors SET filter_spec = ?, updated_at = updated_at + 1 WHERE id = ?', [
      spec,
      id,
    ])
  }
}

/** Tries so many filters of four patterns each, all of them different. How much the process grew, in MiB. */
export async function previewPatterns(
  { target, pid }: Abused,
  {
    previews,
    length,
    patternOf,
  }: { previews: number; length: number; patternOf: (n: number) => string },
): Promise<{ grown_mib: number; statuses: Record<number, number> }> {
  const chance = createSeededRandom(1)
  for (let n = 0; n < 25; n++)
    target.sandbox.post({
      subforum: 'trial',
      title: `trial ${n}`,
      text: chance.text(length, 'exyz'),
    })
  const before = residentMib(pid)
  let most = before
  const statuses: Record<number, number> = {}
  for (let n = 0; n < previews; n++) {
    const regex = [0, 1, 2, 3].map((i) => patternOf(4 * n + i))
    const body = JSON.stringify({ filter_spec: { subforum: 'trial', regex } })
    const { status } = await call(target, '/forum/monitor/preview', body)
    statuses[status] = (statuses[status] ?? 0) + 1
    most = Math.max(most, residentMib(pid))
  }
  return { grown_mib: most - before, statuses }
}
