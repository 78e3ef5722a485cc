import { expect, test } from 'bun:test'

import { type Sandbox, startSandbox } from '../../sandbox/server/sandbox.ts'

const open = (world: 'empty' | 'seeded' = 'empty') =>
  startSandbox({ port: 0, seed: 7, speed: 0, world, now: () => Date.UTC(2026, 10, 20, 12) })

const CATS = '/r/cats/new.json'

const read = (sandbox: Sandbox, path: string, headers: Record<string, string> = {}) =>
  fetch(sandbox.url + path, { headers })

async function titles(sandbox: Sandbox): Promise<string[]> {
  const { data }: any = await (await read(sandbox, CATS)).json()
  return data.children.map((row: any) => row.data.title)
}

async function control(sandbox: Sandbox, method: string, path: string, body?: unknown) {
  const response = await fetch(`${sandbox.url}/__sandbox${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const json: any = await response.json()
  return { status: response.status, json }
}

test('content is added, removed and logged over HTTP', async () => {
  await using sandbox = await open()

  const post = await control(sandbox, 'POST', '/post', { subforum: 'cats', title: 'by wire' })
  const comment = await control(sandbox, 'POST', '/comment', {
    parent: post.json.name,
    text: 'by wire too',
  })
  expect(await titles(sandbox)).toEqual(['by wire'])
  expect((await read(sandbox, `${comment.json.permalink}.json`)).status).toBe(200)

  await control(sandbox, 'POST', '/remove', { name: post.json.name, by: 'moderator' })
  expect(await titles(sandbox)).toEqual([])

  const { json } = await control(sandbox, 'GET', '/requests')
  expect(json.requests.map((it: { path: string }) => it.path)).toEqual([
    CATS,
    `${comment.json.permalink}.json`,
    CATS,
  ])
  const since = await control(sandbox, 'GET', `/requests?since=${json.requests[1].seq}`)
  expect(since.json.requests).toHaveLength(1)
})

test('the log has user, cookie names and fault of each request, and no secret', async () => {
  await using sandbox = await open('seeded')
  const ada = sandbox.overview().accounts.find(({ username }) => username === 'ada_reads')
  const cookie = Object.entries(ada?.cookies ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join('; ')
  sandbox.addFault({ path: '/r/coffee', fault: '5xx', times: 1 })
  await read(sandbox, '/r/coffee/new.json?limit=1', { cookie })

  const [entry] = sandbox.requests

  expect(entry).toMatchObject({
    method: 'GET',
    path: '/r/coffee/new.json',
    query: '?limit=1',
    user: 'ada_reads',
    cookies: ['reddit_session', 'loid', 'csrf_token', 'token_v2'],
    status: 503,
    fault: '5xx',
  })
  expect(JSON.stringify(entry)).not.toContain(cookie.slice(20, 60))
})

test('faults and the clock are set over HTTP', async () => {
  await using sandbox = await open()
  sandbox.post({ subforum: 'cats', title: 'a cat' })
  const before = await control(sandbox, 'GET', '/')

  await control(sandbox, 'POST', '/weather', { path: '/r/cats', fault: '5xx' })
  expect((await read(sandbox, CATS)).status).toBe(503)
  await control(sandbox, 'DELETE', '/weather')
  expect((await read(sandbox, CATS)).status).toBe(200)
  const moved = await control(sandbox, 'POST', '/clock', { advance_s: 90 })

  expect(Date.parse(moved.json.now) - Date.parse(before.json.now)).toBe(90_000)
})

test('the overview lists subforums, accounts and counts', async () => {
  await using sandbox = await open('seeded')

  const { json } = await control(sandbox, 'GET', '/')

  expect(json).toMatchObject({ seed: 7, session_cookie: 'reddit_session' })
  expect(json.subforums).toContain('coffee')
  expect(json.calls).toContain('POST /__sandbox/remove {name, by: author|moderator|platform}')
  expect(json.counts.posts).toBeGreaterThan(1_800)
  const bruno = json.accounts.find((it: { username: string }) => it.username === 'bruno_keeps')
  expect(bruno).toMatchObject({
    password: expect.any(String),
    totp_secret: expect.stringMatching(/^[A-Z2-7]{16,}$/),
    cookies: { reddit_session: expect.any(String), loid: expect.any(String) },
    flags: { suspended: false },
  })
})

test.each([
  ['/post', { title: 'no place' }, 'subforum'],
  ['/post', { subforum: 'cats', title: '' }, 'title'],
  ['/post', { subforum: 'c', title: 'short' }, 'subforum: expected 2 to 21'],
  ['/post', { subforum: 'cats', title: 'odd', url: 'ftp://example.com' }, 'url'],
  ['/post', { subforum: 'cats', title: 'odd', colour: 'red' }, 'colour'],
  ['/comment', { parent: 't3_nosuch', text: 'hello' }, 'parent: no item is called t3_nosuch'],
  ['/comment', { parent: 'nosuch', text: 'hello' }, 'parent: expected a fullname'],
  ['/remove', { name: 't3_nosuch', by: 'author' }, 'name: no item is called t3_nosuch'],
  ['/remove', { name: 't3_nosuch', by: 'stranger' }, 'by'],
  ['/weather', { path: 'r/cats', fault: '5xx' }, 'path'],
  ['/weather', { path: '/r/cats', fault: 'hail' }, 'fault'],
  ['/clock', { advance_s: -1 }, 'advance_s'],
])('%s %j is refused, naming %s', async (path, body, sentence) => {
  await using sandbox = await open()

  const { status, json } = await control(sandbox, 'POST', path, body)

  expect(status).toBe(400)
  expect(json.error).toContain(sentence)
})

test('malformed JSON and an unknown call are refused as such', async () => {
  await using sandbox = await open()

  const text = await fetch(`${sandbox.url}/__sandbox/post`, { method: 'POST', body: 'hello' })

  expect(text.status).toBe(400)
  expect(await text.json()).toEqual({ error: 'body: expected JSON' })
  expect((await control(sandbox, 'GET', '/storm')).status).toBe(404)
  expect((await control(sandbox, 'GET', '/requests?since=noon')).json.error).toStartWith('since')
})
