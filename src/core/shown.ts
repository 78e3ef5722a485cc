import * as z from 'zod'

import { visibleText } from './markdown.ts'
import { once } from './once.ts'

/** What a person is shown of a delivered item, wherever it is shown. */
export type Shown = {
  kind: 'post' | 'comment'
  title: string
  /** The item's own page; null when it names none that a browser could open. */
  url: string | null
  author: string
  subforum: string
  /** What a person wrote, as it is read; empty for links and pictures. */
  text: string
  /** A picture on the platform's own media hosts. */
  image_url: string | null
  created: string | null
  /** The monitor's terms that were found. */
  matched_terms: string[]
  /** How it sounds and what it wants, such as `positive` and `question`; null where nobody looked. */
  sentiment: string | null
  intent: string | null
}

/** A delivery as people are shown it. */
export type Message = { delivery_id: string; monitor_id: string; items: Shown[]; test: boolean }

/** How to read a body: under which word a community stands in it, and whose pictures may be shown. */
export type Showing = { community: string; media_hosts: readonly string[] }

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
  })
})
type Item = z.infer<ReturnType<typeof bodySchema>>['items'][number]

/** Reads the frozen body of a delivery back into what a person is shown. */
export function readMessage(body: Uint8Array, showing: Showing): Message {
  const { delivery_id, monitor_id, items, test } = bodySchema().parse(
    JSON.parse(new TextDecoder().decode(body)),
  )
  return { delivery_id, monitor_id, items: items.map((item) => toShown(item, showing)), test }
}

function toShown(item: Item, { community, media_hosts }: Showing): Shown {
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

/** The address of a post's picture when it is one picture, kept by the platform itself. */
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
  if (!URL.canParse(address)) return null
  const { protocol, href } = new URL(address)
  return protocol === 'https:' || protocol === 'http:' ? href : null
}
