import {
  AUTOMATIC_GROUPS,
  GROUP_DEFAULTS,
  OWN_USER_FIELDS,
  USER_OPTION_DEFAULTS,
} from '../data/forum-defaults.ts'
import type { SandboxResponse } from '../server/response.ts'
import { wholeOf } from '../sources/source.ts'
import { excerptOf, isoOf, paragraphsOf } from '../sources/text.ts'
import {
  forbidden,
  type ForumCall,
  forumJson,
  invalidParameter,
  missing,
  notLoggedIn,
} from './access.ts'
import {
  FORUM_POST_TYPES,
  type ForumPost,
  type ForumUser,
  isGone,
  isStaff,
  likesOf,
  NOTICE,
} from './model.ts'
import { avatarOf, briefUser, canSeePost, fancyTitle } from './posts.ts'

const userNamed = ({ world }: ForumCall, name: string) => world.users.get(name.toLowerCase())

/** Posts of a user that the viewer may read, oldest first. */
const postsBy = (call: ForumCall, user: ForumUser): ForumPost[] =>
  call.world.posts.filter(
    (post) =>
      post.user === user &&
      post.type === FORUM_POST_TYPES.regular &&
      post.topic.archetype === 'regular' &&
      !isGone(post, call.now) &&
      canSeePost(call, post),
  )

const groupOf = ([id, name]: (typeof AUTOMATIC_GROUPS)[number]) => ({
  id,
  name,
  display_name: name,
  user_count: 12,
  ...GROUP_DEFAULTS,
})

/** `GET /u/{username}.json` */
export function userShow(call: ForumCall, name: string): SandboxResponse {
  const user = userNamed(call, name)
  if (user === undefined) return missing()
  const { viewer } = call
  const own = viewer === user || isStaff(viewer)
  if (user.hidden_profile && !own)
    return forumJson({
      user_badges: [],
      user: {
        ...briefUser(user),
        profile_hidden: true,
        title: user.title,
        primary_group_name: null,
      },
    })
  const groups = AUTOMATIC_GROUPS.filter(([id]) => id >= 10 && id <= 10 + user.trust_level).map(
    groupOf,
  )
  return forumJson({
    user_badges: [],
    user: {
      ...briefUser(user),
      last_posted_at: user.last_posted_at === null ? null : isoOf(user.last_posted_at),
      last_seen_at: user.last_posted_at === null ? null : isoOf(user.last_posted_at),
      created_at: isoOf(user.created_at),
      ignored: false,
      muted: false,
      can_ignore_user: viewer !== null && viewer !== user,
      can_mute_user: viewer !== null && viewer !== user,
      can_send_private_messages: viewer !== null,
      can_send_private_message_to_user: viewer !== null && viewer !== user,
      trust_level: user.trust_level,
      moderator: user.moderator,
      admin: user.admin,
      title: user.title,
      badge_count: 0,
      custom_fields: {},
      ...(user.bio !== '' && {
        bio_raw: user.bio,
        bio_cooked: paragraphsOf(user.bio).join('\n'),
        bio_excerpt: excerptOf(user.bio),
      }),
      time_read: 0,
      recent_time_read: 0,
      primary_group_id: null,
      primary_group_name: null,
      flair_group_id: null,
      flair_name: null,
      flair_url: null,
      flair_bg_color: null,
      flair_color: null,
      featured_topic: null,
      ...(own && {
        ...OWN_USER_FIELDS,
        system_avatar_template: avatarOf(user),
        post_count: postsBy(call, user).length,
        group_users: groups.map(({ id }) => ({
          group_id: id,
          user_id: user.id,
          notification_level: 3,
        })),
        user_option: { user_id: user.id, ...USER_OPTION_DEFAULTS },
      }),
      featured_user_badge_ids: [],
      invited_by: null,
      groups,
    },
  })
}

/** `GET /u/{username}/summary.json` */
export function userSummary(call: ForumCall, name: string): SandboxResponse {
  const user = userNamed(call, name)
  if (user === undefined) return missing()
  if (user.hidden_profile && call.viewer !== user && !isStaff(call.viewer)) return missing()
  const posts = postsBy(call, user)
  const given = call.world.posts.filter(({ likers }) => likers.has(user)).length
  return forumJson({
    topics: [],
    badges: [],
    badge_types: [],
    users: [{ ...briefUser(user), moderator: user.moderator, admin: user.admin }],
    user_summary: {
      likes_given: given,
      likes_received: posts.reduce((total, post) => total + likesOf(post), 0),
      topics_entered: posts.length * 3,
      posts_read_count: posts.length * 20,
      days_visited: Math.floor((call.now - user.created_at) / 86_400_000),
      topic_count: posts.filter(({ number }) => number === 1).length,
      post_count: posts.filter(({ number }) => number > 1).length,
      time_read: 0,
      recent_time_read: 0,
      topic_ids: [],
      replies: [],
      links: [],
      most_liked_by_users: [],
      most_liked_users: [],
      most_replied_to_users: [],
      badges: [],
      top_categories: [],
    },
  })
}

/** Numbers of the actions in a user's activity. */
const ACTION = { like: 1, was_liked: 2, new_topic: 4, reply: 5, response: 6 } as const
const ACTIONS_PER_PAGE = 30

type Activity = { type: number; at: number; post: ForumPost; acting: ForumUser; target: ForumUser }

function activityOf(call: ForumCall, user: ForumUser): Activity[] {
  const own = postsBy(call, user).map((post): Activity => ({
    type: post.number === 1 ? ACTION.new_topic : ACTION.reply,
    at: post.created_at,
    post,
    acting: user,
    target: user,
  }))
  const readable = call.world.posts.filter(
    (post) =>
      canSeePost(call, post) && !isGone(post, call.now) && post.topic.archetype === 'regular',
  )
  const liked = readable.flatMap((post): Activity[] => [
    ...(post.likers.has(user)
      ? [{ type: ACTION.like, at: post.created_at, post, acting: user, target: post.user }]
      : []),
    ...(post.user === user
      ? [...post.likers].map((liker) => ({
          type: ACTION.was_liked,
          at: post.created_at,
          post,
          acting: liker,
          target: user,
        }))
      : []),
  ])
  const responses = user.notices
    .filter(({ type, post }) => type === NOTICE.replied && canSeePost(call, post))
    .map(({ at, post, from }) => ({ type: ACTION.response, at, post, acting: from, target: user }))
  return [...own, ...liked, ...responses].toSorted((one, other) => other.at - one.at)
}

/** `GET /user_actions.json?username=&filter=4,5&offset=` */
export function userActions(call: ForumCall): SandboxResponse {
  const { query } = call
  const name = query.get('username')
  if (name === null) return invalidParameter('username')
  const user = userNamed(call, name)
  if (user === undefined) return missing()
  if (user.hidden_profile && call.viewer !== user && !isStaff(call.viewer)) return missing()
  const types = (query.get('filter') ?? '4,5').split(',').map(Number)
  const offset = wholeOf(call, 'offset') ?? 0
  const limit = Math.min(wholeOf(call, 'limit') ?? ACTIONS_PER_PAGE, 60)
  const rows = activityOf(call, user).filter(({ type }) => types.includes(type))
  return forumJson({
    user_actions: rows.slice(offset, offset + limit).map(({ type, at, post, acting, target }) => ({
      excerpt: excerptOf(post.raw, 300),
      action_type: type,
      created_at: isoOf(at),
      avatar_template: avatarOf(post.user),
      acting_avatar_template: avatarOf(acting),
      slug: post.topic.slug,
      topic_id: post.topic.id,
      target_user_id: target.id,
      target_name: target.name,
      target_username: target.username,
      post_number: post.number,
      post_id: post.id,
      username: post.user.username,
      name: post.user.name,
      user_id: post.user.id,
      acting_username: acting.username,
      acting_name: acting.name,
      acting_user_id: acting.id,
      title: post.topic.title,
      deleted: false,
      hidden: post.hidden,
      post_type: post.type,
      action_code: null,
      category_id: post.topic.category?.id ?? null,
      closed: post.topic.closed,
      archived: post.topic.archived,
    })),
  })
}

/** `GET /notifications.json` */
export function notifications(call: ForumCall): SandboxResponse {
  const { viewer, query } = call
  if (viewer === null) return notLoggedIn()
  const named = query.get('username')
  const user = named === null ? viewer : userNamed(call, named)
  if (user === undefined) return missing()
  if (user !== viewer && !isStaff(viewer)) return forbidden()
  const offset = wholeOf(call, 'offset') ?? 0
  const rows = user.notices.toReversed().slice(offset, offset + 60)
  return forumJson({
    notifications: rows.map(({ id, type, at, post, from }) => ({
      id,
      notification_type: type,
      read: false,
      created_at: isoOf(at),
      post_number: post.number,
      topic_id: post.topic.id,
      fancy_title: fancyTitle(post.topic.title),
      slug: post.topic.slug,
      data: {
        topic_title: post.topic.title,
        original_post_id: post.id,
        original_post_type: post.type,
        original_username: from.username,
        revision_number: null,
        display_username: from.username,
      },
    })),
    total_rows_notifications: user.notices.length,
    seen_notification_id: 0,
    load_more_notifications: `/notifications?limit=60&offset=${offset + 60}&username=${user.username}`,
  })
}
