import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import {
  createAllowed,
  guardLines,
  isPublic,
  isPublicName,
  judgeAddresses,
  parseTarget,
} from '../../../../src/core/base/address.ts'

const PUBLIC_ONLY = createAllowed({ allow_targets: [], allow_http: false })
const PUBLIC = '93.184.215.14'

/** Refusal of a target, given every address its name resolves to; null if it is allowed. */
function refusal(url: string, addresses: string[] = [PUBLIC], allowed = PUBLIC_ONLY) {
  const parsed = parseTarget(url, allowed)
  if (!parsed.ok) return parsed.refusal
  const { literal } = parsed.target
  return judgeAddresses(parsed.target, literal === null ? addresses : [literal], allowed)
}

test.each([
  ['0.0.0.0', '0.255.255.255'],
  ['10.0.0.0', '10.255.255.255'],
  ['100.64.0.0', '100.127.255.255'],
  ['127.0.0.0', '127.255.255.255'],
  ['169.254.0.0', '169.254.255.255'],
  ['172.16.0.0', '172.31.255.255'],
  ['192.0.0.0', '192.0.0.255'],
  ['192.0.2.0', '192.0.2.255'],
  ['192.88.99.0', '192.88.99.255'],
  ['192.168.0.0', '192.168.255.255'],
  ['198.18.0.0', '198.19.255.255'],
  ['198.51.100.0', '198.51.100.255'],
  ['203.0.113.0', '203.0.113.255'],
  ['224.0.0.0', '239.255.255.255'],
  ['240.0.0.0', '255.255.255.255'],
  ['168.63.129.16', '168.63.129.16'],
])('%s to %s is not public, including both ends', (first, last) => {
  expect([isPublic(first), isPublic(last)]).toEqual([false, false])
})

test.each(['1.1.1.1', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '172.32.0.0'])(
  '%s is public',
  (address) => expect(isPublic(address)).toBe(true),
)

test.each(['2606:4700::1111', '2001:200::1', '2a00:1450::1', '2003::1', '2000::', '3ffe::1'])(
  '%s is public',
  (address) => expect(isPublic(address)).toBe(true),
)

test.each([
  '::',
  '::1',
  '::ffff:8.8.8.8',
  '::8.8.8.8',
  '64:ff9b::808:808',
  '100::1',
  '1fff::1',
  '2001::1',
  '2001:1ff::1',
  '2001:db8::1',
  '2002:808:808::1',
  '3fff:fff::1',
  '4000::',
  'fc00::1',
  'fe80::1',
  'fec0::1',
  'ff02::1',
  '2606:4700::1111%lo',
  'localhost',
  '',
])('%p is not public', (address) => expect(isPublic(address)).toBe(false))

test('an IPv4 address embedded in IPv6 is not public', () => {
  fc.assert(fc.property(fc.ipV4(), (v4) => !isPublic(`::ffff:${v4}`) && !isPublic(`::${v4}`)))
})

test.each([
  ['https://hooks.example.com/x', null],
  ['https://hooks.example.com.:8443/x?y=z#w', null],
  ['https://my_app.example.net', null],
  ['http://hooks.example.com/', 'not_https'],
  ['HTTPS://hooks.example.com/', null],
  ['HTTP://hooks.example.com/', 'not_https'],
  ['hooks.example.com', 'not_https'],
  ['https://u:p@hooks.example.com/', 'userinfo'],
  ['https://@hooks.example.com/', 'userinfo'],
  ['https://hooks.example.com:0/', 'port'],
  ['https://hooks.example.com:6667/', 'port'],
  ['https://hooks.example.com:99999/', 'malformed'],
  ['https://a b/', 'malformed'],
  ['https://hooks.example.com/\x7f', 'malformed'],
  ['https://hooks.example.com\\@evil.example.net/', 'malformed'],
  ['', 'malformed'],
  [`https://${'\u0316\u0301'.repeat(900)}.example.com/`, 'malformed'],
  [`https://hooks.example.com/${'a'.repeat(2048)}`, 'malformed'],
  ['https://intranet/', 'name'],
  ['https://db.internal/', 'name'],
  ['https://printer.home.arpa/', 'name'],
  ['https://metadata.tencentyun.com/', 'name'],
  ['https://0177.0.0.1/', 'spelling'],
  ['https://3232235777/', 'spelling'],
  ['https://１.1.1.1/', 'spelling'],
  ['https://127.0.0.1/', 'not_public'],
  ['https://[::1]/', 'not_public'],
] as const)('%p is refused as %p', (url, why) => {
  expect(refusal(url)).toBe(why)
})

test.each(
  `localhost local internal localdomain lan corp home intranet private test example invalid onion alt consul svc
   home.arpa metadata.goog metadata.tencentyun.com api.metadata.cloud.ibm.com`.split(/\s+/),
)('a name under %s is internal to a network', (suffix) => {
  expect(isPublicName(`db.${suffix}`)).toBe(false)
})

test('exactly the ports that browsers block are refused', () => {
  const ports = Array.from({ length: 65_535 }, (_, i) => i + 1)
  const refused = ports.filter((port) => !parseTarget(`https://a.test.net:${port}`, PUBLIC_ONLY).ok)

  // The list "bad port" of the fetch standard.
  expect(refused).toEqual([
    1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102,
    103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465,
    512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993,
    995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668,
    6669, 6679, 6697, 10080,
  ])
})

test('one address that is not public refuses the target', () => {
  expect(refusal('https://hooks.example.com/', [PUBLIC, '10.0.0.5'])).toBe('not_public')
  expect(refusal('https://hooks.example.com/', [PUBLIC, 'fe80::1%eth0'])).toBe('not_public')
  expect(refusal('https://hooks.example.com/', [])).toBe('unresolved')
})

const NETWORK = createAllowed({ allow_targets: ['10.0.0.0/8', 'fd00::/8'], allow_http: true })
const NAMED = createAllowed({
  allow_targets: ['Receiver.internal.', '127.0.0.1'],
  allow_http: true,
})

test('an allowed network permits its addresses, for names and literals, on any port and with http', () => {
  expect(refusal('https://10.1.2.3/', [], NETWORK)).toBeNull()
  expect(refusal('https://[fd00::1]/', [], NETWORK)).toBeNull()
  expect(refusal('https://intranet:6667/', ['10.1.2.3'], NETWORK)).toBeNull()
  expect(refusal('http://db.internal:8080/', ['10.1.2.3'], NETWORK)).toBeNull()
})

test('an allowed network permits no other address', () => {
  expect(refusal('https://192.168.0.1/', [], NETWORK)).toBe('not_public')
  expect(refusal('https://intranet/', [PUBLIC], NETWORK)).toBe('name')
  expect(refusal('https://intranet/', ['10.1.2.3', PUBLIC], NETWORK)).toBe('name')
  expect(refusal('http://hooks.example.com/', [PUBLIC], NETWORK)).toBe('not_https')
  expect(refusal('https://hooks.example.com:25/', [PUBLIC], NETWORK)).toBe('port')
  expect(refusal('https://hooks.example.com/', [PUBLIC, '192.168.0.1'], NETWORK)).toBe('not_public')
  expect(refusal('https://0x0a.1/', [], NETWORK)).toBe('spelling')
})

test('an allowed name may resolve to any address; similar names may not', () => {
  expect(refusal('http://receiver.internal:25/', ['192.168.0.1'], NAMED)).toBeNull()
  expect(refusal('https://other.internal/', ['192.168.0.1'], NAMED)).toBe('name')
  expect(refusal('https://127.0.0.1:8443/', [], NAMED)).toBeNull()
  expect(refusal('https://127.0.0.2:8443/', [], NAMED)).toBe('not_public')
})

test('http to an allowed name is refused unless it is enabled', () => {
  const https_only = createAllowed({ allow_targets: ['receiver.internal'], allow_http: false })
  expect(refusal('http://receiver.internal/', ['10.0.0.1'], https_only)).toBe('not_https')
})

test('the parser throws for no text', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.webUrl(),
        fc.string().map((it) => `https://${it}`),
      ),
      (it) => {
        parseTarget(it, PUBLIC_ONLY)
        isPublicName(it)
      },
    ),
  )
})

test.each([
  ['http://localhost:9000/', ['[guard]', 'allow_targets = ["localhost"]', 'allow_http = true']],
  ['https://nas.lan/', ['[guard]', 'allow_targets = ["nas.lan"]']],
  ['https://192.168.1.5/', ['[guard]', 'allow_targets = ["192.168.1.5"]']],
  ['http://[fd00::1]:80/', ['[guard]', 'allow_targets = ["fd00::1"]', 'allow_http = true']],
  [
    'http://hooks.example.com/',
    ['[guard]', 'allow_targets = ["hooks.example.com"]', 'allow_http = true'],
  ],
  ['https://hooks.example.com:22/', ['[guard]', 'allow_targets = ["hooks.example.com"]']],
])('the lines for %s allow it', (url, lines) => {
  const refused = refusal(url)
  const allow_targets = [/"(.+)"/.exec(lines[1] ?? '')?.[1] ?? '']

  expect(refused && guardLines(url, refused)).toEqual(lines)
  const allowed = createAllowed({ allow_targets, allow_http: lines.length === 3 })
  expect(refusal(url, ['10.1.2.3'], allowed)).toBeNull()
})

test.each([
  'https://169.254.169.254/',
  'https://0.0.0.0/',
  'ftp://nas.lan/',
  'https://user:password@nas.lan/',
  'http://nas.lan:0/',
  'https://0x7f.1/',
])('there are no lines for %s', (url) => {
  const refused = refusal(url)

  expect(refused).not.toBeNull()
  expect(refused && guardLines(url, refused)).toBeNull()
})

test('a name that ends in a number is not public: it may be an IPv4 address', () => {
  expect(['db.123', '10.0.0.0x1', 'db.example.com'].map(isPublicName)).toEqual([false, false, true])
})
