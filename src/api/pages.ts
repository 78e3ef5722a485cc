import * as z from 'zod'

import { formed, limit } from './fields.ts'

// Lists of what the house keeps, newest first: drafts and feedback. What the platform lists has cursors of its own.

const PAGE_MAX = 100
/** How many rows a page has, unless told. */
export const PAGE = 25

/** What such a list takes from its query; ids of its rows begin with `prefix`. */
export const pageQuery = (prefix: 'drf' | 'fb') => ({
  cursor: formed(
    'cursor',
    new RegExp(String.raw`^${prefix}_[\w-]{1,64}$`),
    'the next_cursor of an earlier page',
  ).optional(),
  limit: limit(PAGE_MAX, PAGE),
})

/**
 * The rows of a page, and what stands beside them; `next_cursor` is null at the end. Of `rows` there is one more than
 * `rows_max` where there is another page.
 */
export function pageOf<R extends { id: string }>(rows: readonly R[], rows_max: number) {
  const shown = rows.slice(0, rows_max)
  const next_cursor = rows.length > rows_max ? (shown.at(-1)?.id ?? null) : null
  return { shown, beside: { count: shown.length, limit: rows_max, next_cursor } }
}

/** What stands beside the rows of a page, for the document. */
export const besideShape = () => ({
  count: z.int().meta({ description: 'Rows of this page.' }),
  limit: z.int(),
  next_cursor: z.string().nullable().meta({ description: 'Null at the end.' }),
})
