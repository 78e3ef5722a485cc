import { DEGREES, HARMLESS_AFTER_NEGATION, IDIOMS, NEGATORS, SIGNS, WEIGHTS } from './lexicon.ts'

export const SENTIMENT_LABELS = ['positive', 'negative', 'mixed', 'neutral'] as const

export type Sentiment = {
  /** -1 to 1, two decimals. */
  polarity: number
  label: (typeof SENTIMENT_LABELS)[number]
  positive_terms: string[]
  negative_terms: string[]
  method: 'lexicon_heuristic'
}

// Words, signs, and the marks that end a thought. A long run of letters is no word, and is cut.
const TOKEN =
  /[\p{L}\p{M}\p{N}]{1,40}(?:['-][\p{L}\p{M}\p{N}]{1,40}){0,3}|[.!?;:,]|\p{Extended_Pictographic}/gu
const ENDS = new Set(['.', '!', '?', ';', ':', ',', 'but', 'however', 'although', 'though'])
const TOKENS_MAX = 1000
// How far back a negation reaches.
const REACH = 3
// "not good" is a little less than bad, and "not bad" rather less than good.
const TURNED_GOOD = -0.8
const TURNED_BAD = -0.5
const LABEL_FROM = 0.15
const MIXED_FROM = 0.5

const SAYINGS = new Map<string, { words: string[]; weight: number }[]>()
for (const [saying, weight] of IDIOMS) {
  const words = saying.split(' ')
  const first = words[0] ?? ''
  // The longest first: "not worth it" is not "worth it".
  const sayings = [...(SAYINGS.get(first) ?? []), { words, weight }]
  SAYINGS.set(
    first,
    sayings.toSorted((a, b) => b.words.length - a.words.length),
  )
}

/**
 * How a normalised text sounds. A word counts by the lexicon, more after "very", less after "slightly",
 * turned around after "not"; the sum is weighed against the length, so that one word does not colour a page.
 */
export function sentimentOf(text: string): Sentiment {
  const tokens = (text.match(TOKEN) ?? []).slice(0, TOKENS_MAX)
  const sums = { good: 0, bad: 0 }
  const terms = { good: new Set<string>(), bad: new Set<string>() }
  for (let at = 0; at < tokens.length;) {
    const { weight, length, term } = noteAt(tokens, at)
    if (weight !== 0) {
      const side = weight > 0 ? 'good' : 'bad'
      sums[side] += Math.abs(weight)
      terms[side].add(term)
    }
    at += length
  }
  const total = sums.good + sums.bad
  const polarity = total === 0 ? 0 : (sums.good - sums.bad) / (total + 0.5 + tokens.length / 40)
  return {
    polarity: Math.round(polarity * 100) / 100,
    label: labelOf(sums.good, sums.bad, polarity, tokens.length),
    positive_terms: [...terms.good],
    negative_terms: [...terms.bad],
    method: 'lexicon_heuristic',
  }
}

function labelOf(good: number, bad: number, polarity: number, length: number): Sentiment['label'] {
  const less = Math.min(good, bad)
  const both = less >= MIXED_FROM * Math.max(good, bad) && less / (1 + length / 40) >= 0.25
  if (less > 0 && both) return 'mixed'
  if (polarity >= LABEL_FROM) return 'positive'
  return polarity <= -LABEL_FROM ? 'negative' : 'neutral'
}

function noteAt(tokens: string[], at: number): { weight: number; length: number; term: string } {
  const word = tokens[at] ?? ''
  const saying = SAYINGS.get(word)?.find(({ words }) =>
    words.every((it, i) => tokens[at + i] === it),
  )
  if (saying !== undefined)
    return { weight: saying.weight, length: saying.words.length, term: saying.words.join(' ') }
  // "Exceptionally bad" is no praise: a word of degree only weighs what follows it.
  const weight = DEGREES.has(word) ? 0 : weightOf(word)
  if (weight === 0) return { weight, length: 1, term: word }
  const stressed = weight * (DEGREES.get(tokens[at - 1] ?? '') ?? 1)
  const negation = negationBefore(tokens, at)
  if (negation === null) return { weight: stressed, length: 1, term: word }
  const turned = stressed * (stressed > 0 ? TURNED_GOOD : TURNED_BAD)
  return { weight: turned, length: 1, term: `${negation} ${word}` }
}

function negationBefore(tokens: string[], at: number): string | null {
  for (let back = 1; back <= REACH; back++) {
    const word = tokens[at - back]
    if (word === undefined || ENDS.has(word)) return null
    if (!NEGATORS.has(word) && !word.endsWith("n't")) continue
    return HARMLESS_AFTER_NEGATION.has(tokens[at - back + 1] ?? '') ? null : word
  }
  return null
}

// A word with its plural, -ed, -ing or -ly taken off when the word itself is not listed.
function weightOf(word: string): number {
  const listed = WEIGHTS.get(word) ?? SIGNS.get(word)
  if (listed !== undefined) return listed
  if (word.length < 4) return 0
  for (const stem of stemsOf(word)) {
    const weight = WEIGHTS.get(stem)
    if (weight !== undefined) return weight
  }
  return 0
}

function stemsOf(word: string): string[] {
  if (word.endsWith("'s")) return [word.slice(0, -2)]
  if (word.endsWith('ies') || word.endsWith('ied')) return [`${word.slice(0, -3)}y`]
  if (word.endsWith('s')) return [word.slice(0, -1), word.slice(0, -2)]
  if (word.endsWith('ed'))
    return [word.slice(0, -1), word.slice(0, -2), undoubled(word.slice(0, -2))]
  if (word.endsWith('ing'))
    return [word.slice(0, -3), `${word.slice(0, -3)}e`, undoubled(word.slice(0, -3))]
  if (word.endsWith('ily')) return [`${word.slice(0, -3)}y`]
  return word.endsWith('ly') ? [word.slice(0, -2)] : []
}

const undoubled = (stem: string): string => (stem.at(-1) === stem.at(-2) ? stem.slice(0, -1) : stem)
