import { describe, expect, test } from 'bun:test'

import { assert, property, string } from 'fast-check'

import type { CookieJar } from '../../../../../src/platforms/port.ts'
import { readExport } from '../../../../../src/platforms/reddit/login/cookie-import.ts'
import { createJars } from '../../../../../src/platforms/reddit/login/cookie-jar.ts'
import { fakeClock } from '../../../../support/clock.ts'

const DAY = 86_400_000

function createFixture(base_url = 'https://www.forum.example') {
  const clock = fakeClock(() => Promise.resolve())
  const jars = createJars({ base_url, session_cookie: 'session', clock })
  return { clock, jars, in_s: (ms: number) => Math.floor((clock.now() + ms) / 1000) }
}

const headerOf = (it: { ok: boolean; jar?: CookieJar; problems?: string[] }) =>
  it.jar ? it.jar.header() : it.problems
const sorted = (header: unknown) => String(header).split('; ').toSorted().join('; ')

/** A token with an expiry claim. */
const jwt = (exp: number) =>
  ['{}', JSON.stringify({ exp })].map((it) => Buffer.from(it).toString('base64url')).join('.') +
  '.x'

const tabbed = (fields: (string | number)[]) => fields.join('\t')

describe('a cookies.txt', () => {
  test('is read in the format of browsers', () => {
    const { jars, in_s } = createFixture()
    const text = [
      '# Netscape HTTP Cookie File',
      '# https://curl.se/docs/http-cookies.html',
      '',
      tabbed(['#HttpOnly_.forum.example', 'TRUE', '/', 'TRUE', in_s(DAY), 'session', 'abc%2Cdef']),
      tabbed(['www.forum.example', 'FALSE', '/', 'FALSE', 0, 'loid', '0001']),
      tabbed(['.forum.example', 'TRUE', '/', 'TRUE', in_s(-DAY), 'token_v2', 'old']),
      tabbed(['old.forum.example', 'FALSE', '/', 'TRUE', 0, 'elsewhere', 'x']),
      tabbed(['.other.example', 'TRUE', '/', 'TRUE', 0, 'foreign', 'x']),
    ].join('\r\n')

    const found = jars.import(text)

    expect(sorted(headerOf(found))).toBe('loid=0001; session=abc%2Cdef')
    expect(found).toMatchObject({ ok: true, cookies: 2, others: 2 })
    expect(found.ok && found.jar.expires_at()).toBe(in_s(DAY) * 1000)
  })

  test('is read although lines of other hosts are wrong', () => {
    const lines = [
      '.shop.example\tTRUE\t/\tFALSE\t1893456000\tcity\tKöln',
      '.shop.example\tTRUE\t/\tFALSE\t\tno_expiry\t1',
      '.shop.example\tTRUE\t/\tFALSE\t1893456000\tlayout\ta\tb',
      'bücher.example\tmaybe',
      'www.forum.example\tFALSE\t/\tFALSE\t0\tsession\tabc',
    ]
    const found = createFixture().jars.import(lines.join('\n'))
    expect(found).toMatchObject({ ok: true, cookies: 1, others: 4 })
  })

  test.each([
    [
      'spaces for tabs',
      'a\tb\nwww.forum.example FALSE / FALSE 0 session secret',
      2,
      'seven fields',
    ],
    ['no flag', 'www.forum.example\tmaybe\t/\tTRUE\t0\tsession\tsecret', 1, 'TRUE or FALSE'],
    ['no date', 'www.forum.example\tTRUE\t/\tTRUE\tsoon\tsession\tsecret', 1, 'number'],
    [
      'a date outside the range of Date',
      `www.forum.example\tTRUE\t/\tTRUE\t${'9'.repeat(400)}\tsession\tsecret`,
      1,
      'number',
    ],
    ['an invalid name', '\n# x\nforum.example\tTRUE\t/\tTRUE\t0\tses sion\tsecret', 2, 'name'],
    ['an invalid value', 'forum.example\tTRUE\t/\tTRUE\t0\tsession\tsec;ret', 1, 'value'],
  ])('with %s is refused with its line number and without its content', (_what, text, at, why) => {
    const found = createFixture().jars.import(text)

    expect(found.ok).toBe(false)
    const problem = found.ok ? '' : (found.problems[0] ?? '')
    expect(problem).toStartWith(`line ${at}: `)
    expect(problem).toContain(why)
    expect(problem).not.toMatch(/secret|sec;ret|soon/)
  })
})

describe('JSON', () => {
  const domain = '.forum.example'
  const both = [
    { name: 'session', value: 's1', domain, path: '/' },
    { name: 'loid', value: 'l1', domain, path: '/' },
  ]

  test.each([
    [
      "from EditThisCookie and Chrome's extensions",
      (exp: number) =>
        both.map((it) => ({
          ...it,
          expirationDate: exp + 0.25,
          hostOnly: false,
          httpOnly: true,
          sameSite: 'lax',
          secure: true,
          session: false,
          storeId: '0',
        })),
    ],
    [
      'from Puppeteer',
      (exp: number) =>
        both.map((it) => ({ ...it, expires: exp, size: 9, secure: true, session: false })),
    ],
    [
      'from Playwright',
      (exp: number) => ({ cookies: both.map((it) => ({ ...it, expires: exp })), origins: [] }),
    ],
    [
      "from Firefox's extensions",
      (exp: number) =>
        both.map((it) => ({
          'Host raw': 'https://.forum.example/',
          'Name raw': it.name,
          'Path raw': '/',
          'Content raw': it.value,
          'Expires raw': String(exp),
          'Send for raw': 'true',
          'HTTP only raw': 'true',
          'This domain only raw': 'false',
        })),
    ],
    [
      "from Firefox's own database",
      (exp: number) =>
        both.map((it) => ({
          name: it.name,
          value: it.value,
          host: domain,
          path: '/',
          expiry: exp * 1000,
          isSecure: 1,
        })),
    ],
  ])('%s is read', (_source, write) => {
    const { jars, in_s } = createFixture()

    const found = jars.import(JSON.stringify(write(in_s(DAY)), null, 2))

    expect(sorted(headerOf(found))).toBe('loid=l1; session=s1')
    expect(found.ok && Math.floor((found.jar.expires_at() ?? 0) / 1000)).toBe(in_s(DAY))
  })

  test('can be an object of names and values, as a sign-in returns it', () => {
    const text = JSON.stringify({ cookies: { session: 's1', loid: 'l1' } })

    expect(sorted(headerOf(createFixture().jars.import(text)))).toBe('loid=l1; session=s1')
  })

  test('without an expiry is a session cookie', () => {
    const text = JSON.stringify([{ ...both[0], expires: -1, session: true }])
    const found = createFixture().jars.import(text)

    expect(found.ok && found.jar.expires_at()).toBeNull()
  })

  test.each([
    ['{"cookies":', 'is not valid JSON'],
    ['[1]', 'cookie 1: must be an object'],
    ['[{"value":"secret"}]', 'cookie 1: name must be text'],
    ['[{"name":"session","value":5}]', 'cookie 1: value must be text'],
    ['[{"name":"session","value":"secret","domain":7}]', 'cookie 1: domain must be text'],
    ['[{"name":"session","value":"secret","expires":"soon"}]', 'cookie 1: the expiry'],
    ['{"session":{}}', 'cookie 1: the value must be text'],
    ['{"cookies":5}', 'must be a list or an object'],
    ['[]', 'has no cookies'],
  ])('%p is refused with the reason', (text, why) => {
    const found = createFixture().jars.import(text)

    expect(found.ok ? [] : found.problems).toEqual([expect.stringContaining(why)])
  })
})

describe('a Cookie header', () => {
  test.each([
    'session=s1; loid=l1',
    'Cookie: session=s1;loid=l1;',
    '  cookie:session=s1; loid=l1 ',
  ])('%p is read', (text) => {
    expect(sorted(headerOf(createFixture().jars.import(text)))).toBe('loid=l1; session=s1')
  })

  test('keeps characters of real values', () => {
    const text = 'session=a=b%2C"c", d'

    expect(headerOf(createFixture().jars.import(text))).toBe(text)
  })

  test('without a pair is refused', () => {
    expect(headerOf(createFixture().jars.import('session=s1; loid'))).toEqual([
      'cookie 2: must be name=value',
    ])
  })
})

describe('an import', () => {
  test.each([
    ['an empty text', '', 'is empty'],
    ['blanks', ' \n\t ', 'is empty'],
    ['other cookies', 'loid=l1', 'has no cookie named session for www.forum.example'],
    ['an empty cookie', 'session=', 'its cookie session has expired, or is empty'],
    [
      'an expired token',
      `session=${jwt(1_000_000)}`,
      'the session in its cookie session has expired',
    ],
    ['too long a text', 'x'.repeat(1024 * 1024 + 1), 'is longer than 1 MiB'],
  ])('with %s is refused', (_what, text, why) => {
    expect(headerOf(createFixture().jars.import(text))).toEqual([why])
  })

  test('reads the expiry from the session token', () => {
    const { jars, in_s } = createFixture()
    const found = jars.import(`session=${jwt(in_s(DAY))}`)

    expect(found.ok && found.jar.expires_at()).toBe(in_s(DAY) * 1000)
  })

  test('rounds a fractional expiry of a token to a whole instant', () => {
    const { jars, in_s } = createFixture()
    const found = jars.import(`session=${jwt(in_s(DAY) + 0.4342932)}`)

    expect(found.ok && found.jar.expires_at()).toBe(in_s(DAY) * 1000)
  })

  test('never throws and never quotes its input', () => {
    const secret = 'S3CR3T'
    const surrounding = string({ unit: 'binary', maxLength: 60 })
    assert(
      property(surrounding, surrounding, (before, after) => {
        const found = readExport(`${before}${secret}${after}`, () => true)
        if (!found.ok) expect(found.problems.join()).not.toContain(secret)
      }),
    )
  })
})

const imported = () => {
  const it = createFixture()
  const found = it.jars.import('session=s1; loid=l1; csv=2')
  if (!found.ok) throw new Error(found.problems.join())
  return { ...it, jar: found.jar }
}

describe('a jar', () => {
  test("stores the session's cookies from an answer, and ignores the others", () => {
    const { jar } = imported()

    expect(jar.take(['token_v2=t1; Path=/; Domain=.forum.example; Secure', 'tracker=x'])).toBe(true)
    expect(jar.take(['session_tracker=y; Path=/'])).toBe(false)

    expect(sorted(jar.header())).toBe('csv=2; loid=l1; session=s1; token_v2=t1')
  })

  test('stores all cookies during a sign-in', () => {
    const { jars } = createFixture()
    const jar = jars.empty()

    jar.take(['session_tracker=y; Path=/', 'pc=z'], 'all')

    expect(sorted(jar.header())).toBe('pc=z; session_tracker=y')
  })

  test("has one value per name, regardless of the cookie's path and domain", () => {
    const { jar } = imported()

    jar.take(['session=s2; Domain=.forum.example; Path=/; HttpOnly; Secure'])
    jar.take(['session=s3; Path=/'])

    expect(sorted(jar.header())).toBe('csv=2; loid=l1; session=s3')
  })

  test.each(['99999999999999999', '9'.repeat(400), '-99999999999999999'])(
    'accepts a cookie with a lifetime of %s s',
    (age) => {
      const { jar } = imported()

      jar.take([`loid=l2; Path=/; Max-Age=${age}`])

      expect(jar.text()).toContain('"loid"'.repeat(age.startsWith('-') ? 0 : 1))
    },
  )

  test('reports changes', () => {
    const { jar } = imported()

    expect(jar.take(['loid=l1; Path=/'])).toBe(false)
    expect(jar.take(['loid=l1; Path=/; Max-Age=3600'])).toBe(true)
    expect(jar.take(['loid=l2; Path=/; Max-Age=3600'])).toBe(true)
  })

  test.each([
    ['an empty value', 'loid=; Path=/'],
    ['an expired date', 'loid=x; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT'],
    ['a zero lifetime', 'loid=x; Path=/; Max-Age=0'],
  ])('removes a cookie that is set with %s', (_what, line) => {
    const { jar } = imported()

    expect(jar.take([line])).toBe(true)

    expect(sorted(jar.header())).toBe('csv=2; session=s1')
  })

  test.each([
    'session=; Path=/',
    'session=x; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT',
    'session=deleted; Path=/; Max-Age=0',
    'session=deleted; Path=/; Max-Age=5',
  ])('keeps the session although one answer removes it with %p', (line) => {
    const { jar } = imported()

    expect(jar.take([line])).toBe(false)

    expect(sorted(jar.header())).toBe('csv=2; loid=l1; session=s1')
  })

  test('keeps the session that answers have replaced until the new one is proven, over a restart too', () => {
    const { jar, jars } = imported()
    jar.take(['session=x; Path=/'])
    jar.take(['session=y; Path=/'])
    const again = jars.open(jar.text())
    again?.swap()
    expect(sorted(again?.header())).toBe('csv=2; loid=l1; session=s1')
    again?.swap()
    expect(sorted(again?.header())).toBe('csv=2; loid=l1; session=y')

    expect(again?.settle()).toBe(true)
    again?.swap()
    expect(sorted(again?.header())).toBe('csv=2; loid=l1; session=y')
    expect(again?.settle()).toBe(false)
  })

  test.each([
    ['another site', 'session=x; Domain=other.example'],
    ['a public suffix', 'session=x; Domain=example'],
    ['another subdomain of the site', 'session=x; Domain=old.forum.example'],
  ])('ignores a cookie for %s', (_what, line) => {
    const { jar } = imported()

    expect(jar.take([line])).toBe(false)
    expect(sorted(jar.header())).toBe('csv=2; loid=l1; session=s1')
  })

  test('does not send expired cookies', async () => {
    const { jar, clock } = imported()
    jar.take(['token_v2=t1; Path=/; Max-Age=60', 'edgebucket=e; Path=/; Max-Age=120'])

    await clock.advance(60_000)

    expect(sorted(jar.header())).toBe('csv=2; edgebucket=e; loid=l1; session=s1')
    expect(jar.cookies().map(({ name }) => name)).not.toContain('token_v2')
  })

  test('sends only insecure cookies over http, but all to the loopback', () => {
    const line = 'session=s1; Path=/; Secure'
    const [plain, near] = ['http://forum.example', 'http://127.0.0.1:8080'].map((base_url) => {
      const jar = createFixture(base_url).jars.empty()
      jar.take([line, 'loid=l1; Path=/'])
      return jar.header()
    })

    expect(plain).toBe('loid=l1')
    expect(sorted(near)).toBe('loid=l1; session=s1')
  })

  test('is the same after serialisation', () => {
    const { jar, jars, in_s } = imported()
    jar.take([`token_v2=${jwt(in_s(DAY))}; Domain=.forum.example; Path=/; Secure; Max-Age=3600`])

    const again = jars.open(jar.text())

    expect(again?.header()).toBe(jar.header())
    expect(again?.cookies()).toEqual(jar.cookies())
    expect(again?.text()).toBe(jar.text())
  })

  test.each(['', '{}', '[]', '{"version":2,"cookies":[]}', '{"version":1,"cookies":[{}]}'])(
    'is not opened from %p',
    (text) => {
      expect(createFixture().jars.open(text)).toBeNull()
    },
  )

  test('is isolated from the jar of another account', () => {
    const { jars } = createFixture()
    const [a, b] = [jars.empty(), jars.empty()]

    a.take(['session=a; Path=/'])

    expect(b.header()).toBeNull()
  })
})
