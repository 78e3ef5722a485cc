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

import { mountMemory, whyNot } from '../chaos/mounting.ts'
import { startHouse } from '../support/house.ts'
import { runForumd, startProcess } from '../support/process.ts'

const MINUTE_MS = 60_000
const MIB = 2 ** 20

test('space is held back, but not by a start that is in a hurry', async () => {
  await using house = await startHouse({ hold_back: true })
  const ballast = join(house.dir, 'ballast')
  await house.clock.advance(1000)
  expect(existsSync(ballast)).toBe(false)
  await house.clock.advance(2 * MINUTE_MS)
  for (let wait = 0; wait < 500 && !existsSync(ballast); wait++) await Bun.sleep(10)
  const { size, blocks } = statSync(ballast)
  expect({ size, held: blocks * 512 >= 32 * MIB }).toEqual({ size: 32 * MIB, held: true })
})

test('snapshots are taken as the schedule says', async () => {
  await using house = await startHouse({
    change: (config) => {
      config.upkeep.snapshots = '*/10 * * * *'
      config.upkeep.keep_hourly = 2
      config.upkeep.keep_daily = 0
    },
  })
  for (let n = 0; n < 4; n++) {
    await house.clock.advance(10 * MINUTE_MS)
    const taken = () => house.events.filter(({ event }) => event === 'storage.snapshot').length
    for (let wait = 0; wait < 500 && taken() <= n; wait++) await Bun.sleep(10)
  }
  const names = readdirSync(join(house.dir, 'snapshots'))
  expect(names).toHaveLength(2)
  expect(house.events.filter(({ event }) => event === 'storage.snapshot_failed')).toEqual([])
})

const no_memory = await whyNot(() => mountMemory(1))
if (no_memory !== null) console.warn(`skipped: ${no_memory}`)

test.skipIf(no_memory !== null)(
  'a start on a full disk takes what is held back for one, and says that it is full',
  async () => {
    await using disk = await mountMemory(40)
    const config = join(disk.path, 'forumd.toml')
    writeFileSync(
      config,
      `[server]\nport = 0\n[storage]\ndir = "${disk.path}/data"\n[platform]\nbase_url = "http://127.0.0.1:1"\nsession_cookie = "s"\n`,
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

test('a database that was replaced under the daemon is not written to any further', async () => {
  await using house = await startHouse()
  const path = join(house.dir, 'forumd.sqlite')
  await house.clock.advance(1000)
  copyFileSync(path, `${path}.copy`)
  renameSync(`${path}.copy`, path)
  await house.clock.advance(2 * MINUTE_MS)
  expect(house.events.filter(({ event }) => event === 'storage.lost')).toMatchObject([
    { fields: { reason: 'database_replaced' } },
  ])
})

test('so it is when it is gone', async () => {
  await using house = await startHouse()
  await house.clock.advance(1000)
  rmSync(join(house.dir, 'forumd.sqlite'))
  await house.clock.advance(2 * MINUTE_MS)
  expect(house.events.map(({ event }) => event)).toContain('storage.lost')
})

const START_MS = Date.UTC(2026, 0, 1)

test.each([
  [5, 'storage_error'],
  [4, undefined],
])('after %i storage errors in ten minutes health says %s', async (count, storage) => {
  await using house = await startHouse({
    change: ({ storage: { dir } }) => {
      const instants = Array.from({ length: count }, (_, n) => START_MS - n * MINUTE_MS)
      writeFileSync(join(dir, 'storage-errors.json'), JSON.stringify([...instants, 0]))
    },
  })
  const health = await house.call('/health')
  expect(health.body.storage).toBe(storage)
  const list = await house.call('/forum/monitor/list')
  const ready = await house.call('/health/ready')
  expect([list.status, ready.status]).toEqual(storage === undefined ? [200, 200] : [503, 503])
  if (storage !== undefined) expect(list.body.code).toBe('storage_unavailable')
})

test('the configuration that the daemon runs with is in the audit chain, and so is each change of it', async () => {
  await using house = await startHouse({
    change: (config) => (config.metrics.token = 'scrape-me-12'),
  })
  const rows = () => {
    using db = new Database(join(house.dir, 'forumd.sqlite'), { readonly: true })
    return db
      .query<{ detail: string; chained: number }, []>(
        "SELECT detail, hash IS NOT NULL AS chained FROM audit WHERE kind = 'config.changed'",
      )
      .all()
  }
  await house.clock.advance(1000)
  expect(rows()).toMatchObject([{ chained: 1 }])
  await house.restart()
  await house.clock.advance(1000)
  expect(rows()).toHaveLength(1)

  house.config.guard.allow_http = true
  await house.restart()
  await house.clock.advance(1000)
  expect(rows()).toMatchObject([{}, { chained: 1 }])
  expect(JSON.parse(rows()[1]?.detail ?? '')).toMatchObject({ changed: ['guard.allow_http'] })
  expect(JSON.stringify(rows())).not.toContain('scrape-me-12')
})
