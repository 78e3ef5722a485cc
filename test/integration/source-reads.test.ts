// Goal: every read of the API answers from each further source, or says what the source cannot do; faults of a source are
// never empty answers. Method: the daemon reads the simulated platforms, which were written without sight of the adapters.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'

import { startKind } from '../../sandbox/sources/kinds.ts'
import { tempFolder } from '../support/folder.ts'
import { type DaemonProcess, runForumd, startProcess } from '../support/process.ts'

const KINDS = ['discourse', 'hackernews', 'lemmy', 'piefed'] as const

const MANY = { requests: 100_000, seconds: 60 }

type Reply = { status: number; headers: Headers; body: any }

const folder = tempFolder()
const platforms = new Map<string, Awaited<ReturnType<typeof startKind>>>()
let daemon: DaemonProcess
let key = ''

async function readFrom(kind: string, path: string): Promise<Reply> {
  const query = `${path.includes('?') ? '&' : '?'}source=${kind}`
  const response = await fetch(`${daemon.url}/api/forum/${path}${query}`, {
    headers: { authorization: `Bearer ${key}` },
  })
  return { status: response.status, headers: response.headers, body: await response.json() }
}

const control = (kind: string, name: string, init: RequestInit) =>
  fetch(`${platforms.get(kind)?.url}/__sandbox/${name}`, init)
const inject = (kind: string, fault: object) =>
  control(kind, 'weather', { method: 'POST', body: JSON.stringify(fault) })
const clear = (kind: string) => control(kind, 'weather', { method: 'DELETE' })

const places = new Map<string, string>()
const posts = (kind: string) => readFrom(kind, `posts?subforum=${places.get(kind)}&limit=3`)

beforeAll(async () => {
  for (const kind of KINDS)
    platforms.set(kind, await startKind(kind, { port: 0, seed: 7, speed: 0, now: Date.now }))
  // A reader keeps to a tenth of the limit that an instance announces, which would take minutes.
  const site = JSON.stringify({ limits: { message: MANY, search: MANY } })
  for (const kind of ['lemmy', 'piefed'])
    await control(kind, 'site', { method: 'POST', body: site })
  const sources = [...platforms].map(
    ([kind, { url }]) => `[[source]]
name = "${kind}"
kind = "${kind}"
base_url = "${url}"
requests_per_minute = 6000
`,
  )
  const config = folder.file('forumd.toml')
  writeFileSync(
    config,
    `server = { port = 0 }
storage = { dir = "${folder.file('data')}" }
requests = { read_deadline_s = 2 }
limits = { read_cache_s = 0 }
billing = { enabled = false }
${sources.join('')}`,
  )
  key = (await runForumd(['key', 'create', '--customer', 'ann', '--config', config])).trim()
  daemon = await startProcess(config)
  for (const kind of KINDS)
    places.set(kind, (await readFrom(kind, 'subforums/popular?limit=5')).body.subforums[0].name)
}, 60_000)
afterAll(async () => {
  await daemon.end('SIGTERM')
  for (const platform of platforms.values()) await platform[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

describe.each(KINDS)('%s', (kind) => {
  const read = (path: string) => readFrom(kind, path)
  let place = ''
  beforeAll(() => {
    place = places.get(kind) ?? ''
  })

  test('its capabilities are listed once each, monitors among them', async () => {
    const { body } = await read('sources')
    const { capabilities } = body.sources.find(({ name }: { name: string }) => name === kind)
    expect(capabilities).toContain('monitor')
    expect(capabilities).toEqual([...new Set(capabilities)])
  })

  test('listings page by their cursors without repeating a row', async () => {
    const seen = new Set<string>()
    let after = ''
    for (let page = 0; page < 4; page++) {
      const { status, body } = await read(`posts?subforum=${place}&limit=5&after=${after}`)
      expect(status).toBe(200)
      for (const { name, source } of body.posts) {
        expect(source).toBe(kind)
        expect(seen.has(name)).toBe(false)
        seen.add(name)
      }
      if (body.after === null) break
      after = encodeURIComponent(body.after)
    }
    expect(seen.size).toBeGreaterThan(5)
  })

  test('posts, their trees, comments and authors agree with each other', async () => {
    const { body } = await read(`posts?subforum=${place}&limit=25`)
    const post = body.posts.toSorted(
      (a: { comments: number }, b: { comments: number }) => b.comments - a.comments,
    )[0]
    const one = await read(`post/${post.id}`)
    expect(one.body).toMatchObject({ id: post.id, title: post.title, author: post.author })
    const byId = await read(`by_id/t3_${post.id},t3_999999999`)
    expect(byId.body.posts).toMatchObject([{ id: post.id }])

    const tree = await read(`comments/${post.id}`)
    expect(tree.status).toBe(200)
    const [top] = tree.body.comments
    if (top?.kind === 't1') {
      expect(top.data).toMatchObject({ link_id: `t3_${post.id}`, parent_id: `t3_${post.id}` })
      const comment = await read(`comment/${top.data.id}`)
      expect(comment.body.comment.data).toMatchObject({ id: top.data.id, body: top.data.body })
    }
    const author = await read(`user/${encodeURIComponent(post.author)}`)
    expect(author.body).toMatchObject({ name: post.author })
    const authored = await read(`user/${encodeURIComponent(post.author)}/submitted?limit=100`)
    expect(authored.status).toBe(200)
    for (const it of authored.body.posts) expect(it.author).toBe(post.author)
  })

  test('the address and the path of every item lead to its tree', async () => {
    const { body } = await read(`posts?subforum=${place}&limit=1`)
    const { body: under } = await read(`sub/${encodeURIComponent(place)}/comments?limit=3`)
    const rows = [
      ...body.posts.map((it: { id: string }) => ({ ...it, post_id: it.id })),
      ...(under.comments ?? []),
    ]
    expect(rows.length).toBeGreaterThan(2)
    for (const { name, url, permalink, post_id } of rows) {
      // A story of Hacker News can be null by id, with its comments in the index.
      if (kind === 'hackernews' && (await read(`comments/${post_id}`)).status === 404) continue
      for (const link of [url, permalink]) {
        const tree = await read(`comments?permalink=${encodeURIComponent(link)}`)
        expect([name, link, tree.status, tree.body.post?.id]).toEqual([name, link, 200, post_id])
      }
    }
  })

  test('moderators of a place are read without a session, where the source has them', async () => {
    const { status, body } = await read(`sub/${encodeURIComponent(place)}/moderators`)
    if (kind === 'hackernews') expect([status, body.capability]).toEqual([501, 'moderators'])
    else expect([status, Array.isArray(body.moderators)]).toEqual([200, true])
  })

  test('a search finds posts, and a place has a description', async () => {
    const found = await read(`search?q=the&sort=new&limit=10`)
    expect(found.status).toBe(200)
    const described = await read(`sub/${encodeURIComponent(place)}/about`)
    expect([described.status, described.body.name]).toEqual([200, place])
  })

  test('every other read answers, or names what the source cannot do', async () => {
    const paths = [
      `sub/${encodeURIComponent(place)}/rules`,
      `sub/${encodeURIComponent(place)}/wiki/index`,
      `sub/${encodeURIComponent(place)}/comments`,
      `sub/${encodeURIComponent(place)}/top?t=all`,
      'search/media?q=cat',
      'search/users?q=a',
      'user/missing-user',
      'user/missing-user/comments',
      'post/1',
      'post/1/visibility',
      'comment/1',
      'posts?subforum=no-such-place',
    ]
    const answers = await Promise.all(paths.map(async (path) => [path, await read(path)] as const))
    for (const [path, { status, body }] of answers) {
      expect([path, [200, 404, 501].includes(status)]).toEqual([path, true])
      if (status === 501) expect(body).toMatchObject({ code: 'NOT_SUPPORTED_BY_SOURCE' })
    }
  })
})

// A fault is retried for seconds: all kinds have it at once.
test.each(['block_403_html', 'html', '5xx', 'truncated', 'empty_200', 'reset'])(
  'the fault %s of a source of any kind is an error, never an empty listing',
  async (fault) => {
    const answers = KINDS.map(async (kind) => {
      expect((await inject(kind, { path: '/', fault, times: 20 })).status).toBeLessThan(300)
      const { status, body } = await posts(kind)
      await clear(kind)
      return { kind, is_error: status >= 400, has_posts: 'posts' in body }
    })
    expect(await Promise.all(answers)).toEqual(
      KINDS.map((kind) => ({ kind, is_error: true, has_posts: false })),
    )
  },
)

test('sources that could not be reached are read again soon after they answer', async () => {
  await Promise.all(
    KINDS.map(async (kind) => {
      while ((await posts(kind)).status !== 200) await Bun.sleep(200)
    }),
  )
}, 20_000)

test.each(KINDS)('a limit of %s is answered with the time to wait', async (kind) => {
  await inject(kind, { path: '/', fault: 'rate_limit', times: 100 })
  const { status, headers } = await posts(kind)
  await clear(kind)
  expect(status).toBe(429)
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
})
