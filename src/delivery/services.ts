/** Requests to push services. Loaded with the first delivery to one of them. */
import * as z from 'zod'

import { once } from '../core/base/lazy.ts'
import { boundedWait, retryAfter } from '../core/base/wait.ts'
import type { DeliveryMessage, DisplayItem } from '../core/delivery/message.ts'
import { type Attempt, isSuccess } from '../core/delivery/retry.ts'
import type { Credentials, ServiceKind } from '../core/delivery/services.ts'
import type { TransportResponse } from '../net/transport.ts'
import { excerpt, oneLine, remarks, truncate } from './text.ts'

export type PushKind = Exclude<ServiceKind, 'mqtt'>

/** A request beside the headers that all deliveries have. */
type PushRequest = {
  url: string
  method: 'POST' | 'PUT'
  headers: Record<string, string>
  body: object
}

type Push = {
  message: DeliveryMessage
  /** Stored address, without credentials. */
  url: string
  credentials: Credentials | null
  /** The same for every attempt. */
  delivery_id: string
}

export function pushRequest(kind: PushKind, push: Push): PushRequest {
  return REQUESTS[kind](push)
}

const REQUESTS: Record<PushKind, (push: Push) => PushRequest> = {
  ntfy({ message, url, credentials, delivery_id }) {
    const [, server = '', topic = ''] = /^(.*\/)([^/]+)$/.exec(url) ?? []
    const click = message.items.length === 1 ? linkOf(message.items[0]) : null
    return {
      url: server,
      method: 'POST',
      headers: bearer(credentials),
      body: {
        topic,
        title: headline(message, NTFY_TITLE_MAX),
        message: fitBytes(NTFY_MESSAGE_BYTES, (max) => text(message, max, PLAIN)),
        // A later message of the same sequence replaces the earlier one, since version 2.16 of the server.
        sequence_id: delivery_id,
        ...(click !== null && click.length <= NTFY_CLICK_MAX && { click }),
      },
    }
  },
  telegram({ message, url, credentials }) {
    const address = new URL(url)
    const thread = address.searchParams.get('message_thread_id')
    const path = address.pathname.replace('/bot***/', `/bot${credentials?.token ?? ''}/`)
    return {
      url: `${address.origin}${path}`,
      method: 'POST',
      headers: {},
      body: {
        chat_id: address.searchParams.get('chat_id'),
        ...(thread !== null && { message_thread_id: Number(thread) }),
        text: text(message, TELEGRAM_MAX, TELEGRAM),
        parse_mode: 'HTML',
        link_preview_options: { is_disabled: true },
      },
    }
  },
  gotify({ message, url, credentials }) {
    const click = message.items.length === 1 ? linkOf(message.items[0]) : null
    return {
      url,
      method: 'POST',
      headers: { 'x-gotify-key': credentials?.token ?? '' },
      body: {
        title: headline(message, GOTIFY_TITLE_MAX),
        message: text(message, GOTIFY_MAX, PLAIN),
        ...(click !== null && { extras: { 'client::notification': { click: { url: click } } } }),
      },
    }
  },
  matrix({ message, url, credentials, delivery_id }) {
    return {
      // A transaction id that this account has used for this request returns the event of the first one.
      url: `${url}/${encodeURIComponent(delivery_id)}`,
      method: 'PUT',
      headers: bearer(credentials),
      body: {
        msgtype: 'm.text',
        body: text(message, MATRIX_BODY_MAX, PLAIN),
        format: 'org.matrix.custom.html',
        formatted_body: text(message, MATRIX_HTML_MAX, MATRIX),
        // No name in a title may notify anyone.
        'm.mentions': {},
      },
    }
  },
}

const bearer = (credentials: Credentials | null): Record<string, string> =>
  credentials === null ? {} : { authorization: `Bearer ${credentials.token}` }

// ntfy turns a message above 4,096 bytes into an attachment, and refuses JSON above twice that.
// @see https://docs.ntfy.sh/publish/#limitations
const NTFY_MESSAGE_BYTES = 3600
const NTFY_TITLE_MAX = 200
const NTFY_CLICK_MAX = 1000
// Telegram counts after its markup is parsed; the limit here includes it.
// @see https://core.telegram.org/bots/api#sendmessage
const TELEGRAM_MAX = 4096
// Gotify documents no limit; a phone shows no more.
const GOTIFY_TITLE_MAX = 200
const GOTIFY_MAX = 8000
// An event has at most 65,536 bytes; a character takes up to three, and a quotation mark two.
// @see https://spec.matrix.org/latest/client-server-api/#size-limits
const MATRIX_BODY_MAX = 5000
const MATRIX_HTML_MAX = 10_000

const ITEM_MIN = 120
const TITLE_MAX = 300
const LINE_MAX = 200
const EXCERPT_MAX = 600
const LINK_MAX = 800
const LEFT_OUT_MAX = 20
const SEPARATOR = '\n\n'

/** Markup of one service; limits apply after it. */
type Style = {
  escape: (character: string) => string
  title: (label: string, url: string | null) => string
  note: (label: string) => string
  line_break: string
}

const escapeHtml = (character: string): string => ESCAPES[character] ?? character
const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const attribute = (url: string): string => url.replace(/[&<>"]/g, escapeHtml)

const PLAIN: Style = {
  escape: (character) => character,
  title: (label, url) => (url === null ? label : `${label}\n${url}`),
  note: (label) => label,
  line_break: '\n',
}
const HTML: Style = {
  escape: escapeHtml,
  title: (label, url) =>
    url === null ? `<b>${label}</b>` : `<b><a href="${attribute(url)}">${label}</a></b>`,
  note: (label) => `<i>${label}</i>`,
  line_break: '\n',
}
/** Telegram makes mentions of such words itself, and notifies the members. */
const TELEGRAM: Style = {
  ...HTML,
  escape: (character) => (character === '@' ? '@\u200b' : HTML.escape(character)),
}
const MATRIX: Style = { ...HTML, line_break: '<br>' }

const linkOf = (item: DisplayItem | undefined): string | null => {
  const url = item?.url ?? null
  return url !== null && url.length <= LINK_MAX ? url : null
}

/** One line about a delivery, for services with a title of their own. */
function headline({ items, heading, test }: DeliveryMessage, max: number): string {
  const title = oneLine(items[0]?.title ?? '') || 'New match'
  const line = heading === null ? title : oneLine(heading)
  return truncate(test ? `Test delivery: ${line}` : line, max)
}

/** All items of a delivery in at most `max` characters; the last line counts those left out. */
function text(
  { items, heading, period, test }: DeliveryMessage,
  max: number,
  style: Style,
): string {
  const head = [test ? 'Test delivery' : '', oneLine(heading ?? ''), period ?? '']
  const first = head
    .filter(Boolean)
    .map((line) => style.note(truncate(line, TITLE_MAX, style.escape)))
  const room = max - first.join('\n').length - LEFT_OUT_MAX - SEPARATOR.length * 2
  const visible_items = items.slice(0, Math.max(1, Math.floor(room / ITEM_MIN)))
  const left_out = items.length - visible_items.length
  const budget = Math.floor(room / Math.max(1, visible_items.length)) - SEPARATOR.length * 4
  const parts = visible_items.map((item) => entry(item, budget, style))
  const last = left_out > 0 ? [`and ${left_out} more`] : []
  return [...first, ...parts, ...last].join(SEPARATOR).replaceAll('\n', style.line_break)
}

/** Title, place, text and reason of a match, in at most `budget` characters. */
function entry(item: DisplayItem, budget: number, style: Style): string {
  const line_max = Math.min(LINE_MAX, Math.floor(budget / 6))
  const url = linkOf(item)
  const linked = url !== null && attribute(url).length <= budget / 2 ? url : null
  // Around a title is the link and its markup.
  const label_max = Math.min(TITLE_MAX, Math.floor((budget - style.title('', linked).length) / 2))
  const title = truncate(oneLine(item.title) || 'untitled', Math.max(1, label_max), style.escape)
  const [place, person] = [oneLine(item.subforum), oneLine(item.author)]
  const byline = [place && `in ${place}`, person && `by ${person}`].filter(Boolean).join(' ')
  const note = truncate(remarks(item), line_max, style.escape)
  const lines = [style.title(title, linked), truncate(byline, line_max, style.escape)]
  const why = note && style.note(note)
  // A line break of HTML takes four characters.
  const breaks = style.line_break.length
  const taken = [...lines, why].reduce((sum, line) => sum + line.length + breaks, 0)
  const rest = Math.min(EXCERPT_MAX, budget - taken)
  const quote =
    rest > 1
      ? truncate(
          excerpt(item.text, item.matched_terms, rest).replace(/\n+/g, ' '),
          rest,
          style.escape,
        )
      : ''
  return [...lines, quote, why].filter((line) => line !== '').join('\n')
}

/** The longest text of `build` within so many bytes of UTF-8. */
function fitBytes(bytes: number, build: (max: number) => string): string {
  let max = bytes
  for (;;) {
    const built = build(max)
    const size = Buffer.byteLength(built)
    if (size <= bytes || max <= ITEM_MIN) return built
    max = Math.max(ITEM_MIN, Math.floor((max * bytes) / size) - 1)
  }
}

const shapes = once(() => ({
  ntfy: z.object({ id: z.string() }),
  telegram: z.object({ ok: z.literal(true) }),
  gotify: z.object({ id: z.number() }),
  matrix: z.object({ event_id: z.string() }),
  telegram_limit: z.object({ parameters: z.object({ retry_after: z.number().nonnegative() }) }),
  matrix_limit: z.object({ retry_after_ms: z.number().nonnegative() }),
}))

/** Interprets an answer: a 2xx counts with the body of the service only, not with a page of something in between. */
export function toPushAttempt(kind: PushKind, answer: TransportResponse, now: number): Attempt {
  if (answer.kind === 'failed') return answer
  const { status, headers } = answer
  const body = jsonOf(new TextDecoder().decode(answer.body))
  const accepted = isSuccess(status) && shapes()[kind].safeParse(body).success
  const in_body_s = status === 429 ? retryAfterIn(body) : null
  const retry_after_s = in_body_s ?? retryAfter(headers, now)
  return { kind: 'answered', status, accepted, retry_after_s }
}

/** Seconds to wait that the body of a 429 names, as Telegram and Matrix do; null: none. */
function retryAfterIn(body: unknown): number | null {
  const { telegram_limit, matrix_limit } = shapes()
  const ms = matrix_limit.safeParse(body).data?.retry_after_ms
  return boundedWait(
    ms === undefined ? telegram_limit.safeParse(body).data?.parameters.retry_after : ms / 1000,
  )
}

function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return null
  }
}
