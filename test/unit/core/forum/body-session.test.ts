import { describe, expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { ApiError } from '../../../../src/core/base/errors.ts'
import { bodyObject, readBodySession, readProxy } from '../../../../src/core/forum/body-session.ts'
import { createNaming } from '../../../../src/core/forum/naming.ts'
import { PROXY_SCHEMES } from '../../../../src/core/forum/proxy.ts'
import { cookieHeader, isCookieName, isCookieValue } from '../../../../src/core/forum/session.ts'

const words = createNaming({ platform: 'forum', community: 'subforum' })
const BOTH = { forum_session: 'sss', loid: 'lll' }

type Over = Partial<Parameters<typeof readBodySession>[1]>

/** Result of reading a body: its cookies, or code and field of the error. */
function read(body: Record<string, unknown>, over: Over = {}) {
  try {
    return cookieHeader(
      readBodySession(body, {
        words,
        session_cookie: 'native_session',
        reserved_fields: ['text'],
        forwards: false,
        schemes: PROXY_SCHEMES,
        ...over,
      }),
    )
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return [error.code, error.details.field]
  }
}
const forwarding = (body: Record<string, unknown>) => read(body, { forwards: true })

describe('a session in a body', () => {
  test("is sent by the platform's own cookie names", () => {
    const whole = {
      ...BOTH,
      token_v2: 'a',
      csrf_token: 'b',
      edgebucket: 'c',
      csv: '2',
      session_tracker: 'd',
      pc: 'e',
      text: 'hello',
    }

    expect(read(whole)).toBe(
      'native_session=sss; loid=lll; token_v2=a; csrf_token=b; edgebucket=c; csv=2; session_tracker=d; pc=e',
    )
  })

  test('follows the configured words', () => {
    const over = { words: createNaming({ platform: 'agora', community: 'room' }) }

    expect(read({ agora_session: 'sss', loid: 'lll' }, over)).toBe('native_session=sss; loid=lll')
    expect(read({ loid: 'lll' }, over)).toEqual(['INCOMPLETE_SESSION', 'agora_session'])
  })

  test.each([
    [{}, ['SESSION_REQUIRED', undefined]],
    [{ forum_session: '', loid: null }, ['SESSION_REQUIRED', undefined]],
    [{ token_v2: 'a' }, ['SESSION_REQUIRED', undefined]],
    [{ loid: 'lll' }, ['INCOMPLETE_SESSION', 'forum_session']],
    [{ forum_session: 'sss' }, ['INCOMPLETE_SESSION', 'loid']],
    [{ ...BOTH, csv: 2 }, ['INVALID_FIELD', 'csv']],
    [{ ...BOTH, pc: 'a; forum_session=evil' }, ['INVALID_FIELD', 'pc']],
    [{ forum_session: 'a,b', loid: 'lll' }, ['INVALID_FIELD', 'forum_session']],
  ] as const)('%j is refused as %j', (body, refusal) => {
    expect(read(body)).toEqual([...refusal])
  })
})

const some = (count: number, value = '1') =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`c${at}`, value]))

describe('further cookies', () => {
  test('come from the object, and from unknown fields where those are forwarded', () => {
    const body = { ...BOTH, cookies: { over18: '1' }, theme: 'dark', text: 'hello' }

    expect(forwarding(body)).toBe('native_session=sss; loid=lll; over18=1; theme=dark')
    expect(read(body)).toBe('native_session=sss; loid=lll; over18=1')
  })

  test('may be the whole jar of a login: values that the session has are not sent twice', () => {
    const jar = { forum_session: 'sss', loid: 'lll', token_v2: 'ttt', csv: '2', over18: '1' }

    for (const whole of [read, forwarding])
      expect(whole({ ...BOTH, csv: '2', cookies: jar })).toBe(
        'native_session=sss; loid=lll; csv=2; token_v2=ttt; over18=1',
      )
    expect(read({ ...BOTH, cookies: { native_session: 'sss', loid: 'lll' } })).toBe(
      'native_session=sss; loid=lll',
    )
    expect(read({ cookies: jar })).toEqual(['SESSION_REQUIRED', undefined])
  })

  test.each([
    [{ token_v2: 'a', cookies: { token_v2: 'b' } }, 'cookies.token_v2'],
    [{ cookies: { Token_v2: 'a' } }, 'cookies.Token_v2'],
    [{ cookies: { token_v2: 1 } }, 'cookies.token_v2'],
    [{ cookies: { loid: 'x' } }, 'cookies.loid'],
    [{ cookies: { LOID: 'x' } }, 'cookies.LOID'],
    [{ cookies: { native_session: 'x' } }, 'cookies.native_session'],
    [{ cookies: { forum_session: 'x' } }, 'cookies.forum_session'],
    [{ native_session: 'x' }, 'native_session'],
    [{ cookies: { '__Host-a': 'x' } }, 'cookies.__Host-a'],
    [{ '__Secure-a': 'x' }, '__Secure-a'],
    [{ cookies: { constructor: 'x' } }, 'cookies.constructor'],
    [{ cookies: { 'a b': 'x' } }, 'cookies.a b'],
    [{ cookies: { '': 'x' } }, 'cookies.'],
    [{ cookies: { a: 'x y' } }, 'cookies.a'],
    [{ cookies: { a: 1 } }, 'cookies.a'],
    [{ cookies: { a: 'x' }, a: 'y' }, 'a'],
    [{ cookies: ['a=b'] }, 'cookies'],
    [{ cookies: 'a=b' }, 'cookies'],
  ] as const)('%j is refused by name', (body, field) => {
    expect(forwarding({ ...BOTH, ...body })).toEqual(['INVALID_FIELD', field])
  })

  test.each([[{ theme: 1 }], [{ theme: null }], [{ theme: ['dark'] }]])(
    '%j beside them is no cookie, but an unknown field',
    (body) => {
      expect(forwarding({ ...BOTH, ...body })).toEqual(['INVALID_REQUEST', 'theme'])
    },
  )

  test('a property name of every object is refused', () => {
    const body = JSON.parse('{"forum_session":"s","loid":"l","cookies":{"__proto__":"x"}}')
    const beside = JSON.parse('{"forum_session":"s","loid":"l","__proto__":"x"}')

    expect(forwarding(bodyObject(body))).toEqual(['INVALID_FIELD', 'cookies.__proto__'])
    expect(forwarding(bodyObject(beside))).toEqual(['INVALID_FIELD', '__proto__'])
  })

  test('are at most forty with those of the session, and 8 KiB', () => {
    expect(forwarding({ ...BOTH, cookies: some(38) })).toBeString()
    expect(forwarding({ ...BOTH, cookies: some(39) })).toEqual(['INVALID_FIELD', 'cookies'])
    expect(forwarding({ ...BOTH, cookies: some(8, 'x'.repeat(1020)) })).toEqual([
      'INVALID_FIELD',
      'cookies',
    ])
  })

  test('are sent unchanged or refused', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (name, value) => {
        const sent = forwarding({ ...BOTH, cookies: { [name]: value } })
        if (typeof sent === 'string') {
          expect(sent).toBe(`native_session=sss; loid=lll; ${name}=${value}`)
          expect([isCookieName(name), isCookieValue(value)]).toEqual([true, true])
        } else expect(sent[0]).toBe('INVALID_FIELD')
      }),
    )
  })
})

describe('a field named like a proxy', () => {
  test.each(['server', 'SOCKS5', 'http_proxy', 'proxy-url', 'password', 'user'])(
    '%s is refused by name, with and without forwarding',
    (field) => {
      expect(forwarding({ ...BOTH, [field]: 'x' })).toEqual(['INVALID_FIELD', field])
      expect(read({ ...BOTH, [field]: 'x' })).toEqual(['INVALID_FIELD', field])
    },
  )
})

/** Scheme of a parsed proxy; or code and field of the error. */
const proxy = (value: unknown, over: Partial<Parameters<typeof readProxy>[1]> = {}) => {
  try {
    return readProxy(value, { schemes: PROXY_SCHEMES, ...over })?.scheme ?? null
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return [error.code, error.details.field]
  }
}

describe('the proxy', () => {
  const BROWSER = ['http', 'https', 'socks5'] as const

  test.each([
    [undefined, null],
    [null, null],
    ['proxy.test:3128', 'http'],
    ['socks5h://proxy.test', 'socks5h'],
    [{ server: 'https://proxy.test', username: 'a', password: 'b' }, 'https'],
  ] as const)('%j is read as %j', (value, scheme) => {
    expect(proxy(value)).toBe(scheme)
  })

  test.each([
    [''],
    [7],
    [['http://a.test']],
    [{}],
    [{ server: 1 }],
    ['ftp://a.test'],
    ['one word'],
  ])('%j is refused', (value) => {
    expect(proxy(value)).toEqual(['INVALID_PROXY', 'proxy'])
  })

  test('needs a scheme where one is required', () => {
    expect(proxy('proxy.test:3128', { scheme_required: true })).toEqual(['INVALID_PROXY', 'proxy'])
  })

  test.each(['socks4://a.test', 'socks5h://a.test'])(
    '%s is not available to a browser',
    (value) => {
      expect(proxy(value, { schemes: BROWSER })).toEqual(['INVALID_PROXY', 'proxy'])
      expect(proxy('socks5://a.test', { schemes: BROWSER })).toBe('socks5')
    },
  )
})

test.each([[null], [[]], ['text'], [7]])('%j is not a body', (body) => {
  expect(() => bodyObject(body)).toThrow('body must be a JSON object')
})
