import { isObject } from '../../../core/base/object.ts'
import type { Media, MediaKind } from '../../../core/forum/items.ts'
import { numberAt, textAt } from '../../values.ts'
import { addressAt, listAt, type NativeRow, rowAt, wholeAt, wordAt } from './fields.ts'

type Size = { width: number | null; height: number | null }
type Picture = Media['items'][number]

const IMAGE = /\.(?:jpe?g|png|webp)$/i
const GIF = /\.gifv?$/i

/** Media kind of a post, or of its origin for a crosspost; null if it has no media. */
export function mediaKindOf(row: NativeRow): MediaKind | null {
  return ownKind(row) ?? parentKind(row)
}

/** A post's pictures or video with their details; null if it has none. */
export function mediaOf(row: NativeRow): Media | null {
  const own = ownKind(row)
  if (own !== null) return describe(row, own)
  const parent = crosspostParentOf(row)
  const kind = parent && ownKind(parent)
  return parent && kind ? describe(parent, kind) : null
}

/** The origin of a crosspost; null if the row does not contain it. */
export function crosspostParentOf(row: NativeRow): NativeRow | null {
  const parent = listAt(row, 'crosspost_parent_list')[0]
  return isObject(parent) ? parent : null
}

/** Target of a post: a path or an address; a text post's own. */
export const targetOf = (row: NativeRow): string | null =>
  wordAt(row, 'url_overridden_by_dest') ?? wordAt(row, 'url')

/** The thumbnail of a post. The platform also writes words there, such as `self` or `nsfw`. */
export const thumbnailOf = (row: NativeRow): string | null => addressAt(row, 'thumbnail')

function parentKind(row: NativeRow): MediaKind | null {
  const parent = crosspostParentOf(row)
  return parent && ownKind(parent)
}

function ownKind(row: NativeRow): MediaKind | null {
  if (row['is_gallery'] === true || rowAt(row, 'gallery_data')) return 'gallery'
  if (row['is_self'] === true) return null
  const hint = textAt(row, 'post_hint')
  const path = pathnameOf(targetOf(row))
  if (row['is_video'] === true || hint === 'hosted:video') return 'video'
  // An external GIF is delivered as a silent video with a flag.
  if (GIF.test(path) || filmOf(row)?.['is_gif'] === true) return 'gif'
  if (hint === 'rich:video') return 'video'
  return hint === 'image' || IMAGE.test(path) ? 'image' : null
}

/** The path alone: a query such as `?x=.jpg` does not make a picture. */
function pathnameOf(target: string | null): string {
  if (target === null) return ''
  return target.replace(/[?#].*$/s, '')
}

function filmOf(row: NativeRow): NativeRow | null {
  for (const field of ['media', 'secure_media']) {
    const media = rowAt(row, field)
    const film = media && rowAt(media, 'reddit_video')
    if (film) return film
  }
  const preview = rowAt(row, 'preview')
  return preview && rowAt(preview, 'reddit_video_preview')
}

function embedOf(row: NativeRow): NativeRow | null {
  for (const field of ['secure_media', 'media']) {
    const media = rowAt(row, field)
    const embed = media && rowAt(media, 'oembed')
    if (embed) return embed
  }
  return null
}

function describe(row: NativeRow, kind: MediaKind): Media {
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

const sizeOf = (row: NativeRow): Size => ({
  width: wholeAt(row, 'width'),
  height: wholeAt(row, 'height'),
})

function previewSize(row: NativeRow): Size {
  const preview = rowAt(row, 'preview')
  const first = preview ? listAt(preview, 'images')[0] : null
  const source = isObject(first) ? rowAt(first, 'source') : null
  return source ? sizeOf(source) : { width: null, height: null }
}

/**
 * Pictures of a gallery in its own order, or else in the order of its files. Failed uploads are
 * left out.
 */
function picturesOf(row: NativeRow): Picture[] {
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
