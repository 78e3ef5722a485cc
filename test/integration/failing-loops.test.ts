// A loop whose iterations all fail makes no progress although it runs: readiness, the watchdog,
// metrics and operator events report it.
import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { join } from 'node:path'

import { startTestDaemon } from '../support/test-daemon.ts'

const SECOND = 1000

async function startBroken(break_it: string) {
  const daemon = await startTestDaemon({
    change: (config) => {
      config.limits.health_cache_s = 0
    },
  })
  const db = new Database(join(daemon.dir, 'forumd.sqlite'))
  return {
    daemon,
    break: () => db.run(break_it),
    repair: (sql: string) => db.run(sql),
    ready: () => daemon.call('/health/ready'),
    lines: (pattern: RegExp) =>
      daemon.events
        .filter(({ event }) => pattern.test(event))
        .map(({ level, event, fields }): Record<string, unknown> => ({ level, event, ...fields })),
    async [Symbol.asyncDispose]() {
      db.close()
      await daemon[Symbol.asyncDispose]()
    },
  }
}

test('a sender whose every iteration fails is not ready, is stuck, and is logged with its error once', async () => {
  await using it = await startBroken('ALTER TABLE deliveries RENAME TO moved_away')
  const { daemon } = it
  await daemon.clock.advance(2 * SECOND)
  expect((await it.ready()).status).toBe(200)
  it.break()
  // The sender runs by itself within a minute, and every five seconds after its first failure.
  await daemon.clock.advance(60 * SECOND)
  await daemon.clock.advance(30 * SECOND)

  const { status, body } = await it.ready()
  expect(status).toBe(503)
  expect(body).toMatchObject({ ready: false, reason: 'loop_failing' })
  expect(body.loops).toContain('sender')
  expect((await daemon.call('/health')).body.ok).toBe(false)
  expect(it.lines(/^sender\.iteration_failed$/)).toEqual([
    {
      level: 'error',
      event: 'sender.iteration_failed',
      code: 'SQLITE_ERROR',
      message: 'no such table: deliveries',
    },
  ])
  expect(it.lines(/^loop\.failing$/)).toContainEqual({
    level: 'error',
    event: 'loop.failing',
    loop: 'sender',
    code: 'SQLITE_ERROR',
    count: 5,
  })
  const metrics = await (await fetch(`${daemon.url()}/metrics`)).text()
  expect(metrics).toContain('forumd_loop_failing{loop="sender"} 1')
  expect(metrics).toContain('forumd_loop_failing{loop="upkeep"} 0')

  await daemon.clock.advance(60 * SECOND)
  expect(daemon.stuck(60 * SECOND)).toMatchObject({ loop: 'sender', what: 'failures' })

  it.repair('ALTER TABLE moved_away RENAME TO deliveries')
  await daemon.clock.advance(30 * SECOND)
  expect((await it.ready()).body).toEqual({ ready: true })
  expect(daemon.stuck(60 * SECOND)).toBeNull()
  expect(it.lines(/^loop\.recovered$/)).toContainEqual({
    level: 'info',
    event: 'loop.recovered',
    loop: 'sender',
    count: expect.any(Number),
    duration_ms: expect.any(Number),
  })
})

test('a monitor loop whose polls all fail counts as making no progress', async () => {
  await using it = await startBroken(
    `CREATE TRIGGER refuse BEFORE INSERT ON checks BEGIN SELECT RAISE(ABORT, 'not now'); END`,
  )
  const { daemon } = it
  daemon.sandbox.post({ subforum: 'cats', title: 'a cat' })
  it.break()
  expect(
    (await daemon.send('/forum/monitor/add', { filter_spec: { subforum: 'cats' } })).status,
  ).toBe(200)
  await daemon.clock.advance(150 * SECOND)

  expect((await it.ready()).body).toMatchObject({ ready: false, loops: ['monitor'] })
  expect(daemon.stuck(60 * SECOND)).toMatchObject({ loop: 'monitor', what: 'failures' })
  expect(it.lines(/^monitor\.iteration_failed$/)).toMatchObject([
    { code: 'SQLITE_CONSTRAINT_TRIGGER', message: 'not now' },
  ])

  it.repair('DROP TRIGGER refuse')
  await daemon.clock.advance(90 * SECOND)
  expect((await it.ready()).status).toBe(200)
})
