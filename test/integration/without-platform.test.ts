// Goal: an installation without a source of accounts needs none, and mentions none.
// Method: the program as it ships, on a configuration without that table and a simulated source.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'

import { startKind } from '../../sandbox/sources/kinds.ts'
import { tempFolder } from '../support/folder.ts'
import { type DaemonProcess, runForumd, runForumdToEnd, startProcess } from '../support/process.ts'

setDefaultTimeout(60_000)

const folder = tempFolder()
const config = folder.file('forumd.toml')
const run = (...args: string[]) => runForumdToEnd([...args, '--config', config])
const forumd = (...args: string[]) => runForumd([...args, '--config', config])
let site: Awaited<ReturnType<typeof startKind>>
let daemon: DaemonProcess
let headers: Record<string, string>

beforeAll(async () => {
  site = await startKind('hackernews', { port: 0, seed: 7, speed: 0, now: Date.now })
  writeFileSync(
    config,
    `server = { port = 0 }
storage = { dir = "${folder.file('data')}" }
billing = { enabled = false }
[plans.entry]
cadence_s = 1
[[source]]
name = "hn"
kind = "hackernews"
base_url = "${site.url}"
requests_per_minute = 6000
[[source]]
name = "second"
kind = "hackernews"
base_url = "${site.url}"
requests_per_minute = 6000
ends_at = "2020-01-01"
`,
  )
  const key = (await forumd('key', 'create', '--customer', 'ann')).trim()
  headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  daemon = await startProcess(config)
})
afterAll(async () => {
  await daemon.end('SIGTERM')
  await site[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

async function call(path: string, body?: object): Promise<{ status: number; body: any }> {
  const answer = await fetch(`${daemon.url}${path}`, {
    headers,
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  })
  return { status: answer.status, body: await answer.json() }
}

test('reads come from the first source, and the list has no other', async () => {
  const { body: list } = await call('/api/forum/sources')
  expect(list.sources.map(({ name }: { name: string }) => name)).toEqual(['hn', 'second'])

  const first = await call('/api/forum/posts?subforum=story&limit=2')
  expect(first).toMatchObject({
    status: 200,
    body: { posts: [{ source: 'hn' }, { source: 'hn' }] },
  })
  const named = await call('/api/forum/posts?subforum=story&limit=1&source=second')
  expect(named).toMatchObject({ status: 200, body: { posts: [{ source: 'second' }] } })
  const id = first.body.posts[0].name
  expect((await call(`/api/forum/post/${id}/comments`)).status).toBe(200)

  const other = await call('/api/forum/posts?subforum=story&source=forum')
  expect(other.status).toBe(400)
  expect(other.body.error).toBe('source must be one of hn, second')
})

const SESSION = { forum_session: 's'.repeat(40), loid: 'l' }
test.each([
  ['/api/forum/comment', { ...SESSION, text: 'a', post_url: 'https://f.example/comments/a/b' }],
  ['/api/forum/vote', { ...SESSION, id: 't3_1', direction: 'up' }],
  ['/api/forum/dm', { ...SESSION, to: 'bob', text: 'a' }],
  ['/api/forum/login', { username: 'ann', password: 'b' }],
  ['/api/forum/feed?forum_session=abc', undefined],
  ['/api/forum/feed', undefined],
  ['/api/forum/user/ann/saved', undefined],
])('%s belongs to a platform: 501', async (path, body) => {
  expect(await call(path, body)).toMatchObject({
    status: 501,
    body: { error: 'NOT_SUPPORTED_BY_SOURCE', capability: expect.any(String) },
  })
})

test('a monitor that names no source watches the first', async () => {
  const added = await call('/forum/monitor/add', {
    filter_spec: { include_any: ['kettle'] },
    targets: 'none',
  })
  expect(added).toMatchObject({
    status: 200,
    body: { filter_spec: { source: ['hn'] }, streams: [{ id: 'all:hn' }] },
  })
  const all = await call('/forum/monitor/add', {
    filter_spec: { source: 'all', include_any: ['kettle'] },
    targets: 'none',
  })
  expect(all.body.streams.map(({ id }: { id: string }) => id)).toEqual(['all:hn', 'all:second'])
  const refused = await call('/forum/monitor/add', {
    filter_spec: { source: ['forum'], include_any: ['kettle'] },
    targets: 'none',
  })
  expect(refused.status).toBe(400)
  expect(refused.body.error).toContain('forum cannot be monitored; the sources are hn, second')

  const { id } = added.body
  const items = async () => (await call(`/forum/monitor/items?id=${id}`)).body.items
  await fetch(`${site.url}/__sandbox/post`, {
    method: 'POST',
    body: JSON.stringify({ title: 'A kettle', text: 'A text.' }),
  })
  while ((await items()).length === 0) await Bun.sleep(200)
  expect(await items()).toMatchObject([{ title: 'A kettle', source: 'hn' }])
})

test('metrics have no series of a platform, and health says ok', async () => {
  const text = await (await fetch(`${daemon.url}/metrics`)).text()
  expect(text).toMatch(/^forumd_reads_health\{/m)
  expect(text).not.toMatch(/^forumd_(pool_|platform_|upstream_budget|clock_offset)/m)
  expect(await (await fetch(`${daemon.url}/health`)).json()).toMatchObject({
    ok: true,
    reads: 'unknown',
  })
})

test('doctor asks each source, and speaks of no platform', async () => {
  const { code, out } = await run('doctor', '--json')
  const { checks } = JSON.parse(out)
  const of = (wanted: string) =>
    checks.flatMap((it: Record<string, unknown>) =>
      it['check'] === wanted ? [[it['name'], it['verdict'], it['found']]] : [],
    )

  expect(code).toBe(0)
  expect(of('source')).toEqual([
    [
      'hn',
      'ok',
      expect.stringMatching(/^Hacker News \(hackernews\) answers \d+ .*newest item: \d+/),
    ],
    ['second', 'ok', expect.stringContaining('Hacker News')],
    ['second', 'warn', 'access ended on 2020-01-01'],
  ])
  expect(of('clock')).toEqual([[null, 'ok', "it agrees with the source's"]])
  expect(of('platform').concat(of('accounts'))).toEqual([])
  expect(await forumd('source', 'list')).toContain('2020-01-01, over')
})

test('commands on accounts say that there is no platform', async () => {
  const refusal = await forumd('account', 'add', 'first', '--jar', '-').catch(String)
  expect(refusal).toContain('the configuration has no source of the kind reddit')
})

test('an account at a source is not one of the pool', async () => {
  const refused = await run('account', 'add', '--source', 'hn')
  expect(refused.err).toContain('hn takes no account that is added in a browser')
})

test('apply checks and writes monitors of sources', async () => {
  const file = folder.file('monitors.toml')
  const declare = (source: string) =>
    writeFileSync(
      file,
      `version = 1
[[customers]]
name = "ann"
[[customers.monitors]]
name = "kettles"
filter_spec = { source = ["${source}"], include_any = ["kettle"] }
`,
    )
  declare('elsewhere')
  expect((await run('apply', file)).err).toContain('elsewhere')
  declare('second')
  expect(await forumd('apply', file, '--dry-run')).toContain('1 would be created')
  expect(await forumd('apply', file)).toContain('1 created')
  const { body } = await call('/forum/monitor/list')
  expect(body.monitors).toContainEqual(
    expect.objectContaining({
      name: 'kettles',
      filter_spec: expect.objectContaining({ source: ['second'] }),
    }),
  )
  expect(await forumd('apply', file)).toContain('1 unchanged')
})
