import { encode, toHtml } from '../server/response.ts'
import { ownViewOf, type Viewer } from '../server/viewer.ts'
import type { SandboxPost, SandboxUser, Thing } from '../world/model.ts'

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

function gallery({ pictures }: SandboxPost) {
  // The last picture of a long gallery is unprocessed: it has only a status.
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

/** Media fields of a post. Preview and hint are absent, not null, if there is none. */
function richMedia(post: SandboxPost, removed: boolean): Record<string, unknown> {
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

/** Author fields. A deleted account is masked, without `author_fullname`. */
export function authorPart(author: SandboxUser, masked: boolean): Record<string, unknown> {
  const flair = {
    author_flair_css_class: null,
    author_flair_text: null,
    author_flair_text_color: null,
    author_flair_background_color: null,
    author_flair_template_id: null,
  }
  if (masked || author.standing === 'deleted') return { author: '[deleted]', ...flair }
  return {
    author: author.name,
    author_fullname: `t2_${author.id}`,
    author_premium: author.premium,
    author_patreon_flair: false,
    author_flair_richtext: [],
    author_flair_type: 'text',
    ...flair,
  }
}

/** Flair fields; the template id is absent without a flair. */
function flairPart(flair: string | null): Record<string, unknown> {
  return {
    link_flair_text: flair,
    link_flair_css_class: null,
    link_flair_type: flair ? 'richtext' : 'text',
    link_flair_richtext: flair ? [{ e: 'text', t: flair }] : [],
    link_flair_text_color: 'dark',
    link_flair_background_color: flair ? '#edeff1' : '',
    ...(flair ? { link_flair_template_id: flairId(flair) } : {}),
  }
}

function flairId(flair: string): string {
  const hex = Bun.hash(flair).toString(16).padStart(16, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-11ee-8c90-${hex.slice(4, 16)}`
}

/** Seconds for which the score of a new post is hidden. */
export const SCORE_HIDDEN_S = 3_600

const REMOVED_BY = { author: 'deleted', moderator: 'moderator', platform: 'reddit' } as const
const MASK = { author: '[deleted]', moderator: '[removed]', platform: '[removed]' } as const

/** `t3` object of a post as `viewer` sees it, in the platform's notation. */
export function renderPost(post: SandboxPost, viewer: Viewer): string {
  const own = ownViewOf(viewer, post)
  const { now_s } = viewer
  const cached = own === null ? post.rendered : null
  if (cached !== null && now_s < cached.until_s && cached.origin === viewer.origin)
    return cached.text
  const text = encode({ kind: 't3', data: postData(post, viewer) })
  if (own === null) {
    const score_visible_s = post.created_s + SCORE_HIDDEN_S
    post.rendered = {
      text,
      until_s: now_s < score_visible_s ? score_visible_s : Infinity,
      origin: viewer.origin,
    }
  }
  return text
}

/** Path on the platform. */
export function permalink(post: SandboxPost): string {
  const slug = post.title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .slice(0, 50)
    .replace(/^_+|_+$/g, '')
  return `/r/${post.subforum.name}/comments/${post.id}/${slug}/`
}

function domain(post: SandboxPost): string {
  if (post.shape === 'gallery') return 'reddit.com'
  if (post.url === null) return `self.${post.subforum.name}`
  return post.url.startsWith('/') ? 'reddit.com' : new URL(post.url).hostname
}

/** Name of the moderator who removed an item, and true for the platform, in a moderator's view. */
export function bannedBy(thing: Thing): string | true | null {
  if (thing.removed === 'author') return null
  if (thing.removed === null) return thing.author.standing === 'shadowed' ? true : null
  const { moderators } = thing.kind === 't3' ? thing.subforum : thing.post.subforum
  return thing.removed === 'moderator' ? (moderators[0]?.name ?? true) : true
}

/** Fields of a post; also used for the original of a crosspost. */
function postData(post: SandboxPost, viewer: Viewer): Record<string, unknown> {
  const { subforum, author } = post
  const own = ownViewOf(viewer, post)
  // Authors and moderators still see posts that a moderator removed.
  const removed = (own?.author || own?.moderator) && post.removed !== 'author' ? null : post.removed
  const text = removed ? MASK[removed] : post.text
  const path = permalink(post)
  const url = post.url === null || removed ? viewer.origin + path : absolute(post.url, viewer)
  const score = post.ups - post.downs
  return {
    approved_at_utc: null,
    subreddit: subforum.name,
    selftext: text,
    ...authorPart(author, removed === 'author'),
    saved: own?.saved ?? false,
    mod_reason_title: null,
    gilded: 0,
    clicked: false,
    title: removed === 'platform' ? '[ Removed by Reddit ]' : post.title,
    subreddit_name_prefixed: `r/${subforum.name}`,
    hidden: own?.hidden ?? false,
    pwls: subforum.over_18 ? null : 6,
    ...flairPart(post.flair),
    downs: 0,
    top_awarded_type: null,
    hide_score: viewer.now_s - post.created_s < SCORE_HIDDEN_S,
    name: post.name,
    quarantine: subforum.access === 'quarantined',
    upvote_ratio: Math.round((post.ups / Math.max(1, post.ups + post.downs)) * 100) / 100,
    subreddit_type: subforumType(subforum.access),
    ups: score,
    total_awards_received: 0,
    media_embed: {},
    is_original_content: false,
    user_reports: [],
    is_meta: false,
    category: null,
    secure_media_embed: {},
    can_mod_post: own?.moderator ?? false,
    ...(own?.moderator && { removed: post.removed !== null, spam: false }),
    score,
    approved_by: null,
    is_created_from_ads_ui: false,
    edited: post.edited_s ?? false,
    gildings: {},
    content_categories: null,
    is_self: post.url === null,
    mod_note: null,
    created: post.created_s,
    wls: subforum.over_18 ? null : 6,
    removed_by_category: removed ? REMOVED_BY[removed] : null,
    banned_by: own?.moderator ? bannedBy(post) : null,
    domain: domain(post),
    allow_live_comments: post.comment_count > 200,
    selftext_html: text === '' ? null : `<!-- SC_OFF -->${toHtml(text)}<!-- SC_ON -->`,
    likes: own?.likes ?? null,
    suggested_sort: null,
    banned_at_utc: null,
    ...(post.url !== null && !removed ? { url_overridden_by_dest: url } : {}),
    view_count: null,
    archived: post.archived,
    no_follow: score < 5,
    is_crosspostable: removed === null,
    pinned: false,
    over_18: post.over_18,
    all_awardings: [],
    awarders: [],
    media_only: false,
    can_gild: false,
    spoiler: post.spoiler,
    locked: post.locked,
    treatment_tags: [],
    visited: false,
    removed_by: null,
    num_reports: null,
    distinguished: post.distinguished,
    subreddit_id: `t5_${subforum.id}`,
    author_is_blocked: false,
    mod_reason_by: null,
    removal_reason: null,
    id: post.id,
    is_robot_indexable: removed === null,
    report_reasons: null,
    discussion_type: null,
    num_comments: post.comment_count,
    send_replies: true,
    contest_mode: false,
    mod_reports: [],
    permalink: path,
    stickied: post.stickied,
    url,
    subreddit_subscribers: subforum.subscribers,
    created_utc: post.created_s,
    num_crossposts: post.crossposts,
    ...richMedia(post, removed !== null),
    ...(post.origin
      ? {
          crosspost_parent: post.origin.name,
          crosspost_parent_list: [postData(post.origin, viewer)],
        }
      : {}),
  }
}

const absolute = (url: string, { origin }: Viewer) => (url.startsWith('/') ? origin + url : url)

/** The platform's name of an access level. */
export function subforumType(access: SandboxPost['subforum']['access']): string {
  if (access === 'quarantined' || access === 'gated' || access === 'banned') return 'public'
  return access
}
