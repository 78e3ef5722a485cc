import { page, type SandboxResponse } from '../server/response.ts'
import { findRoute, type SourceRoutes } from '../sources/routes.ts'
import type { SimulatedKind, SourceCall } from '../sources/source.ts'
import {
  accountGet,
  asPerson,
  commentCreate,
  entryDelete,
  entryEdit,
  entryLike,
  entryRemove,
  lemmyLogin,
  lemmyLogout,
  messageCreate,
  messageList,
  notificationList,
  postCreate,
  replyList,
} from './account.ts'
import { LEMMY_CONTROLS } from './control.ts'
import { modlog, resolveObject, searchAll } from './lookups.ts'
import {
  createLemmyWorld,
  type LemmySettings,
  type LemmyWorld,
  type Person,
  qualifiedName,
} from './model.ts'
import {
  commentGet,
  commentList,
  communityGet,
  communityList,
  lemmyError,
  lemmyJson,
  lemmyMissing,
  personContent,
  personGet,
  postGet,
  postList,
} from './reads.ts'
import { addLemmyEvent, seedLemmy } from './seed.ts'
import type { LemmyCall } from './shapes.ts'
import { siteGet } from './site.ts'

/** Mean time between two events at speed 1. */
const MEAN_MS = 10_000

/** Routes of both generations. */
const COMMON: SourceRoutes<LemmyCall> = {
  'GET site': siteGet,
  'GET post/list': postList,
  'GET post': postGet,
  'GET comment/list': commentList,
  'GET community': communityGet,
  'GET community/list': communityList,
  'GET search': searchAll,
  'GET resolve_object': resolveObject,
  'POST post': asPerson(postCreate),
  'PUT post': asPerson(entryEdit('post')),
  'POST post/like': asPerson(entryLike('post')),
  'POST post/remove': asPerson(entryRemove('post')),
  'POST comment': asPerson(commentCreate),
  'PUT comment': asPerson(entryEdit('comment')),
  'POST comment/like': asPerson(entryLike('comment')),
  'POST comment/remove': asPerson(entryRemove('comment')),
}

/** `GET validate_auth`: the one answer that says of a token that it has ended. */
const validateAuth = (call: LemmyCall): SandboxResponse =>
  call.viewer === null ? lemmyError('not_logged_in') : lemmyJson({ success: true })

/** Part of v3 that 1.0 still answers. */
const WRAPPER: SourceRoutes<LemmyCall> = {
  ...COMMON,
  'POST user/login': lemmyLogin,
  'POST user/logout': asPerson(lemmyLogout),
  'POST post/delete': asPerson(entryDelete('post')),
  'POST comment/delete': asPerson(entryDelete('comment')),
}

const V3: SourceRoutes<LemmyCall> = {
  ...WRAPPER,
  'GET comment': commentGet,
  'GET user': personGet,
  'GET user/validate_auth': validateAuth,
  'GET user/replies': asPerson(replyList),
  'GET private_message/list': asPerson(messageList),
  'POST private_message': asPerson(messageCreate),
  'GET modlog': modlog,
}

const V4: SourceRoutes<LemmyCall> = {
  ...COMMON,
  'GET comment': commentGet,
  'GET modlog': modlog,
  'GET person': personGet,
  'GET person/content': personContent,
  'GET account/validate_auth': validateAuth,
  'GET account': asPerson(accountGet),
  'GET account/notification/list': asPerson(notificationList),
  'POST account/auth/login': lemmyLogin,
  'POST account/auth/logout': asPerson(lemmyLogout),
  'DELETE post': asPerson(entryDelete('post')),
  'DELETE comment': asPerson(entryDelete('comment')),
  'POST private_message': asPerson(messageCreate),
}

function routesOf(api: string | undefined, version: LemmySettings['version']) {
  if (api === 'v3') return version === '0.19' ? V3 : WRAPPER
  return api === 'v4' && version === '1.0' ? V4 : null
}

/** Bucket of limits that a route counts for. */
function bucketOf(pattern: string): keyof LemmySettings['limits'] {
  if (pattern === 'GET search' || pattern === 'GET resolve_object') return 'search'
  if (pattern === 'POST post') return 'post'
  if (pattern === 'POST comment') return 'comment'
  return pattern.endsWith('/login') ? 'register' : 'message'
}

type HeaderLines = Record<string, string>

/** Refusal for the rate, without a header of it. */
const tooMany = (version: LemmySettings['version']): SandboxResponse =>
  version === '0.19' ? lemmyError('rate_limit_error') : lemmyError('too_many_requests', 429)

/** Sender of a call. A token that has ended, or never was one, is ignored. */
function senderOf({ world, headers }: SourceCall<LemmyWorld>): Person | null {
  const header = headers.get('authorization')
  return header === null ? null : (world.tokens.get(header.replace(/^Bearer /, '')) ?? null)
}

/** The answer without the database: 0.19 has its site in memory, and names an absence of comments. */
function withoutDatabase(pattern: string, version: LemmySettings['version']) {
  if (version === '0.19' && pattern === 'GET site') return null
  if (version === '0.19' && pattern === 'GET comment') return lemmyError('couldnt_find_comment')
  const message = 'Error occurred while creating a new object: error connecting to server'
  return lemmyJson({ error: 'unknown', message }, 400)
}

function respond(raw_call: SourceCall<LemmyWorld>): SandboxResponse {
  const { world, segments, method, address, now, fault } = raw_call
  const [root, version_segment, ...path] = segments
  const { version, private_instance, limits } = world.settings
  const routes = root === 'api' ? routesOf(version_segment, version) : null
  // Other paths belong to the web page, also those of an API generation that is not there.
  if (routes === null)
    return root === 'api'
      ? { status: 404, headers: {}, body: '' }
      : page(
          `<!DOCTYPE html>\n<html><head><title>${world.title}</title></head><body></body></html>\n`,
        )
  const api = version_segment === 'v4' ? 'v4' : 'v3'
  const viewer = senderOf(raw_call)
  const call: LemmyCall = { ...raw_call, api, viewer }
  const found = findRoute(routes, method, path)
  if (found === null) return { status: 404, headers: {}, body: '' }
  const bucket = bucketOf(found.pattern)
  const { requests, seconds } = limits[bucket]
  const use = world.rates.take(`${bucket} ${address}`, requests, seconds, now)
  const headers: HeaderLines =
    version === '0.19'
      ? {}
      : {
          'x-ratelimit-limit': String(requests),
          'x-ratelimit-remaining': String(use.left),
          'x-ratelimit-reset': String(use.wait_s),
        }
  // What anyone may read is kept for a minute.
  headers['cache-control'] = viewer === null ? 'public, max-age=60' : 'private'
  if (!use.allowed || fault?.fault === 'rate_limit') return tooMany(version)
  if (fault?.fault === 'not_found') return lemmyMissing(call, 'post')
  if (fault?.fault === 'banned' && method !== 'GET') return lemmyError('site_ban')
  const is_private = private_instance || fault?.fault === 'private_instance'
  const is_open = found.pattern === 'GET site' || bucket === 'register'
  if (is_private && viewer === null && !is_open) return lemmyError('instance_is_private')
  const failed = world.settings.database === 'down' ? withoutDatabase(found.pattern, version) : null
  const answer = failed ?? found.handler(call, ...found.parts)
  return { ...answer, headers: { ...answer.headers, ...headers } }
}

/** Federated instance: communities of its own and of others, local ids in the order of arrival. */
export const LEMMY: SimulatedKind<LemmyWorld> = {
  create: createLemmyWorld,
  seed: seedLemmy,
  mean_ms: MEAN_MS,
  addEvent: addLemmyEvent,
  faults: ['not_found', 'banned', 'private_instance'],
  respond,
  userOf: (call) => senderOf(call)?.name ?? null,
  overview: (world) => ({
    title: world.title,
    communities: world.communities.map((community) => ({
      id: community.id,
      name: qualifiedName(community),
      nsfw: community.nsfw,
      hidden: community.hidden,
    })),
    accounts: world.persons.flatMap(({ id, name, password, totp_secret }) =>
      password === null ? [] : [{ id, username: name, password, totp_secret }],
    ),
    settings: world.settings,
    counts: {
      persons: world.persons.length,
      posts: world.posts.size,
      comments: world.comments.size,
    },
  }),
  controls: LEMMY_CONTROLS,
}
