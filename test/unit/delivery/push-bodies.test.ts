import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import type { DeliveryMessage, DisplayItem } from '../../../src/core/delivery/message.ts'
import { kindOf } from '../../../src/delivery/kinds.ts'
import { toAttempt } from '../../../src/delivery/send.ts'
import { kindRequest } from '../../support/kind-request.ts'

const URLS = {
  ntfy: 'https://ntfy.example/base/topic',
  telegram: 'https://api.telegram.org/bot***/sendMessage?chat_id=-1001&message_thread_id=9',
  gotify: 'https://gotify.example/message',
  matrix: 'https://m.example/_matrix/client/v3/rooms/!abc%3Aexample.com/send/m.room.message',
  mattermost: 'https://chat.example/hooks/abc',
}
type PushKind = keyof typeof URLS
const KINDS = Object.keys(URLS) as PushKind[]

const item = (more: Partial<DisplayItem> = {}): DisplayItem => ({
  kind: 'post',
  title: 'A quiet grinder',
  url: 'https://forum.example/c/1',
  author: 'ann',
  subforum: 'coffee',
  text: 'It wakes the house.\n\nWhat else is there?',
  image_url: null,
  created: null,
  matched_terms: ['grinder'],
  sentiment: 'neutral',
  intent: 'question',
  ...more,
})

function requestOf(kind: PushKind, items: DisplayItem[], test_delivery = false) {
  const message: DeliveryMessage = {
    delivery_id: 'dlv_1',
    monitor_id: 'mon_1',
    items,
    heading: items.length > 1 ? `${items.length} new matches` : null,
    period: null,
    test: test_delivery,
  }
  const credentials = { username: null, token: '12:tok' }
  return kindRequest(kind, message, URLS[kind], credentials)
}

test('each service gets its own request', async () => {
  const [ntfy, telegram, gotify, matrix, mattermost] = await Promise.all(
    KINDS.map((kind) => requestOf(kind, [item()])),
  )
  expect(ntfy).toEqual({
    url: 'https://ntfy.example/base/',
    headers: { authorization: 'Bearer 12:tok' },
    body: {
      topic: 'topic',
      title: 'A quiet grinder',
      message: `It wakes the house. What else is there?
in coffee by ann
matched grinder · neutral · question`,
      sequence_id: 'dlv_1',
      click: 'https://forum.example/c/1',
    },
  })
  expect(telegram).toEqual({
    url: 'https://api.telegram.org/bot12:tok/sendMessage',
    body: {
      chat_id: '-1001',
      message_thread_id: 9,
      text: `<b><a href="https://forum.example/c/1">A quiet grinder</a></b>
in coffee by ann
It wakes the house. What else is there?
<i>matched grinder · neutral · question</i>`,
      parse_mode: 'HTML',
      link_preview_options: { is_disabled: true },
    },
  })
  expect(gotify?.headers).toEqual({ 'x-gotify-key': '12:tok' })
  expect(gotify?.body).toMatchObject({
    title: 'A quiet grinder',
    message: expect.stringMatching(
      /^It wakes the house\. What else is there\?\nin coffee by ann\n/,
    ),
    extras: { 'client::notification': { click: { url: 'https://forum.example/c/1' } } },
  })
  expect(mattermost?.body).toEqual({
    text: `**[A quiet grinder](https://forum.example/c/1)**
in coffee by ann
It wakes the house. What else is there?
_matched grinder · neutral · question_`,
  })
  expect(matrix).toMatchObject({
    url: `${URLS.matrix}/dlv_1`,
    method: 'PUT',
    headers: { authorization: 'Bearer 12:tok' },
    body: {
      msgtype: 'm.text',
      format: 'org.matrix.custom.html',
      formatted_body: expect.stringContaining('</a></b><br>in coffee by ann<br>'),
      'm.mentions': {},
    },
  })
})

test.each(KINDS)('%s marks a test, and counts the items of a bundle', async (kind) => {
  const of_test = JSON.stringify((await requestOf(kind, [item()], true)).body)
  expect(of_test).toContain('Test delivery')
  const bundle = await requestOf(
    kind,
    Array.from({ length: 25 }, (_, n) => item({ title: `number ${n}.` })),
  )
  const all = JSON.stringify(bundle.body)
  expect(all).toContain('25 new matches')
  for (const n of [0, 12, 24]) expect(all).toContain(`number ${n}.`)
})

/** Texts of every width, with all that markup could mistake for its own. */
const hostile = fc.array(
  fc.oneof(
    fc.constantFrom(
      '<b>',
      '</a>',
      '&lt;',
      '&',
      '"',
      "'",
      '😀',
      '漢',
      '\n',
      '\u202e',
      ' ',
      '`*_[',
      '@room',
    ),
    fc.string({ unit: 'binary', maxLength: 30 }),
    fc.constant('word '.repeat(100)),
  ),
  { maxLength: 40 },
)
const items = fc.array(
  fc
    .record({
      title: hostile,
      text: hostile,
      author: hostile,
      path: fc.webPath(),
      long: fc.boolean(),
    })
    .map(({ title, text, author, path, long }) =>
      item({
        title: title.join(''),
        text: text.join(''),
        author: author.join(''),
        url: `https://forum.example/${path}?a=1&b=${long ? 'x'.repeat(700) : '2'}`,
      }),
    ),
  { minLength: 1, maxLength: 60 },
)

const TAGS = /<\/?(?:b|i|a|br)(?: href="[^"<>]*")?>/g

test('no text of a post exceeds a limit or opens markup', async () => {
  await fc.assert(
    fc.asyncProperty(items, async (crowd) => {
      const made = await Promise.all(KINDS.map((kind) => requestOf(kind, crowd)))
      const [ntfy, telegram, gotify, matrix, mattermost] = made.map(({ body }) => body)
      expect(mattermost?.['text'].length).toBeLessThanOrEqual(4500)
      expect(mattermost?.['text']).not.toMatch(/@\w|<[^\u200b]/)
      expect(Buffer.byteLength(ntfy?.['message'])).toBeLessThanOrEqual(4096)
      expect(JSON.stringify(ntfy).length).toBeLessThanOrEqual(8192)
      expect(telegram?.['text'].length).toBeLessThanOrEqual(4096)
      expect(gotify?.['message'].length).toBeLessThanOrEqual(8000)
      expect(Buffer.byteLength(JSON.stringify(matrix))).toBeLessThanOrEqual(60_000)
      for (const html of [telegram?.['text'], matrix?.['formatted_body']]) {
        const rest: string = html.replaceAll(TAGS, '')
        expect(rest).not.toMatch(/[<>"]/)
        expect(rest.replaceAll(/&(?:amp|lt|gt|quot);/g, '')).not.toContain('&')
        for (const tag of ['b', 'i', 'a'])
          expect(html.match(new RegExp(`<${tag}[ >]`, 'g'))?.length ?? 0).toBe(
            html.match(new RegExp(`</${tag}>`, 'g'))?.length ?? 0,
          )
      }
      // The service would refuse an empty text.
      for (const [body, field] of [
        [ntfy, 'message'],
        [telegram, 'text'],
        [gotify, 'message'],
        [matrix, 'body'],
        [mattermost, 'text'],
      ] as const)
        expect(body?.[field].trim()).not.toBe('')
    }),
    { numRuns: 60 },
  )
})

const answered = (status: number, body: object | string, headers = {}) => ({
  kind: 'answered' as const,
  status,
  headers: new Headers(headers),
  body: new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body)),
})

test.each<[PushKind, object]>([
  ['ntfy', { id: 'hwQ2', event: 'message' }],
  ['telegram', { ok: true, result: { message_id: 1 } }],
  ['gotify', { id: 25, appid: 5 }],
  ['matrix', { event_id: '$a:b' }],
  ['mattermost', { success: true }],
])('%s confirms with its own body', (kind, body) => {
  expect(toAttempt(kindOf(kind), answered(200, body), 0)).toMatchObject({ accepted: true })
  for (const other of ['<html>sign in</html>', '{}', '[]', 'null', ''])
    expect(toAttempt(kindOf(kind), answered(200, other), 0)).toMatchObject({ accepted: false })
  expect(toAttempt(kindOf(kind), answered(500, body), 0)).toMatchObject({ accepted: false })
})

test.each<[string, PushKind, object, object, number | null]>([
  ['Telegram in its body', 'telegram', { ok: false, parameters: { retry_after: 34 } }, {}, 34],
  ['Matrix in its body', 'matrix', { errcode: 'M_LIMIT_EXCEEDED', retry_after_ms: 2100 }, {}, 3],
  ['a header', 'ntfy', { code: 42901 }, { 'retry-after': '7' }, 7],
  ['nothing', 'gotify', { error: 'x' }, {}, null],
  ['nonsense', 'telegram', { parameters: { retry_after: 'soon' } }, { 'retry-after': '8' }, 8],
])('%s names the delay of a 429', (_what, kind, body, headers, retry_after_s) =>
  expect(toAttempt(kindOf(kind), answered(429, body, headers), 0)).toMatchObject({ retry_after_s }),
)

test('a word with an @ is no mention in a message to Telegram', async () => {
  const mentioning = item({ title: '@everyone look', author: '@alice', text: 'ask @bob' })
  const { text } = (await requestOf('telegram', [mentioning])).body
  expect(text).not.toMatch(/@\w/)
  expect(text).toContain('@\u200beveryone')
})
