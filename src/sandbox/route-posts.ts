import { type Answer, json } from './answer.ts'
import type { Ask } from './ask.ts'
import { DEEPEST, listing } from './listing.ts'
import type { Subforum, Thing } from './model.ts'
import { findPlaces, publicPlaces } from './places.ts'
import { POST_SORTS, type PostSort, rank } from './ranking.ts'
import { inOrder, merge, newestFirst, type Source } from './timeline.ts'

/** A path's word as a sort. */
export const asSort = (word: string | undefined): PostSort | undefined =>
  POST_SORTS.find((sort) => sort === word)

const keyOf = (from: readonly Subforum[]) => from.map(({ id }) => id).join('+')

// A minute of time is one key: what a span of time shows may be that old.
const minute = ({ viewer }: Ask) => Math.floor(viewer.now_s / 60)

/** `/r/a+b/<sort>`: stickies stand on top of the first page of hot, beyond its limit. */
export function places(ask: Ask, joined: string, sort: PostSort): Answer {
  const found = findFeed(ask, joined)
  return Array.isArray(found) ? posts(ask, found, sort, found.length === 1) : found
}

/** `/r/a+b/comments`: newest first, no other order. */
export function placesComments(ask: Ask, joined: string): Answer {
  const found = findFeed(ask, joined)
  if (!Array.isArray(found)) return found
  const [only, ...others] = found
  const source: Source<Thing> =
    only !== undefined && others.length === 0
      ? newestFirst(only.comments)
      : ask.memory(`comments ${keyOf(found)}`, () =>
          inOrder(
            merge(
              found.map(({ comments }) => comments),
              DEEPEST + 1,
            ),
          ),
        )
  return json(listing(ask, source))
}

/** `all` and `popular` are every place that hides nothing. */
function findFeed(ask: Ask, joined: string): Subforum[] | Answer {
  const word = joined.toLowerCase()
  return word === 'all' || word === 'popular' ? publicPlaces(ask) : findPlaces(ask, joined)
}

/** `/`, `/new`, `/best` and so on: what one subscribes to, or everything for nobody. */
export function front(ask: Ask, sort: PostSort): Answer {
  const { user } = ask.viewer
  const chosen = user && user.subscribed.size > 0 ? [...user.subscribed] : publicPlaces(ask)
  return posts(ask, chosen, sort, false)
}

function posts(ask: Ask, from: readonly Subforum[], sort: PostSort, single: boolean): Answer {
  if (sort === 'new') return json(listing(ask, newest(ask, from)))
  const t = ask.query.get('t')
  const pinned = single && sort === 'hot' ? stickies(ask, from) : []
  const ranked = ask.memory(`${sort} ${t} ${minute(ask)} ${keyOf(from)}`, () => {
    const things = from.flatMap((subforum) => subforum.posts)
    const kept = things.filter((it) => !pinned.includes(it))
    return inOrder(rank(kept, sort, t, ask.viewer.now_s).slice(0, DEEPEST + 1))
  })
  return json(listing(ask, ranked, { pinned }))
}

function newest({ memory }: Ask, from: readonly Subforum[]): Source<Thing> {
  const [only, ...others] = from
  if (only !== undefined && others.length === 0) return newestFirst(only.posts)
  return memory(`new ${keyOf(from)}`, () =>
    inOrder(
      merge(
        from.map((subforum) => subforum.posts),
        DEEPEST + 1,
      ),
    ),
  )
}

/** At most two, looked up once while nothing changes. */
function stickies({ memory }: Ask, from: readonly Subforum[]): Thing[] {
  const pinned = memory(`pinned ${keyOf(from)}`, () =>
    inOrder(
      from.flatMap((subforum) => subforum.posts.filter((it) => it.stickied && it.removed === null)),
    ),
  )
  return [pinned.at(pinned.length - 2), pinned.at(pinned.length - 1)].filter(
    (it) => it !== undefined,
  )
}
