import { describe, expect, test } from 'bun:test'

import type { Outcome } from '../../../../src/core/base/result.ts'
import type { Fetch } from '../../../../src/runtime/runtime.ts'
import { createForumFixture, listing, post } from './fixture.ts'

const newest = { limit: 25, after: null, subforums: ['cats'], sort: 'new', t: null }
const page = { limit: 25, after: null }
const saved = { ...page, name: 'ann', tab: 'saved', sort: 'new', t: null } as const
const best = { ...page, sort: 'best', t: null }
const TOKEN = 'f'.repeat(50)

const good = (modhash: string | null = TOKEN) => Response.json(listing([post()], { modhash }))
const me = (data: object = {}) =>
  Response.json({ kind: 't2', data: { name: 'ann', id: 'abc', is_suspended: false, ...data } })
const anonymousReply = () => Response.json({ data: { features: {} } })
const forbidden = () => Response.json({ message: 'Forbidden', error: 403 }, { status: 403 })
const blockPage = () =>
  new Response('<html>blocked by network security</html>', {
    status: 403,
    headers: { 'content-type': 'text/html' },
  })
const redirect = (location: string) => new Response('', { status: 302, headers: { location } })

const kindOf = (outcome: Outcome<unknown>) => (outcome.ok ? 'ok' : outcome.fault.kind)

const refused = () => Response.json({ message: 'Unauthorized', error: 401 }, { status: 401 })

describe('a bearer', () => {
  const bearer = { id: 'app', cookie: null, bearer: 'to.ken' }

  test('requests its own host, without suffix and without cookies', async () => {
    await using www = createForumFixture([good()])
    await using api = createForumFixture([good(null)])
    await using it = createForumFixture([], { base_url: www.base, api_url: api.base })
    const cookie = 'session=never'

    await it.forum.posts(newest, it.as({ ...bearer, cookie }))
    await it.forum.postsById(['ab12'], it.as(bearer))
    await it.forum.me(it.as(bearer))

    expect(www.requests).toEqual([])
    expect(api.paths()).toEqual([
      '/r/cats/new?limit=25&show=all&raw_json=1',
      '/api/info?id=t3_ab12&raw_json=1',
      '/api/v1/me?raw_json=1',
    ])
    expect(api.requests.map(({ headers }) => headers.get('authorization'))).toEqual(
      Array(3).fill('bearer to.ken'),
    )
    expect(api.requests.some(({ headers }) => headers.has('cookie'))).toBe(false)
  })

  test('sends no request if its host is not configured', async () => {
    await using it = createForumFixture([good()])

    expect(kindOf(await it.forum.posts(newest, it.as(bearer)))).toBe('unavailable')
    expect(it.requests).toEqual([])
  })

  test('that is no longer valid is login_required, and has no account', async () => {
    await using api = createForumFixture([refused])
    await using it = createForumFixture([], { api_url: api.base })

    expect(kindOf(await it.forum.feed(best, it.as(bearer)))).toBe('login_required')
    expect(await it.forum.me(it.as(bearer))).toEqual({ ok: true, value: null })
  })

  test('counts as signed in, although its listings never state it', async () => {
    await using api = createForumFixture([good(null)])
    await using it = createForumFixture([], { api_url: api.base })

    expect(kindOf(await it.forum.feed(best, it.as(bearer)))).toBe('ok')
    expect(api.requests.length).toBe(1)
  })
})

describe('the signed-in account', () => {
  test.each([
    ['a user', me(), { id: 'abc', name: 'ann', is_suspended: false, is_locked: false }],
    [
      'a suspended user',
      me({ is_suspended: true }),
      { id: 'abc', name: 'ann', is_suspended: true, is_locked: false },
    ],
    [
      'a user who needs a new password',
      me({ force_password_reset: true }),
      { id: 'abc', name: 'ann', is_suspended: false, is_locked: true },
    ],
    [
      'an application',
      Response.json({ name: 'ann', id: 'abc' }),
      { id: 'abc', name: 'ann', is_suspended: false, is_locked: false },
    ],
    ['anonymous', anonymousReply(), null],
    ['anonymous by an empty object', Response.json({}), null],
    ['anonymous by the login page', redirect('/login/?dest=%2F'), null],
  ])('is %s', async (_who, answer, value) => {
    await using it = createForumFixture([answer])

    expect(await it.forum.me(it.as())).toEqual({ ok: true, value })
  })

  test.each([
    ['a block page', blockPage(), 'blocked'],
    [
      'a challenge',
      new Response('<html>Please wait for verification</html>', {
        headers: { 'content-type': 'text/html' },
      }),
      'blocked',
    ],
    ['something else', Response.json([]), 'unreadable'],
    ['a name without an id', Response.json({ data: { name: 'ann' } }), 'unreadable'],
  ])('is not known after %s', async (_what, answer, kind) => {
    await using it = createForumFixture([answer])

    expect(kindOf(await it.forum.me(it.as()))).toBe(kind)
    expect(it.requests.length).toBe(1)
  })
})

describe('private content', () => {
  test('is not requested anonymously', async () => {
    await using it = createForumFixture([good()])

    for (const outcome of [
      await it.forum.feed(best, it.call()),
      await it.forum.userItems(saved, it.call()),
      await it.forum.moderators('cats', it.call()),
    ])
      expect(kindOf(outcome)).toBe('login_required')
    expect(it.requests).toEqual([])
  })

  test.each(['upvoted', 'saved', 'hidden', 'gilded'] as const)(
    'is not the public %s listing',
    async (tab) => {
      await using it = createForumFixture([good('')])

      expect(kindOf(await it.forum.userItems({ ...saved, tab }, it.as()))).toBe('login_required')
    },
  )

  test('is not the public front page', async () => {
    await using it = createForumFixture([good('')])

    expect(kindOf(await it.forum.feed(best, it.as()))).toBe('login_required')
    expect(it.paths()).toEqual(['/best.json?limit=25&raw_json=1'])
  })

  test('is not an empty object in place of a listing', async () => {
    await using it = createForumFixture([Response.json({})])

    expect(kindOf(await it.forum.userItems(saved, it.as()))).toBe('login_required')
  })

  test.each([
    ['alive', me(), 'ok'],
    ['dead', anonymousReply(), 'login_required'],
    ['of unknown state', Response.json([]), 'unreadable'],
  ])(
    'is verified if the page has no sign of a session: one that is %s',
    async (_what, answer, kind) => {
      await using it = createForumFixture([
        Response.json(listing([], { modhash: undefined })),
        answer,
      ])

      expect(kindOf(await it.forum.userItems(saved, it.as()))).toBe(kind)
      expect(it.paths()[1]).toBe('/api/me.json?raw_json=1')
    },
  )

  test.each([
    ['alive', me(), 'forbidden'],
    ['dead', anonymousReply(), 'login_required'],
    ['of unknown state', blockPage(), 'forbidden'],
  ])('refused without a reason is verified: a session that is %s', async (_what, answer, kind) => {
    await using it = createForumFixture([forbidden(), answer])

    expect(kindOf(await it.forum.moderators('cats', it.as()))).toBe(kind)
    expect(it.requests.length).toBe(2)
  })

  test('refused with a reason stays refused', async () => {
    const refusal = { reason: 'private', message: 'Forbidden', error: 403 }
    await using it = createForumFixture([Response.json(refusal, { status: 403 })])

    expect(await it.forum.moderators('cats', it.as())).toEqual({
      ok: false,
      fault: { kind: 'forbidden', reason: 'private' },
    })
    expect(it.requests.length).toBe(1)
  })
})

describe('a block page', () => {
  test.each([
    ['of a live session concerns the egress or the path', me(), 'blocked'],
    ['of a dead session concerns the session', anonymousReply(), 'login_required'],
    ['stays blocked if the session cannot be verified', blockPage(), 'blocked'],
  ])('%s', async (_what, answer, kind) => {
    await using it = createForumFixture([blockPage(), answer])

    expect(kindOf(await it.forum.posts(newest, it.as()))).toBe(kind)
    expect(it.paths()).toEqual([
      '/r/cats/new.json?limit=25&show=all&raw_json=1',
      '/api/me.json?raw_json=1',
    ])
  })

  test('after a block page is not verified again for a minute', async () => {
    await using it = createForumFixture([
      blockPage(),
      anonymousReply(),
      blockPage(),
      blockPage(),
      me(),
    ])
    await it.forum.posts(newest, it.as())

    expect(kindOf(await it.forum.posts(newest, it.as()))).toBe('login_required')
    expect(it.requests.length).toBe(3)
    await it.clock.advance(60_000)
    expect(kindOf(await it.forum.posts(newest, it.as()))).toBe('blocked')
    expect(it.requests.length).toBe(5)
  })

  test('for one account says nothing about another', async () => {
    await using it = createForumFixture([blockPage(), anonymousReply(), blockPage(), me()])
    await it.forum.posts(newest, it.as())

    expect(kindOf(await it.forum.posts(newest, it.as({ id: 'acc_2' })))).toBe('blocked')
  })

  test('for an anonymous request or a bearer has no session to verify', async () => {
    await using it = createForumFixture([blockPage()])
    await using other = createForumFixture([], { base_url: it.base, api_url: it.base })

    expect(kindOf(await it.forum.posts(newest, it.call()))).toBe('blocked')
    const bearer = other.as({ cookie: null, bearer: 't' })
    expect(kindOf(await other.forum.posts(newest, bearer))).toBe('blocked')
    expect(it.requests.length).toBe(2)
  })
})

const setting = (status: number, type = 'application/json', location?: string) => {
  const headers = new Headers({ 'content-type': type, ...(location && { location }) })
  headers.append('set-cookie', 'token_v2=new; Path=/')
  headers.append('set-cookie', 'loid=x')
  const body = type.includes('json') ? JSON.stringify(listing([])) : '<html>no</html>'
  return new Response(body, { status, headers })
}

/** The Set-Cookie lines that an identity receives from these answers. */
async function capturedCookies(...answers: Response[]): Promise<string[][]> {
  await using it = createForumFixture(answers, { retries: 0 })
  const lines: string[][] = []
  const identity = { on_cookies: (some: string[]) => void lines.push(some) }
  await it.forum.posts(newest, it.as(identity))
  return lines
}

const own = (request: Request) => {
  const name = request.headers.get('cookie') ?? ''
  const headers = { 'set-cookie': `loid=${name}`, 'content-type': 'application/json' }
  return new Response(JSON.stringify(listing([])), { headers })
}

describe('the cookies of an answer', () => {
  const LINES = ['token_v2=new; Path=/', 'loid=x']

  test('are given to the identity of the request', async () => {
    expect(await capturedCookies(setting(200))).toEqual([LINES])
  })

  test('from a redirect are given too', async () => {
    expect(await capturedCookies(setting(302, 'text/html', '/login'))).toEqual([LINES])
  })

  test.each([
    ['a refusal', [setting(403)]],
    ['a block page', [setting(403, 'text/html'), me()]],
    ['a challenge with a success status', [setting(200, 'text/html'), me()]],
    ['a fault of the platform', [setting(500)]],
    ['a throttling', [setting(429)]],
  ])('from %s are not', async (_what, answers) => {
    expect(await capturedCookies(...answers)).toEqual([])
  })

  test('are given to their own identity among concurrent requests', async () => {
    await using it = createForumFixture([own])
    const captured: Record<string, string[]> = { a: [], b: [], c: [] }
    const identityFor = (id: string) => ({
      id,
      cookie: id,
      on_cookies: (lines: string[]) => void captured[id]?.push(...lines),
    })

    await Promise.all(
      ['a', 'b', 'c', 'a', 'b'].map((id) => it.forum.posts(newest, it.as(identityFor(id)))),
    )

    expect(captured).toEqual({
      a: ['loid=a', 'loid=a'],
      b: ['loid=b', 'loid=b'],
      c: ['loid=c'],
    })
  })
})

const answer = (request: Request) =>
  request.headers.get('host')?.startsWith('www.')
    ? good('')
    : redirect(`http://www.localhost:${new URL(request.url).port}/r/cats/new.json`)

const toLoopback: Fetch = (url, init) => {
  const { host } = new URL(url)
  const dialled = url.replace(/\/\/(?:www\.)?localhost/, '//127.0.0.1')
  const headers = new Headers(init.headers)
  headers.set('host', host)
  return fetch(dialled, { ...init, headers })
}

describe('a redirect to another host name of the platform', () => {
  test('is followed for anonymous requests only', async () => {
    await using it = createForumFixture([answer])
    const base_url = it.base.replace('127.0.0.1', 'localhost')
    await using named = createForumFixture([], { base_url, fetch: toLoopback })

    expect(kindOf(await named.forum.posts(newest, named.call()))).toBe('ok')
    expect(it.requests.length).toBe(2)
    expect(kindOf(await named.forum.posts(newest, named.as()))).toBe('unreadable')
    expect(it.requests.length).toBe(3)
  })
})

const dead = (scheme: 'http' | 'socks5h') => ({
  proxy: { scheme, host: '127.0.0.1', port: 1, username: 'name', password: 'secret' },
})

describe('a proxy that fails', () => {
  test.each(['http', 'socks5h'] as const)(
    'in the pool (%s) is reported at once, so that another can be used',
    async (scheme) => {
      await using it = createForumFixture([good()])

      expect(await it.forum.posts(newest, it.as(dead(scheme)))).toEqual({
        ok: false,
        fault: { kind: 'unavailable', status: null, retry_after_s: null, trouble: 'unreachable' },
      })
      expect(it.events.length).toBe(1)
      expect(it.requests).toEqual([])
    },
  )

  test('named by a caller is not dialled before the guard has accepted it', async () => {
    await using it = createForumFixture([good()])

    const identity = { ...dead('http'), whose: 'caller' } as const
    expect(await it.forum.posts(newest, it.as(identity))).toEqual({
      ok: false,
      fault: { kind: 'proxy', trouble: 'refused' },
    })
  })

  test('is reported without its name, address and password', async () => {
    const lines: string[] = []
    await using it = createForumFixture([good()], {
      log: (level, event, fields) => void lines.push(JSON.stringify([level, event, fields])),
    })

    const outcome = await it.forum.posts(newest, it.as(dead('socks5h')))

    const all = lines.join() + JSON.stringify([outcome, it.events])
    expect(lines.length).toBe(1)
    expect(all).not.toMatch(/127\.0\.0\.1|secret|"name"/)
  })
})
