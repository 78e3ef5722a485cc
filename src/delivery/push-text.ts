/** Texts for push services and chats that take a text with little markup. */
import type { DeliveryMessage, DisplayItem } from '../core/delivery/message.ts'
import { excerpt, oneLine, remarks, truncate } from './text.ts'

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

export const PLAIN: Style = {
  escape: (character) => character,
  title: (label, url) => (url === null ? label : `${label}\n${url}`),
  note: (label) => label,
  line_break: '\n',
}
export const HTML: Style = {
  escape: escapeHtml,
  title: (label, url) =>
    url === null ? `<b>${label}</b>` : `<b><a href="${attribute(url)}">${label}</a></b>`,
  note: (label) => `<i>${label}</i>`,
  line_break: '\n',
}
/** Markdown of chat servers: an `@` is no mention, and `<` begins none of Slack's commands. */
export const MARKDOWN: Style = {
  escape: (character) =>
    character === '@' || character === '<'
      ? `${character}\u200b`
      : /[\\*_~`|>[\]()#:]/.test(character)
        ? `\\${character}`
        : character,
  title: (label, url) =>
    url === null
      ? `**${label}**`
      : `**[${label}](${url
          .replace(/[()<>@|]/g, encodeURIComponent)
          .replaceAll('(', '%28')
          .replaceAll(')', '%29')})**`,
  note: (label) => `_${label}_`,
  line_break: '\n',
}

export const linkOf = (item: DisplayItem | undefined): string | null => {
  const url = item?.url ?? null
  return url !== null && url.length <= LINK_MAX ? url : null
}

/** One line about a delivery, for services with a title of their own. */
export function headline({ items, heading, test }: DeliveryMessage, max: number): string {
  const title = oneLine(items[0]?.title ?? '') || 'New match'
  const line = heading === null ? title : oneLine(heading)
  return truncate(test ? `Test delivery: ${line}` : line, max)
}

/** All items of a delivery in at most `max` characters; the last line counts those left out. */
export function text(
  { items, heading, period, test }: Pick<DeliveryMessage, 'items' | 'heading' | 'period' | 'test'>,
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

/** The text below a title of its own, {@link headline}, which it does not repeat. `has_link`: the service has the address too. */
export function textBelow(
  message: DeliveryMessage,
  max: number,
  style: Style,
  has_link: boolean,
): string {
  const { items, heading, period } = message
  const [item, ...others] = items
  if (item === undefined || others.length > 0 || heading !== null)
    return text({ items, heading: null, period, test: false }, max, style)
  const { byline, note } = linesOf(item, LINE_MAX, style)
  const address = has_link ? '' : (linkOf(item) ?? '')
  const taken = [byline, note, address].join('\n').length + 1
  const quote = quoteOf(item, Math.min(EXCERPT_MAX, max - taken), style)
  const lines = [quote, address, byline, note].filter((line) => line !== '')
  return lines.join('\n') || truncate(oneLine(item.title) || 'untitled', TITLE_MAX, style.escape)
}

function linesOf(item: DisplayItem, max: number, style: Style): { byline: string; note: string } {
  const [place, person] = [oneLine(item.subforum), oneLine(item.author)]
  const byline = [place && `in ${place}`, person && `by ${person}`].filter(Boolean).join(' ')
  const note = truncate(remarks(item), max, style.escape)
  return { byline: truncate(byline, max, style.escape), note: note && style.note(note) }
}

const quoteOf = (item: DisplayItem, max: number, style: Style): string =>
  max > 1
    ? truncate(excerpt(item.text, item.matched_terms, max).replace(/\n+/g, ' '), max, style.escape)
    : ''

/** Title, place, text and reason of a match, in at most `budget` characters. */
function entry(item: DisplayItem, budget: number, style: Style): string {
  const line_max = Math.min(LINE_MAX, Math.floor(budget / 6))
  const url = linkOf(item)
  // An address that is plain text has no copy of it in markup, and matters more than the excerpt.
  const link_max = style === PLAIN ? budget - ITEM_MIN / 2 : budget / 2
  const linked = url !== null && attribute(url).length <= link_max ? url : null
  // Around a title is the link and its markup.
  const label_max = Math.min(TITLE_MAX, Math.floor((budget - style.title('', linked).length) / 2))
  const title = truncate(oneLine(item.title) || 'untitled', Math.max(1, label_max), style.escape)
  const { byline, note } = linesOf(item, line_max, style)
  const lines = [style.title(title, linked), byline]
  // A line break of HTML takes four characters.
  const breaks = style.line_break.length
  const size = (all: readonly string[]) => all.reduce((sum, line) => sum + line.length + breaks, 0)
  const quote = quoteOf(item, Math.min(EXCERPT_MAX, budget - size([...lines, note])), style)
  const all = [...lines, quote, note].filter((line) => line !== '')
  // A long address takes the place of the lines below it.
  while (all.length > 1 && size(all) > budget) all.pop()
  return all.join('\n')
}

/** The longest text of `build` within so many bytes of UTF-8. */
export function fitBytes(bytes: number, build: (max: number) => string): string {
  let max = bytes
  for (;;) {
    const built = build(max)
    const size = Buffer.byteLength(built)
    if (size <= bytes || max <= ITEM_MIN) return built
    max = Math.max(ITEM_MIN, Math.floor((max * bytes) / size) - 1)
  }
}
