import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { LeaseRecord } from '../../src/core/standby/lease.ts'
import { type Fetch, realClock } from '../../src/runtime/runtime.ts'
import { openBucket, readAddress, StoreUnreachable } from '../../src/standby/bucket.ts'
import { createLease } from '../../src/standby/lease.ts'
import { hasObjectStore, type ObjectStore, startObjectStore } from '../support/object-store.ts'
import { canPair, overlapsOf, startPair, until } from '../support/standby-pair.ts'

const TTL_MS = 600
/** To the store no request has a condition. */
const deaf: Fetch = (url, init) => fetch(url, { ...init, headers: {} })

describe.skipIf(!hasObjectStore())('a lease in an object store', () => {
  let store: ObjectStore
  let dir = ''
  const ending: (() => void)[] = []

  beforeAll(async () => {
    store = await startObjectStore()
    dir = mkdtempSync(join(tmpdir(), 'forumd-standby-'))
  }, 60_000)
  afterAll(async () => {
    ending.forEach((end) => end())
    await store[Symbol.asyncDispose]()
    rmSync(dir, { recursive: true, force: true })
  })

  /** A folder of the store, with what a node does in it. `fetch` stands between. */
  function place(name = crypto.randomUUID()) {
    const bucketBy = (
      fetch: Fetch = (url, init) => globalThis.fetch(url, init),
      timeout_ms = 2000,
    ) => openBucket(readAddress(store.addressAt(name), {}), { timeout_ms, fetch })
    const object = () => store.client.file(`${name}/lease.json`)
    function node(
      token: string,
      { fetch, holder = token }: { fetch?: Fetch; holder?: string } = {},
    ) {
      const events: string[] = []
      const ends: number[] = []
      const stop = new AbortController()
      ending.push(() => stop.abort())
      const lease = createLease({
        bucket: bucketBy(fetch),
        deadline: { set: (end_ms) => void ends.push(end_ms) },
        boot: () => performance.now(),
        clock: realClock,
        log: (_, event) => void events.push(event),
        ttl_ms: TTL_MS,
        holder,
        token,
      })
      const reasons = new Set<string>()
      const take = (signal = stop.signal) =>
        lease.take(signal, (_, reason) => void reasons.add(reason))
      return { ...lease, take, keep: () => lease.keep(stop.signal), events, ends, reasons }
    }
    return {
      bucketBy,
      node,
      read: async (): Promise<LeaseRecord> => object().json(),
      write: (it: unknown) => object().write(typeof it === 'string' ? it : JSON.stringify(it)),
      remove: () => object().delete(),
    }
  }

  test.concurrent(
    'of writes under one condition at the same time exactly one succeeds',
    async () => {
      // The conditions are the subject; a busy machine may take its time.
      const bucket = place().bucketBy(undefined, 30_000)
      await bucket.prove()
      let etag: string | null = null
      for (let round = 0; round < 2; round++) {
        const before = etag
        const made: (string | null)[] = await Promise.all(
          Array.from({ length: 4 }, (_, n) => bucket.write(`${round} ${n}`, before)),
        )
        const won = made.filter((it) => it !== null)
        expect(won).toHaveLength(1)
        etag = won[0] ?? null
        expect((await bucket.read())?.etag).toBe(etag ?? '')
        expect(
          await bucket.write('late', before ?? '"00000000000000000000000000000000"'),
        ).toBeNull()
      }
    },
    60_000,
  )

  test.concurrent('a store that ignores conditions is refused', async () => {
    expect(place().bucketBy(deaf).prove()).rejects.toThrow('it ignores If-Match')
  })

  test.concurrent('of two nodes that start at the same time one takes the lease', async () => {
    const { node, read } = place()
    const nodes = [node('a'), node('b')]

    const first = await Promise.race(nodes.map((it) => it.take()))

    expect(await read()).toMatchObject({ token: first?.token, replica: 0, released: false })
  })

  test.concurrent(
    'a lease that is renewed is not taken, and a released one is taken at once',
    async () => {
      const { node } = place()
      const [a, b] = [node('a'), node('b')]
      const first = await a.take()
      const kept = a.keep()
      const taking = b.take()
      await until(() => a.ends.length > 8)
      expect(b.ends).toEqual([])

      await a.release()

      expect(await taking).toMatchObject({ token: 'b', term: (first?.term ?? 0) + 1 })
      expect([...b.reasons]).toEqual(['held', 'released'])
      expect(await kept).toBe(true)
    },
  )

  test.concurrent(
    'the holder learns from a renewal that another process has the lease',
    async () => {
      const { node, read, write } = place()
      const a = node('a')
      await a.take()
      await write({ ...(await read()), token: 'b', beat: 0 })

      expect(await a.keep()).toBe(true)
    },
  )

  test.concurrent('a renewal whose answer is lost goes on', async () => {
    let is_lost = false
    const { node } = place()
    const a = node('a', {
      async fetch(url, init) {
        const answer = await fetch(url, init)
        if (!is_lost || init.method !== 'PUT') return answer
        is_lost = false
        throw new Error('the connection broke')
      },
    })
    await a.take()
    is_lost = true
    const before = a.ends.length

    expect(await a.setReplica(3)).toBe(true)
    expect(a.ends.length).toBe(before + 1)
    expect(a.events).toContain('lease.unreachable')
  })

  test.concurrent('a term counts from before the request, however slow its answer is', async () => {
    const { node } = place()
    let began = 0
    const a = node('a', {
      async fetch(url, init) {
        if (init.method === 'PUT') began = performance.now()
        const answer = await fetch(url, init)
        await Bun.sleep(100)
        return answer
      },
    })

    await a.take()

    expect(a.ends.at(-1)).toBeLessThanOrEqual(began + TTL_MS)
  })

  test.concurrent('while the store is down no term grows', async () => {
    let is_down = false
    const { node } = place()
    const a = node('a', {
      fetch: (url, init) =>
        is_down ? Promise.resolve(new Response('', { status: 503 })) : fetch(url, init),
    })
    await a.take()
    is_down = true
    const before = a.ends.length
    const kept = a.keep()
    await until(() => a.events.includes('lease.unreachable'))
    expect(a.ends.length).toBe(before)
    is_down = false

    await until(() => a.events.includes('lease.reachable'))
    expect(a.ends.length).toBeGreaterThan(before)
    expect(await Promise.race([kept, Promise.resolve('goes on')])).toBe('goes on')
  })

  test.concurrent(
    'a holder writes a deleted object again before another node may take it',
    async () => {
      const { node, read, remove } = place()
      const [a, b] = [node('a'), node('b')]
      await a.take()
      void a.keep()
      void b.take()
      await until(() => b.reasons.has('held'))
      await remove()

      await until(() => a.ends.length > 8)
      expect(await read()).toMatchObject({ token: 'a' })
      expect(b.ends).toEqual([])
    },
  )

  test.concurrent('an object that forumd did not write is left alone', async () => {
    const { node, write, bucketBy } = place()
    await write('not ours')
    const a = node('a')
    void a.take()
    await until(() => a.reasons.has('foreign'))
    await Bun.sleep(2 * TTL_MS)

    expect((await bucketBy().read())?.text).toBe('not ours')
  })

  test.concurrent('a term beyond three times the own one is not believed', async () => {
    const { node, read, write } = place()
    await node('a').take()
    await write({ ...(await read()), ttl_ms: 3600_000 })
    const b = node('b')

    expect(await b.take()).toMatchObject({ token: 'b' })
    expect(b.reasons.has('ttl_too_long')).toBe(true)
  })

  test.concurrent('two processes of one name are told apart', async () => {
    const { node, read } = place()
    const [a, b] = [node('a', { holder: 'same' }), node('b', { holder: 'same' })]
    await a.take()
    const taking = b.take()
    await until(() => b.reasons.has('held'))
    expect(await read()).toMatchObject({ holder: 'same', token: 'a' })

    await a.release()

    expect(await taking).toMatchObject({ holder: 'same', token: 'b' })
  })

  test.concurrent('replicas are listed by number and removed whole', async () => {
    const name = crypto.randomUUID()
    const bucket = place(name).bucketBy()
    for (const key of ['replica-7/a/b', 'replica-12/c', 'replica-x/d', 'lease.json'])
      await store.client.write(`${name}/${key}`, 'x')
    expect((await bucket.replicas()).toSorted((x, y) => x - y)).toEqual([7, 12])

    await bucket.removeReplica(7)

    expect(await store.client.exists(`${name}/replica-7/a/b`)).toBe(false)
    expect(await store.client.exists(`${name}/replica-12/c`)).toBe(true)
  })

  test.concurrent('a store that is not there is named without its address', async () => {
    const nowhere = openBucket(readAddress('s3://id:secret@x/y?endpoint=http://127.0.0.1:9', {}), {
      timeout_ms: 1000,
      fetch: (url, init) => fetch(url, init),
    })

    expect(nowhere.read()).rejects.toBeInstanceOf(StoreUnreachable)
    expect(nowhere.read()).rejects.not.toThrow('secret')
    expect(nowhere.replicas()).rejects.toBeInstanceOf(StoreUnreachable)
  })

  test.concurrent.skipIf(!canPair())(
    'a node waits while the other one acts, and goes on with its data when it stops',
    async () => {
      await using pair = await startPair({ dir, ttl_s: 3, store })
      const { a, b } = pair
      a.start()
      await until(() => a.url !== '')
      await pair.populate(a)
      b.start(a)
      await until(() => b.saw('lease.waiting'))
      await until(() => pair.delivers(a.life))
      expect(readdirSync(b.dir)).not.toContain('forumd.sqlite')

      expect(await a.end('SIGTERM')).toBe(0)

      expect(await until(() => pair.delivers(b.life))).toBe(true)
      await until(() => b.url !== '')
      const health = await (await fetch(`${b.url}/health`)).json()
      expect(health).toMatchObject({ ok: true, role: 'primary' })
      await pair.poster.stop()
      expect(await until(() => pair.missing().length === 0)).toBe(true)
      expect(overlapsOf(pair.arrivals)).toEqual([])
      expect(existsSync(join(b.dir, 'standby/restored.sqlite'))).toBe(false)
    },
    60_000,
  )
})

test.skipIf(process.env['FORUMD_LONG'] !== '1' || !canPair())(
  'the short form of bar:failover finds no overlap and no loss',
  async () => {
    const child = Bun.spawn(
      [process.execPath, 'scripts/bars/failover.ts', '--kills', '2', '--stops', '1'],
      { stdout: 'pipe', stderr: 'inherit' },
    )
    const report = await new Response(child.stdout).text()

    expect(report).toContain('"lost":0')
    expect(report).toContain('"overlaps":0,"failures":[]')
    expect(await child.exited).toBe(0)
  },
  180_000,
)
