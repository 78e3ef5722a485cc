import type { Message, Shown } from '../core/shown.ts'
import { cut, excerpt, oneLine, remarks } from './shown.ts'

// Slack's own limits are 50 blocks, 3,000 characters a section, 150 a header, and 2,000 the address and the
// description of an image. That all blocks together may hold some 13,000 characters it says only when it refuses.
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

/** What an incoming webhook of Slack takes. */
type SlackBody = {
  text: string
  blocks: (Section | Image | Header)[]
  unfurl_links: false
  unfurl_media: false
}

/** The body of a Slack incoming webhook: a section for each item, and under its title its picture. */
export function slackBody({ items, test }: Message): SlackBody {
  const blocks: SlackBody['blocks'] = test ? [section('_Test delivery_')] : []
  if (items.length > 1) blocks.push(header(`${items.length} new matches`))
  // Every item comes before any picture, and the last place is for the line that says how many do not.
  const shown = items.slice(0, BLOCKS_MAX - blocks.length - 1)
  const left_out = items.length - shown.length
  let pictures = BLOCKS_MAX - blocks.length - shown.length - (left_out > 0 ? 1 : 0)
  const room = Math.min(SECTION_MAX, Math.floor(ALL_MAX / Math.max(1, shown.length)))
  for (const item of shown) {
    blocks.push(section(sectionText(item, room)))
    const image = pictures > 0 ? imageOf(item) : null
    if (image === null) continue
    blocks.push(image)
    pictures -= 1
  }
  if (left_out > 0) blocks.push(section(`_and ${left_out} more_`))
  return { text: fallback({ items, test }), blocks, unfurl_links: false, unfurl_media: false }
}

/** Title, place, what was written and why it came, in at most `room` characters. */
function sectionText(item: Shown, room: number): string {
  // Signs around them, such as those of the link, are in what remains of a third.
  const title = `*${link(item, Math.min(TITLE_MAX, Math.floor(room / 3) - 10), Math.floor(room / 3))}*`
  const line_max = Math.min(LINE_MAX, Math.floor(room / 6) - 4)
  const told = cut(remarks(item), line_max, escape)
  const lines = [title, byline(item, line_max)]
  const why = told && `_${told}_`
  const taken = [...lines, why].reduce((sum, line) => sum + line.length + 1, 0)
  const rest = Math.min(EXCERPT_MAX, room - taken)
  // The cut after the escaping is the one that counts: an ampersand is five characters here.
  const said = rest > 1 ? cut(excerpt(item.text, item.matched_terms, rest), rest, escape) : ''
  return [...lines, said, why].filter((line) => line !== '').join('\n')
}

function imageOf({ title, image_url }: Shown): Image | null {
  if (image_url === null || image_url.length > IMAGE_URL_MAX) return null
  return { type: 'image', image_url, alt_text: cut(oneLine(title) || 'picture', ALT_TEXT_MAX) }
}

const section = (text: string): Section => ({ type: 'section', text: { type: 'mrkdwn', text } })
const header = (text: string): Header => ({
  type: 'header',
  text: { type: 'plain_text', text: cut(text, HEADER_MAX) },
})

function link({ title, url }: Shown, max: number, address_max: number): string {
  const label = cut(oneLine(title) || 'untitled', max, escape)
  // A bar ends the address within <…|…>.
  const address = url?.replaceAll('|', '%7C').replaceAll('>', '%3E').replaceAll('&', '&amp;')
  if (address === undefined || address.length > Math.min(LINK_MAX, address_max)) return label
  return `<${address}|${label}>`
}

function byline({ author, subforum }: Shown, max: number): string {
  const [place, person] = [oneLine(subforum), oneLine(author)]
  const words = [place && `in ${place}`, person && `by ${person}`].filter(Boolean).join(' ')
  return cut(words, max, escape)
}

// What Slack shows in notifications, where no block is.
function fallback({ items, test }: Pick<Message, 'items' | 'test'>): string {
  const first = cut(oneLine(items[0]?.title ?? ''), FALLBACK_TITLE_MAX, escape)
  const more = items.length > 1 ? ` and ${items.length - 1} more` : ''
  return `${test ? 'Test delivery: ' : ''}${first}${more}` || 'New match'
}

// Without this, a title could call everybody in the channel: <!channel>.
const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }
const escape = (character: string): string => ESCAPES[character] ?? character
