import { expect, test } from 'bun:test'

import { startTestDaemon } from '../support/test-daemon.ts'

const MIB = 1024 * 1024

const MINUTE_MS = 60_000

test('bytes from callers and from the platform are freed together once they reach 8 MiB', async () => {
  let [requests, freed] = [0, 0]
  using platform = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch() {
      requests++
      return new Response(new Uint8Array(3 * MIB).fill(0x20))
    },
  })
  await using daemon = await startTestDaemon({
    platform_url: `http://127.0.0.1:${platform.port}`,
    change: (config) => (config.platform.retries = 0),
    collect: () => void freed++,
  })
  const body = `{"ids":${' '.repeat(MIB - 8)}}`
  const send = () => daemon.call('/api/forum/comments/verify', { method: 'POST', body })

  // Each leaves its text and its parsed value.
  for (let i = 0; i < 3; i++) expect((await send()).status).toBe(400)
  await daemon.clock.advance(1)
  expect(freed).toBe(0)

  await daemon.call('/api/forum/posts?subforum=hay')
  await daemon.clock.advance(1)
  expect([requests, freed]).toEqual([1, 1])
})

test('memory of refused calls is freed once it reaches 8 MiB', async () => {
  let freed = 0
  await using daemon = await startTestDaemon({
    collect: () => void freed++,
    change: ({ limits }) => (limits.failed_auth_per_minute = 0),
  })
  const refused = async (times: number) => {
    for (let i = 0; i < times; i++) {
      const { status } = await fetch(`${daemon.url()}/api/forum/posts`)
      if (status !== 401) throw new Error(`answered ${status}`)
    }
    await daemon.clock.advance(1)
  }

  // Of 8 KiB each, reported in groups of 256: the last group has ended long before the check.
  await refused(3 * 256)
  expect(freed).toBe(0)

  await refused(300)
  expect(freed).toBe(1)
})

test('a daemon without large bodies frees old objects every few minutes', async () => {
  let freed = 0
  await using daemon = await startTestDaemon({ collect: () => void freed++ })
  await daemon.clock.advance(2 * MINUTE_MS)
  expect(freed).toBe(0)
  await daemon.clock.advance(8 * MINUTE_MS)
  expect(freed).toBe(2)
})

test('memory of a burst is returned to the system once the daemon is idle', async () => {
  let [resident_bytes, given_back] = [60 * MIB, 0]
  await using daemon = await startTestDaemon({
    own: {
      resident_bytes: () => resident_bytes,
      cpu_ms: () => 0,
      releaseMemory: () => void given_back++,
    },
  })
  await daemon.clock.advance(MINUTE_MS)
  expect(given_back).toBe(0)

  resident_bytes += 8 * MIB
  await daemon.clock.advance(MINUTE_MS)
  expect(given_back).toBe(1)
})
