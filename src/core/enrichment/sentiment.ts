import { longest } from './lexicon/phrases.ts'
import type { LexiconEntry } from './lexicon/words.ts'
import { type TokenisedText, written } from './tokenizer.ts'

export const SENTIMENT_LABELS = ['positive', 'negative', 'mixed', 'neutral'] as const

/** Sentiment of a text: `polarity` from -1 to 1, and the terms that determine it. */
export type Sentiment = {
  /** -1 to 1, two decimals. */
  polarity: number
  label: (typeof SENTIMENT_LABELS)[number]
  /** Terms as written; a negated word includes its negation and counts for the opposite side. */
  positive_terms: string[]
  negative_terms: string[]
  method: 'lexicon_heuristic'
}

export type SentimentScore = { sentiment: Sentiment; good: number; bad: number }

type Note = { weight: number; first: number; last: number; thanks: boolean }

// Number of weighted words that a negation reaches.
const REACH = 3
// "not good" is slightly weaker than bad, and "not bad" somewhat weaker than good.
const TURNED_GOOD = -0.8
const TURNED_BAD = -0.75
// Less than one plain word is not an opinion.
const STANCE = 0.75
const LABEL_FROM = 0.15
// Ratio of the lighter to the heavier side for a mixed text; lower if a "but" separates them.
const MIXED_FROM = 0.6
const MIXED_FROM_BUT = 0.4
const CONTRASTS = new Set(['but', 'however', 'although', 'though', 'yet', 'despite'])
// "I have never had such bad food" is not good food.
const NEVER_SO = new Set(['such', 'so', 'more', 'better', 'worse'])

/**
 * Sentiment of a text. A word counts by the lexicon, more after "very", less after "slightly",
 * inverted after "not"; praise inside a question does not count. The sum is divided by the length,
 * so that one word does not determine a long text.
 */
export function sentimentOf(
  tokens: TokenisedText,
  entries: readonly (LexiconEntry | undefined)[],
): SentimentScore {
  const { notes, has_question, contrasts } = collectNotes(tokens, entries)
  const terms = { good: new Map<string, string>(), bad: new Map<string, string>() }
  const sums = { good: 0, bad: 0 }
  for (const { weight, first, last, thanks } of notes) {
    if (weight === 0 || (thanks && has_question)) continue
    const side = weight > 0 ? 'good' : 'bad'
    sums[side] += Math.abs(weight)
    const term = written(tokens, first, last)
    const key = term.toLowerCase()
    if (!terms[side].has(key)) terms[side].set(key, term)
  }
  const { good, bad } = sums
  const length = tokens.words.length
  const polarity = good + bad === 0 ? 0 : (good - bad) / (good + bad + 0.5 + length / 40)
  const sentiment: Sentiment = {
    polarity: Math.round(polarity * 100) / 100,
    label: labelOf(sums, contrasts ? MIXED_FROM_BUT : MIXED_FROM, polarity, length),
    positive_terms: [...terms.good.values()],
    negative_terms: [...terms.bad.values()],
    method: 'lexicon_heuristic',
  }
  return { sentiment, good, bad }
}

function labelOf(
  { good, bad }: { good: number; bad: number },
  mixed_from: number,
  polarity: number,
  length: number,
): Sentiment['label'] {
  const [less, more] = good < bad ? [good, bad] : [bad, good]
  if (less >= STANCE && less >= mixed_from * more && less / (1 + length / 40) >= 0.25)
    return 'mixed'
  if (more < STANCE || Math.abs(polarity) < LABEL_FROM) return 'neutral'
  return polarity > 0 ? 'positive' : 'negative'
}

function collectNotes(
  tokens: TokenisedText,
  entries: readonly (LexiconEntry | undefined)[],
): { notes: Note[]; has_question: boolean; contrasts: boolean } {
  const { words } = tokens
  let notes: Note[] = []
  let has_question = false
  let contrasts = false
  let sentence = 0
  let reach = 0
  let negation = 0
  for (let at = 0; at < words.length; at++) {
    const entry = entries[at]
    if (entry === undefined) {
      if (reach > 0) reach--
      continue
    }
    const phrase = entry.phrase === null ? null : longest(entry.phrase, words, at)
    if (phrase !== null) {
      const last = at + phrase.length - 1
      // A phrase with its own "not" is not negated again.
      const turned = reach > 0 && !entry.negates
      notes.push(noteOf(phrase.value, turned ? negation : at, last, turned))
      at = last
      reach = 0
    } else if (entry.ends) {
      reach = 0
      if (CONTRASTS.has(entry.word)) contrasts = true
      if (entry.word === '?') {
        has_question = true
        notes = notes.filter(({ weight }, index) => index < sentence || weight < 0)
      }
      if (entry.word === '?' || entry.word === '.' || entry.word === '!' || entry.word === '\n')
        sentence = notes.length
    } else if (entry.negates) {
      reach = REACH
      negation = at
    } else if (entry.weight !== 0 && !stresses(entry, entries[at + 1])) {
      const before = entries[at - 1]
      const degree = before === undefined ? 1 : stresses(before, entry) ? 1.5 : before.degree
      notes.push({
        ...noteOf(entry.weight * degree, reach > 0 ? negation : at, at, reach > 0),
        thanks: entry.thanks,
      })
    } else if (reach > 0 && NEVER_SO.has(entry.word) && words[negation] === 'never') reach = 0
    else if (reach > 0 && !entry.filler && entry.degree === 1) reach--
  }
  return { notes, has_question, contrasts }
}

function noteOf(weight: number, first: number, last: number, turned: boolean): Note {
  const turn = turned ? (weight > 0 ? TURNED_GOOD : TURNED_BAD) : 1
  return { weight: weight * turn, first, last, thanks: false }
}

// "Weirdly wholesome" is wholesome: an adverb before a weighted word only intensifies it.
const stresses = (entry: LexiconEntry, next: LexiconEntry | undefined): boolean =>
  next !== undefined && next.weight !== 0 && entry.weight !== 0 && entry.word.endsWith('ly')
