import * as z from 'zod'

import { once } from '../../core/base/lazy.ts'
import type { DeliveryMessage, DisplayItem } from '../../core/delivery/message.ts'
import { excerpt, oneLine, remarks, truncate } from '../text.ts'
import type { Kind } from './kind.ts'

// Discord's limits: 10 embeds; 256 characters for a title or author, 4,096 for a description, 2,048 for a footer or
// URL, 6,000 over all embeds, 2,000 for the message itself.
// @see https://discord.com/developers/docs/resources/message#embed-object-embed-limits
const EMBEDS_MAX = 10
const TITLE_MAX = 256
const AUTHOR_MAX = 256
const DESCRIPTION_MAX = 1000
const FOOTER_MAX = 200
const ALL_EMBEDS_MAX = 6000
const CONTENT_MAX = 2000
const URL_MAX = 2048
const HEAD_MAX = 300

type Embed = {
  title: string
  url?: string
  author?: { name: string }
  description?: string
  image?: { url: string }
  footer?: { text: string }
  timestamp?: string
}

/** The body that a Discord webhook accepts. */
type DiscordBody = { content?: string; embeds: Embed[]; allowed_mentions: { parse: never[] } }

/** The body of a Discord webhook: an embed for each item, ten at most, the rest as lines of text. */
export function discordBody({ items, heading, period, test }: DeliveryMessage): DiscordBody {
  const embedded = items.slice(0, EMBEDS_MAX)
  const budget = Math.floor(ALL_EMBEDS_MAX / Math.max(1, embedded.length))
  const first = [test ? 'Test delivery' : '', truncate(oneLine(heading ?? ''), HEAD_MAX, escape)]
    .filter(Boolean)
    .join(': ')
  const head = [first, period].filter(Boolean).join('\n')
  const content = [head, ...rest(items.slice(EMBEDS_MAX), CONTENT_MAX - head.length)]
    .filter(Boolean)
    .join('\n')
  return {
    ...(content && { content }),
    embeds: embedded.map((item) => embed(item, budget)),
    // No mention in a title may notify anyone.
    allowed_mentions: { parse: [] },
  }
}

function embed(item: DisplayItem, budget: number): Embed {
  const [person, place] = [oneLine(item.author), oneLine(item.subforum)]
  const title = truncate(oneLine(item.title) || 'untitled', TITLE_MAX, escape)
  const byline = [person, place && `in ${place}`].filter(Boolean).join(' ')
  const name = truncate(byline, Math.min(AUTHOR_MAX, Math.max(1, budget - title.length)))
  const footer = truncate(
    remarks(item),
    Math.min(FOOTER_MAX, Math.max(0, budget - title.length - name.length)),
  )
  const quote_max = Math.min(DESCRIPTION_MAX, budget - title.length - name.length - footer.length)
  const quote =
    quote_max > 1
      ? truncate(excerpt(item.text, item.matched_terms, quote_max), quote_max, escape)
      : ''
  const created_at = Date.parse(item.created ?? '')
  return {
    title,
    ...(item.url !== null && item.url.length <= URL_MAX && { url: item.url }),
    ...(name && { author: { name } }),
    ...(quote && { description: quote }),
    ...(item.image_url !== null &&
      item.image_url.length <= URL_MAX && { image: { url: item.image_url } }),
    ...(footer && { footer: { text: footer } }),
    ...(!Number.isNaN(created_at) && { timestamp: new Date(created_at).toISOString() }),
  }
}

const LINE_TITLE_MIN = 24

/** A line for each further item within `room` characters, each title shortened so that all of them are named. */
function rest(items: readonly DisplayItem[], budget: number): string[] {
  const each = Math.floor(budget / Math.max(1, items.length)) - 1
  return items.map(({ title, url }) => {
    const label = oneLine(title) || 'untitled'
    const link = url === null ? '' : ` <${url}>`
    const fits = each - link.length >= LINE_TITLE_MIN
    return fits
      ? `${truncate(label, each - link.length, escape)}${link}`
      : truncate(label, Math.max(LINE_TITLE_MIN, each), escape)
  })
}

// Text is shown literally, not as Markdown, and an `@` before a word does not even look like a mention.
const escape = (character: string): string => {
  if (character === '@') return '@\u200b'
  return /[\\*_~`|<>[\]()#]/.test(character) ? `\\${character}` : character
}

const limit = once(() => z.object({ retry_after: z.number().nonnegative() }))

/** At another host it is a service that takes Discord's format. */
export const discord: Kind = {
  name: 'discord',
  label: 'Discord',
  example_url: 'https://discord.com/api/webhooks/…',
  note: 'or the address of a service that takes the same format',
  infers: /^https:\/\/(?:(?:ptb\.|canary\.)?discord|discordapp)\.com\/api\/webhooks\//,
  official: /discord(?:app)?\.com/,
  isSecret: () => true,
  send: ({ to, message }, { post }) => post({ url: to.url, body: discordBody(message()) }),
  verdict: {
    waitS: (body) => limit().safeParse(body).data?.retry_after,
    hints: {
      http_401: 'the token within the url is not accepted; copy the address of the webhook again',
      http_404: "the webhook was removed; create another one in the channel's settings",
    },
  },
}
