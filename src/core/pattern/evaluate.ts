import { composed, type View } from '../base/form.ts'
import { createLru } from '../base/lru.ts'
import { type SearchField, writtenOf } from '../filter/text.ts'
import type { Item } from '../forum/items.ts'
import { comparable, patternEngine } from './syntax.ts'

/** Characters of each field that a pattern reads, in UTF-16 units. */
export const READ_MAX = 10_000
/** Index that means that no pattern matched. */
export const NO_PATTERN = -1

/** Sets of equal `key` have equal results. */
export type PatternSet = {
  key: string
  patterns: readonly string[]
  case_sensitive: boolean
  search_in: readonly SearchField[]
  view: View
}

/** Pattern set of a filter; null if it has no patterns. */
export function patternSetOf(
  {
    regex,
    case_sensitive,
    search_in,
  }: { regex: readonly string[]; case_sensitive: boolean; search_in: readonly SearchField[] },
  view: View,
): PatternSet | null {
  if (regex.length === 0) return null
  const key = JSON.stringify([view, search_in, regex])
  return { key, patterns: regex, case_sensitive, search_in, view }
}

export const patternTextsOf = ({ search_in, view }: PatternSet, item: Item): string[] =>
  search_in.map((field) => readable(composed(writtenOf(item, field), view)))

const readable = (text: string): string => (text.length > READ_MAX ? text.slice(0, READ_MAX) : text)

/** False if no pattern of the set can match an item: each needs a word that no text of the item contains. */
export type MayMatch = (item: Item) => boolean

/** Creates the check, which takes a fraction of the evaluation of a pattern. */
export function createMayMatch({ patterns, search_in, view }: PatternSet): MayMatch {
  const literals = patterns.map((it) => requiredLiteral(comparable(it)))
  const needed = literals.filter((it) => it !== null)
  // A pattern without such a word may match anything.
  if (needed.length < literals.length) return () => true
  return (item) =>
    search_in.some((field) => {
      const text = lowerTextOf(item, field, view)
      return needed.some((it) => text.includes(it))
    })
}

// Many filters read the same item in a row.
let latest: { item: Item; texts: Map<string, string> } | null = null

/** The part of a field that a pattern reads, in lower case. */
function lowerTextOf(item: Item, field: SearchField, view: View): string {
  if (latest?.item !== item) latest = { item, texts: new Map() }
  const key = field + view
  const known = latest.texts.get(key)
  if (known !== undefined) return known
  const text = readable(composed(writtenOf(item, field), view)).toLowerCase()
  latest.texts.set(key, text)
  return text
}

/**
 * Index of the first pattern of a set that matches an item; {@link NO_PATTERN} if none does; null:
 * not known yet.
 */
export type EvaluatePatterns = (set: PatternSet, item: Item) => number | null

type PatternTest = (text: string) => boolean

export function compilePattern(pattern: string, case_sensitive: boolean): PatternTest {
  const { RE2JS } = patternEngine()
  const compiled = RE2JS.compile(comparable(pattern), case_sensitive ? 0 : RE2JS.CASE_INSENSITIVE)
  return (text) => compiled.test(readable(text))
}

/**
 * Cache of compiled patterns; evicts the least recently used. An automaton grows while it matches,
 * up to 8 MiB, so a limit on their number does not bound the memory: `isFull` measures it after
 * each use.
 */
export type PatternCache = { testOf(pattern: string, case_sensitive: boolean): PatternTest }

const CACHED_PATTERNS_MAX = 1000

export function createPatternCache(isFull: () => boolean): PatternCache {
  const tests = createLru<string, PatternTest>(CACHED_PATTERNS_MAX)
  return {
    testOf(pattern, case_sensitive) {
      const key = `${case_sensitive ? '=' : '~'}${pattern}`
      const cached = tests.get(key)
      const compiled = cached ?? compilePattern(pattern, case_sensitive)
      if (cached === undefined) tests.set(key, compiled)
      return (text) => {
        const matched = compiled(text)
        if (isFull()) tests.clear()
        return matched
      }
    },
  }
}

const direct_cache = createPatternCache(() => false)

/**
 * Evaluates in this thread without a time limit: for tests, and for tools that run no customers'
 * filters.
 */
export function evaluateDirectly(set: PatternSet, item: Item): number {
  const texts = patternTextsOf(set, item)
  return set.patterns.findIndex((it) => texts.some(direct_cache.testOf(it, set.case_sensitive)))
}

/** Shorter parts occur in most texts and rule out little. */
const LENGTH_MIN = 3
const LETTER = /[a-z0-9]/i
/** Escapes of one character: classes, positions and control characters. Any other letter or digit is not read here. */
const SHORT_ESCAPE = /[dDwWsSbBAzafnrtv]/
const COUNT = /^\{\d+(?:,\d*)?\}/

/**
 * ASCII letters and digits, in lower case, that every text contains in which a pattern matches, with case or without;
 * null if there are fewer than three in a row, or if the pattern is not understood. Reads a pattern that passed the
 * syntax check.
 * Only what stands outside of groups, classes and alternatives is certain to occur, and only if no quantifier follows.
 * @see https://github.com/google/re2/wiki/Syntax
 */
export function requiredLiteral(pattern: string): string | null {
  let best = ''
  let run = ''
  const end = () => {
    if (run.length > best.length) best = run
    run = ''
  }
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern.charAt(at)
    if (LETTER.test(char)) {
      run += char
      continue
    }
    // A quantifier belongs to the last character alone.
    if ('*+?{'.includes(char)) run = run.slice(0, -1)
    end()
    switch (char) {
      case '|':
        return null
      case '\\': {
        const escaped = pattern.charAt(++at)
        if (LETTER.test(escaped) && !SHORT_ESCAPE.test(escaped)) return null
        break
      }
      case '{':
        // Any other brace is a character like others.
        at += (COUNT.exec(pattern.slice(at))?.[0].length ?? 1) - 1
        break
      case '[':
      case '(': {
        const close = char === '[' ? endOfClass(pattern, at) : endOfGroup(pattern, at)
        if (close === null) return null
        at = close
        break
      }
    }
  }
  end()
  return best.length < LENGTH_MIN ? null : best.toLowerCase()
}

/** Position of the bracket that closes a class; null if there is none. */
function endOfClass(pattern: string, open: number): number | null {
  let at = open + (pattern.startsWith('[^', open) ? 2 : 1)
  // A bracket at the beginning of a class is one of its characters.
  if (pattern.charAt(at) === ']') at += 1
  for (; at < pattern.length; at++) {
    const char = pattern.charAt(at)
    if (char === '\\') at += 1
    else if (pattern.startsWith('[:', at)) {
      const close = pattern.indexOf(':]', at + 2)
      // A class may also contain these two characters.
      if (close === -1) return null
      at = close + 1
    } else if (char === ']') return at
  }
  return null
}

/** Position of the parenthesis that closes a group; null if there is none or the group quotes text. */
function endOfGroup(pattern: string, open: number): number | null {
  let depth = 0
  for (let at = open; at < pattern.length; at++) {
    const char = pattern.charAt(at)
    if (char === '\\') {
      if (pattern.charAt(++at) === 'Q') return null
    } else if (char === '[') {
      const close = endOfClass(pattern, at)
      if (close === null) return null
      at = close
    } else if (char === '(') depth += 1
    else if (char === ')' && --depth === 0) return at
  }
  return null
}
