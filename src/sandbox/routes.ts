import { accessToken, revokeToken } from './access-token.ts'
import { type Answer, refusal, unregistered } from './answer.ts'
import type { Ask } from './ask.ts'
import { composerCall } from './composer-call.ts'
import { svcCall } from './graphql.ts'
import { accountCall, legacyLogin, loginForm, logout } from './login.ts'
import { profileCall } from './profile.ts'
import { preferences, trophiesOf, v1 } from './route-account.ts'
import { comments, moreChildren } from './route-comments.ts'
import { byId, info, me } from './route-info.ts'
import { messages } from './route-messages.ts'
import { asSort, front, places, placesComments } from './route-posts.ts'
import { search } from './route-search.ts'
import { about, ownSubforums, subforums } from './route-subforums.ts'
import { user, usersSearch } from './route-users.ts'
import { wiki } from './route-wiki.ts'
import { share } from './share.ts'
import { STORE, store, uploadCall } from './uploads.ts'
import { write } from './write.ts'

/** Signing in and out, links that are shared and files that are stored, which nobody counts; null for every other path. */
export function callWithoutCount(ask: Ask): Answer | null {
  const [first, second, third, ...rest] = ask.path
  if (ask.face !== 'www') return null
  if (ask.method !== 'POST')
    return first === 'login' && second === undefined ? loginForm(ask) : share(ask)
  if (first === STORE) return store(ask)
  if (first === 'svc' && second === 'shreddit' && third === 'account') return accountCall(ask, rest)
  if (first === 'logout' && second === undefined) return logout(ask)
  if (first === 'api' && second === 'login') return legacyLogin(ask, third)
  if (first !== 'api' || second !== 'v1') return null
  if (third === 'access_token') return accessToken(ask)
  if (third === 'revoke_token') return revokeToken(ask)
  return null
}

/** Whether a path is one that people look at. */
export const isPage = ({ face, method, path }: Ask, asJson: boolean): boolean =>
  face === 'www' && !asJson && path[0] !== 'api' && (method === 'GET' || method === 'HEAD')

/** Everything the platform answers with JSON. `asJson`: the path ended in `.json`, or nothing else is spoken there. */
export function route(ask: Ask, asJson: boolean): Answer {
  const told = answered(ask, asJson)
  // Under a bearer there is nothing but JSON, even where nothing is.
  return told === unregistered && ask.face === 'bearer' ? refusal(404) : told
}

function answered(ask: Ask, asJson: boolean): Answer {
  const composed = composerCall(ask)
  if (composed !== null) return composed
  const newer = profileCall(ask) ?? uploadCall(ask) ?? svcCall(ask)
  if (newer !== null) return newer
  if (ask.method === 'POST' && !isRead(ask))
    return (ask.path[0] === 'api' ? write(ask, ask.path[1] ?? '', asJson) : null) ?? unregistered
  if (!['GET', 'HEAD', 'POST'].includes(ask.method)) return unregistered
  const [first, second, third] = ask.path
  if (first === undefined) return front(ask, 'best')
  const sort = asSort(first)
  if (sort !== undefined && second === undefined) return front(ask, sort)
  switch (first) {
    case 'r':
      return second === undefined ? unregistered : place(ask, second, ask.path.slice(2))
    case 'comments':
      return comments(ask, thread(ask.path.slice(1)))
    case 'user':
    case 'u':
      return second === undefined
        ? unregistered
        : third === 'comments' && ask.path.length > 3
          ? comments(ask, thread(ask.path.slice(3)))
          : third === 'trophies'
            ? trophiesOf(ask, second)
            : user(ask, second, third)
    case 'search':
      return search(ask, null)
    case 'subreddits':
      return second === 'mine' ? ownSubforums(ask, third) : subforums(ask, second)
    case 'message':
      return messages(ask, second, third)
    case 'prefs':
      return preferences(ask, second)
    case 'users':
      return second === 'search' ? usersSearch(ask) : unregistered
    case 'by_id':
      return byId(ask, second ?? '')
    case 'api':
      return api(ask, second ?? '', asJson)
    default:
      return unregistered
  }
}

/** The one read that is also asked with POST. */
const isRead = ({ path }: Ask) => path[0] === 'api' && path[1] === 'morechildren'

function place(ask: Ask, name: string, [what, ...rest]: string[]): Answer {
  if (what === undefined) return places(ask, name, 'hot')
  const sort = asSort(what)
  if (sort !== undefined && rest.length === 0) return places(ask, name, sort)
  switch (what) {
    case 'comments':
      return rest.length === 0
        ? placesComments(ask, name)
        : comments(ask, { ...thread(rest), place: name })
    case 'about':
      return about(ask, name, rest[0])
    case 'search':
      return search(ask, name)
    case 'wiki':
      return wiki(ask, name, rest)
    default:
      return unregistered
  }
}

/** `<id>[/<slug>[/<comment>]]`, or `<id>/comment/<comment>`. */
function thread([id = '', , comment_id]: string[]): { id: string; comment_id?: string } {
  return comment_id === undefined ? { id } : { id, comment_id }
}

function api(ask: Ask, call: string, asJson: boolean): Answer {
  switch (call) {
    case 'me':
      return me(ask)
    case 'info':
      return info(ask)
    case 'morechildren':
      return moreChildren(ask, asJson)
    case 'v1':
      return v1(ask, ask.path.slice(2))
    default:
      return unregistered
  }
}
