import { expect, test } from 'bun:test'

import { realClock } from '../../src/runtime/runtime.ts'
import { createLease } from '../../src/standby/lease.ts'
import { openRegister } from '../../src/standby/open.ts'
import { LeaseUnreachable } from '../../src/standby/register.ts'
import {
  hasEtcd,
  hasPostgres,
  type LeaseServer,
  startEtcd,
  startObjectStore,
  startPostgres,
} from '../support/lease-servers.ts'

const SYSTEMS: [string, boolean, () => Promise<LeaseServer> | LeaseServer][] = [
  ['PostgreSQL', hasPostgres(), startPostgres],
  ['etcd', hasEtcd(), startEtcd],
  ['an object store', true, startObjectStore],
]
const TIMEOUT_MS = 1000
const open = (url: string) =>
  openRegister(url, { timeout_ms: TIMEOUT_MS, env: {}, fetch, sleep: realClock.sleep })

const leaseOf = async (url: string, node: string) =>
  createLease({
    register: await open(url),
    node,
    token: crypto.randomUUID(),
    ttl_ms: 400,
    skew_ms: 100,
    instant: () => ({ mono: performance.now(), boot: performance.now(), wall: Date.now() }),
  })

for (const [name, installed, start] of SYSTEMS) {
  test.skipIf(!installed)(
    `${name}: a swap succeeds with the current version alone`,
    async () => {
      await using server = await start()
      const register = await open(server.url)

      expect(await register.read()).toBeNull()
      const first = await register.swap(null, 'one')
      expect(await register.swap(null, 'two')).toBeNull()
      expect(await register.read()).toEqual({ version: first ?? '', text: 'one' })
      const second = await register.swap(first, 'ünö "2"')
      expect(await register.swap(first, 'three')).toBeNull()
      expect(await register.read()).toEqual({ version: second ?? '', text: 'ünö "2"' })
      await register.close()
    },
    30_000,
  )

  test.skipIf(!installed)(
    `${name}: of many simultaneous swaps of one version, one succeeds`,
    async () => {
      await using server = await start()
      const registers = await Promise.all(Array.from({ length: 8 }, () => open(server.url)))
      let version: string | null = null
      for (let round = 0; round < 5; round++) {
        const all = await Promise.all(
          registers.map((it, n) =>
            it.swap(version, `${round} of ${n}`).catch((error: unknown) => {
              if (error instanceof LeaseUnreachable) return null
              throw error
            }),
          ),
        )
        const won = all.filter((it) => it !== null)
        expect(won).toHaveLength(1)
        version = won[0] ?? null
      }
      await Promise.all(registers.map((it) => it.close()))
    },
    30_000,
  )

  test.skipIf(!installed)(
    `${name}: the lease passes on when its holder is silent, and not before`,
    async () => {
      await using server = await start()
      const [a, b] = [await leaseOf(server.url, 'a'), await leaseOf(server.url, 'b')]
      expect(await a.acquire()).toMatchObject({ held: true, epoch: 1 })
      for (let n = 0; n < 4; n++) {
        await Bun.sleep(150)
        expect(await a.renew(true)).toBe(true)
        expect(await b.acquire()).toMatchObject({ held: false, holder: 'a' })
      }
      const silent_at = performance.now()
      for (;;) {
        const found = await b.acquire()
        if (found.held) break
        await Bun.sleep(20)
      }

      expect(performance.now() - silent_at).toBeGreaterThan(450)
      expect(b.term()).toMatchObject({ epoch: 2 })
      expect(await a.renew()).toBe(false)
      await Promise.all([a.close(), b.close()])
    },
    30_000,
  )

  test.skipIf(!installed || name === 'an object store')(
    `${name}: a server that does not answer ends a call in time, and serves the next ones`,
    async () => {
      await using server = await start()
      const register = await open(server.url)
      const version = await register.swap(null, 'one')
      process.kill(server.pid, 'SIGSTOP')
      await Bun.sleep(100)
      // The processes of PostgreSQL's connections are others: this address is answered by nothing.
      const silent = await open(server.url)
      const began = performance.now()
      const refused = await silent.read().catch((error: unknown) => error)
      const took = performance.now() - began
      process.kill(server.pid, 'SIGCONT')

      expect(refused).toBeInstanceOf(LeaseUnreachable)
      expect(took).toBeLessThan(TIMEOUT_MS + 500)
      await Bun.sleep(300)
      expect(await silent.read()).toEqual({ version: version ?? '', text: 'one' })
      await Promise.all([register.close(), silent.close()])
    },
    30_000,
  )
}

test('an object store that ignores conditions is refused', async () => {
  await using server = startObjectStore({ deaf: true })
  const register = await open(server.url)

  expect(register.read()).rejects.toThrow('ignores conditions')
})

test('an error repeats neither the address nor a password', async () => {
  const register = await open('postgres://forumd:geheim@127.0.0.1:1/forumd')

  const error = await register.read().catch((it: unknown) => String(it))

  expect(error).toStartWith('LeaseUnreachable')
  expect(error).not.toMatch(/geheim|127\.0\.0\.1/)
})
