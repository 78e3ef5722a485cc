import { type Keyword, keywordsOf } from '../filter/feeds.ts'
import type { FilterSpec } from '../filter/fields.ts'
import type { Item } from '../forum/items.ts'
import { type Naming, toWire } from '../forum/naming.ts'
import { type Sound, soundOf } from './intent.ts'

/**
 * Enrichment of delivered items: deterministic heuristics for English, not a model's output.
 * Relevance reads the fields that the filter reads. Sentiment and intent read the author's own
 * words: no quoted lines, code, addresses, or a comment's thread title.
 */
/** Enrichment of a delivered item. All values are heuristic. */
export type Enrichment = {
  relevance: {
    /** 0 to 1, two decimals. */
    score: number
    matched_terms: string[]
    considered_terms: number
    method: 'keyword_match_heuristic' | 'no_keyword_criteria'
  }
} & Sound

/** Enriches an item for a monitor's filter. Pure: the same two give the same answer. */
export function enrich(spec: FilterSpec, item: Item): Enrichment {
  return { relevance: relevanceOf(spec, item), ...soundOf(item) }
}

const keywords = new WeakMap<FilterSpec, Keyword[]>()

function relevanceOf(spec: FilterSpec, item: Item): Enrichment['relevance'] {
  let considered = keywords.get(spec)
  if (considered === undefined) keywords.set(spec, (considered = keywordsOf(spec)))
  const matched = considered.filter((it) => it.test(item))
  const any = considered.length > 0
  return {
    score: any ? Math.round((matched.length / considered.length) * 100) / 100 : 1,
    matched_terms: [...new Set(matched.map((it) => it.term))],
    considered_terms: considered.length,
    method: any ? 'keyword_match_heuristic' : 'no_keyword_criteria',
  }
}

/** Item in its public form, enriched for a monitor's filter. */
export function rowOf(
  words: Naming,
  spec: FilterSpec,
  item: Item,
): { row: object; enrichment: Enrichment } {
  const enrichment = enrich(spec, item)
  return { row: { ...itemOf(words, item), enrichment }, enrichment }
}

function itemOf(words: Naming, item: Item): object {
  if (item.kind === 'comment' || item.crosspost_origin === null) return toWire(words, item)
  return toWire(words, { ...item, crosspost_origin: toWire(words, item.crosspost_origin) })
}

/** Item of a row that {@link rowOf} has made, without the places beside its own. `community`: as the row spells it. */
export function fromRow(row: Readonly<Record<string, unknown>>, community: string): Item {
  const { enrichment: _enrichment, judgement: _judgement, ...fields } = row
  const inner = renamed(fields, community)
  const { crosspost_origin: origin } = inner
  const item: unknown =
    typeof origin === 'object' && origin !== null
      ? { ...inner, crosspost_origin: renamed({ ...origin }, community) }
      : inner
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `rowOf` has made it of an item
  return item as Item
}

const renamed = (row: Record<string, unknown>, community: string): Record<string, unknown> =>
  community === 'subforum'
    ? row
    : Object.fromEntries(
        Object.entries(row).map(([name, value]) => [name === community ? 'subforum' : name, value]),
      )
