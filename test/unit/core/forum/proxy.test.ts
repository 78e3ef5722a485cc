import { describe, expect, test } from 'bun:test'

import * as fc from 'fast-check'

import {
  parseProxy,
  type Proxy,
  PROXY_SCHEMES,
  proxyOrigin,
} from '../../../../src/core/forum/proxy.ts'

const open = { username: null, password: null }

const read = (value: unknown, options?: { scheme_required: boolean }) => {
  const parsed = parseProxy(value, options)
  return parsed.ok ? parsed.proxy : parsed.why
}

describe('a proxy is parsed from', () => {
  test.each<[unknown, Proxy]>([
    ['p.example.com:3128', { scheme: 'http', host: 'p.example.com', port: 3128, ...open }],
    ['http://P.Example.com:3128/', { scheme: 'http', host: 'p.example.com', port: 3128, ...open }],
    ['https://p.example.com', { scheme: 'https', host: 'p.example.com', port: 443, ...open }],
    ['http://p.example.com', { scheme: 'http', host: 'p.example.com', port: 80, ...open }],
    ['SOCKS5H://p.example.com', { scheme: 'socks5h', host: 'p.example.com', port: 1080, ...open }],
    ['socks4://8.8.8.8:9050', { scheme: 'socks4', host: '8.8.8.8', port: 9050, ...open }],
    ['http://[2606:4700::1]:8080', { scheme: 'http', host: '2606:4700::1', port: 8080, ...open }],
    [
      'socks5://ann:p%40ss%3Aw@p.example.com:1',
      { scheme: 'socks5', host: 'p.example.com', port: 1, username: 'ann', password: 'p@ss:w' },
    ],
    [
      'ann:secret@p.example.com:3128',
      { scheme: 'http', host: 'p.example.com', port: 3128, username: 'ann', password: 'secret' },
    ],
    [
      'http://a@b:c@p.example.com:1',
      { scheme: 'http', host: 'p.example.com', port: 1, username: 'a@b', password: 'c' },
    ],
    [
      { server: 'http://p.example.com:3128', username: 'ann', password: '%41' },
      { scheme: 'http', host: 'p.example.com', port: 3128, username: 'ann', password: '%41' },
    ],
    [
      { server: 'p.example.com:3128', password: 'only' },
      { scheme: 'http', host: 'p.example.com', port: 3128, username: '', password: 'only' },
    ],
    [
      { server: 'p.example.com:3128', username: null },
      { scheme: 'http', host: 'p.example.com', port: 3128, ...open },
    ],
  ])('%p', (value, proxy) => {
    expect(read(value)).toEqual(proxy)
  })
})

describe('a proxy is refused', () => {
  test.each<[unknown, RegExp]>([
    [{ server: 'p.example.com:1', username: '\ud800', password: 'x' }, /control characters/],
    ['http://ann:\udc00@p.example.com:1', /control characters/],
    ['', /1 to 2048 characters/],
    ['x'.repeat(2049), /1 to 2048 characters/],
    ['http://p.example.com:1\r\nx', /spaces, control characters/],
    ['http:\\\\p.example.com:1', /spaces, control characters/],
    ['p.example.com', /scheme:\/\/user:password@host:port/],
    ['http://', /scheme:\/\/user:password@host:port/],
    ['http://p.example.com:1/path', /scheme:\/\/user:password@host:port/],
    ['http://p.example.com:1?q', /scheme:\/\/user:password@host:port/],
    ['http://p.example.com:port', /scheme:\/\/user:password@host:port/],
    ['ftp://p.example.com:21', /must begin with http:\/\/, https:\/\/, socks4:\/\//],
    ['socks4a://p.example.com:1', /must begin with/],
    ['http://p.example.com:0', /port from 1 to 65535/],
    ['http://p.example.com:65536', /port from 1 to 65535/],
    ['http://0177.0.0.1:1', /plain IP address/],
    ['http://2130706433:1', /plain IP address/],
    ['http://127.1:1', /plain IP address/],
    ['http://１２７.0.0.1:1', /plain IP address/],
    ['http://ex%61mple.com:1', /plain IP address/],
    ['http://[::1%25lo]:1', /plain IP address/],
    ['http://[nonsense]:1', /plain IP address/],
    ['http://a:%zz@p.example.com:1', /percent-encoded/],
    ['http://a:%0d%0a@p.example.com:1', /control characters in its credentials/],
    ['http://a%3Ab:c@p.example.com:1', /colon in its username/],
    [`http://a:${'b'.repeat(256)}@p.example.com:1`, /255 bytes each/],
    [null, /an address, or an object/],
    [7, /an address, or an object/],
    [['http://p.example.com:1'], /an address, or an object/],
    [{}, /needs a server/],
    [{ server: 7 }, /needs a server/],
    [{ server: 'p.example.com:1', user: 'ann' }, /may have only/],
    [{ server: 'p.example.com:1', username: 7 }, /as text/],
    [{ server: 'http://a:b@p.example.com:1', username: 'c' }, /credentials once/],
  ])('when it is %p', (value, why) => {
    expect(read(value)).toMatch(why)
  })

  test('without a scheme where one is required', () => {
    expect(read('p.example.com:3128', { scheme_required: true })).toMatch(/must begin with/)
    expect(read({ server: 'p.example.com:3128' }, { scheme_required: true })).toMatch(/must begin/)
    expect(read('http://p.example.com:3128', { scheme_required: true })).toBeObject()
  })
})

const credential = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
  // oxlint-disable-next-line no-control-regex
  .filter((text) => !/[\x00-\x1f\x7f:]/.test(text) && text.isWellFormed())
const proxies: fc.Arbitrary<Proxy> = fc
  .record({
    scheme: fc.constantFrom(...PROXY_SCHEMES),
    host: fc.oneof(fc.domain(), fc.ipV4(), fc.constant('2606:4700::1')),
    port: fc.integer({ min: 1, max: 65_535 }),
    username: fc.option(credential),
    password: fc.option(credential),
  })
  .map((it) => (it.username === null ? { ...it, password: null } : it))

function formatProxy(proxy: Proxy): string {
  const { username, password } = proxy
  if (username === null) return proxyOrigin(proxy)
  const userinfo =
    encodeURIComponent(username) + (password === null ? '' : `:${encodeURIComponent(password)}`)
  return proxyOrigin(proxy).replace('://', `://${userinfo}@`)
}

test('the formatted form of a proxy parses as the same proxy', () => {
  fc.assert(
    fc.property(proxies, (proxy) => {
      const host = proxy.host.toLowerCase()
      expect(read(formatProxy(proxy))).toEqual({ ...proxy, host })
    }),
  )
})

test('no text makes the parser throw, and no refusal repeats the input', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 12 }), (text) => {
      const parsed = parseProxy(text)
      if (!parsed.ok) expect(parsed.why).not.toContain(text)
    }),
  )
  fc.assert(fc.property(fc.anything(), (value) => void parseProxy(value)))
})

test('the displayed form of a proxy contains no credentials', () => {
  const parsed = parseProxy('socks5h://ann:hunter2@[2606:4700::1]:1080')

  expect(parsed.ok && proxyOrigin(parsed.proxy)).toBe('socks5h://[2606:4700::1]:1080')
})
