import { escapeHtml } from '../server/response.ts'
import { excerptOf, isoOf, paragraphsOf } from '../sources/text.ts'
import type { ForumCall } from './access.ts'
import {
  canSeeTopic,
  FORUM_POST_TYPES,
  type ForumPost,
  type ForumUser,
  isGone,
  isStaff,
  likesOf,
} from './model.ts'

/** Template of a user's picture. */
export const avatarOf = ({ username, id }: ForumUser): string =>
  id < 0
    ? '/images/discourse-logo-sketch-small.png'
    : `/letter_avatar_proxy/v4/letter/${username.charAt(0).toLowerCase()}/${((id * 2_654_435) % 0xffffff).toString(16).padStart(6, '0')}/{size}.png`

/** Short form of a user beside a topic or a post. */
export const briefUser = (user: ForumUser) => ({
  id: user.id,
  username: user.username,
  name: user.name,
  avatar_template: avatarOf(user),
})

/** Typographic form of a title, as HTML. */
export const fancyTitle = (title: string): string =>
  escapeHtml(title).replaceAll("'", '&rsquo;').replaceAll('...', '&hellip;')

const DELETED_NOTICE = '(post deleted by author)'
const HIDDEN_NOTICE = '<p>This post was flagged by the community and is temporarily hidden.</p>'

/** True if a post existed at the instant of the answer and the viewer may read it. */
export function canSeePost({ viewer, now, as_of }: ForumCall, post: ForumPost): boolean {
  if (post.created_at > as_of || !canSeeTopic(viewer, post.topic)) return false
  if (post.type === FORUM_POST_TYPES.whisper && !isStaff(viewer)) return false
  return !isGone(post, now) || isStaff(viewer)
}

/** Posts of a topic that the viewer may read, in order. Deleted ones are left out. */
export const visiblePosts = (call: ForumCall, posts: readonly ForumPost[]): ForumPost[] =>
  posts.filter((post) => canSeePost(call, post) && !isGone(post, call.now))

/** Markdown and HTML of a post as a reader gets them; the Markdown of a hidden one is withheld. */
function textsOf({ viewer }: ForumCall, post: ForumPost) {
  if (post.user_deleted_at !== null)
    return { raw: DELETED_NOTICE, cooked: `<p>${DELETED_NOTICE}</p>` }
  if (post.hidden && !isStaff(viewer)) return { raw: null, cooked: HIDDEN_NOTICE }
  return { raw: post.raw, cooked: paragraphsOf(post.raw).join('\n') }
}

/** Kinds of flags that a signed-in reader may set. */
const FLAG_IDS = [3, 4, 8, 10, 6, 7]

function actionsOf({ viewer }: ForumCall, post: ForumPost) {
  const likes = likesOf(post)
  const acted = viewer !== null && post.likers.has(viewer)
  const may_like = viewer !== null && viewer !== post.user
  const like = {
    id: 2,
    ...(likes > 0 && { count: likes }),
    ...(acted && { acted: true, can_undo: true }),
    ...(may_like && !acted && { can_act: true }),
  }
  const flags = viewer === null ? [] : FLAG_IDS.map((id) => ({ id, can_act: true }))
  return likes > 0 || may_like ? [like, ...flags] : flags
}

const repliesTo = (post: ForumPost) =>
  post.topic.posts.filter(({ reply_to }) => reply_to === post.number).length

type PostForm = {
  /** Row of the site-wide listing: names its topic. */
  listed?: boolean
  /** Row of a topic: tells if it was read. */
  in_topic?: boolean
  /** With its Markdown. */
  raw?: boolean
}

/** A post as JSON, in the form of its place. */
export function postFields(call: ForumCall, post: ForumPost, form: PostForm = {}) {
  const { viewer, now } = call
  const { topic, user } = post
  const { raw, cooked } = textsOf(call, post)
  const staff = isStaff(viewer)
  const own = viewer === user
  const parent =
    post.reply_to === null ? undefined : topic.posts.find(({ number }) => number === post.reply_to)
  return {
    id: post.id,
    name: user.name,
    username: user.username,
    avatar_template: avatarOf(user),
    created_at: isoOf(post.created_at),
    ...(post.hidden && { cooked_hidden: true }),
    cooked,
    post_number: post.number,
    post_type: post.type,
    posts_count: visiblePosts(call, topic.posts).length,
    updated_at: isoOf(post.updated_at),
    reply_count: repliesTo(post),
    reply_to_post_number: post.reply_to,
    quote_count: 0,
    incoming_link_count: 0,
    reads: post.reads,
    readers_count: Math.max(0, post.reads - 1),
    score: Math.round((post.reads * 0.2 + likesOf(post) * 15 + repliesTo(post) * 5) * 10) / 10,
    yours: own,
    topic_id: topic.id,
    topic_slug: topic.slug,
    ...(form.listed && {
      topic_title: topic.title,
      topic_html_title: fancyTitle(topic.title),
      category_id: topic.category?.id ?? null,
    }),
    display_username: user.name,
    primary_group_name: null,
    flair_name: null,
    flair_url: null,
    flair_bg_color: null,
    flair_color: null,
    flair_group_id: null,
    badges_granted: [],
    version: post.version,
    can_edit: own || staff,
    can_delete: (own || staff) && post.number > 1,
    can_recover: staff && isGone(post, now),
    can_see_hidden_post: staff,
    can_wiki: staff,
    ...(form.in_topic && { read: true }),
    user_title: user.title,
    ...(parent !== undefined && { reply_to_user: briefUser(parent.user) }),
    bookmarked: false,
    ...(form.raw && raw !== null && { raw }),
    actions_summary: actionsOf(call, post),
    moderator: user.moderator,
    admin: user.admin,
    staff: isStaff(user),
    user_id: user.id,
    hidden: post.hidden,
    trust_level: user.trust_level,
    deleted_at: post.deleted_at === null ? null : isoOf(post.deleted_at),
    user_deleted: post.user_deleted_at !== null,
    edit_reason: post.edit_reason,
    can_view_edit_history: true,
    wiki: false,
    ...(post.action_code !== null && { action_code: post.action_code }),
    ...(form.listed && {
      excerpt: excerptOf(raw ?? '', 300),
      truncated: true,
    }),
    ...((form.listed || form.in_topic) && { mentioned_users: [] }),
    ...(staff &&
      !form.listed && {
        reviewable_id: null,
        reviewable_score_count: 0,
        reviewable_score_pending_count: 0,
      }),
    post_url: `/t/${topic.slug}/${topic.id}/${post.number}`,
    can_accept_answer: false,
    can_unaccept_answer: false,
    accepted_answer: false,
    topic_accepted_answer: null,
  }
}

/** Answer to a write: the post with the number of the writer's draft. */
export const writtenPost = (call: ForumCall, post: ForumPost) => ({
  ...postFields(call, post, { raw: true }),
  draft_sequence: 0,
})
