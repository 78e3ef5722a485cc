import { expect, test } from 'bun:test'

import { createHosts } from '../../../src/platforms/hosts.ts'
import { createHttpClient } from '../../../src/platforms/http.ts'
import { createLoopbackEgress } from '../../support/loopback-egress.ts'

const DAY_MS = 86_400_000
const DEFAULT_RULES = 'User-agent: *\nDisallow: /search\nDisallow: /u/\n'

/** Clients of one host whose robots.txt is `robots`. Their clock counts and skips the waits. */
function createFixture(robots: (request: Request) => Response | Promise<Response>) {
  const began_at = Date.now()
  // Time passes by waits alone.
  let skipped = 0
  const paths: string[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const { pathname } = new URL(request.url)
      paths.push(pathname)
      if (pathname.endsWith('busy.json'))
        return new Response('', { status: 503, headers: { 'retry-after': '200' } })
      return pathname.endsWith('robots.txt') ? robots(request) : Response.json({})
    },
  })
  const clock = {
    now: () => began_at + skipped,
    mono: () => skipped,
    sleep: async (ms: number) => void (skipped += ms),
  }
  const egress = createLoopbackEgress()
  const hosts = createHosts(clock)
  const clientOf = (
    requests_per_minute = 60_000,
    { base = '', user_agent = 'forumd/1.0 (x)' } = {},
  ) =>
    createHttpClient({
      egress,
      clock,
      log: () => {},
      random: { fraction: () => 0.5 },
      hosts,
      robots: true,
      base_url: `http://127.0.0.1:${server.port}${base}`,
      user_agent,
      requests_per_minute,
      timeout_ms: 5000,
    })
  const client = clientOf()
  return {
    paths,
    clientOf,
    skip: (ms: number) => void (skipped += ms),
    /** The outcome of a request: `ok` or its fault. */
    async get(path: string, use: 'read' | 'poll' = 'poll', by = client) {
      const outcome = await by.get(path, { deadline_at: clock.now() + 60_000, use })
      if (outcome.ok) return 'ok'
      const { fault } = outcome
      return fault.kind === 'forbidden' ? fault.reason : fault.kind
    },
    async [Symbol.asyncDispose]() {
      egress.close()
      await server.stop(true)
    },
  }
}

test('a path that robots.txt forbids is not requested, and the file is read once a day', async () => {
  await using site = createFixture(() => new Response(DEFAULT_RULES))
  expect([await site.get('/search.json?q=a'), await site.get('/posts.json')]).toEqual([
    'robots',
    'ok',
  ])
  expect(site.paths).toEqual(['/robots.txt', '/posts.json'])

  site.skip(DAY_MS - 60_000)
  await site.get('/posts.json')
  expect(site.paths).toHaveLength(3)
  site.skip(60_000)
  await Promise.all([site.get('/posts.json'), site.get('/latest.json')])
  expect(site.paths.filter((it) => it === '/robots.txt')).toHaveLength(2)
})

test('rules of single paths for all agents do not concern the read that a caller asks for', async () => {
  await using site = createFixture(() => new Response(DEFAULT_RULES))
  expect(await site.get('/search.json', 'read')).toBe('ok')
})

test.each([
  ['all agents, everything', 'User-agent: *\nDisallow: /\n'],
  [
    'the agent by name, the path',
    `User-agent: * # all\nAllow: /\n\nUser-agent: Forumd\nDisallow: /search`,
  ],
])('rules for %s hold for it', async (_, text) => {
  await using site = createFixture(() => new Response(text))
  expect([await site.get('/search.json', 'read'), await site.get('/search.json')]).toEqual([
    'robots',
    'robots',
  ])
  expect(site.paths).toEqual(['/robots.txt'])
})

test('rules that name the agent replace those of all agents', async () => {
  await using site = createFixture(
    () => new Response('User-agent: *\nDisallow: /\n\nUser-agent: forumd\nAllow: /\n'),
  )
  expect([await site.get('/a'), await site.get('/a', 'read')]).toEqual(['ok', 'ok'])
  const other = site.clientOf(60_000, { user_agent: 'another/2' })
  expect(await site.get('/a', 'read', other)).toBe('robots')
})

test.each([404, 403, 401])('a host that answers %d has no rules', async (status) => {
  await using site = createFixture(() => new Response('Disallow: /', { status }))
  expect(await site.get('/posts.json')).toBe('ok')
})

test.each([500, 503, 429])(
  'a host that answers %d is not requested until it says',
  async (status) => {
    let is_down = true
    await using site = createFixture(() =>
      is_down ? new Response('', { status }) : new Response(DEFAULT_RULES),
    )
    const why = status === 429 ? 'throttled' : 'unavailable'
    expect(await site.get('/posts.json', 'read')).toBe(why)
    expect(new Set(site.paths)).toEqual(new Set(['/robots.txt']))
    is_down = false
    expect(await site.get('/posts.json')).toBe('ok')

    // A copy is used on while its renewal fails.
    is_down = true
    site.skip(DAY_MS)
    const before = site.paths.length
    expect([await site.get('/posts.json'), await site.get('/search')]).toEqual(['ok', 'robots'])
    expect(site.paths.slice(before)).toEqual(['/robots.txt', '/posts.json'])
  },
)

test('redirects are followed at the same host only, at most five times', async () => {
  await using near = createFixture(({ url }) =>
    url.includes('/b/')
      ? new Response('User-agent: *\nDisallow: /')
      : Response.redirect('/b/robots.txt'),
  )
  expect(await near.get('/posts.json')).toBe('robots')
  await using far = createFixture(() => Response.redirect('http://127.0.0.2:1/robots.txt'))
  expect(await far.get('/posts.json')).toBe('ok')
  await using endless = createFixture(() => Response.redirect('/x/robots.txt'))
  expect(await endless.get('/posts.json')).toBe('ok')
  expect(endless.paths).toHaveLength(7)
})

test('a site below a path has the rules of its host', async () => {
  await using site = createFixture(() => new Response('User-agent: *\nDisallow: /forum/posts'))
  const below = site.clientOf(60_000, { base: '/forum' })
  expect([await site.get('/posts', 'poll', below), await site.get('/c', 'poll', below)]).toEqual([
    'robots',
    'ok',
  ])
  expect(site.paths).toEqual(['/robots.txt', '/forum/c'])
})

test('two sources at one host have their own paces, and share its pauses', async () => {
  await using site = createFixture(() => new Response('', { status: 404 }))
  const [fast, slow] = [site.clientOf(6000), site.clientOf(60)]
  // Ten may be sent at once.
  for (let n = 0; n < 20; n++) await site.get('/posts.json', 'poll', n % 2 === 0 ? fast : slow)
  expect(slow.wait_ms()).toBeGreaterThan(500)
  expect(fast.wait_ms()).toBeLessThan(50)

  await site.get('/busy.json', 'poll', slow)
  expect(fast.wait_ms()).toBeGreaterThan(100_000)
})

test('a limit that is stated for robots.txt holds for every request', async () => {
  await using site = createFixture(
    () => new Response('', { status: 429, headers: { 'retry-after': '200' } }),
  )
  for (let n = 0; n < 5; n++) expect(await site.get('/posts.json')).toBe('throttled')
  expect(site.paths).toEqual(['/robots.txt'])
  site.skip(200_000)
  await site.get('/posts.json')
  expect(site.paths).toHaveLength(2)
})
