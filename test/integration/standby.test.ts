import { Database } from 'bun:sqlite'
import { afterAll, expect, test } from 'bun:test'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { startSandbox } from '../../sandbox/server/sandbox.ts'
import { parseConfig } from '../../src/config/load.ts'
import { apiKey } from '../../src/core/base/ids.ts'
import { type Daemon, startDaemon } from '../../src/daemon.ts'
import { createRuntime } from '../../src/runtime/runtime.ts'
import { insertKey } from '../../src/store/customers/keys.ts'
import { startObjectStore } from '../support/lease-servers.ts'
import { litestreamCommands, litestreamProgram } from '../support/litestream.ts'

// Two nodes of one instance in this process, in real time, at an object store.

const dir = mkdtempSync(join(tmpdir(), 'forumd-nodes-'))
const store = startObjectStore()
const sandbox = await startSandbox({ port: 0, seed: 1, speed: 0, world: 'empty', now: Date.now })
afterAll(async () => {
  await store[Symbol.asyncDispose]()
  await sandbox[Symbol.asyncDispose]()
  rmSync(dir, { recursive: true, force: true })
})

const folderOf = (name: string) => join(dir, name)

function start(name: string, lease = store.url, more = ''): Promise<Daemon> {
  const config = parseConfig(`
[server]
port = 0
[storage]
dir = "${folderOf(name)}"
[platform]
base_url = "${sandbox.url}"
session_cookie = "${sandbox.session_cookie}"
timeout_s = 0.2
[delivery]
timeout_s = 0.2
[standby]
lease = "${lease}"
name = "${name}"
ttl_s = 5
skew_s = 0.2
${more}`)
  return startDaemon(
    config,
    createRuntime(() => {}),
  )
}

async function get(daemon: Daemon, path: string) {
  const response = await fetch(daemon.url + path)
  return { status: response.status, body: await response.json() }
}

test('one node is the primary, the other serves health and refuses calls until the first one ends', async () => {
  const a = await start('a')
  expect(await get(a, '/health')).toMatchObject({ body: { ok: true, role: 'primary', epoch: 1 } })
  expect(await get(a, '/health/ready')).toMatchObject({ status: 200 })

  const b = await start('b')
  expect(await get(b, '/health')).toEqual({
    status: 200,
    body: { ok: false, reads: 'unknown', role: 'standby', primary: 'a' },
  })
  expect(await get(b, '/health/ready')).toMatchObject({ status: 503, body: { reason: 'standby' } })
  expect(await get(b, '/forum/posts?subforum=cats')).toMatchObject({
    status: 503,
    body: { code: 'not_primary', retry_after: 5 },
  })

  const page = await fetch(`${b.url}/dashboard/overview`, { headers: { accept: 'text/html' } })
  expect([page.status, page.headers.get('content-type')]).toEqual([503, 'text/html; charset=utf-8'])
  expect(await page.text()).toContain('The primary is <strong>a</strong>')

  await a[Symbol.asyncDispose]()
  cpSync(folderOf('a'), folderOf('b'), { recursive: true })
  await b.recovered
  const second = await b.proceed?.()
  if (second === undefined) throw new Error('b did not wait')
  expect(await get(second, '/health')).toMatchObject({ body: { role: 'primary', epoch: 2 } })
  await second[Symbol.asyncDispose]()

  // The folder of a lacks the acts of b.
  expect(start('a')).rejects.toThrow('another node has been primary in epoch 2 since')
  expect(start('new')).rejects.toThrow('another node has been primary')
}, 20_000)

test('a database of a later epoch than the lease is refused', async () => {
  await using other = startObjectStore()

  expect(start('b', other.url)).rejects.toThrow('the lease is only at epoch 1')
  // The refusal gives the lease back, so the next node need not wait.
  const began = performance.now()
  expect(start('b', other.url)).rejects.toThrow('epoch')
  expect(performance.now() - began).toBeLessThan(1000)
}, 20_000)

test('manual: the node acts at once, in the epoch of its database', async () => {
  await using daemon = await start('b', 'manual')

  expect(await get(daemon, '/health')).toMatchObject({ body: { role: 'primary', epoch: 2 } })
})

test('a primary that loses its lease asks for a restart and answers no call', async () => {
  const other = startObjectStore()
  const daemon = await start('fresh', other.url)
  await other[Symbol.asyncDispose]()

  expect(await daemon.failed).toBe('lease_not_renewed')
  expect(await get(daemon, '/forum/posts?subforum=cats')).toMatchObject({
    status: 503,
    body: { code: 'not_primary' },
  })
  expect(await get(daemon, '/health/ready')).toMatchObject({
    status: 503,
    body: { reason: 'not_primary' },
  })
  await daemon[Symbol.asyncDispose]()
}, 20_000)

const program = litestreamProgram()

test.skipIf(program === null)(
  'a standby restores the replica of the primary, and goes on with it as the same instance',
  async () => {
    await using other = startObjectStore()
    const replicas = join(dir, 'replicas')
    const more = (name: string) => {
      const database = join(folderOf(name), 'forumd.sqlite')
      const commands = litestreamCommands(program ?? '', { dir, database, name, replicas })
      return `replicate = ${JSON.stringify(commands.replicate)}
restore = ${JSON.stringify(commands.restore)}
restore_every_s = 1`
    }
    const first = await start('one', other.url, more('one'))
    mkdirSync(folderOf('two'))
    cpSync(join(folderOf('one'), 'secrets.key'), join(folderOf('two'), 'secrets.key'))
    const second = await start('two', other.url, more('two'))
    const copied = async () =>
      existsSync(join(folderOf('two'), 'standby/warm.sqlite')) &&
      (await get(second, '/health')).body
    for (const began = performance.now(); !(await copied());) {
      if (performance.now() - began > 15_000) throw new Error('there is no copy')
      await Bun.sleep(50)
    }
    expect(await copied()).toEqual({
      ok: false,
      reads: 'unknown',
      role: 'standby',
      primary: 'one',
      replica_age_s: expect.any(Number),
    })
    // The operator sees the pair.
    const token = apiKey('operator', crypto.getRandomValues(new Uint8Array(32)))
    const key = { id: 'key_operator', customer_id: null, token, name: null, scopes: [] }
    {
      using beside = new Database(join(folderOf('one'), 'forumd.sqlite'))
      insertKey(beside, { ...key, created_at: Date.now(), expires_at: null })
    }
    const headers = { authorization: `Bearer ${token}` }
    // Both announce themselves at intervals.
    await Bun.sleep(4000)
    const overview = await (await fetch(`${first.url}/operator/overview`, { headers })).json()
    expect(overview).toMatchObject({
      standby: {
        epoch: 1,
        primary: 'one',
        replication: 'running',
        unsettled_until: null,
        standbys: [{ node: 'two', silent: false, error: null }],
      },
    })
    // The last change before the stop.
    const created_at = Date.now()
    using db = new Database(join(folderOf('one'), 'forumd.sqlite'))
    db.query(
      "INSERT INTO customers (id, name, plan, balance_micros, created_at) VALUES ('cus_last', 'last', 'entry', 0, ?)",
    ).run(created_at)
    db.close()

    await first[Symbol.asyncDispose]()
    await second.recovered
    const third = await second.proceed?.()
    if (third === undefined) throw new Error('two did not wait')

    expect(await get(third, '/health')).toMatchObject({ body: { role: 'primary', epoch: 2 } })
    using copy = new Database(join(folderOf('two'), 'forumd.sqlite'), { readonly: true })
    expect(copy.query('SELECT name FROM customers').all()).toEqual([{ name: 'last' }])
    // A primary keeps no copies of what it may delete.
    expect(existsSync(join(folderOf('two'), 'standby'))).toBe(false)
    expect(copy.query('SELECT kind FROM observation_events').all()).toEqual([
      { kind: 'failover_detected' },
    ])
    while (!existsSync(join(replicas, 'two/generations'))) await Bun.sleep(50)
    await third[Symbol.asyncDispose]()

    // And back: what one has is moved aside, because two has been primary since.
    const fourth = await start('one', other.url, more('one'))
    expect(await get(fourth, '/health')).toMatchObject({ body: { role: 'primary', epoch: 3 } })
    await fourth[Symbol.asyncDispose]()
    expect(readdirSync(folderOf('one')).some((it) => it.includes('.before-'))).toBe(true)
  },
  60_000,
)

test.skipIf(program === null)(
  'a replica that cannot be had leaves the lease to others',
  async () => {
    await using other = startObjectStore()
    const first = await start('three', other.url)
    await first[Symbol.asyncDispose]()
    const restore = 'restore = ["false", "{target}"]'

    expect(start('four', other.url, restore)).rejects.toThrow('restore ended with 1')

    const again = await start('three', other.url)
    expect(await get(again, '/health')).toMatchObject({ body: { role: 'primary', epoch: 3 } })
    await again[Symbol.asyncDispose]()
  },
)
