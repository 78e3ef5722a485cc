import { type Answer, json } from './answer.ts'
import type { Ask } from './ask.ts'
import { DEEPEST, directory, envelope, listing } from './listing.ts'
import type { Subforum, Thing } from './model.ts'
import { renderSubforum } from './native-subforum.ts'
import { renderUser } from './native-user.ts'
import { findPlaces, publicPlaces } from './places.ts'
import { parseQuery } from './query.ts'
import { hot, rankBy, span } from './ranking.ts'
import { matching } from './route-subforums.ts'
import { usersMatching } from './route-users.ts'
import { inOrder, type Source } from './timeline.ts'

/** How deep a search goes, but for the newest. */
const DEEPEST_SEARCH = 250
const LONGEST_QUERY = 512

/** `/search` and `/r/<name>/search`. Comments cannot be searched: posts come instead. */
export function search(ask: Ask, joined: string | null): Answer {
  const { query } = ask
  const types = (query.get('type') ?? 'link').split(',')
  const restricted = joined !== null && ['1', 'on', 'true'].includes(query.get('restrict_sr') ?? '')
  const places = restricted && joined !== 'all' ? findPlaces(ask, joined) : publicPlaces(ask)
  if (!Array.isArray(places)) return places
  const q = (query.get('q') ?? '').trim().slice(0, LONGEST_QUERY)
  if (q === '') return json(envelope(ask, [], { after: null, before: null, facets: true }))
  if (types.includes('sr')) return found(ask, matching(ask, publicPlaces(ask)))
  if (types.includes('user'))
    return json(
      directory(
        ask,
        usersMatching(ask),
        ({ id }) => `t2_${id}`,
        (it) => renderUser(it, ask.world),
      ),
    )
  const newest = query.get('sort') === 'new'
  return json(
    listing(ask, posts(ask, places, q), {
      deepest: newest ? DEEPEST : DEEPEST_SEARCH,
      facets: true,
    }),
  )
}

/** Where nothing is found the platform sends a string with braces in it. */
function found(ask: Ask, rows: readonly Subforum[]): Answer {
  if (rows.length === 0) return json('"{}"')
  return json(
    directory(
      ask,
      rows,
      ({ id }) => `t5_${id}`,
      (it) => renderSubforum(it, ask.viewer),
    ),
  )
}

function posts(ask: Ask, places: readonly Subforum[], q: string): Source<Thing> {
  const { query, viewer } = ask
  const sort = query.get('sort') ?? 'relevance'
  const adult = ['1', 'on', 'true'].includes(query.get('include_over_18') ?? '')
  const t = query.get('t')
  const minute = Math.floor(viewer.now_s / 60)
  const key = `search ${sort} ${t} ${minute} ${adult} ${places.map(({ id }) => id).join('+')} ${q}`
  return ask.memory(key, () => {
    const measure = parseQuery(q)
    const since_s = viewer.now_s - span(t, 'all')
    const scored = new Map<Thing, number>()
    for (const { posts: candidates } of places)
      for (const post of candidates) {
        if (post.created_s <= since_s || post.removed !== null || (post.over_18 && !adult)) continue
        const worth = measure(post)
        if (worth > 0) scored.set(post, worth)
      }
    return inOrder(order(scored, sort))
  })
}

function order(scored: ReadonlyMap<Thing, number>, sort: string): Thing[] {
  const things = [...scored.keys()]
  switch (sort) {
    case 'new':
      return rankBy(things, (it) => it.created_s)
    case 'hot':
      return rankBy(things, hot)
    case 'top':
      return rankBy(things, (it) => it.ups - it.downs)
    case 'comments':
      return rankBy(things, (it) => (it.kind === 't3' ? it.comment_count : 0))
    default:
      return rankBy(things, (it) => scored.get(it) ?? 0)
  }
}
