import { once } from '../../base/lazy.ts'
import type { TokenisedText } from '../tokenizer.ts'
import { cues } from './cues.ts'
import { itemsOf, listsIn, phrasesByStart, type Starts, wordsOf } from './phrases.ts'
import sayings from './phrases.txt' with { type: 'text' }

/** Weights of lists of words: 2 or 1 for praise, 0.5 for a welcome fact, negative for their opposites. */
const LIST_WEIGHTS = { delight: 2, liking: 1, favour: 0.5, disgust: -2, dislike: -1, trouble: -0.5 }

export const weights = once(
  (): ReadonlyMap<string, number> =>
    new Map(
      Object.entries(LIST_WEIGHTS).flatMap(([name, weight]) =>
        wordsOf(name).map((it): [string, number] => [it, weight]),
      ),
    ),
)

/** All but the phrases are looked up for every word of every item, hence a single entry. */
export type LexiconEntry = {
  word: string
  weight: number
  /** Factor for the next word; 1 for most. */
  degree: number
  negates: boolean
  filler: boolean
  ends: boolean
  thanks: boolean
  ware: boolean
  phrase: Starts<number> | null
  cue: Starts<number> | null
}

/** Lexicon with all word forms. Built with the first item: it takes milliseconds. */
const vocabulary = once((): ReadonlyMap<string, LexiconEntry> => {
  const entries = new Map<string, LexiconEntry>()
  const entry = (word: string): LexiconEntry => {
    const existing = entries.get(word)
    if (existing !== undefined) return existing
    const base = { word, weight: 0, degree: 1, negates: false, filler: false, ends: false }
    const whole = { ...base, thanks: false, ware: false, phrase: null, cue: null }
    entries.set(word, whole)
    return whole
  }
  const known = weights()
  for (const [word, weight] of known) entry(word).weight = weight
  for (const [word, weight] of known)
    for (const form of formsOf(word, weight)) if (!known.has(form)) entry(form).weight = weight
  for (const sign of wordsOf('good_signs')) entry(sign).weight = 1
  for (const sign of wordsOf('bad_signs')) entry(sign).weight = -1
  for (const word of wordsOf('thanks')) Object.assign(entry(word), { weight: 1, thanks: true })
  // "Exceptionally bad" is no praise: an adverb of degree only weighs the next word.
  for (const word of wordsOf('strongly')) Object.assign(entry(word), { weight: 0, degree: 1.5 })
  for (const word of wordsOf('weakly')) Object.assign(entry(word), { weight: 0, degree: 0.5 })
  for (const word of wordsOf('negators')) Object.assign(entry(word), { weight: 0, negates: true })
  for (const word of wordsOf('fillers')) entry(word).filler = true
  for (const mark of ['\n', ...wordsOf('ends')]) entry(mark).ends = true
  for (const ware of wordsOf('wares'))
    for (const word of [ware, `${ware}s`]) entry(word).ware = true
  const weighed = listsIn(sayings).flatMap(([weight, phrases]) =>
    itemsOf(phrases).map((it): [string, number] => [it, Number(weight)]),
  )
  for (const [word, starts] of phrasesByStart(weighed)) entry(word).phrase = starts
  const cued = cues().flatMap(({ phrases }, at) => phrases.map((it): [string, number] => [it, at]))
  for (const [word, starts] of phrasesByStart(cued)) entry(word).cue = starts
  return entries
})

/** Entries of all tokens; undefined for a neutral word. */
export function entriesOf({ words }: TokenisedText): (LexiconEntry | undefined)[] {
  const entries = vocabulary()
  return words.map(
    (word) => entries.get(word) ?? (stretched(word) ? entries.get(shrunk(word)) : undefined),
  )
}

// "Sooooo" counts as so.
const stretched = (word: string): boolean => word.length > 3 && /([a-z])\1\1/.test(word)
const shrunk = (word: string): string => word.replace(/([a-z])\1{2,}/g, '$1')

// Plural, past, -ing, -ly and possessive forms. An unused form does no harm.
function formsOf(word: string, weight: number): string[] {
  const last = word.at(-1) ?? ''
  const stem = last === 'e' || last === 'y' ? word.slice(0, -1) : word
  const adverb = last === 'y' ? `${stem}ily` : `${word}ly`
  // "Easily" and "wrongly" describe a manner and express no judgement.
  const always = [`${word}s`, `${word}'s`, ...(Math.abs(weight) < 1 ? [] : [adverb])]
  if (last === 'y') return [...always, `${stem}ies`, `${stem}ied`, `${word}ed`, `${word}ing`]
  if (last === 'e') return [...always, `${word}d`, `${stem}ing`]
  return [...always, `${word}es`, ...[word, word + last].flatMap((it) => [`${it}ed`, `${it}ing`])]
}
