import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import {
  copyFileSync,
  existsSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

import { mountMemory, unavailableReason } from '../chaos/mounts.ts'
import { runForumd, startProcess } from '../support/process.ts'
import { startTestDaemon } from '../support/test-daemon.ts'

const MINUTE_MS = 60_000
const MIB = 2 ** 20

test('the reserve file is created after two minutes, not at the start', async () => {
  await using daemon = await startTestDaemon({ hold_back: true })
  const reserve_path = join(daemon.dir, 'ballast')
  await daemon.clock.advance(1000)
  expect(existsSync(reserve_path)).toBe(false)
  await daemon.clock.advance(2 * MINUTE_MS)
  for (let wait = 0; wait < 500 && !existsSync(reserve_path); wait++) await Bun.sleep(10)
  const { size, blocks } = statSync(reserve_path)
  expect({ size, held: blocks * 512 >= 32 * MIB }).toEqual({ size: 32 * MIB, held: true })
})

test('snapshots are taken on schedule', async () => {
  await using daemon = await startTestDaemon({
    change: (config) => {
      config.maintenance.snapshots = '*/10 * * * *'
      config.maintenance.keep_hourly = 2
      config.maintenance.keep_daily = 0
    },
  })
  for (let n = 0; n < 4; n++) {
    await daemon.clock.advance(10 * MINUTE_MS)
    const taken = () => daemon.events.filter(({ event }) => event === 'storage.snapshot').length
    for (let wait = 0; wait < 500 && taken() <= n; wait++) await Bun.sleep(10)
  }
  const names = readdirSync(join(daemon.dir, 'snapshots'))
  expect(names).toHaveLength(2)
  expect(daemon.events.filter(({ event }) => event === 'storage.snapshot_failed')).toEqual([])
})

const no_memory = await unavailableReason(() => mountMemory(1))
if (no_memory !== null) console.warn(`skipped: ${no_memory}`)

test.skipIf(no_memory !== null)(
  'a start on a full disk releases the reserve file, and reports the full disk',
  async () => {
    await using disk = await mountMemory(40)
    const config = join(disk.path, 'forumd.toml')
    writeFileSync(
      config,
      `[server]\nport = 0\n[storage]\ndir = "${disk.path}/data"\n[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "http://127.0.0.1:1"\nsession_cookie = "s"\n`,
    )
    await runForumd(['customer', 'create', 'ann', '--config', config])
    writeFileSync(join(disk.path, 'data/ballast'), new Uint8Array(32 * MIB))
    const { bavail, bsize } = statfsSync(disk.path)
    writeFileSync(join(disk.path, 'others'), new Uint8Array(bavail * bsize))

    const daemon = await startProcess(config)
    const health = await fetch(`${daemon.url}/health`)

    expect(await health.json()).toMatchObject({ ok: true })
    expect(existsSync(join(disk.path, 'data/ballast'))).toBe(false)
    expect(await daemon.end('SIGTERM')).toBe(0)
    expect(daemon.lines.join('\n')).toContain('"event":"storage.full"')
  },
  60_000,
)

test('a replaced database is not written any further', async () => {
  await using daemon = await startTestDaemon()
  const path = join(daemon.dir, 'forumd.sqlite')
  await daemon.clock.advance(1000)
  copyFileSync(path, `${path}.copy`)
  renameSync(`${path}.copy`, path)
  await daemon.clock.advance(2 * MINUTE_MS)
  expect(daemon.events.filter(({ event }) => event === 'storage.unusable')).toMatchObject([
    { fields: { reason: 'database_replaced' } },
  ])
})

test('a deleted database file is reported', async () => {
  await using daemon = await startTestDaemon()
  await daemon.clock.advance(1000)
  rmSync(join(daemon.dir, 'forumd.sqlite'))
  await daemon.clock.advance(2 * MINUTE_MS)
  expect(daemon.events.map(({ event }) => event)).toContain('storage.unusable')
})

const START_MS = Date.UTC(2026, 0, 1)

test.each([
  [5, 'storage_error'],
  [4, undefined],
])('after %i storage errors in ten minutes health reports %s', async (count, storage) => {
  await using daemon = await startTestDaemon({
    change: ({ storage: { dir } }) => {
      const instants = Array.from({ length: count }, (_, n) => START_MS - n * MINUTE_MS)
      writeFileSync(join(dir, 'storage-errors.json'), JSON.stringify([...instants, 0]))
    },
  })
  const health = await daemon.call('/health')
  expect(health.body.storage).toBe(storage)
  const list = await daemon.call('/forum/monitor/list')
  const ready = await daemon.call('/health/ready')
  expect([list.status, ready.status]).toEqual(storage === undefined ? [200, 200] : [503, 503])
  if (storage !== undefined) expect(list.body.code).toBe('storage_unavailable')
})

test('the active configuration and each change of it are in the audit log', async () => {
  await using daemon = await startTestDaemon({
    change: (config) => (config.metrics.token = 'scrape-me-12'),
  })
  const rows = () => {
    using db = new Database(join(daemon.dir, 'forumd.sqlite'), { readonly: true })
    return db
      .query<{ detail: string }, []>("SELECT detail FROM audit WHERE kind = 'config.changed'")
      .all()
  }
  await daemon.clock.advance(1000)
  expect(rows()).toHaveLength(1)
  await daemon.restart()
  await daemon.clock.advance(1000)
  expect(rows()).toHaveLength(1)

  daemon.config.guard.allow_http = true
  await daemon.restart()
  await daemon.clock.advance(1000)
  expect(rows()).toHaveLength(2)
  expect(JSON.parse(rows()[1]?.detail ?? '')).toMatchObject({ changed: ['guard.allow_http'] })
  expect(JSON.stringify(rows())).not.toContain('scrape-me-12')
})
