import { once } from '../../base/lazy.ts'
import word_lists from './words.txt' with { type: 'text' }

/**
 * Phrase matching by first word. Notation: `a|b` is either word, `[a]` is optional, `*` is up to
 * five words within the sentence.
 */

type Part = { words: ReadonlySet<string>; optional: boolean } | 'gap'
type Phrase<T> = { parts: readonly Part[]; value: T }

/** Phrases that begin with one word, by their possible second word. */
export type Starts<T> = { second: Map<string, Phrase<T>[]>; any: Phrase<T>[] }

/** Phrase that was found, and its length in tokens. */
export type Found<T> = { value: T; length: number }

const GAP_MAX = 5
const SENTENCE_ENDS = new Set(['.', '!', '?', '\n'])

export function phrasesByStart<T>(phrases: Iterable<readonly [string, T]>): Map<string, Starts<T>> {
  const starts = new Map<string, Starts<T>>()
  for (const [phrase, value] of phrases) {
    const [first = '', ...rest] = phrase.split(' ')
    const parts = rest.map(partOf)
    const seconds = secondsOf(parts)
    for (const word of first.split('|')) {
      const by_start = starts.get(word) ?? { second: new Map<string, Phrase<T>[]>(), any: [] }
      starts.set(word, by_start)
      if (seconds === null) by_start.any.push({ parts, value })
      for (const second of seconds ?? []) {
        const others = by_start.second.get(second)
        if (others === undefined) by_start.second.set(second, [{ parts, value }])
        else others.push({ parts, value })
      }
    }
  }
  return starts
}

/** Longest phrase at the token `at`, whose `starts` are given; null if there is none. */
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

// Possible second words; null if there is none or it may be any word.
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

/** Lists of a data file, each by the text after its `= ` and on one line. `#` begins a comment. */
export function listsIn(file: string): [name: string, list: string][] {
  const lists: [string, string[]][] = []
  for (const line of file.split('\n'))
    if (line.startsWith('= ')) lists.push([line.slice(2), []])
    else if (line !== '' && !line.startsWith('#')) lists.at(-1)?.[1].push(line)
  return lists.map(([name, lines]) => [name, lines.join(' ')])
}

/** Entries of a list that are separated by `;`. */
export const itemsOf = (list: string): string[] => list.split(';').map((it) => it.trim())

const lists = once(() => new Map(listsIn(word_lists)))

/** Words of a list of words.txt. */
export const wordsOf = (name: string): string[] => (lists().get(name) ?? '').split(' ')
