import { describe, expect, test } from 'bun:test'

import type { Outcome } from '../../../src/core/outcome.ts'
import type { Fetch } from '../../../src/outside.ts'
import { listing, post, stage } from './stage.ts'

const newest = { limit: 25, after: null, subforums: ['cats'], sort: 'new', t: null }
const page = { limit: 25, after: null }
const saved = { ...page, name: 'ann', tab: 'saved', sort: 'new', t: null } as const
const best = { ...page, sort: 'best', t: null }
const TOKEN = 'f'.repeat(50)

const good = (modhash: string | null = TOKEN) => Response.json(listing([post()], { modhash }))
const me = (data: object = {}) =>
  Response.json({ kind: 't2', data: { name: 'ann', id: 'abc', is_suspended: false, ...data } })
const nobody = () => Response.json({ data: { features: {} } })
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

  test('asks at its own host, without suffix and without cookies', async () => {
    await using www = stage([good()])
    await using api = stage([good(null)])
    await using it = stage([], { base_url: www.base, api_url: api.base })
    const cookie = 'session=never'

    await it.forum.posts(newest, it.as({ ...bearer, cookie }))
    await it.forum.postsById(['ab12'], it.as(bearer))
    await it.forum.me(it.as(bearer))

    expect(www.requests).toEqual([])
    expect(api.paths()).toEqual([
      '/r/cats/new?limit=25&raw_json=1',
      '/api/info?id=t3_ab12&raw_json=1',
      '/api/v1/me?raw_json=1',
    ])
    expect(api.requests.map(({ headers }) => headers.get('authorization'))).toEqual(
      Array(3).fill('bearer to.ken'),
    )
    expect(api.requests.some(({ headers }) => headers.has('cookie'))).toBe(false)
  })

  test('is sent nowhere when there is no host for it', async () => {
    await using it = stage([good()])

    expect(kindOf(await it.forum.posts(newest, it.as(bearer)))).toBe('unavailable')
    expect(it.requests).toEqual([])
  })

  test('that is no longer good is told so, also by the question who it is', async () => {
    await using api = stage([refused])
    await using it = stage([], { api_url: api.base })

    expect(kindOf(await it.forum.feed(best, it.as(bearer)))).toBe('login_required')
    expect(await it.forum.me(it.as(bearer))).toEqual({ ok: true, value: null })
  })

  test('is believed to be somebody, although its listings never say so', async () => {
    await using api = stage([good(null)])
    await using it = stage([], { api_url: api.base })

    expect(kindOf(await it.forum.feed(best, it.as(bearer)))).toBe('ok')
    expect(api.requests.length).toBe(1)
  })
})

describe('who is looking', () => {
  test.each([
    ['a person', me(), { id: 'abc', name: 'ann', is_suspended: false, is_locked: false }],
    [
      'a suspended person',
      me({ is_suspended: true }),
      { id: 'abc', name: 'ann', is_suspended: true, is_locked: false },
    ],
    [
      'one who needs a new password',
      me({ force_password_reset: true }),
      { id: 'abc', name: 'ann', is_suspended: false, is_locked: true },
    ],
    [
      'an application',
      Response.json({ name: 'ann', id: 'abc' }),
      { id: 'abc', name: 'ann', is_suspended: false, is_locked: false },
    ],
    ['nobody', nobody(), null],
    ['nobody, in few words', Response.json({}), null],
    ['nobody, by way of the login page', redirect('/login/?dest=%2F'), null],
  ])('is %s', async (_who, answer, value) => {
    await using it = stage([answer])

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
  ])('is not told by %s', async (_what, answer, kind) => {
    await using it = stage([answer])

    expect(kindOf(await it.forum.me(it.as()))).toBe(kind)
    expect(it.requests.length).toBe(1)
  })
})

describe('what only a session can see', () => {
  test('is not asked for through the eyes of nobody', async () => {
    await using it = stage([good()])

    for (const outcome of [
      await it.forum.feed(best, it.call()),
      await it.forum.userItems(saved, it.call()),
      await it.forum.moderators('cats', it.call()),
    ])
      expect(kindOf(outcome)).toBe('login_required')
    expect(it.requests).toEqual([])
  })

  test.each(['upvoted', 'saved', 'hidden', 'gilded'] as const)(
    'is not %s that a stranger was shown',
    async (tab) => {
      await using it = stage([good('')])

      expect(kindOf(await it.forum.userItems({ ...saved, tab }, it.as()))).toBe('login_required')
    },
  )

  test('is not the front page that everybody gets', async () => {
    await using it = stage([good('')])

    expect(kindOf(await it.forum.feed(best, it.as()))).toBe('login_required')
    expect(it.paths()).toEqual(['/best.json?limit=25&raw_json=1'])
  })

  test('is not an empty object where a listing would be', async () => {
    await using it = stage([Response.json({})])

    expect(kindOf(await it.forum.userItems(saved, it.as()))).toBe('login_required')
  })

  test.each([
    ['alive', me(), 'ok'],
    ['dead', nobody(), 'login_required'],
    ['not to be told', Response.json([]), 'unreadable'],
  ])(
    'is made sure of where the page does not say: a session that is %s',
    async (_what, answer, kind) => {
      await using it = stage([Response.json(listing([], { modhash: undefined })), answer])

      expect(kindOf(await it.forum.userItems(saved, it.as()))).toBe(kind)
      expect(it.paths()[1]).toBe('/api/me.json?raw_json=1')
    },
  )

  test.each([
    ['alive', me(), 'forbidden'],
    ['dead', nobody(), 'login_required'],
    ['not to be told', blockPage(), 'forbidden'],
  ])(
    'refused without a reason is looked into: a session that is %s',
    async (_what, answer, kind) => {
      await using it = stage([forbidden(), answer])

      expect(kindOf(await it.forum.moderators('cats', it.as()))).toBe(kind)
      expect(it.requests.length).toBe(2)
    },
  )

  test('refused with a reason is refused', async () => {
    const refusal = { reason: 'private', message: 'Forbidden', error: 403 }
    await using it = stage([Response.json(refusal, { status: 403 })])

    expect(await it.forum.moderators('cats', it.as())).toEqual({
      ok: false,
      fault: { kind: 'forbidden', reason: 'private' },
    })
    expect(it.requests.length).toBe(1)
  })
})

describe('a block page', () => {
  test.each([
    ['of a living session means the way or the path', me(), 'blocked'],
    ['of a dead session means the session', nobody(), 'login_required'],
    ['means itself where nothing can be found out', blockPage(), 'blocked'],
  ])('%s', async (_what, answer, kind) => {
    await using it = stage([blockPage(), answer])

    expect(kindOf(await it.forum.posts(newest, it.as()))).toBe(kind)
    expect(it.paths()).toEqual(['/r/cats/new.json?limit=25&raw_json=1', '/api/me.json?raw_json=1'])
  })

  test('after a block page is not looked into for a minute', async () => {
    await using it = stage([blockPage(), nobody(), blockPage(), blockPage(), me()])
    await it.forum.posts(newest, it.as())

    expect(kindOf(await it.forum.posts(newest, it.as()))).toBe('login_required')
    expect(it.requests.length).toBe(3)
    await it.clock.advance(60_000)
    expect(kindOf(await it.forum.posts(newest, it.as()))).toBe('blocked')
    expect(it.requests.length).toBe(5)
  })

  test('of one account says nothing about another', async () => {
    await using it = stage([blockPage(), nobody(), blockPage(), me()])
    await it.forum.posts(newest, it.as())

    expect(kindOf(await it.forum.posts(newest, it.as({ id: 'acc_2' })))).toBe('blocked')
  })

  test('for nobody, or for a bearer, has no session to ask about', async () => {
    await using it = stage([blockPage()])
    await using other = stage([], { base_url: it.base, api_url: it.base })

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

/** What eyes are told of when this is answered. */
async function told(...answers: Response[]): Promise<string[][]> {
  await using it = stage(answers, { retries: 0 })
  const lines: string[][] = []
  const eyes = { on_cookies: (some: string[]) => void lines.push(some) }
  await it.forum.posts(newest, it.as(eyes))
  return lines
}

const own = (request: Request) => {
  const name = request.headers.get('cookie') ?? ''
  const headers = { 'set-cookie': `loid=${name}`, 'content-type': 'application/json' }
  return new Response(JSON.stringify(listing([])), { headers })
}

describe('the cookies of an answer', () => {
  const LINES = ['token_v2=new; Path=/', 'loid=x']

  test('are told to the eyes that looked', async () => {
    expect(await told(setting(200))).toEqual([LINES])
  })

  test('of a redirect are told too', async () => {
    expect(await told(setting(302, 'text/html', '/login'))).toEqual([LINES])
  })

  test.each([
    ['a refusal', [setting(403)]],
    ['a block page', [setting(403, 'text/html'), me()]],
    ['a challenge that calls itself a success', [setting(200, 'text/html'), me()]],
    ['a fault of the platform', [setting(500)]],
    ['a throttling', [setting(429)]],
  ])('of %s are not', async (_what, answers) => {
    expect(await told(...answers)).toEqual([])
  })

  test('stay with their own eyes, whoever asks at the same time', async () => {
    await using it = stage([own])
    const heard: Record<string, string[]> = { a: [], b: [], c: [] }
    const eyes = (id: string) => ({
      id,
      cookie: id,
      on_cookies: (lines: string[]) => void heard[id]?.push(...lines),
    })

    await Promise.all(
      ['a', 'b', 'c', 'a', 'b'].map((id) => it.forum.posts(newest, it.as(eyes(id)))),
    )

    expect(heard).toEqual({
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

describe('a redirect to another name of the platform', () => {
  test('is followed by nobody, and by nobody else', async () => {
    await using it = stage([answer])
    const base_url = it.base.replace('127.0.0.1', 'localhost')
    await using named = stage([], { base_url, fetch: toLoopback })

    expect(kindOf(await named.forum.posts(newest, named.call()))).toBe('ok')
    expect(it.requests.length).toBe(2)
    expect(kindOf(await named.forum.posts(newest, named.as()))).toBe('unreadable')
    expect(it.requests.length).toBe(3)
  })
})

const dead = (scheme: 'http' | 'socks5h') => ({
  proxy: { scheme, host: '127.0.0.1', port: 1, username: 'name', password: 'secret' },
})

describe('a proxy that does not carry the request', () => {
  test.each(['http', 'socks5h'] as const)(
    'of ours (%s) is told at once, so that another may be taken',
    async (scheme) => {
      await using it = stage([good()])

      expect(await it.forum.posts(newest, it.as(dead(scheme)))).toEqual({
        ok: false,
        fault: { kind: 'unavailable', status: null, retry_after_s: null, trouble: 'unreachable' },
      })
      expect(it.events.length).toBe(1)
      expect(it.requests).toEqual([])
    },
  )

  test('of a caller is not dialled before the guard has approved of it', async () => {
    await using it = stage([good()])

    const eyes = { ...dead('http'), whose: 'caller' } as const
    expect(await it.forum.posts(newest, it.as(eyes))).toEqual({
      ok: false,
      fault: { kind: 'proxy', trouble: 'refused' },
    })
  })

  test('is told of without its name, its address or its password', async () => {
    const lines: string[] = []
    await using it = stage([good()], {
      log: (level, event, fields) => void lines.push(JSON.stringify([level, event, fields])),
    })

    const outcome = await it.forum.posts(newest, it.as(dead('socks5h')))

    const all = lines.join() + JSON.stringify([outcome, it.events])
    expect(lines.length).toBe(1)
    expect(all).not.toMatch(/127\.0\.0\.1|secret|"name"/)
  })
})
