import { compileQuery, plainProbe } from '../core/filter-match.ts'
import { parseQuery } from '../core/filter-query.ts'
import { SEARCH_FIELDS } from '../core/filter-text.ts'
import type { Item } from '../core/items.ts'

type Test = (item: Item) => boolean

const KEPT_MAX = 2000
const kept = new Map<string, Test>()

/**
 * Whether a search expression finds an item. Expressions are written as `q` is, so the same reader understands them.
 * Wide rather than narrow: parts of words count, wherever they stand.
 */
export function belongsTo(expression: string, item: Item): boolean {
  let test = kept.get(expression)
  if (test === undefined) {
    if (kept.size >= KEPT_MAX) kept.clear()
    const manner = {
      search_in: SEARCH_FIELDS,
      view: 0,
      substring: true,
      probeOf: plainProbe,
    } as const
    kept.set(expression, (test = compileQuery(parseQuery(expression), manner)))
  }
  return test(item)
}
