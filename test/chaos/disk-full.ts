import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

import * as z from 'zod'

import { type DaemonProcess, startProcess } from '../support/process.ts'
import { type ChaosFixture, startChaosFixture } from './fixture.ts'
import { type LedgerTotals, readLedger, readPollLog, waitForDeliveries } from './ledger-check.ts'
import { type Unseen, unseen } from './missed-items.ts'
import { mountMemory } from './mounts.ts'
import { judge, type Judged } from './recording-receiver.ts'

export type Filling = {
  seed: number
  items_per_s: number
  /** Time before the disk fills; a daemon takes a minute to create its reserve file. */
  before_ms: number
  full_ms: number
  /** The filling process also takes space that the daemon frees. */
  greedy: boolean
  report?: (line: string) => void
}

export type Filled = Judged & {
  books: LedgerTotals
  /** Lost items: how many were observable, and how many are reported. */
  unseen: Unseen
  /** Reads of stored lists while the disk was full, and those without a 200. */
  gets: number
  gets_failed: number
  /** Billed reads, which must not be free, by response: 200, 503, other. */
  reads: { ok: number; unavailable: number; other: number }
  /** Writes while the disk was full: acknowledged, rejected with 503, other. */
  writes: { ok: number; unavailable: number; other: number }
  /** Acknowledged writes that were lost. */
  writes_lost: number
  /** Time from the first free byte to an accepted write, and to the delivery of a new item, in ms. */
  recovery_ms: { write: number; delivery: number }
  /** The daemon reported that the disk was full, and that space was available again. */
  noticed: { full: boolean; recovered: boolean }
}

const DISK_MIB = 160
const EAT_EVERY_MS = 100
const REQUEST_EVERY_MS = 20
const WRITE_EVERY_MIN_MS = 250
/** Maximum webhooks of a customer. */
const WRITES_MAX = 500
const RECOVERY_MAX_MS = 60_000
const AFTER_MS = 2000
const GETS = [
  '/health',
  '/forum/monitor/list',
  '/forum/monitor/webhook/list',
  '/forum/monitor/deliveries?limit=5',
]
const READ = '/api/forum/posts?subforum=hay0&limit=1'

const created = z.object({ id: z.string() })
const list = z.object({ webhooks: z.array(created) })

/**
 * Fills the disk of a working daemon for a while.
 *
 * @throws {MountRefused} the system does not allow mounts
 */
export async function fillDisk(plan: Filling): Promise<Filled> {
  await using disk = await mountMemory(DISK_MIB)
  await using fixture = await startChaosFixture({
    seed: plan.seed,
    data: join(disk.path, 'data'),
    places: Array.from({ length: 5 }, (_, n) => `hay${n}`),
    items_per_s: plan.items_per_s,
  })
  const report = plan.report ?? (() => {})
  const daemon = await startProcess(fixture.config)
  // Ends all processes that use the file system, so that it can be unmounted after a failure too.
  await using _ = { [Symbol.asyncDispose]: async () => void (await daemon.end('SIGKILL')) }
  await fixture.setUp(daemon)
  await Bun.sleep(plan.before_ms)

  const filler = join(disk.path, 'filler')
  const over = new AbortController()
  const counts = { gets: 0, gets_failed: 0, reads: tally(), writes: tally() }
  const acknowledged: string[] = []
  fillWith(filler)
  report(`full after ${fixture.poster.matching.length} matches`)
  const busy = [
    every(EAT_EVERY_MS, over.signal, async () => {
      if (plan.greedy) fillWith(filler)
    }),
    every(REQUEST_EVERY_MS, over.signal, async (n) => {
      const status = await send(fixture, daemon, GETS[n % GETS.length] ?? '/health')
      counts.gets++
      if (status !== 200) counts.gets_failed++
    }),
    every(REQUEST_EVERY_MS, over.signal, async () => {
      count(counts.reads, await send(fixture, daemon, READ))
    }),
    every(Math.max(WRITE_EVERY_MIN_MS, plan.full_ms / WRITES_MAX), over.signal, async () => {
      const { status, id } = await write(fixture, daemon)
      count(counts.writes, status)
      if (id !== null) acknowledged.push(id)
    }),
  ]
  await Bun.sleep(plan.full_ms)
  over.abort()
  await Promise.all(busy)
  rmSync(filler)
  const recovery_ms = await recovery(fixture, daemon)
  report(`recovered: ${JSON.stringify(recovery_ms)}`)
  // The hold of a call that failed at its end is released by the next call.
  await send(fixture, daemon, READ)
  await Bun.sleep(AFTER_MS)
  await fixture.poster.stop()
  await waitForDeliveries(fixture.data, fixture.poster.matching.length * fixture.receivers.length)
  const there = list.parse(await fixture.send(daemon, '/forum/monitor/webhook/list')).webhooks
  const logged = (event: string) => daemon.lines.some((line) => line.includes(`"${event}"`))
  const noticed = { full: logged('storage.full'), recovered: logged('storage.recovered') }
  await daemon.end('SIGTERM')

  return {
    ...counts,
    ...judge(fixture.receivers, fixture.poster.matching),
    books: readLedger(fixture.data),
    unseen: unseen(
      fixture.poster.matching,
      fixture.poster.written,
      fixture.receivers[0],
      readPollLog(fixture.data),
    ),
    writes_lost: acknowledged.filter((id) => !there.some((it) => it.id === id)).length,
    recovery_ms,
    noticed,
  }
}

/** Fills the file system completely. */
function fillWith(path: string): void {
  const handle = openSync(path, 'a')
  try {
    for (const bytes of [1024 * 1024, 4096, 1]) {
      const block = new Uint8Array(bytes)
      try {
        while (writeSync(handle, block) === bytes);
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
      }
    }
  } finally {
    closeSync(handle)
  }
}

async function every(ms: number, until: AbortSignal, work: (n: number) => Promise<void>) {
  for (let n = 0; !until.aborted; n++) {
    await work(n)
    await Bun.sleep(ms)
  }
}

async function send(
  { headers }: ChaosFixture,
  { url }: DaemonProcess,
  path: string,
): Promise<number> {
  const response = await fetch(url + path, { headers }).catch(() => null)
  await response?.arrayBuffer()
  return response?.status ?? 0
}

async function write({ headers, receivers: [good] }: ChaosFixture, { url }: DaemonProcess) {
  const body = JSON.stringify({ kind: 'webhook', url: `${good.url}/unused` })
  const init = { method: 'POST', headers, body }
  const response = await fetch(`${url}/forum/monitor/webhook/create`, init).catch(() => null)
  const answer: unknown = await response?.json()
  const id = response?.status === 200 ? created.parse(answer).id : null
  return { status: response?.status ?? 0, id }
}

type Tally = { ok: number; unavailable: number; other: number }
const tally = (): Tally => ({ ok: 0, unavailable: 0, other: 0 })
function count(of: Tally, status: number): void {
  of[status === 200 ? 'ok' : status === 503 ? 'unavailable' : 'other']++
}

/** Times until a write is accepted and until a new item is delivered, in ms. */
async function recovery(fixture: ChaosFixture, daemon: DaemonProcess) {
  const freed = performance.now()
  const [good] = fixture.receivers
  const before = new Set(good.seen.flatMap(({ items }) => items))
  const received = good.seen.length
  let write_ms = Infinity
  let delivery_ms = Infinity
  while (write_ms === Infinity || delivery_ms === Infinity) {
    if (performance.now() - freed > RECOVERY_MAX_MS) break
    if (write_ms === Infinity && (await write(fixture, daemon)).status === 200)
      write_ms = performance.now() - freed
    const news = good.seen.slice(received).find((it) => it.items.some((name) => !before.has(name)))
    if (news !== undefined) delivery_ms = news.at - freed
    await Bun.sleep(20)
  }
  return { write: write_ms, delivery: delivery_ms }
}
