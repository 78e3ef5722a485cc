import { escapeMarkup as html } from '../core/markup.ts'
import type { Message, Shown } from '../core/shown.ts'
import type { Mail } from './mailer.ts'
import { cut, excerpt, manyLines, oneLine, remarks } from './shown.ts'

const SUBJECT_MAX = 150
const TITLE_MAX = 300
const EXCERPT_MAX = 2000
const EXCERPT_OF_MANY_MAX = 500

/** The mail of a delivery. `unsubscribe_url` is null for a test, which nothing has to stop. */
export function deliveryMail(
  message: Message,
  { to, unsubscribe_url }: { to: string; unsubscribe_url: string | null },
): Mail {
  const { items, test, delivery_id } = message
  const [first] = items
  const title = cut(oneLine(first?.title ?? '') || 'New match', SUBJECT_MAX)
  const subject = items.length > 1 ? `${items.length} new matches: ${title}` : title
  const room = items.length > 1 ? EXCERPT_OF_MANY_MAX : EXCERPT_MAX
  const parts = items.map((item) => toPart(item, room))
  return {
    to,
    id: delivery_id,
    subject: cut(`${test ? 'Test delivery: ' : ''}${subject}`, SUBJECT_MAX),
    text: [...parts.map(asText), ...footText(unsubscribe_url)].join('\n\n-- \n\n'),
    html: page([...parts.map(asHtml), ...footHtml(unsubscribe_url)].join('\n<hr>\n')),
    headers: {
      // So that an answering machine does not answer.
      'Auto-Submitted': 'auto-generated',
      ...(unsubscribe_url !== null && {
        'List-Unsubscribe': `<${unsubscribe_url}>`,
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      }),
    },
  }
}

/** The mail that asks a reader whether they want what somebody registered for them. */
export function confirmationMail({
  to,
  webhook_id,
  service,
  confirm_url,
}: {
  to: string
  webhook_id: string
  /** The host under which the service is known. */
  service: string
  confirm_url: string
}): Mail {
  const why = `Somebody asked ${service} to send alerts to ${to}.`
  const how = 'To receive them, open this address:'
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

type Part = {
  title: string
  url: string | null
  byline: string
  said: string
  remarks: string
  image_url: string | null
}

function toPart(item: Shown, room: number): Part {
  const [place, person] = [oneLine(item.subforum), oneLine(item.author)]
  return {
    title: cut(oneLine(item.title) || 'untitled', TITLE_MAX),
    url: item.url,
    byline: [place && `in ${place}`, person && `by ${person}`].filter(Boolean).join(' '),
    said: excerpt(manyLines(item.text), item.matched_terms, room),
    remarks: remarks(item),
    image_url: item.image_url,
  }
}

const asText = ({ title, url, byline, said, remarks: told, image_url }: Part): string =>
  [[title, byline, url].filter(Boolean).join('\n'), said, image_url, told]
    .filter(Boolean)
    .join('\n\n')

function asHtml({ title, url, byline, said, remarks: told, image_url }: Part): string {
  const head = url === null ? html(title) : `<a href="${html(url)}">${html(title)}</a>`
  return [
    `<h2>${head}</h2>`,
    byline && `<p>${html(byline)}</p>`,
    said && `<p style="white-space:pre-line">${html(said)}</p>`,
    image_url && `<p><img src="${html(image_url)}" alt="${html(title)}" width="480"></p>`,
    told && `<p><small>${html(told)}</small></p>`,
  ]
    .filter(Boolean)
    .join('\n')
}

const footText = (url: string | null): string[] =>
  url === null ? [] : [`To get no more from this monitor: ${url}`]
const footHtml = (url: string | null): string[] =>
  url === null ? [] : [`<p><small><a href="${html(url)}">No more from this monitor</a></small></p>`]

const page = (body: string): string =>
  `<!doctype html>\n<html><head><meta charset="utf-8"></head>\n<body>\n${body}\n</body></html>\n`
