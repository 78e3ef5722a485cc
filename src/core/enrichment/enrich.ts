import { type Keyword, keywordsOf } from '../filter/feeds.ts'
import type { FilterSpec } from '../filter/spec.ts'
import type { Item } from '../forum/items.ts'
import { type Naming, toWire } from '../forum/naming.ts'
import { intentOf } from './intent.ts'
import type { IntentTag } from './lexicon/cues.ts'
import { entriesOf } from './lexicon/words.ts'
import { type Sentiment, sentimentOf } from './sentiment.ts'
import { tokenise } from './tokenizer.ts'

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

// Cached per item: all monitors that match it share the result.
const sounds = new WeakMap<Item, Sound>()

function soundOf(item: Item): Sound {
  const cached = sounds.get(item)
  if (cached !== undefined) return cached
  const headline = item.kind === 'post' ? item.title.replaceAll('\n', ' ') : ''
  const source = (item.kind === 'post' ? item.text : item.body).slice(0, READ_MAX)
  const tokens = tokenise(headline === '' ? ownWords(source) : `${headline}\n${ownWords(source)}`)
  const title = headline === '' ? 0 : tokens.words.indexOf('\n')
  const entries = entriesOf(tokens)
  const sentiment_score = sentimentOf(tokens, entries)
  const links =
    item.link_url === null || item.kind === 'comment'
      ? source
      : `${item.link_url} ${headline} ${source}`
  const tag = intentOf({ tokens, entries, title, sentiment_score, headline, links })
  const sound: Sound = {
    sentiment: sentiment_score.sentiment,
    intent: { tag, method: 'rule_based_heuristic' },
  }
  sounds.set(item, sound)
  return sound
}

const READ_MAX = 8000

// Runs a pattern only if its first character occurs: most texts contain none of them.
function ownWords(text: string): string {
  let own = text
  if (own.includes('>') || own.includes('&gt;')) own = own.replace(/^(?:>|&gt;).*$/gm, '\n')
  if (own.includes('`')) own = own.replace(/```[^`]*```/g, ' ').replace(/`[^`\n]*`/g, ' ')
  if (own.includes('    ') || own.includes('\t')) own = own.replace(/^(?: {4}|\t).*$/gm, '\n')
  if (own.includes('://')) own = own.replace(/https?:\/\/[^\s)\]]+/g, ' ')
  return own
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
