import type { SandboxRequest } from '../server/request.ts'
import { refusal, type SandboxResponse, unregistered } from '../server/response.ts'
import { composerCall } from '../writes/comment.ts'
import { svcCall } from '../writes/graphql.ts'
import { profileCall } from '../writes/profile.ts'
import { STORE, store, uploadCall } from '../writes/uploads.ts'
import { writeCall } from '../writes/writes.ts'
import { preferences, trophiesOf, v1 } from './account.ts'
import { commentsPage, moreChildren } from './comments.ts'
import { byId, info, me } from './listing.ts'
import { accessToken, accountCall, legacyLogin, loginForm, logout, revokeToken } from './login.ts'
import { mailFolder } from './messages.ts'
import { homePosts, parseSort, share, subforumComments, subforumPosts } from './posts.ts'
import { searchListing } from './search.ts'
import { about, ownSubforums, subforums, wiki } from './subforums.ts'
import { user, usersSearch } from './users.ts'

/**
 * Login, logout, share links and stored files, which have no rate limit; null for every other path.
 */
export function uncountedCall(request: SandboxRequest): SandboxResponse | null {
  const [first, second, third, ...rest] = request.path
  if (request.host !== 'www') return null
  if (request.method !== 'POST')
    return first === 'login' && second === undefined ? loginForm(request) : share(request)
  if (first === STORE) return store(request)
  if (first === 'svc' && second === 'shreddit' && third === 'account')
    return accountCall(request, rest)
  if (first === 'logout' && second === undefined) return logout(request)
  if (first === 'api' && second === 'login') return legacyLogin(request, third)
  if (first !== 'api' || second !== 'v1') return null
  if (third === 'access_token') return accessToken(request)
  if (third === 'revoke_token') return revokeToken(request)
  return null
}

/** True for the path of an HTML page. */
export const isPage = ({ host, method, path }: SandboxRequest, asJson: boolean): boolean =>
  host === 'www' && !asJson && path[0] !== 'api' && (method === 'GET' || method === 'HEAD')

/** All JSON responses. `asJson`: the path ended in `.json`, or the host serves only JSON. */
export function route(request: SandboxRequest, asJson: boolean): SandboxResponse {
  const response = dispatch(request, asJson)
  // The bearer host answers only JSON, also for unknown paths.
  return response === unregistered && request.host === 'bearer' ? refusal(404) : response
}

function dispatch(request: SandboxRequest, asJson: boolean): SandboxResponse {
  const comment_response = composerCall(request)
  if (comment_response !== null) return comment_response
  const modern_response = profileCall(request) ?? uploadCall(request) ?? svcCall(request)
  if (modern_response !== null) return modern_response
  if (request.method === 'POST' && !isRead(request))
    return (
      (request.path[0] === 'api' ? writeCall(request, request.path[1] ?? '', asJson) : null) ??
      unregistered
    )
  if (!['GET', 'HEAD', 'POST'].includes(request.method)) return unregistered
  const [first, second, third] = request.path
  if (first === undefined) return homePosts(request, 'best')
  const sort = parseSort(first)
  if (sort !== undefined && second === undefined) return homePosts(request, sort)
  switch (first) {
    case 'r':
      return second === undefined
        ? unregistered
        : subforumRoute(request, second, request.path.slice(2))
    case 'comments':
      return commentsPage(request, thread(request.path.slice(1)))
    case 'user':
    case 'u':
      return second === undefined
        ? unregistered
        : third === 'comments' && request.path.length > 3
          ? commentsPage(request, thread(request.path.slice(3)))
          : third === 'trophies'
            ? trophiesOf(request, second)
            : user(request, second, third)
    case 'search':
      return searchListing(request, null)
    case 'subreddits':
      return second === 'mine' ? ownSubforums(request, third) : subforums(request, second)
    case 'message':
      return mailFolder(request, second, third)
    case 'prefs':
      return preferences(request, second)
    case 'users':
      return second === 'search' ? usersSearch(request) : unregistered
    case 'by_id':
      return byId(request, second ?? '')
    case 'api':
      return apiRoute(request, second ?? '', asJson)
    default:
      return unregistered
  }
}

/** The only read that also accepts POST. */
const isRead = ({ path }: SandboxRequest) => path[0] === 'api' && path[1] === 'morechildren'

function subforumRoute(
  request: SandboxRequest,
  name: string,
  [page_name, ...rest]: string[],
): SandboxResponse {
  if (page_name === undefined) return subforumPosts(request, name, 'hot')
  const sort = parseSort(page_name)
  if (sort !== undefined && rest.length === 0) return subforumPosts(request, name, sort)
  switch (page_name) {
    case 'comments':
      return rest.length === 0
        ? subforumComments(request, name)
        : commentsPage(request, { ...thread(rest), subforum_name: name })
    case 'about':
      return about(request, name, rest[0])
    case 'search':
      return searchListing(request, name)
    case 'wiki':
      return wiki(request, name, rest)
    default:
      return unregistered
  }
}

/** `<id>[/<slug>[/<comment>]]`, or `<id>/comment/<comment>`. */
function thread([id = '', , comment_id]: string[]): { id: string; comment_id?: string } {
  return comment_id === undefined ? { id } : { id, comment_id }
}

function apiRoute(request: SandboxRequest, call: string, asJson: boolean): SandboxResponse {
  switch (call) {
    case 'me':
      return me(request)
    case 'info':
      return info(request)
    case 'morechildren':
      return moreChildren(request, asJson)
    case 'v1':
      return v1(request, request.path.slice(2))
    default:
      return unregistered
  }
}
