import { expect, test } from 'bun:test'

import { cookieOf, fetchPath, NOON, open, page } from './fetch-path.ts'

const TRICKY = 'a < b && b > c, "quoted" \\u003C'

test('without raw_json=1 every string has entities, and html has them twice', async () => {
  await using sandbox = await open()
  const post = sandbox.post({ subforum: 'cats', title: TRICKY, text: TRICKY })

  const raw = await fetchPath(sandbox, `/api/info.json?raw_json=1&id=${post.name}`)
  const plain = await fetchPath(sandbox, `/api/info.json?id=${post.name}`)

  const escaped = TRICKY.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  expect(raw.json.data.children[0].data.title).toBe(TRICKY)
  expect(plain.json.data.children[0].data.title).toBe(escaped)
  expect(raw.json.data.children[0].data.selftext_html).toContain('a &lt; b &amp;&amp; b')
  expect(plain.json.data.children[0].data.selftext_html).toContain(
    'a &amp;lt; b &amp;amp;&amp;amp; b',
  )
  expect(raw.text).not.toMatch(/[<>&]/)
})

test('instants are floats, an edit is false or an instant', async () => {
  await using sandbox = await open()
  const post = sandbox.post({ subforum: 'cats', title: 'a cat' })
  const path = `/api/info.json?raw_json=1&id=${post.name}`
  const created = `"created_utc":${NOON / 1000}.0`

  const before = await fetchPath(sandbox, path)
  sandbox.edit({ name: post.name, text: 'edited' })
  const after = await fetchPath(sandbox, path)

  expect(before.text).toContain(created)
  expect(before.text).toContain('"edited":false')
  expect(after.text).toContain(`"edited":${NOON / 1000}.0`)
})

test('a new comment hides its score for an hour', async () => {
  await using sandbox = await open()
  const post = sandbox.post({ subforum: 'cats', title: 'a cat' })
  const comment = sandbox.comment({ parent: post.name, text: 'yes', score: 40 })
  const fetchListing = async () =>
    (await page(sandbox, `/api/info.json?id=${comment.name}`)).data.children[0]?.data

  expect(await fetchListing()).toMatchObject({ score: 1, score_hidden: true })
  sandbox.advance(3_601)
  expect(await fetchListing()).toMatchObject({ score: 40, score_hidden: false })
})

test('a new post marks its score as hidden, for an hour', async () => {
  await using sandbox = await open()
  const post = sandbox.post({ subforum: 'cats', title: 'a cat' })
  const hides = async () =>
    (await page(sandbox, `/api/info.json?id=${post.name}`)).data.children[0]?.data['hide_score']

  expect(await hides()).toBe(true)
  sandbox.advance(3_601)
  expect(await hides()).toBe(false)
})

test('every response changes the tracker; only HTML pages set the bearer cookie', async () => {
  await using sandbox = await open({ world: 'seeded' })
  const cookie = cookieOf(sandbox, 'ada_reads')

  const one = await fetchPath(sandbox, '/r/coffee/new.json', { cookie })
  const other = await fetchPath(sandbox, '/r/coffee/new.json', { cookie })
  const people = await fetchPath(sandbox, '/r/coffee/', { cookie })

  const [tracker] = one.headers.getSetCookie()
  expect(tracker).toStartWith('session_tracker=')
  expect(other.headers.getSetCookie()[0]).not.toBe(tracker)
  expect(one.headers.getSetCookie().some((it) => it.startsWith('token_v2='))).toBe(false)
  expect(people.headers.getSetCookie().some((it) => it.startsWith('token_v2='))).toBe(true)
  expect(people.headers.get('content-type')).toStartWith('text/html')
})

test('an address has a budget, returned as a float, and then gets a page with Retry-After', async () => {
  await using sandbox = await open({ allowance: 2 })
  sandbox.post({ subforum: 'cats', title: 'a cat' })
  const fetchNew = () => fetchPath(sandbox, '/r/cats/new.json')
  const rate = ({ headers }: Awaited<ReturnType<typeof fetchNew>>) =>
    ['used', 'remaining', 'reset'].map((name) => headers.get(`x-ratelimit-${name}`))

  const first = await fetchNew()
  sandbox.advance(60)
  const second = await fetchNew()
  const third = await fetchNew()
  sandbox.advance(540)
  const fourth = await fetchNew()

  expect(rate(first)).toEqual(['1', '1.0', '600'])
  expect(rate(second)).toEqual(['2', '0.0', '540'])
  expect(third.status).toBe(429)
  expect(third.headers.get('retry-after')).toBe('540')
  expect(third.headers.get('content-type')).toStartWith('text/html')
  expect(fourth.status).toBe(200)
})

test('a session has its own budget, returned as a whole number, and then gets JSON', async () => {
  await using sandbox = await open({ world: 'seeded', allowance: 1, session_allowance: 2 })
  const ada = cookieOf(sandbox, 'ada_reads')
  const bruno = cookieOf(sandbox, 'bruno_keeps')

  await fetchPath(sandbox, '/api/me.json')
  const first = await fetchPath(sandbox, '/api/me.json', { cookie: ada })
  await fetchPath(sandbox, '/api/me.json', { cookie: ada })
  const third = await fetchPath(sandbox, '/api/me.json', { cookie: ada })

  expect(first.headers.get('x-ratelimit-remaining')).toBe('1')
  expect(third).toMatchObject({ status: 429, json: { message: 'Too Many Requests', error: 429 } })
  expect(third.headers.has('retry-after')).toBe(false)
  expect((await fetchPath(sandbox, '/api/me.json', { cookie: bruno })).status).toBe(200)
})

test('a link under a post leads to a readable page', async () => {
  await using sandbox = await open()
  const post = sandbox.post({ subforum: 'cats', title: 'Cats & <dogs>', text: 'some **words**' })

  const { text, headers } = await fetchPath(sandbox, post.permalink)

  expect(headers.get('content-type')).toStartWith('text/html')
  expect(text).toContain('Cats &amp; &lt;dogs&gt;')
  expect(text).toContain('<strong>words</strong>')
})

test('a slash before .json changes nothing, and a call needs no .json at all', async () => {
  await using sandbox = await open()
  const post = sandbox.post({ subforum: 'cats', title: 'a cat' })

  for (const path of ['/r/cats/new/.json', '/r/cats/.json', `/api/info?id=${post.name}`])
    expect((await page(sandbox, path)).data.children).toHaveLength(1)
})

test('a POST to the path of a read is not found', async () => {
  await using sandbox = await open()

  expect((await fetchPath(sandbox, '/api/info.json', { method: 'POST' })).status).toBe(404)
})
