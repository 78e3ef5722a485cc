import { cut, type Message, oneLine, type Shown } from './shown.ts'

// Discord's own limits: 10 embeds, 256 characters a title or author, 4,096 a description, 6,000 over all embeds,
// 2,000 the message itself.
const EMBEDS_MAX = 10
const TITLE_MAX = 256
const AUTHOR_MAX = 256
const DESCRIPTION_MAX = 1000
const ALL_EMBEDS_MAX = 6000
const CONTENT_MAX = 2000
const URL_MAX = 2048

type Embed = {
  title: string
  url?: string
  author?: { name: string }
  description?: string
  image?: { url: string }
  timestamp?: string
}

/** The body of a Discord webhook: an embed for each item, ten at most, the rest as lines of text. */
export function discordBody({ items, test }: Message): object {
  const embedded = items.slice(0, EMBEDS_MAX)
  const budget = Math.floor(ALL_EMBEDS_MAX / Math.max(1, embedded.length))
  const content = [test ? 'Test delivery' : '', ...rest(items.slice(EMBEDS_MAX))]
    .filter(Boolean)
    .join('\n')
  return {
    ...(content && { content }),
    embeds: embedded.map((item) => embed(item, budget)),
    // Nobody is ever called, whatever a title says.
    allowed_mentions: { parse: [] },
  }
}

function embed(item: Shown, budget: number): Embed {
  const title = cut(oneLine(item.title) || 'untitled', TITLE_MAX, escape)
  const name = cut(
    [item.author, item.subforum && `in ${item.subforum}`].filter(Boolean).join(' '),
    Math.min(AUTHOR_MAX, Math.max(1, budget - title.length)),
  )
  const room = Math.min(DESCRIPTION_MAX, budget - title.length - name.length)
  const description = room > 1 ? cut(item.text.trim(), room) : ''
  const created_at = Date.parse(item.created ?? '')
  return {
    title,
    ...(item.url !== null && item.url.length <= URL_MAX && { url: item.url }),
    ...(name && { author: { name } }),
    ...(description && { description }),
    ...(item.image_url !== null &&
      item.image_url.length <= URL_MAX && { image: { url: item.image_url } }),
    ...(!Number.isNaN(created_at) && { timestamp: new Date(created_at).toISOString() }),
  }
}

/** A line for each further item as long as there is room, and how many there was none for. */
function rest(items: readonly Shown[]): string[] {
  const lines: string[] = []
  let room = CONTENT_MAX - 'Test delivery\nand 99 more\n'.length
  for (const [index, { title, url }] of items.entries()) {
    const line = `${cut(oneLine(title), TITLE_MAX, escape)}${url === null ? '' : ` <${url}>`}`
    room -= line.length + 1
    if (room < 0) return [...lines, `and ${items.length - index} more`]
    lines.push(line)
  }
  return lines
}

// A title is shown as it was written, not as Markdown.
const escape = (character: string): string =>
  /[\\*_~`|>[\]()#]/.test(character) ? `\\${character}` : character
