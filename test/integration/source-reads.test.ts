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

describe.each(KINDS)('%s', (kind) => {
  let platform: Awaited<ReturnType<typeof startKind>>
  let daemon: DaemonProcess
  let key = ''
  let place = ''
  const folder = tempFolder()

  async function read(path: string): Promise<Reply> {
    const query = `${path.includes('?') ? '&' : '?'}source=s`
    const response = await fetch(`${daemon.url}/api/forum/${path}${query}`, {
      headers: { authorization: `Bearer ${key}` },
    })
    return { status: response.status, headers: response.headers, body: await response.json() }
  }
  const control = (name: string, input: object) =>
    fetch(`${platform.url}/__sandbox/${name}`, { method: 'POST', body: JSON.stringify(input) })
  const inject = (fault: object) => control('weather', fault)
  const clear = () => fetch(`${platform.url}/__sandbox/weather`, { method: 'DELETE' })

  beforeAll(async () => {
    platform = await startKind(kind, { port: 0, seed: 7, speed: 0, now: Date.now })
    // A reader keeps to a tenth of the limit that an instance announces, which would take minutes.
    if (kind === 'lemmy' || kind === 'piefed')
      await control('site', { limits: { message: MANY, search: MANY } })
    const config = folder.file('forumd.toml')
    writeFileSync(
      config,
      `server = { port = 0 }
storage = { dir = "${folder.file('data')}" }
platform = { base_url = "http://127.0.0.1:1", session_cookie = "s", read_deadline_s = 2 }
limits = { read_cache_s = 0 }
billing = { enabled = false }
[[source]]
name = "s"
kind = "${kind}"
base_url = "${platform.url}"
requests_per_minute = 6000
`,
    )
    key = (await runForumd(['key', 'create', '--customer', 'ann', '--config', config])).trim()
    daemon = await startProcess(config)
    const { body } = await read('subforums/popular?limit=5')
    place = body.subforums[0].name
  }, 60_000)
  afterAll(async () => {
    await daemon.end('SIGTERM')
    await platform[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  test('its capabilities are listed once each, monitors among them', async () => {
    const { body } = await read('sources')
    const { capabilities } = body.sources[1]
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
        expect(source).toBe('s')
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
    for (const path of [
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
    ]) {
      const { status, body } = await read(path)
      expect([path, [200, 404, 501].includes(status)]).toEqual([path, true])
      if (status === 501) expect(body).toMatchObject({ code: 'NOT_SUPPORTED_BY_SOURCE' })
    }
  })

  test.each(['block_403_html', 'html', '5xx', 'truncated', 'empty_200', 'reset'])(
    'the fault %s is an error, never an empty listing',
    async (fault) => {
      const added = await inject({ path: '/', fault, times: 20 })
      expect(added.status).toBeLessThan(300)
      const { status, body } = await read(`posts?subforum=${place}&limit=3`)
      await clear()
      expect(status).toBeGreaterThanOrEqual(400)
      expect(body).not.toHaveProperty('posts')
    },
  )

  test('a source that could not be reached is read again soon after it answers', async () => {
    const began = Date.now()
    for (;;) {
      const { status } = await read(`posts?subforum=${place}&limit=3`)
      if (status === 200) break
      expect(Date.now() - began).toBeLessThan(20_000)
      await Bun.sleep(200)
    }
  }, 30_000)

  test('a limit is answered with the time to wait, and the source is left alone until then', async () => {
    await inject({ path: '/', fault: 'rate_limit', times: 100 })
    const first = await read(`posts?subforum=${place}&limit=2`)
    await clear()
    expect(first.status).toBe(429)
    expect(Number(first.headers.get('retry-after'))).toBeGreaterThan(0)
  })
})
