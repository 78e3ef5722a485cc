/**
 * Phrases, found where they begin. They are written in words with a little notation: `a|b` is either,
 * `[a]` may be left out, `*` is up to five words of any kind within the sentence.
 */

type Part = { words: ReadonlySet<string>; optional: boolean } | 'gap'
type Phrase<T> = { parts: readonly Part[]; value: T }

/** The phrases that begin with one word, by the word that may come second. */
export type Starts<T> = { second: Map<string, Phrase<T>[]>; any: Phrase<T>[] }

/** A phrase that was found, and how many tokens it took. */
export type Found<T> = { value: T; length: number }

const GAP_MAX = 5
const SENTENCE_ENDS = new Set(['.', '!', '?', '\n'])

/** Phrases with their values, by first word. */
export function phrasesByStart<T>(phrases: Iterable<readonly [string, T]>): Map<string, Starts<T>> {
  const starts = new Map<string, Starts<T>>()
  for (const [phrase, value] of phrases) {
    const [first = '', ...rest] = phrase.split(' ')
    const parts = rest.map(partOf)
    const seconds = secondsOf(parts)
    for (const word of first.split('|')) {
      const known = starts.get(word) ?? { second: new Map<string, Phrase<T>[]>(), any: [] }
      starts.set(word, known)
      if (seconds === null) known.any.push({ parts, value })
      for (const second of seconds ?? []) {
        const others = known.second.get(second)
        if (others === undefined) known.second.set(second, [{ parts, value }])
        else others.push({ parts, value })
      }
    }
  }
  return starts
}

/** The longest phrase that begins with the token at `at`, whose starts are given; null when there is none. */
export function longest<T>(
  { second, any }: Starts<T>,
  words: readonly string[],
  at: number,
): Found<T> | null {
  let found: Found<T> | null = null
  for (const phrases of [second.get(words[at + 1] ?? ''), any])
    for (const { parts, value } of phrases ?? []) {
      const end = endOf(parts, 0, words, at + 1)
      if (end !== null && (found === null || end - at > found.length))
        found = { value, length: end - at }
    }
  return found
}

function partOf(part: string): Part {
  if (part === '*') return 'gap'
  const optional = part.startsWith('[')
  return { words: new Set((optional ? part.slice(1, -1) : part).split('|')), optional }
}

// What can follow the first word; null when that may be anything, or nothing.
function secondsOf(parts: readonly Part[]): Set<string> | null {
  const words = new Set<string>()
  for (const part of parts) {
    if (part === 'gap') return null
    for (const word of part.words) words.add(word)
    if (!part.optional) return words
  }
  return null
}

function endOf(
  parts: readonly Part[],
  next: number,
  words: readonly string[],
  at: number,
): number | null {
  const part = parts[next]
  if (part === undefined) return at
  if (part === 'gap') {
    for (let skipped = 0; skipped <= GAP_MAX; skipped++) {
      const end = endOf(parts, next + 1, words, at + skipped)
      if (end !== null) return end
      if (SENTENCE_ENDS.has(words[at + skipped] ?? '.')) return null
    }
    return null
  }
  const end = part.words.has(words[at] ?? '') ? endOf(parts, next + 1, words, at + 1) : null
  return end === null && part.optional ? endOf(parts, next + 1, words, at) : end
}
