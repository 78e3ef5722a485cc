import type { Match, MatchPage } from './types.ts'

/** Matches kept in memory at once; those far from the view are dropped and loaded again by id. */
const KEPT_MAX = 3000

/** A match that was taken out of the list, and its place. */
export type Removed = { id: string; at: number }

/** The rows of a list: the order of all loaded ids, and the matches near the view. */
export type Rows = ReturnType<typeof createRows>

/** Creates an empty list. All functions take or return positions from 0, the newest. */
export function createRows(kept_max = KEPT_MAX) {
  let ids: string[] = []
  let known = new Set<string>()
  const removed_ids = new Set<string>()
  let newest = ''
  const matches = new Map<string, Match>()
  let cursor: string | null = null
  let ended = false

  function insert(at: number, items: readonly Match[]) {
    const fresh = items.filter(({ id }) => !known.has(id))
    for (const it of fresh) {
      known.add(it.id)
      if (it.matched_at > newest) newest = it.matched_at
    }
    for (const it of items) matches.set(it.id, it)
    ids.splice(at, 0, ...fresh.map(({ id }) => id))
  }

  return {
    append({ items, next_cursor }: MatchPage) {
      insert(ids.length, items)
      cursor = next_cursor
      ended = next_cursor === null
    },
    /** Adds the next older ids alone; their matches are loaded when they come into view. */
    appendIds({ ids: older, next_cursor }: { ids: readonly string[]; next_cursor: string | null }) {
      const fresh = older.filter((id) => !known.has(id))
      for (const id of fresh) known.add(id)
      ids.push(...fresh)
      cursor = next_cursor
      ended = next_cursor === null
    },
    /** Adds matches before the first; those that are in the list already are replaced in place. */
    prepend: (items: readonly Match[]) => insert(0, items),
    replace(items: readonly Match[]) {
      for (const it of items) if (known.has(it.id)) matches.set(it.id, it)
    },
    /** Takes matches out of the list; the result puts them back. */
    remove(gone: ReadonlySet<string>): Removed[] {
      const removed = ids.flatMap((id, at) => (gone.has(id) ? [{ id, at }] : []))
      if (removed.length === 0) return removed
      for (const { id } of removed) removed_ids.add(id)
      ids = ids.filter((id) => !gone.has(id))
      known = new Set(ids)
      return removed
    },
    restore(removed: readonly Removed[]) {
      for (const { id, at } of removed.toSorted((a, b) => a.at - b.at)) {
        if (known.has(id)) continue
        known.add(id)
        removed_ids.delete(id)
        ids.splice(Math.min(at, ids.length), 0, id)
      }
    },
    /** Drops matches outside of `from` to `to` while more than the maximum are in memory. */
    trim(from: number, to: number) {
      if (matches.size <= kept_max) return
      const near = new Set(ids.slice(Math.max(0, from - kept_max / 4), to + kept_max / 4))
      for (const id of matches.keys()) if (!near.has(id)) matches.delete(id)
    },
    /** Ids from `from` up to `to` whose matches are not in memory. */
    missing: (from: number, to: number): string[] =>
      ids.slice(from, to).filter((id) => !matches.has(id)),
    /** The match at a position; undefined: not loaded. */
    at: (at: number): Match | undefined => {
      const id = ids[at]
      return id === undefined ? undefined : matches.get(id)
    },
    idAt: (at: number): string | undefined => ids[at],
    positionOf: (id: string): number => (known.has(id) ? ids.indexOf(id) : -1),
    get: (id: string): Match | undefined => matches.get(id),
    has: (id: string): boolean => known.has(id),
    /** True if the match was taken out and not put back. */
    wasRemoved: (id: string): boolean => removed_ids.has(id),
    /** `matched_at` of the newest match that was ever in the list; empty: none was. */
    newest: (): string => newest,
    ids: (): readonly string[] => ids,
    size: (): number => ids.length,
    /** Cursor of the next page; `ended`: there is none. */
    next: () => ({ cursor, ended }),
    kept: (): number => matches.size,
  }
}

/** A part of a text; `marked` if it matched. */
export type Segment = { text: string; marked: boolean }

/** Splits a text at its highlights, which are sorted and do not overlap. Those beyond the text are left out. */
export function segmentsOf(
  text: string,
  highlights: readonly { start: number; end: number }[],
): Segment[] {
  const parts: Segment[] = []
  let at = 0
  for (const { start, end } of highlights) {
    if (start < at || end > text.length || end <= start) continue
    if (start > at) parts.push({ text: text.slice(at, start), marked: false })
    parts.push({ text: text.slice(start, end), marked: true })
    at = end
  }
  if (at < text.length) parts.push({ text: text.slice(at), marked: false })
  return parts
}
