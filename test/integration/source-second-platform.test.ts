// Goal: a second platform of the same kind is read beside it, each with its own items and budget.
// Method: the program as it ships, on two simulated platforms with different worlds.
import { expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'

import { startSandbox } from '../../sandbox/server/sandbox.ts'
import { tempFolder } from '../support/folder.ts'
import { runForumd, startProcess } from '../support/process.ts'
import { untilMet } from '../support/source-program.ts'

setDefaultTimeout(60_000)

const start = (seed: number) =>
  startSandbox({ port: 0, seed, speed: 0, world: 'seeded', now: Date.now })

test('a second platform of this kind has a budget of its own, is watched, and is down alone', async () => {
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
base_url = `
  writeFileSync(config, `${tables}"${second.url}"\n`)
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
      state: { status: 'never_tried' },
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
    return { id: watched.body.id, polls }
  }
  const of_first = await polled('forum', first)
  await polled('other', second)

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

  const before = of_first.polls().length
  await second.stop()
  const down = await call('/api/forum/posts?subforum=coffee&limit=2&source=other')
  expect(down.status).toBeGreaterThanOrEqual(500)
  const { body: popular } = await call('/api/forum/subforums/popular?limit=1')
  const up = await call(`/api/forum/posts?subforum=${popular.subforums[0].name}&limit=2`)
  expect(up.status).toBe(200)
  const { body: now } = await call('/api/forum/sources')
  expect(now.sources).toMatchObject([
    { state: { status: 'works', fault: null } },
    { state: { status: 'fails', fault: 'unavailable', since: expect.any(String) } },
  ])
  await untilMet(() => of_first.polls().length > before)
  const { body: health } = await call(`/forum/monitor/health?id=${of_first.id}`)
  expect(health.stream_liveness).toMatchObject({ status: 'live' })
})
