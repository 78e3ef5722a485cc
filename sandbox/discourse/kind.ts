import type { SandboxResponse } from '../server/response.ts'
import { findRoute, type SourceRoutes } from '../sources/routes.ts'
import type { SimulatedKind, SourceCall } from '../sources/source.ts'
import {
  actionLimit,
  addressLimit,
  askForKey,
  createForumSession,
  csrfToken,
  currentSession,
  forbidden,
  type ForumCall,
  forumError,
  forumJson,
  grantKey,
  identifyForum,
  keyApiVersion,
  missing,
  revokeForumKey,
} from './access.ts'
import { FORUM_CONTROLS } from './control.ts'
import {
  categoryTopics,
  latestPosts,
  latestTopics,
  newTopics,
  postByNumber,
  postReplies,
  postShow,
  privateMessages,
  rawText,
  tagTopics,
  topicPosts,
  topicsBy,
  topicShow,
  topTopics,
} from './listings.ts'
import { createForumWorld, type ForumWorld } from './model.ts'
import { refusedSearch, searchPosts } from './search.ts'
import { addForumEvent, seedForum } from './seed.ts'
import {
  aboutSite,
  basicInfo,
  categories,
  categoryShow,
  frontPage,
  robots,
  site,
  tags,
} from './site.ts'
import { notifications, userActions, userShow, userSummary } from './users.ts'
import {
  asWriter,
  createForumPost,
  deleteForumPost,
  deleteForumTopic,
  editForumPost,
  likePost,
  recoverForumPost,
  unlikePost,
} from './writes.ts'

/** Mean time between two events at speed 1. */
const MEAN_MS = 12_000

const showTopic = (call: ForumCall, _slug: string, id: string, number?: string) =>
  topicShow(call, id, number)

const ROUTES: SourceRoutes<ForumCall> = {
  'GET ': frontPage,
  'GET robots.txt': robots,
  'GET posts': latestPosts,
  'GET posts/#': postShow,
  'GET posts/by_number/#/#': postByNumber,
  'GET posts/#/replies': postReplies,
  'GET latest': latestTopics,
  'GET new': newTopics,
  'GET unread': newTopics,
  'GET top': topTopics,
  'GET hot': topTopics,
  'GET c/#/show': categoryShow,
  'GET c/*/#': categoryTopics('latest'),
  'GET c/*/#/l/latest': categoryTopics('latest'),
  'GET c/*/#/l/top': categoryTopics('top'),
  'GET c/*/*/#/l/latest': categoryTopics('latest'),
  'GET c/*/l/latest': categoryTopics('latest'),
  'GET tag/*': tagTopics,
  'GET tag/*/l/latest': tagTopics,
  'GET tags': tags,
  'GET t/#': topicShow,
  'GET t/#/posts': topicPosts,
  'GET t/#/#': topicShow,
  'GET t/*/#': showTopic,
  'GET t/*/#/#': showTopic,
  'GET raw/#': rawText,
  'GET raw/#/#': rawText,
  'GET search': searchPosts,
  'GET u/*': userShow,
  'GET users/*': userShow,
  'GET u/*/summary': userSummary,
  'GET user_actions': userActions,
  'GET topics/created-by/*': topicsBy,
  'GET topics/private-messages/*': privateMessages('received'),
  'GET topics/private-messages-sent/*': privateMessages('sent'),
  'GET notifications': notifications,
  'GET site': site,
  'GET site/basic-info': basicInfo,
  'GET about': aboutSite,
  'GET categories': categories,
  'GET session/csrf': csrfToken,
  'GET session/current': currentSession,
  'POST session': createForumSession,
  'HEAD user-api-key/new': keyApiVersion,
  'GET user-api-key/new': askForKey,
  'POST user-api-key': grantKey,
  'POST user-api-key/revoke': revokeForumKey,
  'POST posts': asWriter(createForumPost),
  'PUT posts/#': asWriter(editForumPost),
  'PUT posts/#/recover': asWriter(recoverForumPost),
  'DELETE posts/#': asWriter(deleteForumPost),
  'DELETE t/#': asWriter(deleteForumTopic),
  'POST post_actions': asWriter(likePost),
  'DELETE post_actions/#': asWriter(unlikePost),
}

/** Names of the routes in the header of an answer, where clients read them. */
const ROUTE_NAMES: Record<string, string> = {
  'GET posts': 'posts/latest',
  'GET posts/#': 'posts/show',
  'GET posts/#/replies': 'posts/replies',
  'GET latest': 'list/latest',
  'GET search': 'search/show',
  'POST posts': 'posts/create',
  'DELETE t/#': 'topics/destroy',
}

/** Routes that a site which requires a login still answers. */
const OPEN_ROUTES = new Set([
  'GET ',
  'GET robots.txt',
  'GET site/basic-info',
  'GET session/csrf',
  'POST session',
  'HEAD user-api-key/new',
])

const FORUM_FAULTS = [
  'action_limit',
  'search_limit',
  'search_busy',
  'as_anonymous',
  'enqueued',
  'read_only',
  'not_found',
  'invalid_access',
] as const

/** Refusal of the limits on addresses and keys; null: the call is within them. */
function overLimit({ world, key, viewer, address, now }: ForumCall): SandboxResponse | null {
  const { rates, settings } = world
  if (key?.user === null) {
    const use = rates.take('admin keys', settings.admin_key_per_minute, 60, now)
    return use.allowed ? null : addressLimit(use.wait_s, 'admin_api_key_rate_limit')
  }
  if (key !== null) {
    const minute = rates.take(`minute ${key.key}`, settings.user_key_per_minute, 60, now)
    if (!minute.allowed) return actionLimit(minute.wait_s)
    const day = rates.take(`day ${key.key}`, settings.user_key_per_day, 86_400, now)
    return day.allowed ? null : actionLimit(day.wait_s)
  }
  const who = viewer === null ? address : `user ${viewer.id}`
  const prefix = viewer === null ? 'ip' : 'id'
  const short = rates.take(`10 s ${who}`, settings.anonymous_per_10s, 10, now)
  if (!short.allowed) return addressLimit(short.wait_s, `${prefix}_10_secs_limit`)
  const long = rates.take(`minute ${who}`, settings.anonymous_per_minute, 60, now)
  return long.allowed ? null : addressLimit(long.wait_s, `${prefix}_60_secs_limit`)
}

/** Answer of a fault; null: it does not replace the answer. */
function faultAnswer(call: ForumCall, is_search: boolean): SandboxResponse | null {
  const wait_s = call.fault?.wait_s ?? call.fault?.retry_after_s ?? 30
  switch (call.fault?.fault ?? '') {
    case 'rate_limit':
      return addressLimit(wait_s, 'ip_10_secs_limit')
    case 'action_limit':
      return actionLimit(wait_s)
    case 'search_limit':
      return is_search ? searchLimit() : null
    case 'search_busy':
      return is_search
        ? refusedSearch(call, 'Search is currently overloaded, please try again later.')
        : null
    case 'read_only':
      return forumError(
        503,
        'read_only',
        'The site is in read only mode. Interactions are disabled.',
      )
    case 'not_found':
      return missing()
    case 'invalid_access':
      return forbidden()
    default:
      return null
  }
}

const searchLimit = () =>
  forumJson(
    {
      failed: 'FAILED',
      message: 'You’ve performed this action too many times, please try again later.',
    },
    429,
  )

function respond(raw_call: SourceCall<ForumWorld>): SandboxResponse {
  const identified = identifyForum(raw_call)
  if ('headers' in identified && 'body' in identified) return identified
  // Under load the site answers a signed-in reader as an anonymous one.
  const forced = raw_call.fault?.fault === 'as_anonymous'
  const call: ForumCall = forced ? { ...identified, viewer: null } : identified
  const { world, viewer, key, method, address, now } = call
  const found = findRoute(ROUTES, method, call.segments)
  const is_search = found?.pattern === 'GET search'
  const refused = overLimit(identified) ?? faultAnswer(call, is_search)
  if (refused !== null) return refused
  if (found === null) return missing()
  if (world.settings.login_required && viewer === null && !OPEN_ROUTES.has(found.pattern))
    return call.as_json
      ? forbidden()
      : { status: 302, headers: { location: `${call.origin}/login` }, body: '' }
  if (key !== null && method !== 'GET' && !key.scopes.includes('write') && key.user !== null)
    return forbidden()
  if (is_search) {
    const who = viewer === null ? address : `user ${viewer.id}`
    const most = world.settings.search_per_minute * (viewer === null ? 1 : 2)
    if (!world.rates.take(`search ${who}`, most, 60, now).allowed) return searchLimit()
  }
  const { answer, cached } = cachedAnswer(call, () => found.handler(call, ...found.parts))
  return withHeaders(call, answer, { route: ROUTE_NAMES[found.pattern], forced, cached })
}

type CacheUse = 'skip' | 'store' | 'true'

/** Answer of a handler; for an anonymous reader the one that was kept for the same address. */
function cachedAnswer(
  { world, viewer, method, segments, query, now }: ForumCall,
  create: () => SandboxResponse,
): { answer: SandboxResponse; cached: CacheUse } {
  const kept_ms = world.settings.anonymous_cache_s * 1000
  if (kept_ms === 0 || viewer !== null || method !== 'GET')
    return { answer: create(), cached: 'skip' }
  const address = `${segments.join('/')}?${query.toString()}`
  const known = world.cache.get(address)
  if (known !== undefined && now - known.at < kept_ms)
    return { answer: known.answer, cached: 'true' }
  if (world.cache.size >= MOST_CACHED) world.cache.clear()
  const answer = create()
  world.cache.set(address, { at: now, answer })
  return { answer, cached: 'store' }
}

const MOST_CACHED = 1_000

function withHeaders(
  { viewer, key }: ForumCall,
  answer: SandboxResponse,
  { route, forced, cached }: { route: string | undefined; forced: boolean; cached: CacheUse },
): SandboxResponse {
  return {
    ...answer,
    headers: {
      ...answer.headers,
      'cache-control': 'no-cache, no-store',
      vary: 'Accept-Encoding',
      ...(route !== undefined && { 'x-discourse-route': route }),
      ...(viewer === null
        ? { 'x-discourse-cached': cached }
        : { 'x-discourse-username': viewer.username }),
      ...(forced && key !== null && { 'set-cookie': 'dosp=1; path=/' }),
    },
  }
}

/** Forum software with topics in categories, and posts in one serial for the whole site. */
export const DISCOURSE: SimulatedKind<ForumWorld> = {
  create: createForumWorld,
  seed: seedForum,
  mean_ms: MEAN_MS,
  addEvent: addForumEvent,
  faults: FORUM_FAULTS,
  respond,
  userOf(call) {
    const sender = identifyForum(call)
    return 'viewer' in sender ? (sender.viewer?.username ?? null) : null
  },
  overview: (world) => ({
    title: world.title,
    categories: world.categories.map(({ id, slug, read_restricted }) => ({
      id,
      slug,
      read_restricted,
    })),
    accounts: [...world.users.values()].flatMap((user) =>
      user.password === null
        ? []
        : [
            {
              username: user.username,
              password: user.password,
              totp_secret: user.totp_secret,
              user_api_key:
                [...world.keys.values()].findLast((key) => key.user === user && !key.revoked)
                  ?.key ?? null,
            },
          ],
    ),
    admin_api_key:
      [...world.keys.values()].find(({ user, revoked }) => user === null && !revoked)?.key ?? null,
    settings: world.settings,
    counts: {
      users: world.users.size,
      topics: world.topics.size,
      posts: world.posts.length,
      highest_post_id: world.posts.at(-1)?.id ?? 0,
    },
  }),
  controls: FORUM_CONTROLS,
}
