import { enrich } from './enrich.ts'
import { criteriaOf } from './filter-compile.ts'
import { countsOf, lateOf, relevanceFloorOf } from './filter-late.ts'
import { type FilterSpec, wireName } from './filter-spec.ts'
import type { Item } from './items.ts'
import type { Words } from './wire.ts'

/**
 * One condition's verdict on one item, for a person. `later`: the item has not reached it, and is looked at again.
 * `withheld`: the item matches, and is shown without being sent.
 */
export type Explained = {
  /** The field, as it is called on the wire. */
  criterion: string
  verdict: 'met' | 'not_met' | 'later' | 'withheld'
  /** What of the item was looked at. */
  detail: string
}

const DETAIL_MAX = 200

/** Every condition of a spec and what it says of an item, in the order in which they are asked. */
export function explain(spec: FilterSpec, item: Item, words: Words): Explained[] {
  const found = criteriaOf(spec).map(({ field, met, saw }): Explained => {
    const verdict = met(item) ? 'met' : 'not_met'
    return { criterion: wireName(field, words), verdict, detail: saw(item).slice(0, DETAIL_MAX) }
  })
  const least = (criterion: string, floor: number | null, count: number | null) => {
    if (floor === null) return
    const verdict = count !== null && count >= floor ? 'met' : 'later'
    found.push({ criterion, verdict, detail: `${count ?? 'not told'}, wanted ${floor}` })
  }
  const late = lateOf(spec)
  const { score: votes, comments } = countsOf(item)
  least('min_score', late?.min_score ?? null, votes)
  least('min_comments', late?.min_comments ?? null, comments)
  const floor = relevanceFloorOf(spec)
  if (floor !== null) {
    const { score } = enrich(spec, item).relevance
    const verdict = score >= floor ? 'met' : 'withheld'
    found.push({ criterion: 'min_relevance', verdict, detail: `${score}, wanted ${floor}` })
  }
  return found
}
