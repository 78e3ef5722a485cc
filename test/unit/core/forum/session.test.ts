import { describe, expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { ApiError } from '../../../../src/core/base/errors.ts'
import { createNaming } from '../../../../src/core/forum/naming.ts'
import { cookieHeader, readSession, type SessionUse } from '../../../../src/core/forum/session.ts'

const words = createNaming({ platform: 'forum', community: 'subforum' })
const BOTH = { 'x-forum-session': 'sss', 'x-forum-loid': 'lll' }

/** Result of reading a call: its session, or code, field and sentence of the error. */
function read(
  use: SessionUse,
  headers: Record<string, string> = {},
  query = '',
  over: { session_cookie?: string; words?: typeof words } = {},
) {
  try {
    return readSession(
      { header: (name) => headers[name] ?? null, query: new URLSearchParams(query) },
      { use, words, session_cookie: 'native_session', reserved_fields: ['sort', 'limit'], ...over },
    )
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return { code: error.code, field: error.details.field, message: error.message }
  }
}

const some = (count: number) => Array.from({ length: count }, (_, at) => `c${at}=1`).join('&')

describe('a session', () => {
  test('consists of the headers, each by its name on the platform', () => {
    const session = readSession(
      {
        header: (name) =>
          ({
            ...BOTH,
            'x-forum-token-v2': 'a',
            'x-forum-csrf-token': 'b',
            'x-forum-edgebucket': 'c',
            'x-forum-csv': '2',
            'x-forum-session-tracker': 'd',
            'x-forum-pc': 'e',
          })[name] ?? null,
        query: new URLSearchParams(),
      },
      { use: 'optional', words, session_cookie: 'native_session', reserved_fields: [] },
    )

    expect(session && cookieHeader(session)).toBe(
      'native_session=sss; loid=lll; token_v2=a; csrf_token=b; edgebucket=c; csv=2; session_tracker=d; pc=e',
    )
  })

  test('is named by the configured words in errors', () => {
    const wire = createNaming({ platform: 'agora', community: 'room' })
    const over = { words: wire }

    expect(
      read('optional', { 'x-agora-session': 's', 'x-agora-loid': 'l' }, '', over),
    ).toMatchObject({ cookies: [{ value: 's' }, { value: 'l' }] })
    expect(read('optional', { 'x-agora-session': 's' }, '', over)).toMatchObject({
      code: 'INCOMPLETE_SESSION',
      field: 'x-agora-loid',
    })
    expect(read('own', {}, 'agora_session=s&loid=l', over)).toMatchObject({ cookies: [{}, {}] })
  })

  test.each(['none', 'optional'] as const)('may be absent with the use %s', (use) => {
    expect(read(use)).toBeNull()
    expect(read(use, { 'x-forum-session': '', 'x-forum-loid': '' })).toBeNull()
    expect(read(use, { 'x-forum-token-v2': 'alone' })).toBeNull()
  })

  test.each(['required', 'own'] as const)('must be present with the use %s', (use) => {
    expect(read(use)).toMatchObject({ code: 'SESSION_REQUIRED' })
  })

  test.each(['optional', 'required', 'own'] as const)(
    'with a missing part is refused by name, for %s',
    (use) => {
      expect(read(use, { 'x-forum-session': 's' })).toMatchObject({
        code: 'INCOMPLETE_SESSION',
        field: 'x-forum-loid',
        message: expect.stringContaining('x-forum-loid is missing'),
      })
      expect(read(use, { 'x-forum-loid': 'l' })).toMatchObject({
        code: 'INCOMPLETE_SESSION',
        field: 'x-forum-session',
      })
    },
  )

  test('with a missing part is ignored where sessions are not used', () => {
    expect(read('none', { 'x-forum-session': 's' })).toBeNull()
  })
})

describe('the query form', () => {
  test('serves the own listings, and the header wins over it', () => {
    expect(read('own', {}, 'forum_session=s&loid=l&csrf_token=c&sort=new')).toEqual({
      cookies: [
        { name: 'native_session', value: 's' },
        { name: 'loid', value: 'l' },
        { name: 'csrf_token', value: 'c' },
      ],
      proxy: null,
    })
    expect(read('own', { 'x-forum-session': 'h' }, 'forum_session=q&loid=l')).toMatchObject({
      cookies: [{ value: 'h' }, { value: 'l' }],
    })
  })

  test.each(['none', 'optional', 'required'] as const)('is refused with the use %s', (use) => {
    for (const field of ['forum_session', 'loid', 'csrf_token', 'token_v2', 'pc'])
      expect(read(use, BOTH, `${field}=x`)).toEqual({
        code: 'INVALID_REQUEST',
        field,
        message: `${field} is not accepted in the query here: send headers, x-forum-session and x-forum-loid`,
      })
  })

  test('is accepted once', () => {
    expect(read('own', {}, 'forum_session=a&forum_session=b&loid=l')).toMatchObject({
      code: 'INVALID_FIELD',
      field: 'forum_session',
    })
  })
})

describe('an unknown field in the query of an own listing', () => {
  test('becomes a cookie', () => {
    expect(read('own', BOTH, 'limit=5&theme=dark&odd-1=')).toMatchObject({
      cookies: [{}, {}, { name: 'theme', value: 'dark' }, { name: 'odd-1', value: '' }],
    })
  })

  test('is ignored elsewhere', () => {
    expect(read('optional', BOTH, 'theme=dark&server=x')).toMatchObject({ cookies: [{}, {}] })
  })

  test.each([
    'proxy proxies proxy_url server host port username password user pass http_proxy https_proxy all_proxy socks',
    'socks4 socks4a socks5 socks5h SOCKS5 Proxy-URL HTTP_Proxy httpsproxy',
  ])('with the name of a proxy is refused: %s', (names) => {
    for (const name of names.split(' '))
      expect(read('own', BOTH, `${name}=x`)).toMatchObject({ code: 'PROXY_AS_COOKIE', field: name })
  })

  test.each([
    ['native_session=x', 'native_session', 'forum_session'],
    ['__Host-x=1', '__Host-x', 'the name of a cookie'],
    ['__secure-x=1', '__secure-x', 'the name of a cookie'],
    ['__proto__=1', '__proto__', 'the name of a cookie'],
    ['a%20b=1', 'a b', 'the name of a cookie'],
    ['=1', '', 'the name of a cookie'],
    ['theme=a&theme=b', 'theme', 'once'],
    ['theme=x%3B%20forum_session%3Devil', 'theme', 'without spaces, quotes, commas, semicolons'],
    ['theme=a%0d%0ab', 'theme', 'without spaces'],
  ])('that would not be a single cookie is refused: %s', (query, field, why) => {
    expect(read('own', BOTH, query)).toEqual({
      code: 'INVALID_FIELD',
      field,
      message: expect.stringContaining(why),
    })
  })

  test('is one of at most forty with the session’s, and 8 KiB together', () => {
    expect(read('own', BOTH, some(38))).toMatchObject({ proxy: null })
    expect(read('own', BOTH, some(39))).toMatchObject({ code: 'INVALID_REQUEST', field: 'cookies' })
    expect(read('own', BOTH, `long=${'x'.repeat(8192)}`)).toMatchObject({ field: 'cookies' })
  })
})

describe('the values of a session', () => {
  test.each(['a;b', 'a,b', 'a b', 'a"b', 'a\\b', 'é', 'a\u0000'])('may not be %p', (value) => {
    expect(read('optional', { ...BOTH, 'x-forum-pc': value })).toMatchObject({
      code: 'INVALID_FIELD',
      field: 'x-forum-pc',
    })
  })

  test('reach the header unchanged, and never as two cookies', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }), (value) => {
        const session = read('optional', { ...BOTH, 'x-forum-session': value })
        if (session === null || 'code' in session) return
        expect(cookieHeader(session).split('; ')).toEqual([`native_session=${value}`, 'loid=lll'])
      }),
    )
  })
})

describe('the proxy of a read', () => {
  test('is parsed with a session, in normal form', () => {
    const headers = { ...BOTH, 'x-forum-proxy': 'socks5h://ann:pw@P.example.com:1080' }

    expect(read('optional', headers)).toMatchObject({
      proxy: { scheme: 'socks5h', host: 'p.example.com', username: 'ann', password: 'pw' },
    })
  })

  test.each(['none', 'optional', 'required'] as const)(
    'is validated alike with the use %s',
    (use) => {
      const proxied = (proxy: string, session: object = BOTH) =>
        read(use, { ...session, 'x-forum-proxy': proxy })
      const without_session = { code: 'PROXY_WITHOUT_SESSION', field: 'x-forum-proxy' }
      expect(proxied('p.example.com:1', {})).toMatchObject(without_session)
      expect(proxied('', {})).toMatchObject(without_session)
      for (const proxy of ['', 'nonsense', 'ftp://ann:hunter2@p.example.com']) {
        const refused = proxied(proxy)
        expect(refused).toMatchObject({ code: 'INVALID_PROXY', field: 'x-forum-proxy' })
        expect(JSON.stringify(refused)).not.toContain('hunter2')
      }
      expect(read(use, BOTH, 'proxy=p.example.com:1')).toMatchObject({
        code: 'INVALID_FIELD',
        field: 'proxy',
      })
      expect(proxied('p.example.com:1')).not.toHaveProperty('code')
    },
  )

  test('is not accepted by the own listings', () => {
    for (const proxy of ['p.example.com:1', ''])
      expect(read('own', { ...BOTH, 'x-forum-proxy': proxy })).toMatchObject({
        code: 'INVALID_FIELD',
        field: 'x-forum-proxy',
      })
  })
})
