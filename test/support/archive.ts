import { encodeItem } from '../../src/core/archive/rows.ts'
import { type Item, itemKey } from '../../src/core/forum/items.ts'
import { createNaming } from '../../src/core/forum/naming.ts'
import { ingest } from '../../src/store/archive/ingest.ts'
import {
  type ArchiveFound,
  type ArchiveSearch,
  createWorkBudget,
  searchArchive,
} from '../../src/store/archive/search.ts'
import { runNow } from '../../src/store/db/chunked.ts'
import type { Db } from '../../src/store/db/connection.ts'

/** The words of a default configuration. */
export const words = createNaming({ platform: 'forum', community: 'subforum' })

/** Copies items into an archive, as the queue would. */
export function archive(
  db: Db,
  items: readonly Item[],
  { scopes = ['m:1'], seen_at = 1 } = {},
): void {
  ingest(
    db,
    items.map((item, seq) => ({
      seq,
      item_id: itemKey(item),
      item: encodeItem(item),
      scopes: JSON.stringify(scopes),
      seen_at,
    })),
  )
}

/** All matches of a search, page by page, and the number of pages. */
export function searchAll(
  db: Db,
  search: Partial<ArchiveSearch> & Pick<ArchiveSearch, 'spec'>,
): { names: string[]; pages: number; rows: Record<string, unknown>[] } {
  const rows: Record<string, unknown>[] = []
  let before: number | null = null
  for (let pages = 1; ; pages++) {
    const found: ArchiveFound = runNow(
      searchArchive(
        db,
        { from_at: 0, to_at: 4e12, scopes: null, limit: 25, ...search, before },
        words,
        createWorkBudget(() => 0, 1, 1),
      ),
    )
    rows.push(...(found.rows as Record<string, unknown>[]))
    before = found.after
    if (before === null) return { names: rows.map(({ name }) => String(name)), pages, rows }
  }
}
