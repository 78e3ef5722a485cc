// Goal: a process without file descriptors says so of itself, and blames neither the platform nor an
// account. Method: the whole daemon, whose connections fail as the system refuses them.

import { expect, test } from 'bun:test'

import { homeOf } from '../../src/config/schema.ts'
import { startTestDaemon } from '../support/test-daemon.ts'

const S = 1000

test('reads without a file descriptor are reported as the own failure, and end with it', async () => {
  let out = false
  await using daemon = await startTestDaemon({
    out_of_files: () => out,
    change(config) {
      homeOf(config)!.retries = 0
      config.limits.read_cache_s = 0
      config.limits.health_cache_s = 0
      config.limits.key_rate = 0
    },
  })
  const { key } = daemon
  const headers = { authorization: `Bearer ${key}` }
  daemon.sandbox.post({ subforum: 'cats', title: 'A cat' })
  const read = () => daemon.call('/api/forum/posts?subforum=cats', { headers })
  const seen = (prefix: string) =>
    daemon.events.filter(({ event }) => event.startsWith(prefix)).map(({ event }) => event)
  expect((await read()).status).toBe(200)

  out = true
  for (let n = 0; n < 40; n++) {
    const { status, body } = await read()
    expect([status, body.code]).toEqual([503, 'upstream_unavailable'])
    expect([n, body.message]).toEqual([n, expect.stringContaining('no file descriptor left')])
  }
  const health = await daemon.call('/health')
  const ready = await daemon.call('/health/ready')
  expect(health.body).toMatchObject({ ok: false })
  expect(health.body.reads).not.toBe('degraded')
  expect([ready.status, ready.body]).toEqual([503, { ready: false, reason: 'out_of_files' }])
  expect(seen('process.')).toEqual(['process.out_of_files'])
  expect([...seen('reads.'), ...seen('platform.un'), ...seen('account.')]).toEqual([])

  out = false
  expect((await read()).status).toBe(200)
  expect((await daemon.call('/health/ready')).status).toBe(200)
  expect((await daemon.call('/health')).body.ok).toBe(true)
  expect(seen('process.')).toEqual(['process.out_of_files', 'process.files_recovered'])
})

test('a failure without a successor counts for a minute', async () => {
  let out = true
  await using daemon = await startTestDaemon({
    out_of_files: () => out,
    change: (config) => void (homeOf(config)!.retries = 0),
  })
  const headers = { authorization: `Bearer ${daemon.key}` }
  await daemon.call('/api/forum/posts?subforum=cats', { headers })
  expect((await daemon.call('/health/ready')).status).toBe(503)

  out = false
  await daemon.clock.advance(61 * S)
  expect((await daemon.call('/health/ready')).status).toBe(200)
})
