import { readdirSync, readFileSync } from 'node:fs'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'

import type { SeededRandom } from '../../sandbox/world/random.ts'
import { once } from '../../src/core/base/lazy.ts'
import { mutate } from './hostile-site.ts'

/** An answer as bytes of a connection. */
export type Answer = {
  status: number
  headers: [string, string][]
  body: Buffer
  /** Bytes after which the connection ends; absent: the answer is whole. */
  cut_at?: number
  /** Sent in parts, with this pause between them. */
  drip_ms?: number
  delay_ms?: number
  /** In place of head and body. */
  raw?: Buffer
}

/** An answer as a response; null for one that no server of HTTP can send. */
export function toResponse(answer: Answer): Response | null {
  try {
    return new Response(answer.body.length === 0 ? null : Uint8Array.from(answer.body), answer)
  } catch {
    return null
  }
}

type Given = { random: SeededRandom; recorded: readonly string[]; path: string; own_url: string }

/** `lies`: the answer may be well-formed and wrong, so that a reader cannot know what it hides. */
type Mutation = { lies: boolean; change(answer: Answer, given: Given): Answer }

const BAD_VALUES: readonly unknown[] = [
  null,
  true,
  -1,
  0,
  0.5,
  2 ** 53,
  2 ** 53 - 1,
  1e300,
  '',
  [],
  {},
  [[]],
  [null],
  'a\0b',
  '\ud800',
  '&#xD83D;',
  '9999-12-31T00:00:00Z',
  '+275760-09-13T00:00:01Z',
  '__proto__',
  { __proto__: 1, constructor: 2, length: -1 },
  'http://[::1',
  '../../etc/passwd',
]
const BAD_IDS: readonly unknown[] = [
  -1,
  0,
  0.5,
  100.5,
  2 ** 31,
  2 ** 53,
  2 ** 53 - 1,
  9e15,
  1e300,
  '',
  '1e3',
  '0x10',
  'x"y',
  ' 7',
  null,
  {},
  [1],
  '9'.repeat(400),
]
const BAD_TIMES: readonly unknown[] = [
  -1,
  0,
  1e12,
  1795874400000000,
  8.64e15,
  1e300,
  '',
  'soon',
  '1969-12-31T00:00:00Z',
  '9999-12-31T00:00:00Z',
  '+275760-09-13T00:00:01Z',
  '2026-02-30T00:00:00Z',
  {},
  null,
]
const MARKUP: readonly string[] = [
  '<b></i>',
  '<b>',
  '</b>',
  '<option><td>',
  '<a href="',
  '<![CDATA[',
  '<!--',
  '&',
  '&#x',
  '&lt;',
  '<details><summary>',
  '<table><tr><td>',
  '<pre><code>',
  '> ',
  '- ',
  '[a](',
  '![](',
  '**',
  '`',
  '[quote="a"]',
  '<blockquote>',
  '<p/><br/>',
  '\u202e',
  '\ufdfa',
  'a\u0301',
  '\u0316\u0301',
  '<a href="http://\u0316\u0301',
  '| a ',
  '[[',
  '\\',
  '<svg><style>',
  '<ul><li>',
  '#'.repeat(7),
  '\n\n1. ',
  'http://a.b/?',
]
const TEXT_FIELDS = /^(?:raw|cooked|body|content|text|selftext|selftext_html|body_html|excerpt)$/
const NAME_FIELDS = /^(?:title|name|topic_title|topic_slug|slug|username|by|author|subreddit)$/
const ID_FIELDS =
  /(?:^|_)ids?$|^(?:after|next_page|kids|parent|path|items|post_number|version|parent_id)$/
const TIME_FIELDS = /time|created|published|updated|edited|(?:_at|date|until)$/
const WAITS: readonly string[] = [
  '0',
  '1',
  '2',
  '-1',
  '1.5',
  '3, 3',
  '1, 2',
  'soon',
  '',
  ' 2 ',
  '0x10',
  '1e1',
  '+2',
  '٣',
  'Fri, 31 Dec 1999 23:59:59 GMT',
  'Fri, 31-Dec-99 23:59:59 GMT',
  'NaN',
]
/** Each ends in a pause of many minutes. */
const LONG_WAITS: readonly string[] = [
  '99999999999',
  '9'.repeat(400),
  'Fri, 31 Dec 9999 23:59:59 GMT',
]
/** Share of the waits that are long: after one, nothing else of a site is tried for as long. */
const LONG_SHARE = 0.002
const STATUSES: readonly number[] = [
  201, 202, 204, 205, 206, 226, 300, 304, 400, 401, 402, 403, 404, 405, 406, 408, 409, 410, 413,
  418, 421, 425, 429, 431, 451, 499, 500, 501, 502, 503, 504, 520, 522, 599, 999,
]
const PAGE = '<!DOCTYPE html><html><title>Sorry</title><p>Down for maintenance'

const MIB = 1024 * 1024
const bomb = once(() => gzipSync(Buffer.alloc(300 * MIB)))

/** Objects and lists of a value with the names that lead to their parts. Never recurses. */
function placesOf(root: unknown): [object, string, unknown][] {
  const found: [object, string, unknown][] = []
  const waiting = [root]
  while (waiting.length > 0) {
    const at = waiting.pop()
    if (typeof at !== 'object' || at === null) continue
    for (const [name, value] of Object.entries(at)) {
      found.push([at, name, value])
      waiting.push(value)
    }
  }
  return found
}

/** Changes the JSON of an answer. */
const inJson =
  (change: (value: unknown, given: Given) => unknown) =>
  (answer: Answer, given: Given): Answer => {
    let value: unknown
    try {
      value = JSON.parse(answer.body.toString())
    } catch {
      return answer
    }
    return withBody(answer, JSON.stringify(change(value, given)) ?? 'null')
  }

function withBody(answer: Answer, body: string | Buffer): Answer {
  return { ...answer, body: Buffer.from(body) }
}

const withHeaders = (answer: Answer, ...headers: [string, string][]): Answer => ({
  ...answer,
  headers: [
    ...answer.headers.filter(([name]) => !headers.some(([other]) => other === name)),
    ...headers,
  ],
})

/** Replaces some of the parts whose names fit. */
const replacing = (names: RegExp, valueOf: (random: SeededRandom) => unknown) =>
  inJson((value, { random }) => {
    const fitting = placesOf(value).filter(([, name]) => names.test(name))
    if (fitting.length === 0) return random.odds(0.3) ? valueOf(random) : value
    const share = random.pick([0, 0.1, 0.5, 1])
    const one = random.whole(0, fitting.length - 1)
    for (const [n, [at, name]] of fitting.entries())
      if (n === one || random.odds(share)) Reflect.set(at, name, valueOf(random))
    return value
  })

function markupOf(random: SeededRandom): string {
  const parts = Array.from({ length: random.whole(1, 3) }, () => random.pick(MARKUP))
  const unit = parts.join(random.pick(['', 'x', '\n', ' ']))
  const bytes = random.pick([100, 5000, 17_000, 60_000, 200_000])
  return unit.repeat(Math.ceil(bytes / unit.length))
}

function resized(value: unknown, { random }: Given): unknown {
  const lists = placesOf(value).filter(([, , it]) => Array.isArray(it) && it.length > 0)
  const way = random.whole(0, 5)
  if (way === 0) {
    const title = 'x'.repeat(150_000)
    for (const [at, name, it] of placesOf(value))
      if (typeof it === 'string' && NAME_FIELDS.test(name)) Reflect.set(at, name, title)
    return value
  }
  if (way === 1 && lists.length > 0) {
    const [at, name, list] = random.pick(lists)
    const rows = list as unknown[]
    const times = Math.min(200, Math.ceil((4 * MIB) / JSON.stringify(rows).length))
    Reflect.set(at, name, Array.from({ length: times }, () => rows).flat())
    return value
  }
  if (way === 2) {
    let deep: unknown = 1
    for (let n = 0; n < 2000; n++) deep = random.odds(0.5) ? [deep] : { replies: deep }
    const places = placesOf(value)
    if (places.length === 0) return deep
    const [at, name] = random.pick(places)
    Reflect.set(at, name, deep)
    return value
  }
  if (way === 3) {
    const places = placesOf(value).filter(([, , it]) => typeof it === 'object' && it !== null)
    const at = places.length === 0 ? value : random.pick(places)[2]
    if (typeof at === 'object' && at !== null && !Array.isArray(at))
      for (let n = 0; n < 20_000; n++) Reflect.set(at, `k${n}`, n)
    return value
  }
  if (way === 4 && lists.length > 0) {
    const [at, name] = random.pick(lists)
    Reflect.set(
      at,
      name,
      Array.from({ length: 30_000 }, (_, n) => n),
    )
    return value
  }
  return { padding: 'x'.repeat(random.pick([7, 9, 20]) * MIB), value }
}

const iso = (ms: number) => new Date(ms).toUTCString()

/** Every kind of mutation, by the name of its phase. */
const MUTATIONS: Readonly<Record<string, Mutation>> = {
  values: {
    lies: true,
    change: inJson((value, { random }) => {
      let changed = value
      for (let n = random.whole(1, 4); n > 0; n--)
        changed = mutate(changed, random.fraction(), random.pick(BAD_VALUES))
      return changed
    }),
  },
  ids: { lies: true, change: replacing(ID_FIELDS, (random) => random.pick(BAD_IDS)) },
  times: { lies: true, change: replacing(TIME_FIELDS, (random) => random.pick(BAD_TIMES)) },
  markup: { lies: true, change: replacing(TEXT_FIELDS, markupOf) },
  names: {
    lies: true,
    change: replacing(NAME_FIELDS, (random) => markupOf(random).slice(0, 5000)),
  },
  sizes: { lies: true, change: inJson(resized) },
  shapes: {
    lies: true,
    change(answer, { random, recorded }) {
      const bodies = [
        () => (recorded.length === 0 ? '[]' : random.pick(recorded)),
        () => random.pick(['[]', '{}', 'null', '7', '"x"', 'true', '', ' ', '[[]]', '{"a":[]}']),
        () => PAGE,
        () => `\ufeff${answer.body.toString()}`,
        () => `${answer.body.toString()}${answer.body.toString()}`,
        () => Buffer.from(answer.body.toString(), 'utf16le'),
        () => `while(1);${answer.body.toString()}`,
        () => `${'['.repeat(200_000)}${']'.repeat(200_000)}`,
      ]
      return withBody(answer, random.pick(bodies)())
    },
  },
  headers: {
    lies: false,
    change(answer, { random }) {
      const now = Date.now()
      const lines: [string, string][] = [
        ['age', random.pick(['-999999999', '1e99', '9'.repeat(400), 'x', '86400'])],
        [
          'date',
          random.pick([
            iso(now + 1e10),
            iso(now - 1e10),
            'Fri, 31 Dec 9999 23:59:59 GMT',
            '',
            'x'.repeat(5000),
          ]),
        ],
        ['cache-control', random.pick(['public, max-age=99999999', 'max-age=-1', 'max-age=1e9'])],
        ['content-type', random.pick(['text/html', 'text/plain', '', 'x'.repeat(3000), 'a/b; c'])],
        ['x-ratelimit-remaining', random.pick(['-1', '0', '1e9', 'x', '0.0', '9'.repeat(400)])],
        [
          'x-ratelimit-reset',
          random.odds(LONG_SHARE)
            ? random.pick(['1e9', '9'.repeat(400)])
            : random.pick(['-1', '0', 'x', '2', '1.5']),
        ],
        ['x-ratelimit-limit', random.pick(['-1', '0', '1e9', 'x', '0.5'])],
        ['x-ratelimit-used', random.pick(['-1', '0', '1e9', 'x'])],
        [
          'set-cookie',
          random.pick([
            'a=b',
            'reddit_session=deleted; path=/; max-age=0',
            `a=${'x'.repeat(5000)}`,
          ]),
        ],
        ['last-modified', 'Fri, 31 Dec 9999 23:59:59 GMT'],
        ['vary', '*'],
        ['link', `<${'x'.repeat(2000)}>; rel=next`],
        ['x-\u00fc', 'b'],
        ['x-raw', '\xff\xfe\x01'],
      ]
      const count = random.whole(1, 4)
      const taken = Array.from({ length: count }, () => random.pick(lines))
      if (random.odds(0.1))
        taken.push(
          ...Array.from({ length: 200 }, (_, n): [string, string] => [`x-${n}`, 'y'.repeat(50)]),
        )
      return withHeaders(answer, ...taken)
    },
  },
  codings: {
    lies: false,
    change(answer, { random }) {
      const { body } = answer
      const forms: (() => [Buffer, string])[] = [
        () => [body, random.pick(['gzip', 'br', 'deflate', 'zstd', 'x', 'gzip, gzip'])],
        () => [gzipSync(body), random.pick(['x-gzip', 'GZIP', 'gzip', ', gzip', 'identity, gzip'])],
        () => [deflateRawSync(body), 'deflate'],
        () => [deflateSync(body), 'deflate'],
        () => [brotliCompressSync(body), 'br'],
        () => [gzipSync(gzipSync(body)), 'gzip, gzip'],
        () => [gzipSync(deflateSync(body)), 'deflate, gzip'],
        () => [body, random.pick(['', ',', 'identity', 'none'])],
        () => [gzipSync(body).subarray(0, -random.whole(1, 12)), 'gzip'],
        () => [Buffer.concat([gzipSync(body), Buffer.from('rest')]), 'gzip'],
        () => [random.odds(0.05) ? bomb() : gzipSync(Buffer.alloc(MIB)), 'gzip'],
        () => [body, 'gzip, '.repeat(200)],
        () => [body, 'aws-chunked'],
      ]
      const [packed, coding] = random.pick(forms)()
      return withHeaders({ ...answer, body: packed }, ['content-encoding', coding])
    },
  },
  cuts: {
    lies: false,
    change(answer, { random }) {
      const { body } = answer
      const raw = (text: string) => ({ ...answer, raw: Buffer.from(text, 'latin1') })
      const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n'
      const ways: (() => Answer)[] = [
        () => ({ ...answer, cut_at: random.whole(0, body.length) }),
        () => ({ ...answer, cut_at: Math.max(0, body.length - 1) }),
        () => ({ ...answer, drip_ms: random.pick([1, 20, 500]) }),
        () => ({ ...answer, delay_ms: random.pick([100, 2000, 20_000]) }),
        () => raw(''),
        () => raw('HTTP/1.1 200'),
        () => raw('garbage\r\n\r\n'),
        () => raw(`HTTP/0.9 200 OK\r\n\r\n${body.toString('latin1')}`),
        () => raw(`${head}content-length: -5\r\n\r\n[]`),
        () => raw(`${head}content-length: 3\r\ncontent-length: 9\r\n\r\n[]     `),
        () => raw(`${head}content-length: 99999999999\r\n\r\n[`),
        () => raw(`${head}transfer-encoding: chunked\r\n\r\nZZ\r\n[]\r\n0\r\n\r\n`),
        () => raw(`${head}transfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n[`),
        () => raw(`${head}transfer-encoding: chunked\r\n\r\n2\r\n[]\r\n`),
        () =>
          raw(`${'HTTP/1.1 100 Continue\r\n\r\n'.repeat(50)}${head}content-length: 2\r\n\r\n[]`),
        () => raw(`HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n`),
        () => raw(`${head}x: ${'y'.repeat(200_000)}\r\n\r\n`),
        () => raw(`${head}no colon here\r\n\r\n[]`),
        () =>
          raw(`${head}content-length: 2\r\n\r\n[]HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}`),
      ]
      return random.pick(ways)()
    },
  },
  waits: {
    lies: false,
    change(answer, { random }) {
      const body = random.pick([
        PAGE,
        '{"error":"rate_limit_error"}',
        '{"error":"too_many_requests"}',
        '{"errors":["slow"],"error_type":"rate_limit","extras":{"wait_seconds":1.5}}',
        '{"message":"Too Many Requests","error":429}',
        '',
      ])
      const line = random.odds(LONG_SHARE) ? random.pick(LONG_WAITS) : random.pick(WAITS)
      const limited = { ...withBody(answer, body), status: random.pick([429, 503, 403, 400]) }
      return withHeaders(limited, ['retry-after', line])
    },
  },
  validators: {
    lies: true,
    change(answer, { random }) {
      const etag = random.pick(['"1"', 'W/"1"', '', '"', '*', `"${'x'.repeat(8000)}"`, '"a", "b"'])
      const kept = withHeaders(answer, ['etag', etag])
      const ways = [
        () => kept,
        () => ({ ...kept, status: 304, body: Buffer.alloc(0) }),
        () => withBody(kept, random.pick(['', '[]', '{', PAGE])),
        () => ({ ...kept, status: 412 }),
      ]
      return random.pick(ways)()
    },
  },
  redirects: {
    lies: false,
    change(answer, { random, path, own_url }) {
      const location = random.pick([
        path,
        `${own_url}${path}`,
        `${own_url}${path}${path.includes('?') ? '&' : '?'}r=1`,
        'http://169.254.169.254/latest/meta-data/',
        'http://127.0.0.1:1/',
        'file:///etc/passwd',
        'javascript:alert(1)',
        '//localhost/',
        '/login',
        '?',
        '#',
        '',
        'http://[::1',
        'x'.repeat(20_000),
      ])
      const moved = { ...answer, status: random.pick([301, 302, 303, 307, 308, 300, 305]) }
      return withHeaders(withBody(moved, ''), ['location', location])
    },
  },
  statuses: {
    lies: true,
    change(answer, { random }) {
      const status = random.pick(STATUSES)
      const body = random.pick([
        answer.body,
        PAGE,
        '',
        '{"error":"not_found"}',
        '{"error":"unknown"}',
      ])
      return { ...withBody(answer, body), status }
    },
  },
}

/** Names of the kinds, in the order of their phases. */
export const MUTATION_KINDS: readonly string[] = [...Object.keys(MUTATIONS), 'mixed']

/** Share of the answers of a hostile phase that are mutated. */
const SHARE = 0.6

/**
 * The answer of a hostile phase; null: the honest one. `kind` is the mutation that was chosen; `lies`: what the honest answer
 * shows may be hidden.
 */
export function mutated(
  phase: string,
  answer: Answer,
  given: Given,
): { answer: Answer; kind: string; lies: boolean } | null {
  const { random } = given
  if (!random.odds(SHARE)) return null
  const kind = phase === 'mixed' ? random.pick(Object.keys(MUTATIONS)) : phase
  const mutation = MUTATIONS[kind]
  if (mutation === undefined) return null
  return { answer: mutation.change(answer, given), kind, lies: mutation.lies }
}

const RECORDED_MAX = 300_000

/** Recorded answers of a kind of source, as JSON texts; none if no folder is given. */
export function recordedAnswers(kind: string): string[] {
  const sources = process.env['FORUMD_SOURCES']
  const recordings = process.env['FORUMD_RECORDINGS']
  const folder =
    kind === 'reddit' ? recordings && `${recordings}/raw` : sources && `${sources}/${kind}`
  if (folder === undefined || folder === '') return []
  const names = readdirSync(folder, { recursive: true }).map(String).toSorted()
  const texts = names
    .filter((name) => name.endsWith('.json') && !name.endsWith('.meta.json'))
    .map((name) => readFileSync(`${folder}/${name}`, 'utf8'))
  const lines = names
    .filter((name) => /^real.*\.jsonl$/.test(name))
    .flatMap((name) => readFileSync(`${folder}/${name}`, 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line): { body: unknown } => JSON.parse(line))
    .map(({ body }) => (typeof body === 'string' ? body : JSON.stringify(body)))
  return [...texts, ...lines].filter((text) => text.length < RECORDED_MAX && /^\s*[[{]/.test(text))
}
