import { enrich, type Enrichment } from './enrich.ts'
import type { FilterSpec } from './filter-spec.ts'
import type { Item } from './items.ts'
import { worded, type Words } from './wire.ts'

/** An item as it is delivered, in the words of the wire, with what a monitor's filter makes of it. */
export function rowOf(
  words: Words,
  spec: FilterSpec,
  item: Item,
): { row: object; enrichment: Enrichment } {
  const enrichment = enrich(spec, item)
  return { row: { ...itemOf(words, item), enrichment }, enrichment }
}

function itemOf(words: Words, item: Item): object {
  if (item.kind === 'comment' || item.crosspost_origin === null) return worded(words, item)
  return worded(words, { ...item, crosspost_origin: worded(words, item.crosspost_origin) })
}
