import type { FilterSpec } from '../../../src/core/filter/fields.ts'
import { parseFilterSpec } from '../../../src/core/filter/parse.ts'
import type { Item } from '../../../src/core/forum/items.ts'
import { createNaming } from '../../../src/core/forum/naming.ts'
import { postOf } from '../../../test/support/items.ts'

export const TERMS = 20
export const VOCABULARY = 60_000

const ONSETS =
  'b c d f g h k l m n p r s t v w br ch cl cr dr fl gr pl pr sh sl st str th tr'.split(' ')
const VOWELS = 'a e i o u ai ea ee io ou'.split(' ')
const CODAS = ['', '', '', 'n', 'r', 's', 't', 'l', 'nd', 'st', 'ng', 'ck']

/** A seeded random source in [0, 1) (mulberry32): the same seed gives the same world. */
function createChance(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Posts and filters of monitors in one invented language. */
export function createWorld(seed: number) {
  const chance = createChance(seed)
  const whole = (least: number, most: number) => least + Math.floor(chance() * (most - least + 1))
  const pick = (list: readonly string[]): string => list[Math.floor(chance() * list.length)] ?? ''
  const vocabulary = createVocabulary(chance, pick)

  // Zipf's law: the n-th word occurs in proportion to 1/n.
  const word = (from = 1, to = VOCABULARY): string =>
    vocabulary[Math.min(VOCABULARY, Math.floor(from * (to / from) ** chance())) - 1] ?? ''
  const textOf = (words: number): string => Array.from({ length: words }, () => word()).join(' ')

  /** A filter term: names and jargon, seldom common words; every other term is a phrase of two words. */
  const term = (): string => {
    const rare = word(20_000)
    return chance() < 0.5 ? `${rare} ${word(200)}` : rare
  }

  return {
    /** A word: the lower `from` and `to`, the more frequent. */
    word,
    /** A post of about forty words; every fourth has a link and bold text. */
    post(at: number): Item {
      const body = textOf(whole(0, 60))
      const marked = `${body} **${textOf(2)}** [${textOf(2)}](https://${word()}.example/x)`
      const title = textOf(whole(6, 14))
      return postOf({ id: `p${at}`, name: `t3_p${at}`, title, text: at % 4 === 0 ? marked : body })
    },
    /** A monitor of twenty terms; some monitors have further conditions. */
    spec(at: number): FilterSpec {
      const terms = Array.from({ length: TERMS }, term)
      const more = conditions(at % 20, terms, vocabulary, pick)
      return parseFilterSpec({ subforum: ['cats'], ...more }, words)
    },
  }
}

const words = createNaming({ platform: 'forum', community: 'subforum' })

function conditions(
  kind: number,
  terms: string[],
  vocabulary: readonly string[],
  pick: (list: readonly string[]) => string,
): Record<string, unknown> {
  if (kind < 13) return { include_any: terms }
  if (kind < 16) return { include_any: terms.slice(2), include_all: terms.slice(0, 2) }
  if (kind === 16) {
    const phrases = terms.slice(0, 3).map((it) => `"${it}"`)
    return { q: `(${phrases.join(' OR ')}) -${pick(vocabulary)}`, include_any: terms.slice(3) }
  }
  if (kind === 17) return { include_any: terms.slice(5), exclude_terms: terms.slice(0, 5) }
  if (kind === 18) return { include_any: terms, regex: [`\\b${pick(vocabulary)}\\s+\\w+`] }
  return { include_any: terms, fold_accents: true, nsfw: false }
}

/** Words of one to five syllables; common words are short, as in natural languages. */
function createVocabulary(chance: () => number, pick: (list: readonly string[]) => string) {
  const bodies = new Set<string>()
  while (bodies.size < VOCABULARY) {
    const syllables = 1 + Math.floor(Math.log10(1 + bodies.size) * 0.7 + chance())
    const parts = Array.from({ length: syllables }, () => pick(ONSETS) + pick(VOWELS) + pick(CODAS))
    bodies.add(parts.join(''))
  }
  return [...bodies]
}
