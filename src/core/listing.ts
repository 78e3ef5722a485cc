/** Where a listing goes on: the platform's own cursor, and how many rows were seen before it (null: not known). */
export type Cursor = { native: string; depth: number | null }

/** How much of a listing was returned when there is no further page (interface, Listing status). */
export const LISTING_STATUSES = ['complete', 'truncated', 'unknown'] as const
type ListingStatus = (typeof LISTING_STATUSES)[number]

/**
 * What kind of listing a page belongs to, because each ends in its own way: a chronological one reaches
 * everything, a ranked one may come up empty while it is being computed, a search reaches as far as the
 * platform's index felt like, and a user may keep a history to themselves.
 */
export type Shelf = 'chronological' | 'ranked' | 'search' | 'user'

/** The listings of a person that are read with that person's own session or not at all, whoever else may see them. */
export const OWN_TABS = ['upvoted', 'saved', 'hidden', 'gilded'] as const
export type OwnTab = (typeof OWN_TABS)[number]

/** `t3_` and an id, and the other fullnames the platform continues from. */
const BARE = /^[a-z][a-z0-9]?_[a-z0-9]{1,16}$/
/** Some listings issue opaque cursors; those come back to us only with a depth, which is how we know we issued them. */
const ISSUED = /^([A-Za-z0-9][A-Za-z0-9_=+/.:-]{0,511})~([0-9]{1,7})$/

/** The platform cuts every listing at about 1,000 positions, some of which it filters away again. */
export const LISTING_WALL = 900
/** A search may be cut at 250. The same tenth is allowed for rows filtered away. */
export const SEARCH_WALL = 225

/** Reads a cursor that we issued, or the platform's own; null for anything else. */
export function readCursor(text: string): Cursor | null {
  const issued = ISSUED.exec(text)
  if (issued?.[1] !== undefined) return { native: issued[1], depth: Number(issued[2]) }
  return BARE.test(text) ? { native: text, depth: null } : null
}

/** The text of a cursor. One whose depth is not known goes out as it came, so that it stays unknown. */
export const formatCursor = ({ native, depth }: Cursor): string =>
  depth === null ? native : `${native}~${depth}`

/** What a listing's last page proves. `seen` counts every row from the first page on; null: nobody counted. */
export function listingStatus(shelf: Shelf, seen: number | null): ListingStatus {
  if (seen === null) return 'unknown'
  if (seen >= LISTING_WALL) return 'truncated'
  // Empty searches are common under load, a ranking may not be computed yet, a profile may be curated.
  if (seen === 0 && shelf !== 'chronological') return 'unknown'
  if (shelf === 'search' && seen >= SEARCH_WALL) return 'unknown'
  return 'complete'
}

/** Where a listing goes on, and how much of it there was when it does not. */
export type Turn = { after: string | null; listing_status?: ListingStatus }

/**
 * How an answer ends after a page of `rows` rows read from `cursor` (null: the first page).
 * `listing_status` is there exactly when `after` is null.
 */
export function turnPage(
  shelf: Shelf,
  cursor: Cursor | null,
  page: { rows: number; after: string | null },
): Turn {
  const before = cursor === null ? 0 : cursor.depth
  const depth = before === null ? null : before + page.rows
  if (page.after === null) return { after: null, listing_status: listingStatus(shelf, depth) }
  // A cursor that does not move would send the caller round in a circle for ever.
  if (page.after === cursor?.native) return { after: null, listing_status: 'unknown' }
  return { after: formatCursor({ native: page.after, depth }) }
}
