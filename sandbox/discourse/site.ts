import {
  AUTOMATIC_GROUPS,
  CATEGORY_DEFAULTS,
  CATEGORY_SHOW_DEFAULTS,
  CATEGORY_TAG_DEFAULTS,
  NOTIFICATION_TYPES,
  POST_ACTIONS,
  SITE_DEFAULTS,
  USER_TIPS,
} from '../data/forum-defaults.ts'
import type { SandboxResponse } from '../server/response.ts'
import { excerptOf, paragraphsOf } from '../sources/text.ts'
import { forbidden, type ForumCall, forumJson, missing } from './access.ts'
import { FORUM_POST_TYPES, type ForumCategory, isStaff } from './model.ts'
import { briefUser } from './posts.ts'
import { featuredTopic, listedTopics, tagCounts, topTags } from './topics.ts'

const FORUM_VERSION = '3.6.0.beta1'

const readable = ({ world, viewer }: ForumCall): ForumCategory[] =>
  world.categories.filter(({ read_restricted }) => !read_restricted || isStaff(viewer))

const DAY_MS = 86_400_000

/** Fields of a category in every place. */
function categoryFields(call: ForumCall, category: ForumCategory) {
  const topics = listedTopics(call).filter((topic) => topic.category === category)
  const staff = isStaff(call.viewer)
  const subcategories = readable(call).filter(({ parent_id }) => parent_id === category.id)
  return {
    id: category.id,
    name: category.name,
    color: category.color,
    text_color: 'FFFFFF',
    slug: category.slug,
    topic_count: topics.length,
    post_count: topics.reduce((total, { posts }) => total + posts.length, 0),
    position: category.position,
    description: paragraphsOf(category.description).join('\n'),
    description_text: category.description,
    description_excerpt: excerptOf(category.description),
    topic_url: '/t/',
    read_restricted: category.read_restricted,
    permission: call.viewer === null ? null : 1,
    ...CATEGORY_DEFAULTS,
    has_children: subcategories.length > 0,
    subcategory_count: null,
    ...(category.parent_id !== null && { parent_category_id: category.parent_id }),
    ...(staff && { can_edit: true }),
  }
}

/** `GET /categories.json` */
export function categories(call: ForumCall): SandboxResponse {
  const deep = call.query.get('include_subcategories') === 'true'
  const topics = listedTopics(call)
  const rows = readable(call).filter(({ parent_id }) => parent_id === null)
  const fields = (category: ForumCategory): object => {
    const own = topics.filter((topic) => topic.category === category)
    const since = (days: number) =>
      own.filter(({ created_at }) => created_at > call.now - days * DAY_MS).length
    const children = readable(call).filter(({ parent_id }) => parent_id === category.id)
    return {
      ...categoryFields(call, category),
      topics_day: since(1),
      topics_week: since(7),
      topics_month: since(30),
      topics_year: since(365),
      topics_all_time: own.length,
      subcategory_ids: children.map(({ id }) => id),
      ...(deep && { subcategory_list: children.map(fields) }),
      topics: own.slice(-3).map((topic) => featuredTopic(call, topic)),
    }
  }
  return forumJson({
    category_list: {
      can_create_category: isStaff(call.viewer),
      can_create_topic: call.viewer !== null,
      categories: rows.map((category) => ({
        ...fields(category),
        ...(category.id === 1 && { is_uncategorized: true }),
      })),
    },
  })
}

/** `GET /c/{id}/show.json` */
export function categoryShow(call: ForumCall, id: string): SandboxResponse {
  const category = call.world.categories.find((each) => String(each.id) === id)
  if (category === undefined) return missing()
  if (!readable(call).includes(category)) return forbidden()
  return forumJson({
    category: {
      ...categoryFields(call, category),
      has_children: null,
      ...CATEGORY_TAG_DEFAULTS,
      ...(isStaff(call.viewer) && {
        ...CATEGORY_SHOW_DEFAULTS,
        cannot_delete_reason: "Can't delete this category because it has topics.",
        is_special: category.id === 1,
      }),
    },
  })
}

/** `GET /tags.json` */
export const tags = (call: ForumCall): SandboxResponse =>
  forumJson({
    tags: [...tagCounts(call)].map(([name, count]) => ({
      id: name,
      text: name,
      name,
      description: null,
      count,
      pm_count: 0,
      target_tag: null,
    })),
    extras: { categories: [] },
  })

const actionType = (
  { id, name_key, name, applies_to }: (typeof POST_ACTIONS)[number],
  at: number,
) => ({
  id,
  name,
  name_key,
  description: name,
  short_description: name,
  applies_to,
  position: at,
  require_message: id === 6 || id === 7,
  enabled: true,
  is_flag: id !== 2,
  is_used: false,
  auto_action_type: id === 8,
  system: true,
})

/** `GET /site.json` */
export function site(call: ForumCall): SandboxResponse {
  const actions = POST_ACTIONS.map(actionType)
  return forumJson({
    ...SITE_DEFAULTS,
    notification_types: NOTIFICATION_TYPES,
    user_tips: USER_TIPS,
    groups: AUTOMATIC_GROUPS.map(([id, name]) => ({
      id,
      name,
      flair_url: null,
      flair_bg_color: null,
      flair_color: null,
      automatic: true,
    })),
    uncategorized_category_id: 1,
    post_action_types: actions,
    topic_flag_types: actions.filter(({ applies_to }) => applies_to.includes('Topic')),
    can_create_tag: isStaff(call.viewer),
    can_tag_topics: call.viewer !== null,
    can_tag_pms: isStaff(call.viewer),
    top_tags: topTags(call),
    navigation_menu_site_top_tags: [],
    topic_featured_link_allowed_category_ids: readable(call).map(({ id }) => id),
    categories: readable(call).map((category) => ({
      ...categoryFields(call, category),
      ...CATEGORY_TAG_DEFAULTS,
    })),
  })
}

/** `GET /site/basic-info.json`; answered on sites that require a login, too. */
export const basicInfo = ({ world, origin }: ForumCall): SandboxResponse =>
  forumJson({
    logo_url: `${origin}/images/discourse-logo-sketch.png`,
    logo_small_url: `${origin}/images/discourse-logo-sketch-small.png`,
    apple_touch_icon_url: `${origin}/images/apple-touch-icon.png`,
    favicon_url: `${origin}/images/favicon.png`,
    title: world.title,
    description: 'A place for people who make and repair things.',
    header_primary_color: '333',
    header_background_color: 'fff',
    login_required: world.settings.login_required,
    locale: 'en',
    include_in_discourse_discover: false,
    mobile_logo_url: `${origin}/images/discourse-logo-sketch.png`,
  })

/** `GET /about.json` */
export function aboutSite(call: ForumCall): SandboxResponse {
  const { world, now } = call
  const staff = [...world.users.values()]
  const row = (user: (typeof staff)[number]) => ({
    ...briefUser(user),
    title: user.title,
    last_seen_at: new Date(user.last_posted_at ?? user.created_at).toISOString(),
  })
  const topics = listedTopics(call)
  const posts = world.posts.filter(({ type }) => type === FORUM_POST_TYPES.regular)
  const counts = (name: string, times: readonly number[]) => ({
    [`${name}_last_day`]: times.filter((at) => at > now - DAY_MS).length,
    [`${name}_7_days`]: times.filter((at) => at > now - 7 * DAY_MS).length,
    [`${name}_30_days`]: times.filter((at) => at > now - 30 * DAY_MS).length,
    [`${name}_count`]: times.length,
  })
  return forumJson({
    about: {
      stats: {
        ...counts(
          'topics',
          topics.map(({ created_at }) => created_at),
        ),
        ...counts(
          'posts',
          posts.map(({ created_at }) => created_at),
        ),
        ...counts(
          'users',
          staff.map(({ created_at }) => created_at),
        ),
        ...counts(
          'likes',
          posts.flatMap(({ likers, created_at }) => [...likers].map(() => created_at)),
        ),
      },
      description: 'A place for people who make and repair things.',
      extended_site_description: '',
      title: world.title,
      locale: 'en',
      version: FORUM_VERSION,
      https: false,
      can_see_about_stats: true,
      admins: staff.filter(({ admin }) => admin).map(row),
      moderators: staff.filter(({ moderator }) => moderator).map(row),
    },
  })
}

/** The page of the site for browsers; its head names the version. */
export const frontPage = ({ world }: ForumCall): SandboxResponse => ({
  status: 200,
  headers: { 'content-type': 'text/html; charset=utf-8' },
  body: `<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>${world.title}</title>\n<meta name="generator" content="Discourse ${FORUM_VERSION} - https://github.com/discourse/discourse version 0123456789abcdef0123456789abcdef01234567">\n</head>\n<body></body>\n</html>\n`,
})

/** The default rules for crawlers. */
export const robots = (): SandboxResponse => ({
  status: 200,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body: `User-agent: *\n${[
    '/admin/',
    '/auth/',
    '/u/',
    '/my/',
    '/badges',
    '/search',
    '/g',
    '/tag/*/l',
    '/t/*/*.rss',
    '/c/*.rss',
    '/user-api-key',
  ]
    .map((path) => `Disallow: ${path}\n`)
    .join('')}`,
})
