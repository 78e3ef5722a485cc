import type { Item, Page, Post } from '../core/items.ts'
import type { Shelf, Turn } from '../core/listing.ts'
import { ok, type Outcome } from '../core/outcome.ts'
import type { Call } from '../platform/platform.ts'
import { type Paged, settlePage } from './listing.ts'

/** One read, given how to look. */
export type Work<Query, Body> = (query: Query, call: Call) => Promise<Outcome<Body>>

/** A read of one page of rows. `shelf` tells how such a listing ends, and `dress` names its rows as the answer does. */
export const listed =
  <Query extends Paged, Row extends { name: string }, Body extends object>(
    shelf: (query: Query) => Shelf,
    page: Work<Query, Page<Row>>,
    dress: (rows: Row[]) => Body,
  ): Work<Query, Body & Turn> =>
  async (query, call) => {
    const listing = await page(query, call)
    if (!listing.ok) return listing
    const { rows, turn } = settlePage(shelf(query), query, listing.value)
    return ok({ ...dress(rows), ...turn })
  }

/** How a listing of posts ends, by its sort. */
export const bySort = ({ sort }: Paged & { sort: string }): Shelf =>
  sort === 'new' ? 'chronological' : 'ranked'

/** The posts of a listing that could have been mixed. */
export const postsIn = (items: readonly Item[]): Post[] =>
  items.flatMap((item) => {
    if (item.kind !== 'post') return []
    const { kind: _, ...post } = item
    return [post]
  })
