import * as z from 'zod'

import { once } from '../base/lazy.ts'
import { peerUrl } from '../base/url.ts'
import { visibleText } from '../enrichment/markdown.ts'

export type DisplayItem = {
  kind: 'post' | 'comment'
  title: string
  /** Page of the item; null if its address is not safe to open in a browser. */
  url: string | null
  author: string
  subforum: string
  /** Text as displayed; empty for links and pictures. */
  text: string
  /** Picture on one of the platform's own media hosts. */
  image_url: string | null
  created: string | null
  matched_terms: string[]
  /** Sentiment and intent, such as `positive` and `question`; null if not enriched. */
  sentiment: string | null
  intent: string | null
}

export type DeliveryMessage = {
  delivery_id: string
  monitor_id: string
  items: DisplayItem[]
  /** Monitor and number of matches; null for a single match. */
  heading: string | null
  /** Period of a digest; null for other deliveries. */
  period: string | null
  test: boolean
}

/**
 * Options for reading a body: its word for a community, and the hosts whose pictures may be shown.
 */
export type DisplayOptions = { community: string; media_hosts: readonly string[] }

const bodySchema = once(() => {
  const text = z.string().catch('')
  const textOrNull = z.string().nullable().catch(null)
  const enrichment = z.looseObject({
    relevance: z
      .looseObject({ matched_terms: z.array(z.string()).catch([]) })
      .catch({ matched_terms: [] }),
    sentiment: z.looseObject({ label: textOrNull }).catch({ label: null }),
    intent: z.looseObject({ tag: textOrNull }).catch({ tag: null }),
  })
  const item = z.looseObject({
    kind: textOrNull,
    title: text,
    body: text,
    text,
    author: text,
    url: text,
    link_title: textOrNull,
    link_url: textOrNull,
    media_kind: textOrNull,
    created: textOrNull,
    enrichment: enrichment.catch(() => enrichment.parse({})),
  })
  return z.looseObject({
    delivery_id: text,
    monitor_id: text,
    items: z.array(item).catch([]),
    test: z.boolean().catch(false),
    digest: z
      .looseObject({ monitor_name: textOrNull, from: text, to: text, time_zone: text })
      .nullable()
      .catch(null),
    alarm: z.looseObject({ title: text, message: text }).nullable().catch(null),
  })
})
type Item = z.infer<ReturnType<typeof bodySchema>>['items'][number]

export function readMessage(body: Uint8Array, options: DisplayOptions): DeliveryMessage {
  const { delivery_id, monitor_id, items, test, digest, alarm } = bodySchema().parse(
    JSON.parse(new TextDecoder().decode(body)),
  )
  const shown = alarm === null ? items.map((item) => toDisplayItem(item, options)) : [notice(alarm)]
  return { delivery_id, monitor_id, items: shown, ...headingOf(shown.length, digest), test }
}

type Digest = { monitor_name: string | null; from: string; to: string; time_zone: string }

function headingOf(
  count: number,
  digest: Digest | null,
): Pick<DeliveryMessage, 'heading' | 'period'> {
  if (digest === null) return { heading: count > 1 ? `${count} new matches` : null, period: null }
  const { monitor_name, from, to, time_zone } = digest
  const name = monitor_name === null ? 'Digest' : `Digest of ${monitor_name}`
  const format = new Intl.DateTimeFormat('en-GB', {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    timeZone: time_zone,
  })
  const at = (instant: string) => format.format(new Date(instant))
  return {
    heading: `${name}: ${count} ${count === 1 ? 'match' : 'matches'}`,
    period: `${at(from)} to ${at(to)} (${time_zone})`,
  }
}

/** An alarm as every target displays it: like an item without author, place and address. */
const notice = ({ title, message }: { title: string; message: string }): DisplayItem => ({
  kind: 'post',
  title,
  url: null,
  author: '',
  subforum: '',
  text: message,
  image_url: null,
  created: null,
  matched_terms: [],
  sentiment: null,
  intent: null,
})

function toDisplayItem(item: Item, { community, media_hosts }: DisplayOptions): DisplayItem {
  const place = item[community]
  const { relevance, sentiment, intent } = item.enrichment
  const shared = {
    url: webAddress(item.url),
    author: item.author,
    subforum: typeof place === 'string' ? place : '',
    created: item.created,
    matched_terms: relevance.matched_terms,
    sentiment: sentiment.label,
    intent: intent.tag,
  }
  if (item.kind === 'comment') {
    const title = `Comment on ${item.link_title ?? 'a post'}`
    return { ...shared, kind: 'comment', title, text: visibleText(item.body), image_url: null }
  }
  const image_url = directImage(item.link_url, item.media_kind, media_hosts)
  return { ...shared, kind: 'post', title: item.title, text: visibleText(item.text), image_url }
}

const IMAGE_PATH = /\.(png|jpe?g|gif|webp)$/i

/** Address of a post's picture if it is a single picture hosted by the platform. */
function directImage(
  link_url: string | null,
  media_kind: string | null,
  media_hosts: readonly string[],
): string | null {
  const url = webAddress(link_url ?? '')
  if (url === null || media_kind === 'gallery' || media_kind === 'video') return null
  const { protocol, hostname, pathname } = new URL(url)
  const ours = media_hosts.some((host) => host.toLowerCase() === hostname)
  return ours && protocol === 'https:' && IMAGE_PATH.test(pathname) ? url : null
}

function webAddress(address: string): string | null {
  const url = peerUrl(address)
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url.href : null
}
