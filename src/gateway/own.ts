import type { Item, Moderator } from '../core/items.ts'
import type { OwnTab, Shelf, Turn } from '../core/listing.ts'
import { fail, ok } from '../core/outcome.ts'
import type { Platform } from '../platform/platform.ts'
import { type Paged, paging } from './listing.ts'
import { alive } from './looking.ts'
import { listed, type Work } from './pages.ts'

/** A part of what only its owner sees. */
export type OwnQuery = Paged & { name: string; tab: OwnTab; sort: string; t: string | null }
/** Posts and comments in the order of the platform. */
export type OwnBody = { items: Item[] } & Turn

// The platform has retired what fills it: an empty one proves nothing.
const shelfOf = ({ tab }: OwnQuery): Shelf => (tab === 'gilded' ? 'user' : 'chronological')

/** What an account alone may list of itself. Whose it is, is asked first: for a dead session the platform shows others' rows or none. */
export function ownItems(platform: Platform): Work<OwnQuery, OwnBody> {
  const page = listed(
    shelfOf,
    ({ name, tab, sort, t, ...paged }: OwnQuery, call) =>
      platform.userItems({ name, tab, sort, t, ...paging(paged) }, call),
    (items) => ({ items }),
  )
  return async (query, call) => {
    const me = await alive(platform, call)
    if (!me.ok) return me
    const { name, is_suspended } = me.value
    if (name.toLowerCase() !== query.name.toLowerCase())
      return fail({ kind: 'forbidden', reason: 'other_account' })
    if (is_suspended) return fail({ kind: 'forbidden', reason: 'user_suspended' })
    return page(query, call)
  }
}

/** Who keeps order in a subforum. The platform tells members only, and strangers sometimes too: ours asks as somebody. */
export const moderatorsOf =
  (platform: Platform): Work<{ name: string }, { moderators: Moderator[] }> =>
  async ({ name }, call) => {
    const me = await alive(platform, call)
    if (!me.ok) return me
    const moderators = await platform.moderators(name, call)
    return moderators.ok ? ok({ moderators: moderators.value }) : moderators
  }
