import {
  type DeliveryMessage,
  type DisplayItem,
  type DisplayOptions,
  readMessage,
} from '../core/delivery/message.ts'
import type { Attempt } from '../core/delivery/retry.ts'
import { parseMailto } from '../core/delivery/target.ts'
import type { Links } from '../core/forum/links.ts'
import type { Addressee } from '../store/delivery/targets.ts'
import type { Mail, Mailer } from './smtp.ts'
import { excerpt, manyLines, oneLine, remarks, truncate } from './text.ts'

const html = Bun.escapeHTML

const SUBJECT_MAX = 150
const TITLE_MAX = 300
const EXCERPT_MAX = 2000
const EXCERPT_OF_MANY_MAX = 500

/** The mail of a delivery. `unsubscribe_url` is null for a test. */
function deliveryMail(
  message: DeliveryMessage,
  { to, unsubscribe_url }: { to: string; unsubscribe_url: string | null },
): Mail {
  const { items, heading, period, test, delivery_id } = message
  const [first] = items
  const title = truncate(oneLine(first?.title ?? '') || 'New match', SUBJECT_MAX)
  const counted = heading === null ? '' : oneLine(heading)
  // A digest is named by its monitor, other bundles by their first match.
  const subject = period !== null ? counted : counted === '' ? title : `${counted}: ${title}`
  const above = period === null ? [] : [counted, period]
  const excerpt_max = items.length > 1 ? EXCERPT_OF_MANY_MAX : EXCERPT_MAX
  const parts = items.map((item) => toMailPart(item, excerpt_max))
  return {
    to,
    id: delivery_id,
    subject: truncate(`${test ? 'Test delivery: ' : ''}${subject}`, SUBJECT_MAX),
    text: [...aboveText(above), ...parts.map(asText), ...footText(unsubscribe_url)].join(
      '\n\n* * *\n\n',
    ),
    html: page(
      [...aboveHtml(above), ...parts.map(asHtml), ...footHtml(unsubscribe_url)].join('\n<hr>\n'),
    ),
    headers: {
      // Keeps auto-responders from replying (RFC 3834).
      'Auto-Submitted': 'auto-generated',
      ...(unsubscribe_url !== null && {
        'List-Unsubscribe': `<${unsubscribe_url}>`,
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      }),
    },
  }
}

function confirmationMail({
  to,
  webhook_id,
  service,
  confirm_url,
}: {
  to: string
  webhook_id: string
  service: string
  confirm_url: string
}): Mail {
  const why = `${service} received a request to send alerts to ${to}.`
  const how = 'To receive them, open this address and confirm there:'
  const otherwise = 'If this was not you, do nothing: no further mail will come.'
  return {
    to,
    id: `confirm.${webhook_id}`,
    subject: `Confirm that you want alerts from ${service}`,
    text: [why, `${how}\n${confirm_url}`, otherwise].join('\n\n'),
    html: page(
      `<p>${html(why)}</p>\n<p>${how} <a href="${html(confirm_url)}">${html(confirm_url)}</a></p>\n<p>${otherwise}</p>`,
    ),
    headers: { 'Auto-Submitted': 'auto-generated' },
  }
}

type MailPart = {
  title: string
  url: string | null
  byline: string
  quote: string
  remarks: string
  image_url: string | null
}

function toMailPart(item: DisplayItem, excerpt_max: number): MailPart {
  const [place, person] = [oneLine(item.subforum), oneLine(item.author)]
  return {
    title: truncate(oneLine(item.title) || 'untitled', TITLE_MAX),
    url: item.url,
    byline: [place && `in ${place}`, person && `by ${person}`].filter(Boolean).join(' '),
    quote: excerpt(manyLines(item.text), item.matched_terms, excerpt_max),
    remarks: remarks(item),
    image_url: item.image_url,
  }
}

const asText = ({ title, url, byline, quote, remarks: note, image_url }: MailPart): string =>
  [[title, byline, url].filter(Boolean).join('\n'), quote, image_url, note]
    .filter(Boolean)
    .join('\n\n')

function asHtml({ title, url, byline, quote, remarks: note, image_url }: MailPart): string {
  const head = url === null ? html(title) : `<a href="${html(url)}">${html(title)}</a>`
  return [
    `<h2>${head}</h2>`,
    byline && `<p>${html(byline)}</p>`,
    quote && `<p style="white-space:pre-line">${html(quote)}</p>`,
    image_url && `<p><img src="${html(image_url)}" alt="${html(title)}" width="480"></p>`,
    note && `<p><small>${html(note)}</small></p>`,
  ]
    .filter(Boolean)
    .join('\n')
}

const aboveText = (lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [lines.join('\n')]
const aboveHtml = ([heading, ...rest]: readonly string[]): string[] =>
  heading === undefined
    ? []
    : [[`<h1>${html(heading)}</h1>`, ...rest.map((it) => `<p>${html(it)}</p>`)].join('\n')]

const footText = (url: string | null): string[] =>
  url === null ? [] : [`To get no more from this monitor: ${url}`]
const footHtml = (url: string | null): string[] =>
  url === null ? [] : [`<p><small><a href="${html(url)}">No more from this monitor</a></small></p>`]

const page = (body: string): string =>
  `<!doctype html>\n<html><head><meta charset="utf-8"></head>\n<body>\n${body}\n</body></html>\n`

export type EmailSender = {
  deliver(to: Addressee, body: Uint8Array): Promise<Attempt>
  confirm(to: Addressee): Promise<Attempt>
}

export function createEmailSender({
  mailer,
  links,
  display,
  public_url,
}: {
  mailer: Mailer
  links: Links
  display: DisplayOptions
  public_url: () => string
}): EmailSender {
  // The address was validated when it was registered. It is validated again because it becomes part of an SMTP
  // command.
  async function sendTo({ url }: Addressee, write: (to: string) => Mail): Promise<Attempt> {
    const to = parseMailto(url)
    return to === null
      ? { kind: 'mailed', code: 553, accepted: false, refused: true }
      : mailer(write(to))
  }

  return {
    deliver(addressee, body) {
      const message = readMessage(body, display)
      const unsubscribe_url = message.test
        ? null
        : links.unsubscribe(addressee.webhook_id, message.monitor_id)
      return sendTo(addressee, (to) => deliveryMail(message, { to, unsubscribe_url }))
    },
    confirm({ webhook_id, ...addressee }) {
      const confirm_url = links.confirm(webhook_id)
      const service = new URL(public_url()).host
      return sendTo({ webhook_id, ...addressee }, (to) =>
        confirmationMail({ to, webhook_id, service, confirm_url }),
      )
    },
  }
}
