import { type Keyword, keywordsOf } from './filter-keywords.ts'
/**
 * What is told about an item beside it (interface.md "Enrichment"): deterministic heuristics for English,
 * not a model's output. Relevance looks where the filter looks; sentiment and intent read what the
 * author wrote themselves: quoted lines, code, addresses and a comment's thread title are left out.
 */
import type { FilterSpec } from './filter-spec.ts'
import { intentOf, type IntentTag } from './intent.ts'
import type { Item } from './items.ts'
import { entriesOf } from './lexicon.ts'
import { type Sentiment, sentimentOf } from './sentiment.ts'
import { tokenise } from './tokens.ts'

/** What is told of every delivered item beside itself (interface, Enrichment). All of it is heuristic. */
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
  const headline = item.kind === 'post' ? item.title.replaceAll('\n', ' ') : ''
  const source = (item.kind === 'post' ? item.text : item.body).slice(0, READ_MAX)
  const tokens = tokenise(headline === '' ? ownWords(source) : `${headline}\n${ownWords(source)}`)
  const title = headline === '' ? 0 : tokens.words.indexOf('\n')
  const entries = entriesOf(tokens)
  const heard = sentimentOf(tokens, entries)
  const links =
    item.link_url === null || item.kind === 'comment'
      ? source
      : `${item.link_url} ${headline} ${source}`
  const tag = intentOf({ tokens, entries, title, heard, headline, links })
  const sound: Sound = {
    sentiment: heard.sentiment,
    intent: { tag, method: 'rule_based_heuristic' },
  }
  sounds.set(item, sound)
  return sound
}

const READ_MAX = 8000

// Each pattern is looked for only where its first sign occurs: most texts have none of them.
function ownWords(text: string): string {
  let own = text
  if (own.includes('>') || own.includes('&gt;')) own = own.replace(/^(?:>|&gt;).*$/gm, '\n')
  if (own.includes('`')) own = own.replace(/```[^`]*```/g, ' ').replace(/`[^`\n]*`/g, ' ')
  if (own.includes('    ') || own.includes('\t')) own = own.replace(/^(?: {4}|\t).*$/gm, '\n')
  if (own.includes('://')) own = own.replace(/https?:\/\/[^\s)\]]+/g, ' ')
  return own
}
