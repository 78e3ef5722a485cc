// Goal: for any cookie of a caller the platform gets exactly that cookie or none, and no other
// header. Method: 10,000 names and values, most of them hostile, through the whole daemon; the
// platform is a raw socket that records the bytes of every head. Validity is decided here by RFC
// 6265, not by the daemon's parser.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { createServer, type Server } from 'node:net'
import type { AddressInfo } from 'node:net'

import * as fc from 'fast-check'

import { homeOf } from '../../src/config/schema.ts'
import { SESSION_COOKIE } from '../support/accounts.ts'
import { cases } from '../support/long-form.ts'
import { startTestDaemon } from '../support/test-daemon.ts'

setDefaultTimeout(120_000)

const seed = Number(process.env['FORUMD_SEED'] ?? 6265)
const COUNT = cases({ short: 2000, long: 10_000 })
const AT_ONCE = 25

// RFC 6265, 4.1.1: cookie-name is a token, cookie-value consists of cookie-octets.
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const OCTETS = /^[\x21\x23-\x2B\x2D-\x3A\x3C-\x5B\x5D-\x7E]*$/
const LONGEST_NAME = 128
/** The session's own parts, client hints of a browser, and inherited names of objects. */
const NOT_OURS = new RegExp(
  `^(?:${SESSION_COOKIE}|forum_session|loid|token_v2|csrf_token|edgebucket|csv|session_tracker|pc|__proto__|constructor|prototype|__host-.*|__secure-.*)$`,
  'i',
)

const FRAGMENTS = [
  ['\r\n', '\n', '\r', '\0', '; ', ';', ', ', ',', '=', ' ', '\t', '"', '\\', ':', '\u007f'],
  ['é', '💥', '\ud800', '\u2028', 'Å', '\u0100', '\u010a'],
  ['__Host-a', '__Secure-a', '__proto__', 'loid', 'forum_session', SESSION_COOKIE, 'CSRF_TOKEN'],
  ['Set-Cookie: a=b', '\r\nx-evil: 1', 'x; forum_session=evil', '%0d%0a', '%00', 'a=b', 'theme'],
].flat()
const hostile = fc
  .array(fc.oneof(fc.constantFrom(...FRAGMENTS), fc.string({ maxLength: 4 })), { maxLength: 4 })
  .map((parts) => parts.join(''))
const plain = fc.stringMatching(/^[A-Za-z0-9_-]{1,12}$/)
type Pair = readonly [name: string, value: string]
const PAIRS: Pair[] = fc.sample(fc.tuple(fc.oneof(plain, hostile), fc.oneof(plain, hostile)), {
  numRuns: COUNT / 2,
  seed,
})

let heads: string[] = []
let server: Server
let daemon: Awaited<ReturnType<typeof startTestDaemon>>

beforeAll(async () => {
  server = createServer((socket) => {
    let bytes = ''
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      bytes += chunk.toString('latin1')
      for (let end = bytes.indexOf('\r\n\r\n'); end !== -1; end = bytes.indexOf('\r\n\r\n')) {
        heads.push(bytes.slice(0, end))
        bytes = bytes.slice(end + 4)
        socket.write(
          'HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}',
        )
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  daemon = await startTestDaemon({
    platform_url: `http://127.0.0.1:${port}`,
    change: (config) => {
      homeOf(config)!.session_cookie = SESSION_COOKIE
      homeOf(config)!.retries = 0
      config.billing.enabled = false
      config.limits.writes_per_minute = 0
    },
  })
})
afterAll(async () => {
  await daemon[Symbol.asyncDispose]()
  server.close()
})

/** Each pair in a call of its own, identified at the platform by its loid. */
async function sendAll(
  pairs: readonly Pair[],
  path: string,
  toBody: (name: string, value: string) => object,
) {
  heads = []
  const statuses: number[] = []
  for (let at = 0; at < pairs.length; at += AT_ONCE)
    await Promise.all(
      pairs.slice(at, at + AT_ONCE).map(async ([name, value], index) => {
        const session = { forum_session: 's', loid: `l${at + index}` }
        // By hand: an object literal would drop some of the names.
        const body = JSON.stringify(session).slice(0, -1) + inner(toBody(name, value))
        const { status } = await daemon.call(path, { method: 'POST', body, headers: headers() })
        statuses[at + index] = status
      }),
    )
  return statuses
}

const headers = () => ({
  authorization: `Bearer ${daemon.key}`,
  'content-type': 'application/json',
})
const inner = (body: object) => `,${JSON.stringify(body).slice(1)}`

/** Unexpected cookies at the platform, and expected ones that are missing. */
function wrongs(
  pairs: readonly Pair[],
  statuses: number[],
  isTaken: (name: string, value: string) => boolean,
) {
  const seen = new Map<string, string[]>()
  for (const head of heads) {
    const id = /; loid=(l\d+)/.exec(head)?.[1] ?? head
    seen.set(id, [...(seen.get(id) ?? []), head])
  }
  const usual = namesOf(heads.find((head) => /; loid=l\d+; \w+=\w+\r\n/.test(`${head}\r\n`)) ?? '')
  const found = pairs.flatMap(([name, value], index) => {
    const id = `l${index}`
    const sent = seen.get(id) ?? []
    seen.delete(id)
    const outcome = { index, name, value, status: statuses[index], sent }
    if (!isTaken(name, value)) return statuses[index] === 400 && sent.length === 0 ? [] : [outcome]
    const cookie = `${SESSION_COOKIE}=s; loid=${id}; ${name}=${value}`
    const exact = sent.every(
      (head) => cookieOf(head) === cookie && namesOf(head).join() === usual.join(),
    )
    return sent.length === 1 && exact ? [] : [outcome]
  })
  return [...found, ...seen.keys()]
}

const linesOf = (head: string) => head.split('\r\n').slice(1)
const namesOf = (head: string) =>
  linesOf(head)
    .map((line) => line.split(':', 1)[0]?.toLowerCase() ?? '')
    .toSorted()
const cookieOf = (head: string) =>
  linesOf(head)
    .filter((line) => /^cookie:/i.test(line))
    .map((line) => line.slice('cookie: '.length))
    .join(' AND ')

const isCookie = (name: string, value: string) =>
  TOKEN.test(name) && name.length <= LONGEST_NAME && !NOT_OURS.test(name) && OCTETS.test(value)

test(`of ${COUNT / 2} pairs in an object each cookie is sent unchanged and nothing else is sent (seed ${seed})`, async () => {
  const statuses = await sendAll(PAIRS, '/api/forum/vote', (name, value) => ({
    cookies: { [name]: value },
    id: 't3_abc',
    direction: 'up',
  }))

  expect(wrongs(PAIRS, statuses, isCookie)).toEqual([])
  expect(statuses.filter((status) => status === 404).length).toBeGreaterThan(COUNT / 20)
  expect(statuses.filter((status) => status === 400).length).toBeGreaterThan(COUNT / 20)
})

// Case, - and _ are ignored in these.
const PROXY_LIKE =
  /^(?:proxy|proxies|proxyurl|server|host|port|username|password|user|pass|httpproxy|httpsproxy|allproxy|socks(?:4a?|5h?)?)$/i
const isBeside = (name: string, value: string) =>
  isCookie(name, value) && !PROXY_LIKE.test(name.replace(/[-_]/g, ''))
/** These are the fields themselves, not cookies beside them. */
const FIELDS =
  /^(?:post_url|text|locale|timezone|proxy|cookies|forum_session|loid|token_v2|csrf_token|edgebucket|csv|session_tracker|pc)$/

test(`the same holds for ${COUNT / 2} pairs beside the fields of a comment (seed ${seed})`, async () => {
  const pairs = PAIRS.filter(([name]) => !FIELDS.test(name))
  const statuses = await sendAll(pairs, '/api/forum/comment', (name, value) => ({
    post_url: '/r/cats/s/abc',
    text: 'Hello',
    [name]: value,
  }))

  expect(wrongs(pairs, statuses, isBeside)).toEqual([])
  expect(pairs.length).toBeGreaterThan(COUNT * 0.4)
})
