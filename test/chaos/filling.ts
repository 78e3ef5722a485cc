import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

import * as z from 'zod'

import { type DaemonProcess, startProcess } from '../support/process.ts'
import { type Books, readBooks, readPollLog, settled } from './books.ts'
import { mountMemory } from './mounting.ts'
import { type Stage, startStage } from './stage.ts'
import { type Unseen, unseen } from './unseen.ts'
import { judge } from './witness.ts'

export type Filling = {
  seed: number
  items_per_s: number
  /** Before the disk fills; a daemon takes a minute to hold space back. */
  before_ms: number
  full_ms: number
  /** Whether whoever fills the disk takes what the daemon gives free, too. */
  greedy: boolean
  told?: (line: string) => void
}

export type Filled = {
  matches: number
  /** Over all receivers. */
  lost: number
  under_two_ids: number
  unstable_bodies: number
  books: Books
  /** Of the items that were lost: whether they could be seen, and whether that was told. */
  unseen: Unseen
  /** Reads of the instance's own lists while the disk was full, and those among them that were not answered with 200. */
  gets: number
  gets_failed: number
  /** Metered reads, which nobody may have for nothing: those answered with 200, with 503, and with anything else. */
  reads: { ok: number; unavailable: number; other: number }
  /** Writes while the disk was full: said yes to, refused with 503, and anything else. */
  writes: { ok: number; unavailable: number; other: number }
  /** Writes that were said yes to and are not there afterwards. */
  writes_lost: number
  /** From the first free byte to a write that is taken, to an item that nobody was sent before, ms. */
  recovery_ms: { write: number; delivery: number }
  /** Whether the daemon noticed that the disk was full, and that it was not any more. */
  noticed: { full: boolean; recovered: boolean }
}

const DISK_MIB = 160
const EAT_EVERY_MS = 100
const ASK_EVERY_MS = 20
const WRITE_EVERY_MIN_MS = 250
/** A customer may have no more targets than a thousand. */
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

/** Lets the disk of a working daemon be full for a while. Throws MountRefused where nothing can be mounted. */
export async function fillTheDisk(plan: Filling): Promise<Filled> {
  await using disk = await mountMemory(DISK_MIB)
  await using stage = await startStage({
    seed: plan.seed,
    data: join(disk.path, 'data'),
    places: Array.from({ length: 5 }, (_, n) => `hay${n}`),
    items_per_s: plan.items_per_s,
  })
  const tell = plan.told ?? (() => {})
  const daemon = await startProcess(stage.config)
  // Whatever becomes of the test, nobody is left who would keep the disk.
  await using _ = { [Symbol.asyncDispose]: async () => void (await daemon.end('SIGKILL')) }
  await stage.begin(daemon)
  await Bun.sleep(plan.before_ms)

  const filler = join(disk.path, 'filler')
  const over = new AbortController()
  const counts = { gets: 0, gets_failed: 0, reads: tally(), writes: tally() }
  const acknowledged: string[] = []
  eat(filler)
  tell(`full after ${stage.poster.wanted.length} matches`)
  const busy = [
    every(EAT_EVERY_MS, over.signal, async () => {
      if (plan.greedy) eat(filler)
    }),
    every(ASK_EVERY_MS, over.signal, async (n) => {
      const status = await ask(stage, daemon, GETS[n % GETS.length] ?? '/health')
      counts.gets++
      if (status !== 200) counts.gets_failed++
    }),
    every(ASK_EVERY_MS, over.signal, async () => {
      count(counts.reads, await ask(stage, daemon, READ))
    }),
    every(Math.max(WRITE_EVERY_MIN_MS, plan.full_ms / WRITES_MAX), over.signal, async () => {
      const { status, id } = await write(stage, daemon)
      count(counts.writes, status)
      if (id !== null) acknowledged.push(id)
    }),
  ]
  await Bun.sleep(plan.full_ms)
  over.abort()
  await Promise.all(busy)
  rmSync(filler)
  const recovery_ms = await recovery(stage, daemon)
  tell(`recovered: ${JSON.stringify(recovery_ms)}`)
  // A call that was refused at its very end has its money back with the next one.
  await ask(stage, daemon, READ)
  await Bun.sleep(AFTER_MS)
  await stage.poster.stop()
  await settled(stage.data, stage.poster.wanted.length * stage.witnesses.length)
  const there = list.parse(await stage.send(daemon, '/forum/monitor/webhook/list')).webhooks
  const logged = (event: string) => daemon.lines.some((line) => line.includes(`"${event}"`))
  const noticed = { full: logged('storage.full'), recovered: logged('storage.recovered') }
  await daemon.end('SIGTERM')

  const truth = stage.poster.wanted.map(({ name }) => name)
  const verdicts = stage.witnesses.map((it) => judge(it, truth))
  const sum = (key: keyof (typeof verdicts)[number]) =>
    verdicts.reduce((total, it) => total + it[key], 0)
  return {
    ...counts,
    matches: truth.length,
    lost: sum('lost'),
    under_two_ids: sum('under_two_ids'),
    unstable_bodies: sum('unstable_bodies'),
    books: readBooks(stage.data),
    unseen: unseen(
      stage.poster.wanted,
      stage.poster.written,
      stage.witnesses[0],
      readPollLog(stage.data),
    ),
    writes_lost: acknowledged.filter((id) => !there.some((it) => it.id === id)).length,
    recovery_ms,
    noticed,
  }
}

/** Takes what room there is, to the last byte. */
function eat(path: string): void {
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

async function ask({ headers }: Stage, { url }: DaemonProcess, path: string): Promise<number> {
  const response = await fetch(url + path, { headers }).catch(() => null)
  await response?.arrayBuffer()
  return response?.status ?? 0
}

async function write({ headers, witnesses: [good] }: Stage, { url }: DaemonProcess) {
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

/** How long it takes until a write is taken, and until an item arrives that the receiver has not seen before. */
async function recovery(stage: Stage, daemon: DaemonProcess) {
  const freed = performance.now()
  const [good] = stage.witnesses
  const before = new Set(good.seen.flatMap(({ items }) => items))
  const looked = good.seen.length
  let write_ms = Infinity
  let delivery_ms = Infinity
  while (write_ms === Infinity || delivery_ms === Infinity) {
    if (performance.now() - freed > RECOVERY_MAX_MS) break
    if (write_ms === Infinity && (await write(stage, daemon)).status === 200)
      write_ms = performance.now() - freed
    const news = good.seen.slice(looked).find((it) => it.items.some((name) => !before.has(name)))
    if (news !== undefined) delivery_ms = news.at - freed
    await Bun.sleep(20)
  }
  return { write: write_ms, delivery: delivery_ms }
}
