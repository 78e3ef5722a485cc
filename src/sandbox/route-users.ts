import { type Answer, json, redirect, refusal, unregistered } from './answer.ts'
import type { Ask } from './ask.ts'
import { directory, listing } from './listing.ts'
import type { Thing, User } from './model.ts'
import { renderUser } from './native-user.ts'
import { mayRead } from './places.ts'
import { controversy, hot, rankBy, span } from './ranking.ts'
import { inOrder, type Source } from './timeline.ts'

const OWN_TABS = ['upvoted', 'downvoted', 'saved', 'hidden']

/** `/user/<name>/about` and the tabs of a profile. */
export function user(ask: Ask, name: string, tab: string | undefined): Answer {
  const self = ask.viewer.user
  if (name === 'me')
    return self ? redirect(`${ask.origin}/user/${self.name}/${tab ?? ''}.json`) : refusal(403)
  const found = ask.world.users.get(name.toLowerCase())
  const gone = found?.standing === 'deleted' || (found?.standing === 'shadowed' && found !== self)
  if (found === undefined || gone) return refusal(404)
  if (tab === 'about') return json(renderUser(found, ask.world))
  if (found.standing === 'suspended' && found !== self) return refusal(403)
  if (tab !== undefined && OWN_TABS.includes(tab))
    return found === self ? own(ask, self, tab) : refusal(403)
  return history(ask, found, tab ?? 'overview')
}

function history(ask: Ask, of: User, tab: string): Answer {
  const things = { overview: [...of.posts, ...of.comments], submitted: of.posts, gilded: [] }
  const chosen: readonly Thing[] | undefined =
    tab === 'comments' ? of.comments : Object.entries(things).find(([name]) => name === tab)?.[1]
  if (chosen === undefined) return unregistered
  // A curated profile looks like one that never wrote anything.
  const hidden = of.curated && of !== ask.viewer.user
  return json(listing(ask, sorted(ask, hidden ? [] : chosen)))
}

function sorted({ query, viewer }: Ask, things: readonly Thing[]): Source<Thing> {
  const readable = things.filter((it) =>
    mayRead(it.kind === 't3' ? it.subforum : it.post.subforum, viewer.user),
  )
  const recent = readable.filter((it) => it.created_s > viewer.now_s - span(query.get('t'), 'all'))
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

function own(ask: Ask, self: User, tab: string): Answer {
  const voted = (way: 1 | -1) =>
    [...self.votes].flatMap(([thing, vote]) => (vote === way ? [thing] : [])).toReversed()
  const type = ask.query.get('type')
  switch (tab) {
    case 'upvoted':
      return json(listing(ask, inOrder(voted(1))))
    case 'downvoted':
      return json(listing(ask, inOrder(voted(-1))))
    case 'hidden':
      // Shown here although they are hidden everywhere else.
      ask.query.set('show', 'all')
      return json(listing(ask, inOrder(self.hidden.toReversed())))
    default: {
      const kind = type === 'links' ? 't3' : type === 'comments' ? 't1' : null
      const kept = self.saved.filter((it) => kind === null || it.kind === kind)
      return json(listing(ask, inOrder(kept.toReversed())))
    }
  }
}

/** `/users/search`: by any part of the name. */
export function usersSearch(ask: Ask): Answer {
  return json(
    directory(
      ask,
      usersMatching(ask),
      ({ id }) => `t2_${id}`,
      (it) => renderUser(it, ask.world),
    ),
  )
}

/** Those whose name has the text asked for; the deleted and the shadowed are not found. */
export function usersMatching({ query, world }: Ask): User[] {
  const q = (query.get('q') ?? '').trim().toLowerCase()
  if (q === '') return []
  return [...world.users.values()].filter(
    ({ name, standing }) =>
      name.toLowerCase().includes(q) && (standing === 'good' || standing === 'suspended'),
  )
}
