import { normalise } from './filter-text.ts'
/**
 * What is told about an item beside it (interface.md "Enrichment"): deterministic heuristics for English,
 * not a model's output. Relevance looks where the filter looks; sentiment and intent read what the
 * author wrote themselves: quoted lines, code, addresses and a comment's thread title are left out.
 */
import { type FilterSpec, type Keyword, keywordsOf } from './filter.ts'
import { intentOf, type IntentTag } from './intent.ts'
import type { Item } from './items.ts'
import { type Sentiment, sentimentOf } from './sentiment.ts'

export type Enrichment = {
  relevance: {
    /** 0 to 1, two decimals. */
    score: number
    matched_terms: string[]
    considered_terms: number
    method: 'keyword_match_heuristic' | 'no_keyword_criteria'
  }
  sentiment: Sentiment
  intent: { tag: IntentTag; method: 'rule_based_heuristic' }
}

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

type Sound = Pick<Enrichment, 'sentiment' | 'intent'>

// The same for every monitor that matched the item, and kept for as long as the item is.
const sounds = new WeakMap<Item, Sound>()

function soundOf(item: Item): Sound {
  const known = sounds.get(item)
  if (known !== undefined) return known
  const title = item.kind === 'post' ? normalise(item.title) : ''
  const body = normalise(ownWords(item.kind === 'post' ? item.text : item.body))
  const sentiment = sentimentOf(title === '' ? body : `${title}. ${body}`)
  const tag = intentOf({ title, body, sentiment })
  const sound: Sound = { sentiment, intent: { tag, method: 'rule_based_heuristic' } }
  sounds.set(item, sound)
  return sound
}

const READ_MAX = 8000

function ownWords(text: string): string {
  return text
    .slice(0, READ_MAX)
    .replace(/^(?:>|&gt;).*$/gm, ' ')
    .replace(/```[^`]*```/g, ' ')
    .replace(/^(?: {4}|\t).*$/gm, ' ')
    .replace(/`[^`\n]*`/g, ' ')
    .replace(/https?:\/\/[^\s)\]]+/g, ' ')
}
