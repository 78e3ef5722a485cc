import type { Page } from '../core/items.ts'
import { type Cursor, type Shelf, type Turn, turnPage } from '../core/listing.ts'

/** Which part of a listing is wanted. */
export type Paged = { limit: number; after: Cursor | null }

/** What the platform is asked for: its own cursor, without our count. */
export const paging = ({ limit, after }: Paged) => ({ limit, after: after?.native ?? null })

/** One page's rows, each once, and how the answer ends. */
export function settlePage<T extends { name: string }>(
  shelf: Shelf,
  { after }: Paged,
  page: Page<T>,
): { rows: T[]; turn: Turn } {
  const names = new Set<string>()
  // Rankings move while they are read, and then the platform repeats itself.
  const rows = page.rows.filter(({ name }) => !names.has(name) && names.add(name))
  // The platform ends a listing by its own count, in which what we left out has its place.
  const seen = page.rows.length + (page.left_out ?? 0)
  return { rows, turn: turnPage(shelf, after, { rows: seen, after: page.after }) }
}
