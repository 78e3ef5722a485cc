// Goal: every read of the API answers from each further source, or says what the source cannot do; faults of a source are
// never empty answers. Method: the daemon reads the simulated platforms, which were written without sight of the adapters.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import { startKind } from '../../sandbox/sources/kinds.ts'
import type { Config } from '../../src/config/schema.ts'
import { startTestDaemon } from '../support/test-daemon.ts'

type Kind = Config['source'][number]['kind']

/** A place, a user and words that the seeded world of a kind has. */
const KINDS: readonly { kind: Kind; place: string; q: string }[] = [
  { kind: 'hackernews', place: 'story', q: 'the' },
]

const NOW = Date.UTC(2026, 10, 20, 12)

describe.each(KINDS)('$kind', ({ kind, place, q }) => {
  let daemon: Awaited<ReturnType<typeof startTestDaemon>>
  let platform: Awaited<ReturnType<typeof startKind>>
  /** Reads, and advances the clock while retries wait. */
  async function read(path: string) {
    let done = false
    const answer = daemon
      .call(`/api/forum/${path}${path.includes('?') ? '&' : '?'}source=s`)
      .finally(() => (done = true))
    for (let wait = 0; !done; wait++) {
      await Bun.sleep(5)
      if (wait > 20 && !done) await daemon.clock.advance(250)
    }
    return answer
  }
  const inject = (fault: object) =>
    fetch(`${platform.url}/__sandbox/weather`, { method: 'POST', body: JSON.stringify(fault) })

  beforeAll(async () => {
    platform = await startKind(kind, { port: 0, seed: 7, speed: 0, now: () => NOW })
    daemon = await startTestDaemon({
      start_at: NOW,
      change: (config) => {
        config.limits.read_cache_s = 0
        config.source.push({
          name: 's',
          kind,
          base_url: platform.url,
          user_agent: 'forumd-test/1.0 (+https://example.org)',
          // The clock advances on request only: the pace is tested with the client.
          requests_per_minute: 60_000_000,
          api_key: '',
          ends_at: '',
        })
      },
    })
  })
  afterAll(async () => {
    await daemon[Symbol.asyncDispose]()
    await platform[Symbol.asyncDispose]()
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
    const authored = await read(`user/${encodeURIComponent(post.author)}/posts?limit=100`)
    expect(authored.status).toBe(200)
    for (const it of authored.body.posts) expect(it.author).toBe(post.author)
  })

  test('a search finds posts, and a place has a description', async () => {
    const found = await read(`search?q=${q}&sort=new&limit=10`)
    expect(found.status).toBe(200)
    const described = await read(`sub/${encodeURIComponent(place)}`)
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
      'user/nobody-of-this-name',
      'user/nobody-of-this-name/comments',
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
      await fetch(`${platform.url}/__sandbox/weather`, { method: 'DELETE' })
      expect(status).toBeGreaterThanOrEqual(400)
      expect(body).not.toHaveProperty('posts')
    },
  )

  test('a limit is answered with the time to wait, and the source is left alone until then', async () => {
    await inject({ path: '/', fault: 'rate_limit', times: 100 })
    const first = await read(`posts?subforum=${place}&limit=2`)
    await fetch(`${platform.url}/__sandbox/weather`, { method: 'DELETE' })
    expect(first.status).toBe(429)
    expect(Number(first.headers.get('retry-after'))).toBeGreaterThan(0)
  })
})
