import { anyOf, wantedBy } from './filter-keywords.ts'
import { fieldsOf, type Manner, mannerOf, sidesOf, wordOf } from './filter-match.ts'
import { type Query, termsIn } from './filter-query.ts'
import type { FilterSpec } from './filter-spec.ts'
import type { SearchField, Word } from './filter-text.ts'

/** What a spec listens for. */
export type Needs = {
  /** Every word that it asks about, and the fields in which it asks about any of them. */
  words: Word[]
  fields: SearchField[]
  /** Words of which at least one stands in every item that it matches; null when nothing is known to. */
  one_of: Word[] | null
}

/** What a spec listens for. Where several things must all be there, the rarest is waited for. */
export function needsOf(spec: FilterSpec): Needs {
  const manner = mannerOf(spec)
  const wanted = wantedBy(spec)
  const terms = [...termsIn(wanted), ...termsIn(anyOf(spec.exclude_terms))]
  return {
    words: once(terms.map((it) => wordOf(it, manner))),
    fields: [...new Set(terms.flatMap((it) => fieldsOf(it, manner)))],
    one_of: cover(wanted, manner)?.words ?? null,
  }
}

function once(words: readonly Word[]): Word[] {
  const seen = new Map<string, number>()
  return words.filter((word) => {
    const before = seen.get(word.text) ?? 0
    // What tells words of the same text apart, as one of four bits.
    const bit = 1 << sidesOf(word)
    if ((before & bit) !== 0) return false
    seen.set(word.text, before | bit)
    return true
  })
}

type Cover = { words: Word[]; cost: number }

function cover(query: Query, manner: Manner): Cover | null {
  switch (query.kind) {
    case 'term': {
      const word = wordOf(query, manner)
      return { words: [word], cost: commonness(word) }
    }
    case 'not':
      return null
    case 'and': {
      const known = query.parts.map((it) => cover(it, manner)).filter((it) => it !== null)
      return known.toSorted((a, b) => a.cost - b.cost)[0] ?? null
    }
    case 'or': {
      const parts = query.parts.map((it) => cover(it, manner))
      const known = parts.filter((it) => it !== null)
      if (known.length < parts.length) return null
      return {
        words: once(known.flatMap(({ words }) => words)),
        cost: known.reduce((sum, { cost }) => sum + cost, 0),
      }
    }
  }
}

// Longer words are rarer, and steeply so.
const commonness = ({ text }: Word): number => 1 / text.length ** 3
