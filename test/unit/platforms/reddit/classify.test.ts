import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import * as z from 'zod'

import type { Fault } from '../../../../src/core/base/result.ts'
import {
  BACKOFF_FIRST_S,
  classify,
  type RequestInfo,
} from '../../../../src/platforms/reddit/response.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')
const JSON_TYPE = { 'content-type': 'application/json; charset=UTF-8' }
const HTML_TYPE = { 'content-type': 'text/html; charset=UTF-8' }
const PLAIN_TYPE = { 'content-type': 'text/plain' }

function outcomeOf(
  status: number,
  headers: Record<string, string>,
  body: string,
  request: Omit<RequestInfo, 'now'> = {},
) {
  return classify({ status, headers: new Headers(headers), body }, { now: NOW, ...request })
}

function faultOf(...answer: Parameters<typeof outcomeOf>): Fault | 'believed' {
  const outcome = outcomeOf(...answer)
  return outcome.ok ? 'believed' : outcome.fault
}

const page = (title: string, content = '') =>
  `<!doctype html><html><head><title>${title}</title></head><body>${content}</body></html>`

const BLOCKED = page('Blocked', `<h1>whoa there, pardner!</h1> network policy ${'x'.repeat(9_000)}`)
const CHALLENGE = page(
  'Example',
  'Please wait for verification <form action="/login"><input name="js_challenge" type="password"></form>',
)
const LOGIN = page('Welcome to Reddit', '<form action="/login" method="post"></form>')
const OLD_LOGIN = page('forum', '<form action="/post/login"><input type="password"></form>')
const throttled = (retry_after_s: number): Fault => ({ kind: 'throttled', retry_after_s })
const BACKOFF: Fault = { kind: 'throttled', retry_after_s: BACKOFF_FIRST_S, estimated: true }
const USED_UP = { 'x-ratelimit-remaining': '0.0' }
const BUDGET_LEFT = { 'x-ratelimit-remaining': '5000.0' }
const unavailable = (status: number, retry_after_s: number | null = null): Fault => ({
  kind: 'unavailable',
  status,
  retry_after_s,
})
const forbidden = (reason: Extract<Fault, { kind: 'forbidden' }>['reason']): Fault => ({
  kind: 'forbidden',
  reason,
})
const notFound = (reason: Extract<Fault, { kind: 'not_found' }>['reason']): Fault => ({
  kind: 'not_found',
  reason,
})
const rejected = (status: number): Fault => ({ kind: 'rejected', status })
const unreadable = (path: string): Fault => ({ kind: 'unreadable', path })

type Case = [row: string, ...Answer, Fault]

// Row numbers are those of the native protocol's table of refusals. Row 1 has no answer to
// classify.
type Answer = [status: number, headers: Record<string, string>, body: string]
const json = (status: number, body: string, more: Record<string, string> = {}): Answer => [
  status,
  { ...JSON_TYPE, ...more },
  body,
]
/** JSON of an error, as the platform has it. */
const error = (status: number, reason?: string) =>
  JSON.stringify({ reason, message: 'x', error: status })
/** A form's answer with these errors. */
const form = (...errors: unknown[]): Answer => json(200, JSON.stringify({ json: { errors } }))
/** A refusal of the platform's limit of writes. */
const ratelimit = (sentence: string): Answer => form(['RATELIMIT', sentence, 'ratelimit'])
const html = (status: number, body: string, more: Record<string, string> = {}): Answer => [
  status,
  { ...HTML_TYPE, ...more },
  body,
]
const usedUp = (reset_s: number) => ({ ...USED_UP, 'x-ratelimit-reset': String(reset_s) })
const withBudget = (reset_s: number) => ({ ...BUDGET_LEFT, 'x-ratelimit-reset': String(reset_s) })
const to = (location: string): Answer => [302, { location }, '']
const BLOCK: Fault = { kind: 'blocked' }
const LOGGED_OUT: Fault = { kind: 'login_required' }

const CASES: Case[] = [
  ['2: JSON with Retry-After', ...json(429, '{"error":429}', { 'retry-after': '7' }), throttled(7)],
  ['2: HTML with Retry-After', ...html(429, page('x'), { 'retry-after': '2' }), throttled(2)],
  ['2: the reset of a used-up budget', ...json(429, '{}', usedUp(421)), throttled(421)],
  ['2: budget remains', ...json(429, '{}', withBudget(421)), BACKOFF],
  ['2: a reset alone', ...json(429, '{}', { 'x-ratelimit-reset': '421' }), BACKOFF],
  [
    '2: Retry-After wins',
    429,
    { 'retry-after': '3', 'x-ratelimit-reset': '421' },
    '',
    throttled(3),
  ],
  [
    '2: a date by a clock an hour ahead of ours',
    429,
    { date: 'Thu, 01 Jan 2026 01:00:00 GMT', 'retry-after': 'Thu, 01 Jan 2026 01:00:20 GMT' },
    '',
    throttled(20),
  ],
  ['2: a date', 429, { 'retry-after': 'Thu, 01 Jan 2026 00:01:30 GMT' }, '', throttled(90)],
  ['2: no time stated', 429, HTML_TYPE, page('Too Many Requests'), BACKOFF],
  ['2: an invalid time', 429, { 'retry-after': 'soon', 'x-ratelimit-reset': '-4' }, '', BACKOFF],
  ['2: a wait of years', 429, { 'retry-after': '99999999' }, '', throttled(780)],
  [
    '3: 403 with Retry-After, no JSON',
    ...html(403, BLOCKED, { 'retry-after': '30' }),
    throttled(30),
  ],
  [
    '3: 503 with Retry-After, no JSON',
    ...html(503, page('busy'), { 'retry-after': '60' }),
    throttled(60),
  ],
  ['4: an edge block', 403, HTML_TYPE, BLOCKED, BLOCK],
  ['4: an empty 403', 403, PLAIN_TYPE, '', BLOCK],
  ['4: JSON in name only', ...json(403, '<html>no</html>'), BLOCK],
  [
    '4: a human check that says Retry-After: 0',
    ...html(403, page('Prove your humanity'), { 'retry-after': '0' }),
    BLOCK,
  ],
  [
    '4: a human check that says Retry-After: 9',
    ...html(403, page('Prove your humanity'), { 'retry-after': '9' }),
    BLOCK,
  ],
  ['5: a challenge with a login form', 200, HTML_TYPE, CHALLENGE, BLOCK],
  ['5: a human check', 200, HTML_TYPE, page('x', 'Prove your humanity'), BLOCK],
  ['5: a bare shell', 200, HTML_TYPE, page('Example', '<shreddit-app></shreddit-app>'), BLOCK],
  ['5: HTML with a JSON content type', 200, JSON_TYPE, page('Example'), BLOCK],
  ['6: the login page', 200, HTML_TYPE, LOGIN, LOGGED_OUT],
  ['6: the old login page', 200, HTML_TYPE, OLD_LOGIN, LOGGED_OUT],
  [
    '6: a redirect to it',
    302,
    { ...HTML_TYPE, location: 'https://forum.example/login/?dest=%2F' },
    '',
    LOGGED_OUT,
  ],
  ['6: a relative one', 301, { location: '/login' }, '', LOGGED_OUT],
  ["6: a subforum's login page", ...to('/r/cats/login?dest=x'), LOGGED_OUT],
  [
    '6: the login page of the subforum list, as recorded',
    302,
    { ...HTML_TYPE, location: 'http://forum.example/subreddits/login.json?dest=http%3A%2F%2Fx' },
    '302 Found',
    LOGGED_OUT,
  ],
  ["6: an account's login page", ...to('/account/login?dest=x'), LOGGED_OUT],
  [
    '7: no such subforum',
    302,
    { location: 'https://forum.example/subreddits/search?q=nothing' },
    page('302 Found'),
    notFound('absent'),
  ],
  ['7: with a suffix', ...to('/subreddits/search.json?q=nothing'), notFound('absent')],
  ['8: adults only', ...to('/over18?dest=x'), forbidden(null)],
  ['8: quarantine', ...to('/quarantine?dest=x'), forbidden('quarantined')],
  ['8: quarantine within a subforum', ...to('/r/place/quarantine'), forbidden('quarantined')],
  ['8: gated', ...to('/gated?dest=x'), forbidden('gated')],
  ['8: verify', ...to('/verify'), forbidden(null)],
  ['9: a redirect that was not followed', ...to('/r/login/new.json'), unreadable('location')],
  ['9: without a Location', 302, {}, '', unreadable('location')],
  ['9: a redirect with an invalid address', ...to('http://['), unreadable('location')],
  ['10: private', ...json(403, error(403, 'private')), forbidden('private')],
  ['10: gold_only', ...json(403, error(403, 'gold_only')), forbidden('gold_only')],
  ['10: quarantined', ...json(403, error(403, 'quarantined')), forbidden('quarantined')],
  ['10: gated', ...json(403, error(403, 'gated')), forbidden('gated')],
  ['11: banned', ...json(404, error(404, 'banned')), notFound('banned')],
  ['11: banned, as one report has it', ...json(403, error(403, 'banned')), notFound('banned')],
  ['12: not yours', ...json(403, '{"message":"Forbidden","error":403}'), forbidden(null)],
  ['12: bare', ...json(403, '{"error":403}'), forbidden(null)],
  ['12: an unknown reason', ...json(403, '{"reason":"constructor"}'), forbidden(null)],
  [
    '12: an anonymous request',
    ...json(403, '{"explanation":"Please log in to do that.","reason":"USER_REQUIRED"}'),
    LOGGED_OUT,
  ],
  ['13: absent', ...json(404, '{"message":"Not Found","error":404}'), notFound('absent')],
  ['13: a bad name, as a page', 404, HTML_TYPE, page('page not found'), notFound('absent')],
  ['13: an unknown path', 404, {}, '', notFound(null)],
  ['13: gone', ...json(410, '{}'), notFound('absent')],
  ['14: JSON', ...json(401, '{"message":"Unauthorized","error":401}'), LOGGED_OUT],
  ['14: HTML', 401, HTML_TYPE, page('page not found'), LOGGED_OUT],
  ['15: 400', ...json(400, '{"message":"Bad Request","error":400}'), rejected(400)],
  ['15: 413', 413, HTML_TYPE, page('x'), rejected(413)],
  ['15: 414', 414, PLAIN_TYPE, 'Error: URI Too Long', rejected(414)],
  ['15: 415', ...json(415, '{"reason":"SPECIAL_ERRORS"}'), rejected(415)],
  ['no row: another of its family', ...json(422, '{"reason":"x"}'), unreadable('status')],
  ['no row: 409', ...json(409, '{"message":"Conflict","error":409}'), unreadable('status')],
  ['16: legal', ...json(451, ''), notFound('legal')],
  ['17: 500', ...json(500, '{"message":"Internal Server Error","error":500}'), unavailable(500)],
  ['17: 502', ...json(502, ''), unavailable(502)],
  [
    '17: 503 of the CDN',
    503,
    HTML_TYPE,
    page('x', 'Our CDN was unable to reach our servers'),
    unavailable(503),
  ],
  [
    '17: 503 JSON with Retry-After',
    ...json(503, '{"error":503}', { 'retry-after': '60' }),
    unavailable(503, 60),
  ],
  ['17: 504', 504, {}, '', unavailable(504)],
  ['17: 520', 520, {}, '', unavailable(520)],
  ['17: 522', 522, {}, '', unavailable(522)],
  ['17: 408', 408, {}, '', unavailable(408)],
  ['18: a 403 with a success status', ...json(200, error(403)), forbidden(null)],
  ['18: with a reason', ...json(200, error(403, 'private')), forbidden('private')],
  ['18: 404', ...json(200, '{"error":404}'), notFound('absent')],
  ['18: a 429 with its reset', ...json(200, error(429), usedUp(421)), throttled(421)],
  ['18: 429', ...json(200, error(429)), BACKOFF],
  ['18: 500', ...json(200, '{"message":"oops","error":500}'), unavailable(500)],
  [
    '19: an anonymous request',
    ...form(['USER_REQUIRED', 'Please log in to do that.', null]),
    LOGGED_OUT,
  ],
  [
    '19: RATELIMIT with a number',
    ...json(
      200,
      '{"json":{"ratelimit":448.727,"errors":[["RATELIMIT","try again in 7 minutes.","ratelimit"]]}}',
    ),
    throttled(449),
  ],
  ['19: RATELIMIT in minutes', ...ratelimit('try again in 7 minutes.'), throttled(420)],
  ['19: RATELIMIT in seconds', ...ratelimit('Take a break for 51 seconds.'), throttled(51)],
  [
    '19: RATELIMIT in milliseconds',
    ...ratelimit('Take a break for 51 milliseconds.'),
    throttled(1),
  ],
  ['19: RATELIMIT without a number', ...ratelimit('slow down'), throttled(60)],
  ['19: absent', ...form(['SUBREDDIT_NOEXIST', '…', 'sr']), notFound('absent')],
  ['19: an unknown code', ...form(['placeholder', '…', 'items']), unreadable('json.errors')],
  ['19: an error that is no list', ...form('x'), unreadable('json.errors')],
  ['21: an empty body', ...json(200, ''), BACKOFF],
  ['21: white space, and a used-up budget', ...json(200, ' \n', usedUp(12)), throttled(12)],
  ['21: an empty body while budget remains', ...json(200, '', withBudget(500)), BACKOFF],
  ['a truncated answer', ...json(200, '{"kind":"Listing","data":{"chil'), unavailable(200)],
  ['a complete but invalid answer', ...json(200, '{"kind":}'), unreadable('body')],
  ['plain text', 200, PLAIN_TYPE, 'pong', unreadable('body')],
]

test.each(CASES)('row %s', (_row, status, headers, body, fault) => {
  expect(faultOf(status, headers, body)).toEqual(fault)
})

test.each([
  ['an object', '{"kind":"Listing","data":{}}', { kind: 'Listing', data: {} }],
  ['row 20: a string', '"{}"', '{}'],
  ['row 20: an empty object', '{}', {}],
  ['an array', '[1]', [1]],
  ['a form without errors', '{"json":{"errors":[],"data":{}}}', { json: { errors: [], data: {} } }],
  [
    'an object with data and an error field of its own',
    '{"error":404,"data":1}',
    { error: 404, data: 1 },
  ],
  ['an error field that is not a status', '{"error":7}', { error: 7 }],
])('%s is accepted', (_what, body, value) => {
  expect(outcomeOf(200, JSON_TYPE, body)).toEqual({ ok: true, value })
})

test('an empty body with another success status is not a throttling', () => {
  expect(outcomeOf(204, JSON_TYPE, '')).toEqual({ ok: true, value: null })
})

describe("a user's listing", () => {
  const bare = '{"message":"Forbidden","error":403}'

  test('is forbidden as suspended without a reason', () => {
    expect(faultOf(403, JSON_TYPE, bare, { person: 'public' })).toEqual(forbidden('user_suspended'))
    expect(faultOf(200, JSON_TYPE, bare, { person: 'public' })).toEqual(forbidden('user_suspended'))
  })

  test('is forbidden with the stated reason', () => {
    const private_body = '{"reason":"private","message":"Forbidden","error":403}'

    expect(faultOf(403, JSON_TYPE, private_body, { person: 'public' })).toEqual(
      forbidden('private'),
    )
  })

  test('that is private is forbidden to other accounts, which says nothing about its owner', () => {
    expect(faultOf(403, JSON_TYPE, bare, { person: 'own' })).toEqual(forbidden(null))
  })

  test('that is absent is not found', () => {
    expect(faultOf(404, JSON_TYPE, '{"error":404}', { person: 'public' })).toEqual(
      notFound('absent'),
    )
  })
})

const deep = (levels: number) => `${'['.repeat(levels)}"]["${']'.repeat(levels)}`

const zeros = (count: number) => JSON.stringify(Array<number>(count).fill(0))

describe('any other answer', () => {
  test('can be 1,000 levels deep, and is unreadable beyond that', () => {
    expect(outcomeOf(200, JSON_TYPE, deep(1000)).ok).toBe(true)
    expect(outcomeOf(200, JSON_TYPE, deep(1001)).ok).toBe(false)
  })

  test('can hold 400,000 values, and is unreadable beyond that', () => {
    expect(outcomeOf(200, JSON_TYPE, zeros(399_999)).ok).toBe(true)
    expect(outcomeOf(200, JSON_TYPE, zeros(400_000)).ok).toBe(false)
  })
})

describe('a response passed through unchanged', () => {
  test('can be 512 levels deep', () => {
    expect(outcomeOf(200, JSON_TYPE, deep(512), { native: true }).ok).toBe(true)
  })

  test('is unreadable if it is deeper', () => {
    expect(faultOf(200, JSON_TYPE, deep(513), { native: true })).toEqual({
      kind: 'unreadable',
      path: 'body',
    })
  })

  test('can hold any number of brackets in its strings', () => {
    const text = JSON.stringify({ body: `\\"${'['.repeat(2_000)}\\`, more: '{"'.repeat(600) })
    expect(outcomeOf(200, JSON_TYPE, text, { native: true }).ok).toBe(true)
  })
})

const folder = process.env['FORUMD_RECORDINGS']
const Quote = z.object({ status: z.number(), body: z.string(), endpoint: z.string() })

if (folder === undefined) console.log('FORUMD_RECORDINGS is not set: quotations are skipped')

describe.skipIf(folder === undefined)('quoted refusals', () => {
  const lines = folder ? readFileSync(join(folder, 'quoted/errors.jsonl'), 'utf8').trim() : ''
  const quotes = lines.split('\n').flatMap((it) => (it ? [Quote.parse(JSON.parse(it))] : []))

  test('are all refusals, except an upload with its own format', () => {
    const believed = quotes
      .filter(({ status, body }) => outcomeOf(status, JSON_TYPE, body).ok)
      .map(({ endpoint }) => endpoint)

    expect(new Set(believed)).toEqual(new Set(['[/r/{subreddit}]/api/upload_sr_img']))
    expect(quotes.length).toBeGreaterThan(90)
  })

  test('from a private subforum are classified as private', () => {
    const private_quotes = quotes.filter(({ body }) => /"reason": ?"private"/.test(body))

    expect(private_quotes.map(({ status, body }) => faultOf(status, JSON_TYPE, body))).toEqual(
      private_quotes.map(() => forbidden('private')),
    )
    expect(private_quotes.length).toBeGreaterThan(0)
  })
})
