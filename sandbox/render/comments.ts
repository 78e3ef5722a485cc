import { encode, toHtml } from '../server/response.ts'
import { type OwnView, ownViewOf, type Viewer } from '../server/viewer.ts'
import type { Remover, SandboxComment } from '../world/model.ts'
import { authorPart, bannedBy, permalink, SCORE_HIDDEN_S, subforumType } from './posts.ts'

const MASK: Record<Remover, string> = {
  author: '[deleted]',
  moderator: '[removed]',
  platform: '[ Removed by Reddit ]',
}

/** Path on the platform. */
export const commentPermalink = (comment: SandboxComment): string =>
  `${permalink(comment.post)}${comment.id}/`

/** Context of a rendered comment: its replies in a tree, its post in a listing. */
export type CommentContext =
  | { kind: 'tree'; depth: number; replies: string }
  | { kind: 'flat'; depth: number }
  | { kind: 'listing' }
  | { kind: 'alone' }

/** `t1` object of a comment as `viewer` sees it, in the platform's notation. */
export function renderComment(
  comment: SandboxComment,
  viewer: Viewer,
  context: CommentContext,
): string {
  return `{"kind":"t1","data":${commentFields(comment, viewer)}${contextFields(comment, viewer, context)}}}`
}

/** `replies` is an empty string, not null, if there are none. */
function contextFields(comment: SandboxComment, viewer: Viewer, context: CommentContext): string {
  switch (context.kind) {
    case 'tree':
      return `,"depth":${context.depth},"replies":${context.replies}`
    case 'flat':
      return `,"depth":${context.depth},"replies":""`
    case 'alone':
      return ',"replies":""'
    case 'listing':
      return `,"replies":"",${encode(linkFields(comment, viewer)).slice(1, -1)}`
  }
}

function linkFields({ post }: SandboxComment, { origin }: Viewer) {
  const path = origin + permalink(post)
  return {
    link_title: post.title,
    link_author: authorPart(post.author, post.removed === 'author')['author'],
    link_url: post.url?.startsWith('/') ? origin + post.url : (post.url ?? path),
    link_permalink: path,
    over_18: post.over_18,
    quarantine: post.subforum.access === 'quarantined',
    num_comments: post.comment_count,
  }
}

/** Fields independent of the context, without the closing brace. */
function commentFields(comment: SandboxComment, viewer: Viewer): string {
  const shared = ownViewOf(viewer, comment) === null
  const cached = shared ? comment.rendered : null
  const { now_s, origin } = viewer
  if (cached !== null && now_s < cached.until_s && cached.origin === origin) return cached.text
  const text = encode(commentData(comment, viewer)).slice(0, -1)
  if (shared) {
    const score_visible_s = comment.created_s + SCORE_HIDDEN_S
    comment.rendered = {
      text,
      until_s: now_s < score_visible_s ? score_visible_s : Infinity,
      origin,
    }
  }
  return text
}

function commentData(comment: SandboxComment, viewer: Viewer): Record<string, unknown> {
  const { post } = comment
  const { subforum } = post
  const own = ownViewOf(viewer, comment)
  const removed = removerFor(comment, own)
  const body = removed ? MASK[removed] : comment.text
  const young = viewer.now_s - comment.created_s < SCORE_HIDDEN_S
  const score = young ? 1 : comment.ups - comment.downs
  const low = score <= -5
  return {
    total_awards_received: 0,
    approved_at_utc: null,
    author_is_blocked: false,
    comment_type: null,
    awarders: [],
    mod_reason_by: null,
    banned_by: own?.moderator ? bannedBy(comment) : null,
    ups: score,
    removal_reason: null,
    link_id: post.name,
    likes: own?.likes ?? null,
    user_reports: [],
    saved: own?.saved ?? false,
    id: comment.id,
    banned_at_utc: null,
    mod_reason_title: null,
    gilded: 0,
    archived: post.archived,
    collapsed_reason_code: removed ? 'DELETED' : low ? 'LOW_SCORE' : null,
    no_follow: score < 3,
    ...authorPart(comment.author, removed !== null),
    can_mod_post: own?.moderator ?? false,
    ...(own?.moderator && { removed: comment.removed !== null, spam: false }),
    created_utc: comment.created_s,
    send_replies: true,
    parent_id: comment.parent?.name ?? post.name,
    score,
    approved_by: null,
    report_reasons: null,
    all_awardings: [],
    subreddit_id: `t5_${subforum.id}`,
    body,
    edited: comment.edited_s ?? false,
    downs: 0,
    collapsed: removed !== null || low,
    is_submitter: removed === null && comment.author === post.author,
    body_html: toHtml(body),
    gildings: {},
    collapsed_reason: low ? 'comment score below threshold' : null,
    associated_award: null,
    stickied: comment.stickied,
    subreddit_type: subforumType(subforum.access),
    can_gild: false,
    top_awarded_type: null,
    unrepliable_reason: null,
    score_hidden: young,
    permalink: commentPermalink(comment),
    num_reports: null,
    locked: comment.locked,
    name: comment.name,
    created: comment.created_s,
    subreddit: subforum.name,
    treatment_tags: [],
    subreddit_name_prefixed: `r/${subforum.name}`,
    controversiality: comment.downs * 2 > comment.ups && comment.ups > 5 ? 1 : 0,
    collapsed_because_crowd_control: null,
    mod_reports: [],
    mod_note: null,
    distinguished: comment.distinguished,
  }
}

/** Authors and moderators still see comments that are hidden from others. */
function removerFor({ author, removed }: SandboxComment, own: OwnView | null): Remover | null {
  if ((own?.author || own?.moderator) && removed !== 'author') return null
  return removed ?? (author.standing === 'shadowed' ? 'moderator' : null)
}

/** Comment for the old pages: HTML fragments, with a fullname as id. */
export function renderOldComment(comment: SandboxComment): string {
  const html = toHtml(comment.text)
  const data = {
    parent: comment.parent?.name ?? comment.post.name,
    content: `<div class="thing id-${comment.name}">${html}</div>`,
    contentText: comment.text,
    link: comment.post.name,
    replies: '',
    contentHTML: html,
    id: comment.name,
  }
  return encode({ kind: 't1', data })
}
