// Goal: a second platform of the same kind is read beside it, each with its own items and budget.
// Method: the program as it ships, on two simulated platforms with different worlds.
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'

import { startSandbox } from '../../sandbox/server/sandbox.ts'
import { once } from '../../src/core/base/lazy.ts'
import { addAccounts, headerOf } from '../support/accounts.ts'
import { tempFolder } from '../support/folder.ts'
import { runForumd, runForumdToEnd, startProcess } from '../support/process.ts'
import { untilMet } from '../support/source-program.ts'
import { startTestDaemon } from '../support/test-daemon.ts'
import { operatorKey } from './operator-fixture.ts'

setDefaultTimeout(60_000)

const start = (seed: number, now = Date.now) =>
  startSandbox({ port: 0, seed, speed: 0, world: 'seeded', now })

test('a second platform of this kind is configured, read and watched beside the first', async () => {
  const [first, second] = [await start(1), await start(2)]
  await using stack = new AsyncDisposableStack()
  stack.defer(() => first.stop())
  stack.defer(() => second.stop())
  const folder = stack.use(tempFolder())
  const config = folder.file('forumd.toml')
  const tables = `server = { port = 0 }
storage = { dir = "${folder.file('data')}" }
billing = { enabled = false }
[[source]]
name = "forum"
kind = "reddit"
base_url = "${first.url}"
session_cookie = "${first.session_cookie}"
[[source]]
name = "other"
kind = "reddit"
session_cookie = "${second.session_cookie}"
base_url = `
  writeFileSync(config, `${tables}"${second.url}"\n`)
  const { username, cookies } = loginOf(second)
  writeFileSync(folder.file('jar'), headerOf(cookies))
  const account = ['account', 'add', 'reader', '--source', 'other', '--jar', folder.file('jar')]
  const added = await runForumd([...account, '--json', '--config', config])
  expect(JSON.parse(added)).toMatchObject({ name: 'reader', username, status: 'ready' })
  const examined = await runForumdToEnd(['doctor', '--json', '--config', config])
  expect(JSON.parse(examined.out).checks).toContainEqual(
    expect.objectContaining({ check: 'account', name: 'reader', verdict: 'ok' }),
  )
  const key = (await runForumd(['key', 'create', '--customer', 'ann', '--config', config])).trim()
  const daemon = await startProcess(config)
  stack.defer(() => daemon.end('SIGTERM').then(() => {}))
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const call = async (path: string, body?: object): Promise<{ status: number; body: any }> => {
    const answer = await fetch(`${daemon.url}${path}`, {
      headers,
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    })
    return { status: answer.status, body: await answer.json() }
  }

  const { sources } = (await call('/api/forum/sources')).body
  expect(sources).toMatchObject([
    { name: 'forum', kind: 'reddit' },
    {
      name: 'other',
      kind: 'reddit',
      url: second.url,
      proof: 'time_listing',
      state: { status: 'never_tried', requests_per_minute: null },
    },
  ])
  expect(sources[1].capabilities).toEqual(
    expect.arrayContaining(['posts', 'search', 'tree', 'user']),
  )
  expect(sources[1].capabilities).toEqual(expect.arrayContaining(['monitor', 'comment']))

  const { body: list } = await call('/api/forum/search?q=the&limit=5&source=other')
  expect(list.posts.length).toBeGreaterThan(0)
  const { subforum, name, source } = list.posts[0]
  expect(source).toBe('other')
  const place = await call(`/api/forum/posts?subforum=r/${subforum}&limit=3&source=other`)
  expect(place.body.posts.map((it: { subforum: string }) => it.subforum)).toEqual(
    Array(place.body.posts.length).fill(subforum),
  )
  expect((await call(`/api/forum/post/${name}/comments?source=other`)).status).toBe(200)

  const spelled = await call('/api/forum/posts?subforum=a/b/c&source=other')
  expect(spelled).toMatchObject({ status: 400, body: { field: 'subforum' } })
  const polled = async (named: string, at: typeof first) => {
    const { body: found } = await call(`/api/forum/subforums/popular?limit=1&source=${named}`)
    const { name: board } = found.subforums[0]
    const watched = await call('/forum/monitor/add', {
      filter_spec: { source: named, subforum: [board], include_any: ['the'] },
    })
    expect(watched).toMatchObject({ status: 200 })
    const polls = () => at.requests.filter(({ path }) => path.startsWith(`/r/${board}/new`))
    await untilMet(() => polls().length > 0)
  }
  await polled('forum', first)
  await polled('other', second)
  const usersAt = (at: typeof first) => [...new Set(at.requests.map(({ user }) => user))]
  expect(usersAt(first)).toEqual([null])
  expect(usersAt(second)).toContain(username)

  const check = (text: string) => {
    writeFileSync(config, text)
    return runForumd(['check-config', '--config', config]).catch(String)
  }
  expect(await check(`${tables}"${first.url}"\n`)).toContain(
    'which another source of this kind has',
  )
  expect(await check(`${tables}"${second.url}"\napi_key = "k"\n`)).toContain(
    'a source of this kind takes',
  )
  writeFileSync(config, `${tables}"${second.url}"\n`)
  const tested = await runForumd(['source', 'test', 'other', '--json', '--config', config])
  expect(JSON.parse(tested).sources).toMatchObject([{ name: 'other', verdict: 'works' }])
})

const MINUTE = 60_000
type Platform = Awaited<ReturnType<typeof start>>

const atFirst = () => Date.UTC(2026, 0, 1)

/** Ten minutes of the first of two platforms: what it was requested, its budget and its health. */
async function besideOne(end: (second: Platform) => unknown) {
  let now = atFirst
  await using second = await start(2, () => now())
  await using it = await startTestDaemon({
    world: 'seeded',
    change(config) {
      const [home] = config.source
      if (home?.kind !== 'reddit') return expect.unreachable()
      home.accounts.allow_anonymous = false
      config.source.push({ ...home, name: 'other', base_url: second.url })
    },
  })
  now = it.clock.now
  const at = { source: 'other', base_url: second.url }
  addAccounts(it, [
    { name: 'a', ...loginOf(it.sandbox) },
    { name: 'b', at, ...loginOf(second) },
  ])
  const operator = operatorKey(it)
  const poolOf = async (name: string) =>
    (await it.call('/operator/pool', {}, operator)).body.accounts.find(
      (account: { name: string }) => account.name === name,
    )
  await it.clock.advance(MINUTE)
  const monitor = (source: string) =>
    it.send('/forum/monitor/add', {
      filter_spec: { source, subforum: 'coffee', kind: 'post' },
      targets: 'none',
    })
  const { id } = (await monitor('forum')).body
  const { id: other } = (await monitor('other')).body
  await it.clock.advance(5 * MINUTE)
  await end(second)
  await it.clock.advance(10 * MINUTE)
  const healthOf = async (of: string) => (await it.call(`/forum/monitor/health?id=${of}`)).body
  const { status, budget } = await poolOf('a')
  const { coverage, stream_liveness, sources } = await healthOf(id)
  const requests = it.sandbox.requests.map((sent) => [sent.at, sent.path, sent.query, sent.user])
  // A read is repeated after a pause, and the clock would wait for one that it knows of.
  const read = fetch(`${it.url()}/api/forum/posts?subforum=coffee&limit=2&source=other`, {
    headers: { authorization: `Bearer ${it.key}` },
  })
  await it.clock.advance(MINUTE)
  return {
    first: {
      requests,
      account: { status, budget },
      health: { coverage, stream_liveness, sources },
      answers: (await it.call('/api/forum/posts?subforum=coffee&limit=2')).status,
    },
    states: (await it.call('/api/forum/sources')).body.sources.map(
      ({ state }: { state: { status: string } }) => state.status,
    ),
    read: (await read).status,
    liveness: (await healthOf(other)).stream_liveness.status,
  }
}

const loginOf = (platform: Platform) => {
  const { username, cookies } =
    platform.overview().accounts.find(({ flags }) => !flags.suspended) ?? expect.unreachable()
  return { username, cookies }
}

describe('a second platform that', () => {
  const calm = once(() => besideOne(() => {}))

  test.each<[string, (second: Platform) => unknown]>([
    ['refuses connections', (it) => it.stop()],
    ['answers 503', (it) => it.addFault({ path: '/', fault: '5xx' })],
    ['bans its account', (it) => it.addFault({ path: '/', fault: 'block_403_html' })],
  ])('%s leaves polls, budget and health of the first as they are', async (_, end) => {
    const { first, ...both_up } = await calm()
    expect(both_up).toMatchObject({ states: ['works', 'works'], read: 200, liveness: 'live' })
    expect(first.requests.length).toBeGreaterThan(10)
    expect(first).toMatchObject({ account: { status: 'ready' }, answers: 200 })

    const { first: beside, ...down } = await besideOne(end)
    expect(beside).toEqual(first)
    expect(down).toMatchObject({ states: ['works', 'fails'] })
    expect(down.read).toBeGreaterThanOrEqual(500)
    expect(down.liveness).not.toBe('live')
  })
})
