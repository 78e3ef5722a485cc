import { compileQuery } from '../core/filter-match.ts'
import { parseQuery } from '../core/filter-query.ts'
import { SEARCH_FIELDS } from '../core/filter-text.ts'
import type { Item } from '../core/items.ts'

type Test = (item: Item) => boolean

const KEPT_MAX = 2000
const kept = new Map<string, Test>()

// Accents are not looked at: with or without them the platform may find it, and so may a filter that folds them.
const MANNER = { search_in: SEARCH_FIELDS, view: 1, substring: true } as const

/**
 * Whether a search expression finds an item. Expressions are written as `q` is, so the same reader understands them.
 * Wide rather than narrow: parts of words count, wherever they stand. What cannot be read finds everything: a filter that
 * a customer wrote must not keep a round of others from being taken apart.
 */
export function belongsTo(expression: string, item: Item): boolean {
  let test = kept.get(expression)
  if (test === undefined) {
    if (kept.size >= KEPT_MAX) kept.clear()
    kept.set(expression, (test = testOf(expression)))
  }
  return test(item)
}

function testOf(expression: string): Test {
  try {
    return compileQuery(parseQuery(expression), MANNER)
  } catch {
    return () => true
  }
}
