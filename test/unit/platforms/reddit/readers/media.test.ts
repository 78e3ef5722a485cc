import { expect, test } from 'bun:test'

import type { MediaKind } from '../../../../../src/core/forum/items.ts'
import { mediaKindOf, mediaOf } from '../../../../../src/platforms/reddit/readers/media.ts'

const film = { fallback_url: 'https://films.example/a.mp4', width: 640, height: 360, duration: 12 }
const preview = { images: [{ source: { url: 'x', width: 800, height: 600 } }] }

const KINDS: [what: string, row: Record<string, unknown>, kind: MediaKind | null][] = [
  ['a gallery', { is_gallery: true, url: 'https://forum.example/gallery/x' }, 'gallery'],
  ['a gallery with deleted pictures', { is_gallery: true, gallery_data: null }, 'gallery'],
  ['a hosted video', { is_video: true, media: { reddit_video: film } }, 'video'],
  ['a video by its hint', { post_hint: 'hosted:video' }, 'video'],
  ['an external video', { post_hint: 'rich:video', url: 'https://films.example/v' }, 'video'],
  ['a hosted GIF', { is_video: true, media: { reddit_video: { ...film, is_gif: true } } }, 'video'],
  ['a GIF by its name', { post_hint: 'image', url: 'https://pictures.example/a.GIF?x=1' }, 'gif'],
  ['a gifv', { post_hint: 'link', url: 'https://pictures.example/a.gifv' }, 'gif'],
  [
    'a GIF by its preview',
    { url: 'https://x.example/a', preview: { reddit_video_preview: { is_gif: true } } },
    'gif',
  ],
  ['a picture by its hint', { post_hint: 'image', url: 'https://pictures.example/a' }, 'image'],
  ['a picture by its name alone', { url: 'https://pictures.example/a.WebP#x' }, 'image'],
  ['a link', { post_hint: 'link', url: 'https://news.example/a?file=b.jpg' }, null],
  ['a text', { is_self: true, url: 'https://forum.example/r/x/a.png/' }, null],
  ['a text with pictures in it', { is_self: true, media_metadata: { a: {} } }, null],
  [
    'a crosspost of a video',
    { url: '/r/x/', crosspost_parent_list: [{ is_video: true }] },
    'video',
  ],
  ['nothing', {}, null],
]

test.each(KINDS)('%s has its media kind', (_what, row, kind) => {
  expect(mediaKindOf(row)).toBe(kind)
  expect(mediaOf(row)?.kind ?? null).toBe(kind)
})

test('a picture has its size and its thumbnail', () => {
  const url = 'https://pictures.example/a.png'
  const row = { post_hint: 'image', url, preview, thumbnail: 'https://pictures.example/small' }

  expect(mediaOf(row)).toEqual({
    kind: 'image',
    url,
    width: 800,
    height: 600,
    items: [],
    duration_s: null,
    thumbnail_url: 'https://pictures.example/small',
  })
})

test('a video has its file, its size and its duration', () => {
  expect(mediaOf({ is_video: true, secure_media: { reddit_video: film } })).toEqual({
    kind: 'video',
    url: 'https://films.example/a.mp4',
    width: 640,
    height: 360,
    items: [],
    duration_s: 12,
    thumbnail_url: null,
  })
})

test("an external video has its page and that page's details", () => {
  const oembed = { width: 356, height: 200, thumbnail_url: 'https://films.example/t.jpg' }
  const row = { post_hint: 'rich:video', url: 'https://films.example/v', media: { oembed } }

  expect(mediaOf(row)).toEqual({
    kind: 'video',
    url: 'https://films.example/v',
    width: 356,
    height: 200,
    items: [],
    duration_s: null,
    thumbnail_url: 'https://films.example/t.jpg',
  })
})

const files = {
  b: { status: 'valid', s: { u: 'https://pictures.example/b?x=1&amp;s=2', x: 10, y: 20 } },
  a: { status: 'valid', s: { gif: 'https://pictures.example/a.gif', x: 1, y: 2 } },
  f: { status: 'failed' },
  u: { status: 'unprocessed' },
}

test('a gallery keeps its order, without failed uploads', () => {
  const items = ['a', 'f', 'b', 'gone', 'u', 'toString'].map((media_id) => ({ media_id }))
  const row = { is_gallery: true, gallery_data: { items }, media_metadata: files }

  expect(mediaOf(row)?.items).toEqual([
    { url: 'https://pictures.example/a.gif', width: 1, height: 2 },
    { url: 'https://pictures.example/b?x=1&s=2', width: 10, height: 20 },
  ])
})

test('a gallery without an order has the order of its files', () => {
  const row = { is_gallery: true, gallery_data: null, media_metadata: files }

  expect(mediaOf(row)?.items.map(({ height }) => height)).toEqual([20, 2])
})

test('a gallery without remaining pictures is empty', () => {
  expect(mediaOf({ is_gallery: true, gallery_data: null })).toMatchObject({ items: [], url: null })
})

test('a crosspost has the media of its origin', () => {
  const origin = { post_hint: 'image', url: 'https://pictures.example/a.png', preview }

  expect(mediaOf({ url: '/r/x/', crosspost_parent_list: [origin] })).toMatchObject({
    kind: 'image',
    url: 'https://pictures.example/a.png',
    width: 800,
  })
})
