import type { Post } from './model.ts'

const WIDTH = 1200
const HEIGHT = 900

const picture = (url: string, id: string, variants: object = {}) => ({
  images: [
    {
      source: { url, width: WIDTH, height: HEIGHT },
      resolutions: [{ url: `${url}?width=108&crop=smart&auto=webp`, width: 108, height: 81 }],
      variants,
      id,
    },
  ],
  enabled: true,
})

const thumb = (url: string) => ({ thumbnail: url, thumbnail_height: 105, thumbnail_width: 140 })
const noThumb = (word: string) => ({
  thumbnail: word,
  thumbnail_height: null,
  thumbnail_width: null,
})

const video = (id: string) => ({
  reddit_video: {
    bitrate_kbps: 2400,
    fallback_url: `https://v.redd.it/${id}/CMAF_720.mp4?source=fallback`,
    has_audio: true,
    height: 720,
    width: 1280,
    scrubber_media_url: `https://v.redd.it/${id}/CMAF_96.mp4`,
    dash_url: `https://v.redd.it/${id}/DASHPlaylist.mpd?v=1&f=sd`,
    duration: 37,
    hls_url: `https://v.redd.it/${id}/HLSPlaylist.m3u8?v=1&f=sd`,
    is_gif: false,
    transcoding_status: 'completed',
  },
})

const galleryItem = (id: string) => ({
  status: 'valid',
  e: 'Image',
  m: 'image/jpg',
  p: [{ y: 81, x: 108, u: `https://preview.redd.it/${id}.jpg?width=108&crop=smart&auto=webp` }],
  s: { y: HEIGHT, x: WIDTH, u: `https://preview.redd.it/${id}.jpg?width=${WIDTH}&format=pjpg` },
  id,
})

function gallery({ pictures }: Post) {
  // The last of a long gallery has not been processed yet: it has a status and nothing else.
  const metadata = pictures.map((id, index): [string, object] =>
    index === 4 ? [id, { status: 'unprocessed' }] : [id, galleryItem(id)],
  )
  return {
    is_gallery: true,
    media_metadata: Object.fromEntries(metadata),
    gallery_data: {
      items: pictures.map((media_id, index) => ({ media_id, id: 911_209_142 + index })),
    },
  }
}

/** What a post shows beside its words. Preview and hint are absent, not null, where there is none. */
export function richMedia(post: Post, removed: boolean): Record<string, unknown> {
  const still = { is_video: false, media: null, secure_media: null, is_reddit_media_domain: false }
  const [first = post.id] = post.pictures
  const covered = post.over_18 ? 'nsfw' : 'spoiler'
  const hideable = (parts: object) =>
    post.over_18 || post.spoiler ? { ...parts, ...noThumb(covered) } : parts
  if (removed) return { ...still, ...noThumb('default') }
  switch (post.shape) {
    case 'self':
      return { ...still, ...noThumb('self') }
    case 'crosspost':
      return { ...still, ...noThumb('default') }
    case 'link':
      return {
        ...still,
        ...hideable(thumb(`https://external-preview.redd.it/${first}.jpg?width=140`)),
        post_hint: 'link',
        preview: picture(`https://external-preview.redd.it/${first}.jpg?auto=webp`, first),
      }
    case 'image':
      return {
        ...still,
        ...hideable(thumb(`https://preview.redd.it/${first}.jpg?width=140`)),
        is_reddit_media_domain: true,
        post_hint: 'image',
        preview: picture(`https://preview.redd.it/${first}.jpg?auto=webp`, first),
      }
    case 'gif':
      return {
        ...still,
        ...hideable(thumb(`https://preview.redd.it/${first}.gif?width=140&format=png8`)),
        is_reddit_media_domain: true,
        post_hint: 'image',
        preview: picture(`https://preview.redd.it/${first}.gif?format=png8`, first, {
          gif: {
            source: { url: `https://preview.redd.it/${first}.gif`, width: 480, height: 360 },
            resolutions: [],
          },
          mp4: {
            source: {
              url: `https://preview.redd.it/${first}.gif?format=mp4`,
              width: 480,
              height: 360,
            },
            resolutions: [],
          },
        }),
      }
    case 'gallery':
      return {
        ...still,
        ...hideable(thumb(`https://preview.redd.it/${first}.jpg?width=140`)),
        ...gallery(post),
      }
    case 'video':
      return {
        ...hideable(thumb(`https://external-preview.redd.it/${first}.png?width=140`)),
        is_video: true,
        is_reddit_media_domain: true,
        post_hint: 'hosted:video',
        media: video(first),
        secure_media: video(first),
        preview: picture(`https://external-preview.redd.it/${first}.png?format=pjpg`, first),
      }
  }
}
