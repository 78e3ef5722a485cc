import { encode, toHtml } from './json.ts'
import type { Post } from './model.ts'
import { richMedia } from './native-media.ts'
import { authorPart, flairPart } from './native-parts.ts'
import { type Viewer, viewOf } from './viewer.ts'

/** Younger than this, a score is hidden. */
export const SCORE_HIDDEN_S = 3_600

const REMOVED_BY = { author: 'deleted', moderator: 'moderator', platform: 'reddit' } as const
const MASK = { author: '[deleted]', moderator: '[removed]', platform: '[removed]' } as const

/** The `t3` object of a post as `viewer` sees it, in the platform's spelling. */
export function renderPost(post: Post, viewer: Viewer): string {
  const own = viewOf(viewer, post)
  const { now_s } = viewer
  const kept = own === null ? post.rendered : null
  if (kept !== null && now_s < kept.until_s && kept.origin === viewer.origin) return kept.text
  const text = encode({ kind: 't3', data: postData(post, viewer) })
  if (own === null) {
    const shown_s = post.created_s + SCORE_HIDDEN_S
    post.rendered = {
      text,
      until_s: now_s < shown_s ? shown_s : Infinity,
      origin: viewer.origin,
    }
  }
  return text
}

/** A path on the platform. */
export function permalink(post: Post): string {
  const slug = post.title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .slice(0, 50)
    .replace(/^_+|_+$/g, '')
  return `/r/${post.subforum.name}/comments/${post.id}/${slug}/`
}

function domain(post: Post): string {
  if (post.shape === 'gallery') return 'reddit.com'
  if (post.url === null) return `self.${post.subforum.name}`
  return post.url.startsWith('/') ? 'reddit.com' : new URL(post.url).hostname
}

/** `post` as an object; also what a crosspost carries of its origin. */
function postData(post: Post, viewer: Viewer): Record<string, unknown> {
  const { subforum, author } = post
  const own = viewOf(viewer, post)
  // The author goes on seeing what a moderator has taken away.
  const removed = own?.author && post.removed !== 'author' ? null : post.removed
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
    can_mod_post: false,
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
    banned_by: null,
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

/** The platform's word for who may read and write. */
export function subforumType(access: Post['subforum']['access']): string {
  if (access === 'quarantined' || access === 'gated' || access === 'banned') return 'public'
  return access
}
