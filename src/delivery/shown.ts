import * as z from 'zod'

/** What a chat message shows of a delivered item. */
export type Shown = {
  title: string
  /** The item's own page; null when it names none that a browser could open. */
  url: string | null
  author: string
  subforum: string
  /** The beginning of what a person wrote; empty for links and pictures. */
  text: string
  /** A picture on the platform's own media hosts. */
  image_url: string | null
  created: string | null
}

export type Message = { items: Shown[]; test: boolean }

/** How to read a body: under which word a community stands in it, and whose pictures may be shown. */
export type Showing = { community: string; media_hosts: readonly string[] }

const text = z.string().catch('')
const textOrNull = z.string().nullable().catch(null)

const itemSchema = z.looseObject({
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
})

const bodySchema = z.looseObject({
  items: z.array(itemSchema).catch([]),
  test: z.boolean().catch(false),
})

/** Reads the frozen body of a delivery back into what a chat service is shown. */
export function readMessage(body: Uint8Array, showing: Showing): Message {
  const { items, test } = bodySchema.parse(JSON.parse(new TextDecoder().decode(body)))
  return { items: items.map((item) => toShown(item, showing)), test }
}

function toShown(item: z.infer<typeof itemSchema>, { community, media_hosts }: Showing): Shown {
  const place = item[community]
  const shared = {
    url: webAddress(item.url),
    author: item.author,
    subforum: typeof place === 'string' ? place : '',
    created: item.created,
  }
  if (item.kind === 'comment') {
    const title = `Comment on ${item.link_title ?? 'a post'}`
    return { ...shared, title, text: item.body, image_url: null }
  }
  const image_url = directImage(item.link_url, item.media_kind, media_hosts)
  return { ...shared, title: item.title, text: item.text, image_url }
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

const ELLIPSIS = '…'

/**
 * A text, cut to at most `max` UTF-16 units after `escape` has been applied to each character, never within a
 * character or an escape; an ellipsis marks the cut.
 */
export function cut(whole: string, max: number, escape = (character: string) => character): string {
  let fits = ''
  let fits_with_ellipsis = ''
  for (const character of whole) {
    const longer = fits + escape(character)
    if (longer.length > max) return fits_with_ellipsis + ELLIPSIS
    fits = longer
    if (fits.length <= max - ELLIPSIS.length) fits_with_ellipsis = fits
  }
  return fits
}

/** A text on one line. */
export const oneLine = (lines: string): string => lines.replace(/\s+/gu, ' ').trim()
