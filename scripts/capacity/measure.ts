import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import * as z from 'zod'

import { createMatcher } from '../../src/core/filter/index.ts'
import { openArchive } from '../../src/store/archive/file.ts'
import { ingest } from '../../src/store/archive/ingest.ts'
import { measure } from '../bars/sources/run.ts'
import { SCENARIOS } from '../bars/sources/scenarios.ts'
import { median } from '../bench/figures/results.ts'
import { threadMs } from '../bench/figures/thread-time.ts'
import { memoryOf, start, temporaryFolder } from '../bench/load/children.ts'
import { fillMonitors } from '../bench/load/fill.ts'
import { makeInstance, startForumd } from '../bench/load/fixture.ts'
import { OURS, sendAll } from '../bench/load/senders.ts'
import { archivedItem, queuedItems } from '../bench/matching/archive-world.ts'
import { createWorld } from '../bench/matching/match-world.ts'

/** Until each place was polled twice at the cadence of 60 s: the first poll matches nothing and compiles no filter. */
const SETTLE_MS = 150_000
const CADENCE_S = 30
const ready = z.object({ url: z.string() })
const ITEMS = 2000
const ROUNDS = 5
const COPIED_AT_ONCE = 200

/** Resident memory of the executable with monitors of twenty terms over 400 places, MB; own: what no file backs. */
export async function measureMemory(monitors: number) {
  await using stack = new AsyncDisposableStack()
  const platform = stack.use(start([process.execPath, join(import.meta.dir, 'platform.ts')]))
  const { url: platform_url } = ready.parse(JSON.parse(await platform.line()))
  const dir = stack.use(temporaryFolder()).path
  makeInstance(dir, ({ db }, now) => {
    db.run('PRAGMA synchronous = OFF')
    fillMonitors(db, monitors, now)
  })
  const forumd = stack.use(await startForumd(dir, { platform_url }))
  await Bun.sleep(SETTLE_MS)
  const mb = (kind: 'VmRSS' | 'RssAnon') => memoryOf(forumd.pid, kind)
  return { monitors, rss_mb: mb('VmRSS'), own_mb: mb('RssAnon') }
}

/** Processor time and memory of the executable with Discourse forums of ten monitors each. */
export async function measureForums(forums: number, minutes: number) {
  const scenario = SCENARIOS['forums']
  if (scenario === undefined) throw new Error('the scenario of forums is missing')
  const run = { minutes, cadence_s: CADENCE_S, seed: 1, requests_per_minute: null }
  const { cpu, rss_mib } = await measure({ ...scenario, sites: forums }, run)
  return { forums, core: cpu, rss_mib }
}

/** Microseconds of this thread to match an item against monitors that all see it: median of the rounds after the first. */
export function measureMatching(monitors: number): number {
  const world = createWorld(1)
  const posts = Array.from({ length: ITEMS }, (_, n) => world.post(n))
  const specs = Array.from({ length: monitors }, (_, n) => world.spec(n))
  const matcher = createMatcher((id) => specs[Number(id.slice('mon_'.length))] ?? null)
  for (const [n, spec] of specs.entries()) matcher.set(`mon_${n}`, 1, spec)
  const rounds = Array.from({ length: ROUNDS + 1 }, () => {
    // New objects, for which nothing is cached.
    const unseen = posts.map((it) => ({ ...it }))
    const began = threadMs()
    for (const it of unseen) matcher.match(it)
    return ((threadMs() - began) * 1000) / ITEMS
  })
  return median(rounds.slice(1))
}

/**
 * Deliveries of a sender on a new database, committed, sent and recorded: a second on the wall, and a second of its thread, which
 * the model counts. The wall waits for the disk and for other work of the machine too.
 */
export async function measureDeliveries(count: number) {
  const found = await sendAll(OURS, { count, per_second: 0 }, [])
  if (found === null) throw new Error('the sender did not start')
  return { per_s: found.figures.per_s, per_core_s: (count * 1000) / found.thread_ms }
}

/** Copies items into a new archive: bytes an item, and items a second of this thread and on the wall. */
export function measureArchive(items: number) {
  const dir = mkdtempSync(join(tmpdir(), 'forumd-capacity-'))
  try {
    const file = join(dir, 'archive.sqlite')
    const db = openArchive(file)
    const world = createWorld(1)
    let [cpu_ms, wall_ms] = [0, 0]
    for (let at = 0; at < items; at += COPIED_AT_ONCE) {
      const count = Math.min(COPIED_AT_ONCE, items - at)
      const queued = queuedItems(
        Array.from({ length: count }, (_, n) => archivedItem(world, at + n)),
        at,
      )
      const [cpu, wall] = [threadMs(), performance.now()]
      ingest(db, queued)
      cpu_ms += threadMs() - cpu
      wall_ms += performance.now() - wall
    }
    db.run('PRAGMA wal_checkpoint(TRUNCATE)')
    db.close()
    return {
      bytes: statSync(file).size / items,
      per_s: (items * 1000) / cpu_ms,
      wall_per_s: (items * 1000) / wall_ms,
    }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
