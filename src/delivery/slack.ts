import { cut, type Message, oneLine, type Shown } from './shown.ts'

// Slack's own limits are 50 blocks, 3,000 characters a section, 3,000 an image address and 2,000 its description.
const BLOCKS_MAX = 50
const TITLE_MAX = 600
const EXCERPT_MAX = 1200
const LINE_MAX = 300
const LINK_MAX = 800
const IMAGE_URL_MAX = 3000
const ALT_TEXT_MAX = 2000
const FALLBACK_TITLE_MAX = 300

type Block =
  | { type: 'section'; text: { type: 'mrkdwn'; text: string } }
  | { type: 'image'; image_url: string; alt_text: string }

/** The body of a Slack incoming webhook: a section for each item, and under its title its picture. */
export function slackBody({ items, test }: Message): object {
  const blocks: Block[] = test ? [section('_Test delivery_')] : []
  let shown = 0
  for (const item of items) {
    const next = blocksOf(item)
    // The last place is kept for the line that says how many are not shown.
    if (blocks.length + next.length > BLOCKS_MAX - 1) break
    blocks.push(...next)
    shown += 1
  }
  if (shown < items.length) blocks.push(section(`_and ${items.length - shown} more_`))
  return { text: fallback({ items, test }), blocks, unfurl_links: false, unfurl_media: false }
}

function blocksOf(item: Shown): Block[] {
  const lines = [`*${link(item)}*`, byline(item)]
  if (item.text.trim() !== '') lines.push(cut(item.text.trim(), EXCERPT_MAX, escape))
  const image =
    item.image_url !== null && item.image_url.length <= IMAGE_URL_MAX
      ? [
          {
            type: 'image' as const,
            image_url: item.image_url,
            alt_text: cut(oneLine(item.title) || 'picture', ALT_TEXT_MAX),
          },
        ]
      : []
  return [section(lines.filter((line) => line !== '').join('\n')), ...image]
}

const section = (text: string): Block => ({ type: 'section', text: { type: 'mrkdwn', text } })

function link({ title, url }: Shown): string {
  const label = cut(oneLine(title) || 'untitled', TITLE_MAX, escape)
  // A bar ends the address within <…|…>.
  const address = url?.replaceAll('|', '%7C').replaceAll('>', '%3E').replaceAll('&', '&amp;')
  return address === undefined || address.length > LINK_MAX ? label : `<${address}|${label}>`
}

const byline = ({ author, subforum }: Shown): string =>
  cut(
    [subforum && `in ${subforum}`, author && `by ${author}`].filter(Boolean).join(' '),
    LINE_MAX,
    escape,
  )

// What Slack shows in notifications, where no block is.
function fallback({ items, test }: Message): string {
  const first = cut(oneLine(items[0]?.title ?? ''), FALLBACK_TITLE_MAX, escape)
  const more = items.length > 1 ? ` and ${items.length - 1} more` : ''
  return `${test ? 'Test delivery: ' : ''}${first}${more}` || 'New match'
}

// Without this, a title could call everybody in the channel: <!channel>.
const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }
const escape = (character: string): string => ESCAPES[character] ?? character
