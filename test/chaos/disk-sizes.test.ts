import { Database } from 'bun:sqlite'
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import * as z from 'zod'

import { RESERVE_FILE_NAME } from '../../src/store/maintenance/disk.ts'
import { tempFolder } from '../support/folder.ts'
import { isLongForm } from '../support/long-form.ts'
import { freePort } from '../support/port.ts'
import { endServing, runForumd, serve } from '../support/process.ts'
import { mountMemory, unavailableReason } from './mounts.ts'

// Goal: at every free size of a disk a first start, a later start and a running daemon neither end nor leave a file that
// cannot be read, say that the disk is full, and go on once there is room.
// Method: the program as a process of its own on a tmpfs; between 0.7 and 1.4 MiB a first start fits in part.

setDefaultTimeout(1_800_000)

const KIB = 1024
const ALL_KIB = Array.from({ length: 65 }, (_, n) => n * 64)
const SOME_KIB = [0, 768, 1280, 2048]
const SIZES_KIB = isLongForm ? ALL_KIB : SOME_KIB
const DISK_MIB = 24
const RECOVERY_MAX_MS = 60_000
/** Less than the webhooks of a customer. On 4 MiB, where the log is reused, all of them may fit. */
const WRITES_MAX = 400

const no_memory = await unavailableReason(() => mountMemory(1))
if (no_memory !== null) console.warn(`skipped: ${no_memory}`)

afterAll(endServing)

/** A disk with a configuration elsewhere, and the daemon on it. */
async function onDisk() {
  const disk = await mountMemory(DISK_MIB)
  const folder = tempFolder()
  const port = freePort()
  const config = folder.file('forumd.toml')
  const data = join(disk.path, 'data')
  writeFileSync(
    config,
    `[server]\nport = ${port}\n[storage]\ndir = "${data}"\n[limits]\nmanagement_per_minute = 60000\n[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "http://127.0.0.1:1"\nsession_cookie = "s"\n`,
  )
  const filler = join(disk.path, 'filler')
  const freeBytes = () => {
    const { bavail, bsize } = statfsSync(disk.path)
    return bavail * bsize
  }
  return {
    config,
    data,
    url: `http://127.0.0.1:${port}`,
    /** Leaves this much free. */
    leave: (kib: number) =>
      writeFileSync(filler, new Uint8Array(Math.max(0, freeBytes() - kib * KIB))),
    makeRoom: () => rmSync(filler),
    async [Symbol.asyncDispose]() {
      await disk[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

type Daemon = ReturnType<typeof serve>

async function endWell(daemon: Daemon, data: string): Promise<void> {
  daemon.stop()
  expect(await daemon.ended()).toMatchObject({ code: 0 })
  using db = new Database(join(data, 'forumd.sqlite'), { readonly: true })
  expect(db.query('PRAGMA quick_check').get()).toEqual({ quick_check: 'ok' })
}

/** The first answer that `attempt` does not give as null. */
async function waitFor<T>(attempt: () => Promise<T | null>): Promise<T> {
  for (const began = performance.now(); performance.now() - began < RECOVERY_MAX_MS;) {
    const value = await attempt().catch(() => null)
    if (value !== null) return value
    await Bun.sleep(100)
  }
  throw new Error('it did not go on')
}

const isReady = (url: string) => async () => (await fetch(`${url}/health/ready`)).ok || null

for (const age of ['first', 'later'] as const)
  test.concurrent.skipIf(no_memory !== null).each(SIZES_KIB)(
    `a ${age} start with %i KiB free waits for room, and serves`,
    async (kib) => {
      await using it = await onDisk()
      if (age === 'later') {
        await runForumd(['customer', 'create', 'ann', '--config', it.config])
        rmSync(join(it.data, RESERVE_FILE_NAME), { force: true })
      }
      it.leave(kib)

      const daemon = serve(it.config)
      const begun = await Promise.race([
        daemon.until('serve.listening'),
        daemon.until('storage.waiting'),
      ])
      const health = await fetch(`${it.url}/health`)
      if (begun.event === 'storage.waiting') {
        expect(begun['reason']).toBe('disk_full')
        expect(await health.json()).toMatchObject({ ok: false, storage: 'disk_full' })
        // Further attempts, on what the first has left.
        await waitFor(async () => {
          const ready = await fetch(`${it.url}/health/ready`)
          return ready.headers.get('retry-after') === '4' || null
        })
      }
      expect(daemon.runs()).toBe(true)
      it.makeRoom()
      await waitFor(isReady(it.url))
      await daemon.until('serve.listening')

      await endWell(daemon, it.data)
    },
  )

const created = z.object({ id: z.string() })
const list = z.object({ webhooks: z.array(created) })

test.concurrent.skipIf(no_memory !== null).each(SIZES_KIB)(
  'a daemon on a disk that has %i KiB left keeps every acknowledged write, and accepts writes again with room',
  async (kib) => {
    await using it = await onDisk()
    const key = await runForumd(['key', 'create', '--customer', 'ann', '--config', it.config])
    const daemon = serve(it.config)
    await daemon.until('serve.listening')
    it.leave(kib)
    const headers = { authorization: `Bearer ${key.trim()}`, 'content-type': 'application/json' }
    const write = async () => {
      const response = await fetch(`${it.url}/forum/monitor/webhook/create`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ kind: 'webhook', url: 'https://203.0.114.1/hook' }),
      })
      const answer: unknown = await response.json()
      return response.status === 200
        ? { id: created.parse(answer).id, refused: null }
        : { id: '', refused: response.status }
    }
    const acknowledged: string[] = []
    let refused: number | null = null
    while (refused === null && acknowledged.length < WRITES_MAX) {
      const { id, refused: status } = await write()
      refused = status
      if (status === null) acknowledged.push(id)
    }
    expect([null, 503]).toContain(refused)
    if (refused !== null) await daemon.until('storage.full')
    it.makeRoom()
    const value = await waitFor(async () => {
      const { id, refused: status } = await write()
      return status === null ? id : null
    })
    if (refused !== null) await daemon.until('storage.recovered')
    const there = list
      .parse(await (await fetch(`${it.url}/forum/monitor/webhook/list`, { headers })).json())
      .webhooks.map(({ id }) => id)

    expect(new Set(there)).toEqual(new Set([...acknowledged, value]))
    expect(daemon.runs()).toBe(true)
    await endWell(daemon, it.data)
  },
)
