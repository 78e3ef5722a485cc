import type { Media, MediaKind } from '../core/items.ts'
import { isObject } from '../core/object.ts'
import { addressAt, listAt, numberAt, type Row, rowAt, textAt, wholeAt, wordAt } from './read.ts'

type Size = { width: number | null; height: number | null }
type Picture = Media['items'][number]

const IMAGE = /\.(?:jpe?g|png|webp)$/i
const GIF = /\.gifv?$/i

/** What a post shows, looking through a crosspost at its origin; null when it shows nothing. */
export function mediaKindOf(row: Row): MediaKind | null {
  return ownKind(row) ?? parentKind(row)
}

/** A post's pictures or film with what the platform tells about them; null when it has none. */
export function mediaOf(row: Row): Media | null {
  const own = ownKind(row)
  if (own !== null) return describe(row, own)
  const parent = crosspostParentOf(row)
  const kind = parent && ownKind(parent)
  return parent && kind ? describe(parent, kind) : null
}

/** The post that this one was crossposted from, as far as the row carries it. */
export function crosspostParentOf(row: Row): Row | null {
  const parent = listAt(row, 'crosspost_parent_list')[0]
  return isObject(parent) ? parent : null
}

/** Where a post points to: a path or an address, for a text post its own. */
export const targetOf = (row: Row): string | null =>
  wordAt(row, 'url_overridden_by_dest') ?? wordAt(row, 'url')

/** The small picture beside a post. The platform also writes words there, such as `self` or `nsfw`. */
export const thumbnailOf = (row: Row): string | null => addressAt(row, 'thumbnail')

function parentKind(row: Row): MediaKind | null {
  const parent = crosspostParentOf(row)
  return parent && ownKind(parent)
}

function ownKind(row: Row): MediaKind | null {
  if (row['is_gallery'] === true || rowAt(row, 'gallery_data')) return 'gallery'
  if (row['is_self'] === true) return null
  const hint = textAt(row, 'post_hint')
  const path = pathnameOf(targetOf(row))
  if (row['is_video'] === true || hint === 'hosted:video') return 'video'
  // A loop of elsewhere is shown as a film without sound, and told to be a loop.
  if (GIF.test(path) || filmOf(row)?.['is_gif'] === true) return 'gif'
  if (hint === 'rich:video') return 'video'
  return hint === 'image' || IMAGE.test(path) ? 'image' : null
}

/** The path alone: a query such as `?x=.jpg` makes nothing a picture. */
function pathnameOf(target: string | null): string {
  if (target === null) return ''
  return target.replace(/[?#].*$/s, '')
}

function filmOf(row: Row): Row | null {
  for (const field of ['media', 'secure_media']) {
    const media = rowAt(row, field)
    const film = media && rowAt(media, 'reddit_video')
    if (film) return film
  }
  const preview = rowAt(row, 'preview')
  return preview && rowAt(preview, 'reddit_video_preview')
}

function embedOf(row: Row): Row | null {
  for (const field of ['secure_media', 'media']) {
    const media = rowAt(row, field)
    const embed = media && rowAt(media, 'oembed')
    if (embed) return embed
  }
  return null
}

function describe(row: Row, kind: MediaKind): Media {
  const thumbnail_url = thumbnailOf(row)
  const link = addressOf(targetOf(row))
  if (kind === 'gallery') {
    const bare = { url: link, width: null, height: null, duration_s: null, thumbnail_url }
    return { kind, ...bare, items: picturesOf(row) }
  }
  const film = filmOf(row)
  if (film && (kind === 'video' || !GIF.test(pathnameOf(link)))) {
    const url = addressAt(film, 'fallback_url') ?? link
    const duration_s = numberAt(film, 'duration')
    return { kind, url, ...sizeOf(film), items: [], duration_s, thumbnail_url }
  }
  const embed = kind === 'video' ? embedOf(row) : null
  const size = embed ? sizeOf(embed) : previewSize(row)
  const small = thumbnail_url ?? (embed && addressAt(embed, 'thumbnail_url'))
  return { kind, url: link, ...size, items: [], duration_s: null, thumbnail_url: small }
}

const addressOf = (target: string | null): string | null =>
  target !== null && /^https?:\/\//i.test(target) ? target : null

const sizeOf = (row: Row): Size => ({
  width: wholeAt(row, 'width'),
  height: wholeAt(row, 'height'),
})

function previewSize(row: Row): Size {
  const preview = rowAt(row, 'preview')
  const first = preview ? listAt(preview, 'images')[0] : null
  const source = isObject(first) ? rowAt(first, 'source') : null
  return source ? sizeOf(source) : { width: null, height: null }
}

/** A gallery in its own order; without one, in the order of its files. What failed to upload is left out. */
function picturesOf(row: Row): Picture[] {
  const files = rowAt(row, 'media_metadata')
  if (!files) return []
  const order = rowAt(row, 'gallery_data')
  const ids = order
    ? listAt(order, 'items').map((item) => (isObject(item) ? textAt(item, 'media_id') : null))
    : Object.keys(files)
  return ids.flatMap((id) => {
    const file = id !== null ? rowAt(files, id) : null
    const source = file && rowAt(file, 's')
    const url =
      source && (addressAt(source, 'u') ?? addressAt(source, 'gif') ?? addressAt(source, 'mp4'))
    return source && url ? [{ url, width: wholeAt(source, 'x'), height: wholeAt(source, 'y') }] : []
  })
}
