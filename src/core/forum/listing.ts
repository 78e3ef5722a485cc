/**
 * Position in a listing: the platform's own cursor, and the number of rows before it (null: not
 * known). `in_pinned`: `native` is a row pinned above the first page, so the listing continues
 * below it on that page.
 */
export type Cursor = { native: string; depth: number | null; in_pinned?: boolean }

export const LISTING_STATUSES = ['complete', 'truncated', 'unknown'] as const
type ListingStatus = (typeof LISTING_STATUSES)[number]

/**
 * Kind of listing, because each ends differently. A chronological one reaches everything, a ranked
 * one may be empty while it is being computed, a search reaches as far as the platform's index, and
 * users may hide parts of their history.
 */
export type ListingKind = 'chronological' | 'ranked' | 'search' | 'user'

/** A user's listings that only that user's own session can read. */
export const OWN_TABS = ['upvoted', 'saved', 'hidden', 'gilded'] as const
export type OwnTab = (typeof OWN_TABS)[number]

/** `t3_` and an id, and the other fullnames that the platform accepts as cursors. */
const BARE = /^[a-z][a-z0-9]?_[a-z0-9]{1,16}$/
/** Some listings issue opaque cursors; the depth suffix marks those that forumd issued. */
const ISSUED = /^([A-Za-z0-9][A-Za-z0-9_=+/.:-]{0,511})~(\^?)([0-9]{1,7})$/

/** The platform ends every listing at about 1,000 positions, some of which it filters out. */
export const LISTING_LIMIT = 900
/** A search may end at 250. A tenth is allowed for filtered rows. */
export const SEARCH_LIMIT = 225

export const isFullname = (text: string): boolean => BARE.test(text)

/** Parses a cursor that forumd issued, or a bare fullname; null for any other text. */
export function readCursor(text: string): Cursor | null {
  const [, native, in_pinned, depth] = ISSUED.exec(text) ?? []
  if (native !== undefined)
    return { native, depth: Number(depth), ...(in_pinned === '^' && { in_pinned: true }) }
  return isFullname(text) ? { native: text, depth: null } : null
}

/** Formats a cursor. Without a known depth it keeps the platform's form. */
export const formatCursor = ({ native, depth, in_pinned = false }: Cursor): string =>
  depth === null ? native : `${native}~${in_pinned ? '^' : ''}${depth}`

/** `seen` counts rows from the first page on; null: not counted. */
export function listingStatus(kind: ListingKind, seen: number | null): ListingStatus {
  if (seen === null) return 'unknown'
  if (seen >= LISTING_LIMIT) return 'truncated'
  // Empty searches are common under load, a ranking may not be computed yet, and profiles may hide
  // rows.
  if (seen === 0 && kind !== 'chronological') return 'unknown'
  if (kind === 'search' && seen >= SEARCH_LIMIT) return 'unknown'
  return 'complete'
}

/** Next position of a listing, and its completeness if there is none. */
export type PageEnd = { after: string | null; listing_status?: ListingStatus }

/**
 * End of an answer after a page of `rows` rows read from `cursor` (null: the first page).
 * `listing_status` is present if and only if `after` is null.
 */
export function endPage(
  kind: ListingKind,
  cursor: Cursor | null,
  page: { rows: number; after: string | null; in_pinned?: boolean; lacks_some?: boolean },
): PageEnd {
  const before = cursor === null ? 0 : cursor.depth
  const depth = before === null ? null : before + page.rows
  if (page.after === null) {
    const status = listingStatus(kind, depth)
    // More was announced, so the cursor's row has left the listing: what lies below it was not read.
    const has_lost = cursor !== null && page.rows === 0 && status === 'complete'
    return { after: null, listing_status: has_lost || page.lacks_some ? 'unknown' : status }
  }
  // A cursor that does not advance would loop forever.
  if (page.after === cursor?.native && !cursor.in_pinned)
    return { after: null, listing_status: 'unknown' }
  return {
    after: formatCursor({ native: page.after, depth, ...(page.in_pinned && { in_pinned: true }) }),
  }
}
