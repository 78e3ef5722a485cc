import { expect, test } from 'bun:test'

import { startHouse } from '../support/house.ts'

const MIB = 1024 * 1024

const MINUTE_MS = 60_000

test('what callers send and what the platform answers is freed together, once it is 8 MiB', async () => {
  let [asked, freed] = [0, 0]
  using platform = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch() {
      asked++
      return new Response(new Uint8Array(3 * MIB).fill(0x20))
    },
  })
  await using house = await startHouse({
    platform_url: `http://127.0.0.1:${platform.port}`,
    change: (config) => (config.platform.retries = 0),
    collect: () => void freed++,
  })
  const body = `{"ids":${' '.repeat(MIB - 8)}}`
  const send = () => house.call('/api/forum/comments/verify', { method: 'POST', body })

  // Each leaves its text behind, and what could have been made of it.
  for (let i = 0; i < 3; i++) expect((await send()).status).toBe(400)
  await house.clock.advance(1)
  expect(freed).toBe(0)

  await house.call('/api/forum/posts?subforum=hay')
  await house.clock.advance(1)
  expect([asked, freed]).toEqual([1, 1])
})

test('what is left of refused calls is freed once it is 8 MiB', async () => {
  let freed = 0
  await using house = await startHouse({ collect: () => void freed++ })
  const refused = async (times: number) => {
    for (let i = 0; i < times; i++) {
      const { status } = await fetch(`${house.url()}/api/forum/posts`)
      if (status !== 401) throw new Error(`answered ${status}`)
    }
    await house.clock.advance(1)
  }

  // Of 8 KiB each, told by the 256: the last to be told are long over when it is looked.
  await refused(3 * 256)
  expect(freed).toBe(0)

  await refused(300)
  expect(freed).toBe(1)
})

test('a house in which nothing large goes by is freed of what has grown old all the same, every few minutes', async () => {
  let freed = 0
  await using house = await startHouse({ collect: () => void freed++ })
  await house.clock.advance(2 * MINUTE_MS)
  expect(freed).toBe(0)
  await house.clock.advance(8 * MINUTE_MS)
  expect(freed).toBe(2)
})

test('what a burst leaves is given back to the system once the daemon is at rest', async () => {
  let [resident_bytes, given_back] = [60 * MIB, 0]
  await using house = await startHouse({
    own: {
      resident_bytes: () => resident_bytes,
      cpu_ms: () => 0,
      shrink: () => void given_back++,
    },
  })
  await house.clock.advance(MINUTE_MS)
  expect(given_back).toBe(0)

  resident_bytes += 8 * MIB
  await house.clock.advance(MINUTE_MS)
  expect(given_back).toBe(1)
})
