import { renderUser } from '../render/users.ts'
import type { SandboxRequest } from '../server/request.ts'
import { json, redirect, refusal, type SandboxResponse, unregistered } from '../server/response.ts'
import type { SandboxUser, Thing } from '../world/model.ts'
import { controversy, hot, rankBy, timeRangeSeconds } from '../world/ranking.ts'
import { mayRead } from '../world/subforum-access.ts'
import { inOrder, type RowSource } from '../world/timeline.ts'
import { directory, listing } from './listing.ts'

const OWN_TABS = ['upvoted', 'downvoted', 'saved', 'hidden']

/** `/user/<name>/about` and the tabs of a profile. */
export function user(
  request: SandboxRequest,
  name: string,
  tab: string | undefined,
): SandboxResponse {
  const self = request.viewer.user
  if (name === 'me')
    return self ? redirect(`${request.origin}/user/${self.name}/${tab ?? ''}.json`) : refusal(403)
  const found = request.world.users.get(name.toLowerCase())
  const gone = found?.standing === 'deleted' || (found?.standing === 'shadowed' && found !== self)
  if (found === undefined || gone) return refusal(404)
  if (tab === 'about') return json(renderUser(found, request.world))
  if (found.standing === 'suspended' && found !== self) return refusal(403)
  if (tab !== undefined && OWN_TABS.includes(tab))
    return found === self ? ownTab(request, self, tab) : refusal(403)
  return history(request, found, tab ?? 'overview')
}

function history(request: SandboxRequest, of: SandboxUser, tab: string): SandboxResponse {
  const things = { overview: [...of.posts, ...of.comments], submitted: of.posts, gilded: [] }
  const chosen: readonly Thing[] | undefined =
    tab === 'comments' ? of.comments : Object.entries(things).find(([name]) => name === tab)?.[1]
  if (chosen === undefined) return unregistered
  // A curated profile appears empty to other users.
  const hidden = of.curated && of !== request.viewer.user
  return json(listing(request, sortedThings(request, hidden ? [] : chosen)))
}

function sortedThings(
  { query, viewer }: SandboxRequest,
  things: readonly Thing[],
): RowSource<Thing> {
  const readable = things.filter((it) =>
    mayRead(it.kind === 't3' ? it.subforum : it.post.subforum, viewer.user),
  )
  const recent = readable.filter(
    (it) => it.created_s > viewer.now_s - timeRangeSeconds(query.get('t'), 'all'),
  )
  switch (query.get('sort') ?? 'new') {
    case 'top':
      return inOrder(rankBy(recent, (it) => it.ups - it.downs))
    case 'controversial':
      return inOrder(rankBy(recent, controversy))
    case 'hot':
      return inOrder(rankBy(readable, hot))
    default:
      return inOrder(rankBy(readable, (it) => it.created_s))
  }
}

function ownTab(request: SandboxRequest, self: SandboxUser, tab: string): SandboxResponse {
  const voted = (direction: 1 | -1) =>
    [...self.votes].flatMap(([thing, vote]) => (vote === direction ? [thing] : [])).toReversed()
  const type = request.query.get('type')
  switch (tab) {
    case 'upvoted':
      return json(listing(request, inOrder(voted(1))))
    case 'downvoted':
      return json(listing(request, inOrder(voted(-1))))
    case 'hidden':
      // Hidden posts appear in this tab only.
      request.query.set('show', 'all')
      return json(listing(request, inOrder(self.hidden.toReversed())))
    default: {
      const kind = type === 'links' ? 't3' : type === 'comments' ? 't1' : null
      const saved_things = self.saved.filter((it) => kind === null || it.kind === kind)
      return json(listing(request, inOrder(saved_things.toReversed())))
    }
  }
}

/** `/users/search`: by any part of the name. */
export function usersSearch(request: SandboxRequest): SandboxResponse {
  return json(
    directory(
      request,
      usersMatching(request),
      ({ id }) => `t2_${id}`,
      (it) => renderUser(it, request.world),
    ),
  )
}

/** Users whose name contains the query; deleted and shadowed ones are omitted. */
export function usersMatching({ query, world }: SandboxRequest): SandboxUser[] {
  const q = (query.get('q') ?? '').trim().toLowerCase()
  if (q === '') return []
  return [...world.users.values()].filter(
    ({ name, standing }) =>
      name.toLowerCase().includes(q) && (standing === 'good' || standing === 'suspended'),
  )
}
