import type { DeliveryMessage, DisplayItem } from '../../core/delivery/message.ts'
import { excerpt, oneLine, remarks, truncate } from '../text.ts'
import { jsonOf, type Kind } from './kind.ts'

// Slack's documented limits: 50 blocks; 3,000 characters for a section, 150 for a header, 2,000 for the URL and the
// description of an image. The limit of some 13,000 characters over all blocks is not documented; Slack reports it
// only when it rejects a message.
// @see https://docs.slack.dev/reference/block-kit/blocks
const BLOCKS_MAX = 50
const HEADER_MAX = 150
const SECTION_MAX = 3000
const ALL_MAX = 12_000
const TITLE_MAX = 300
const EXCERPT_MAX = 600
const LINE_MAX = 200
const LINK_MAX = 800
const IMAGE_URL_MAX = 2000
const ALT_TEXT_MAX = 2000
const FALLBACK_TITLE_MAX = 300

type Section = { type: 'section'; text: { type: 'mrkdwn'; text: string } }
type Image = { type: 'image'; image_url: string; alt_text: string }
type Header = { type: 'header'; text: { type: 'plain_text'; text: string } }

type SlackBody = {
  text: string
  blocks: (Section | Image | Header)[]
  unfurl_links: false
  unfurl_media: false
}

/** The body of a Slack incoming webhook: a section for each item, followed by its picture. */
export function slackBody({ items, heading, period, test }: DeliveryMessage): SlackBody {
  const blocks: SlackBody['blocks'] = test ? [section('_Test delivery_')] : []
  if (heading !== null) blocks.push(header(oneLine(heading)))
  if (period !== null) blocks.push(section(truncate(period, LINE_MAX, escape)))
  // All items come before any picture. The last block is the line that counts the items left out.
  const visible_items = items.slice(0, BLOCKS_MAX - blocks.length - 1)
  const left_out = items.length - visible_items.length
  let pictures = BLOCKS_MAX - blocks.length - visible_items.length - (left_out > 0 ? 1 : 0)
  const budget = Math.min(SECTION_MAX, Math.floor(ALL_MAX / Math.max(1, visible_items.length)))
  for (const item of visible_items) {
    blocks.push(section(sectionText(item, budget)))
    const image = pictures > 0 ? imageOf(item) : null
    if (image === null) continue
    blocks.push(image)
    pictures -= 1
  }
  if (left_out > 0) blocks.push(section(`_and ${left_out} more_`))
  return {
    text: fallback({ items, heading, period, test }),
    blocks,
    unfurl_links: false,
    unfurl_media: false,
  }
}

/** Title, place, text and reason of a match, in at most `budget` characters. */
function sectionText(item: DisplayItem, budget: number): string {
  // The markup around it, such as that of the link, fits into the rest of the third.
  const title = `*${link(item, Math.min(TITLE_MAX, Math.floor(budget / 3) - 10), Math.floor(budget / 3))}*`
  const line_max = Math.min(LINE_MAX, Math.floor(budget / 6) - 4)
  const note = truncate(remarks(item), line_max, escape)
  const lines = [title, byline(item, line_max)]
  const why = note && `_${note}_`
  const taken = [...lines, why].reduce((sum, line) => sum + line.length + 1, 0)
  const rest = Math.min(EXCERPT_MAX, budget - taken)
  // The limit applies after escaping: an ampersand takes five characters.
  const quote = rest > 1 ? truncate(excerpt(item.text, item.matched_terms, rest), rest, escape) : ''
  return [...lines, quote, why].filter((line) => line !== '').join('\n')
}

function imageOf({ title, image_url }: DisplayItem): Image | null {
  if (image_url === null || image_url.length > IMAGE_URL_MAX) return null
  return { type: 'image', image_url, alt_text: truncate(oneLine(title) || 'picture', ALT_TEXT_MAX) }
}

const section = (text: string): Section => ({ type: 'section', text: { type: 'mrkdwn', text } })
const header = (text: string): Header => ({
  type: 'header',
  text: { type: 'plain_text', text: truncate(text, HEADER_MAX) },
})

function link({ title, url }: DisplayItem, max: number, address_max: number): string {
  const label = truncate(oneLine(title) || 'untitled', max, escape)
  // A bar ends the URL within <…|…>.
  const address = url?.replaceAll('|', '%7C').replaceAll('>', '%3E').replaceAll('&', '&amp;')
  if (address === undefined || address.length > Math.min(LINK_MAX, address_max)) return label
  return `<${address}|${label}>`
}

function byline({ author, subforum }: DisplayItem, max: number): string {
  const [place, person] = [oneLine(subforum), oneLine(author)]
  const words = [place && `in ${place}`, person && `by ${person}`].filter(Boolean).join(' ')
  return truncate(words, max, escape)
}

type Counted = Omit<DeliveryMessage, 'delivery_id' | 'monitor_id'>

// The text that Slack shows in notifications, which have no blocks.
function fallback({ items, heading, period, test }: Counted): string {
  // A digest is announced by its monitor.
  if (period !== null) return truncate(oneLine(heading ?? ''), FALLBACK_TITLE_MAX, escape)
  const first = truncate(oneLine(items[0]?.title ?? ''), FALLBACK_TITLE_MAX, escape)
  const more = items.length > 1 ? ` and ${items.length - 1} more` : ''
  return `${test ? 'Test delivery: ' : ''}${first}${more}` || 'New match'
}

// Without this, a title could notify the whole channel: <!channel>.
const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }
const escape = (character: string): string => ESCAPES[character] ?? character

const HOST = 'https://hooks.slack.com/'

/** At another host it is a service that takes Slack's format; each confirms in its own words. */
export const slack: Kind = {
  name: 'slack',
  label: 'Slack',
  example_url: `${HOST}services/…`,
  note: 'or the address of a service that takes the same format',
  infers: /^https:\/\/hooks\.slack\.com\/services\//,
  official: /slack\.com/,
  isSecret: () => true,
  send: ({ to, message }, { post }) => post({ url: to.url, body: slackBody(message()) }),
  verdict: {
    accepts: (body) => body.trim() === 'ok' || jsonOf(body) !== null,
    hints: {
      http_403: 'the workspace or its app no longer lets this webhook post',
      http_404: 'the incoming webhook was removed; create another one in Slack',
    },
  },
}
