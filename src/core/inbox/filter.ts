export const INBOX_STATES = ['unread', 'read', 'answered', 'dismissed'] as const
export type InboxState = (typeof INBOX_STATES)[number]

/** Conditions on items of the inbox, all of which must be met; null and an empty list: not given. */
export type InboxFilter = {
  monitor: string | null
  state: readonly InboxState[]
  starred: boolean | null
  label: string | null
  source: string | null
  /** In lower case, as {@link InboxFilter.author}. */
  place: string | null
  author: string | null
  /** Span of the first match, epoch ms; `to` is excluded. */
  from: number | null
  to: number | null
  /** Words that must all occur in the title or the text. */
  text: string | null
}

export const NO_FILTER: InboxFilter = Object.freeze({
  monitor: null,
  state: [],
  starred: null,
  label: null,
  source: null,
  place: null,
  author: null,
  from: null,
  to: null,
  text: null,
})

/** Values to set in items; absent ones stay. `label` null removes it. */
export type InboxChange = {
  state?: InboxState | undefined
  starred?: boolean | undefined
  label?: string | null | undefined
}

/** Place of an item in the order of the inbox, which is newest first. */
export type InboxPosition = { matched_at: number; row: number }

const compare = (a: InboxPosition, b: InboxPosition): number =>
  a.matched_at - b.matched_at || a.row - b.row

/** The positions that a page may have: `below` is excluded, `least` included. */
export type InboxSpan = { below: InboxPosition; least: InboxPosition }

const END: InboxPosition = { matched_at: Number.MAX_SAFE_INTEGER, row: 0 }
const START: InboxPosition = { matched_at: 0, row: 0 }

/** The span of a filter after a cursor. Rows count from 1, so row 0 stands before all rows of its instant. */
export function spanOf({ from, to }: InboxFilter, cursor: InboxPosition | null): InboxSpan {
  const end = to === null ? END : { matched_at: to, row: 0 }
  const below = cursor !== null && compare(cursor, end) < 0 ? cursor : end
  return { below, least: from === null ? START : { matched_at: from, row: 0 } }
}

export const laterOf = (a: InboxPosition, b: InboxPosition): InboxPosition =>
  compare(a, b) < 0 ? b : a

const CURSOR = /^(\d{1,15})\.(\d{1,15})$/

export const writeInboxCursor = ({ matched_at, row }: InboxPosition): string =>
  `${matched_at}.${row}`

/** Parses such a cursor; null if malformed. */
export function readInboxCursor(text: string): InboxPosition | null {
  const [, matched_at, row] = CURSOR.exec(text) ?? []
  return matched_at === undefined || row === undefined
    ? null
    : { matched_at: Number(matched_at), row: Number(row) }
}
