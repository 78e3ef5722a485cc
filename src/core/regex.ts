/**
 * Patterns that customers write, in RE2's syntax and in linear time (re2js). Three caps make "linear" short: the
 * length of a pattern, what its repetitions unfold to, and how much of a text is read.
 */
import { once } from './once.ts'

/** Patterns of a filter. */
export const PATTERNS_MAX = 10
/** Characters of a pattern. */
export const PATTERN_LENGTH_MAX = 200
/** What a pattern may unfold to, in steps of its machine; `x{100}` is a hundred of them. */
export const PATTERN_STEPS_MAX = 500
/** The same for all patterns of a spec together. */
export const SPEC_STEPS_MAX = 1000
/** How much of each field a pattern is shown, in UTF-16 units. */
export const READ_MAX = 10_000

// Loaded with the first pattern, and not before: most daemons never see one.
const engine = once((): typeof import('re2js') => require('re2js'))

/** What became of a pattern: how many steps it has, or where (characters, from 1) and why it is none. */
export type Checked = { ok: true; steps: number } | { ok: false; position: number; why: string }

/** Reads a pattern without keeping it. */
export function checkPattern(pattern: string): Checked {
  const { RE2JS, RE2JSSyntaxException } = engine()
  try {
    return { ok: true, steps: RE2JS.compile(pattern).programSize() }
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException))
      return { ok: false, position: 1, why: 'is too complex' }
    const at = placeOf(pattern, error.error, error.input)
    return {
      ok: false,
      position: Array.from(pattern.slice(0, at)).length + 1,
      why: /\(\?<?[=!]|^\\[1-9]$/.test(error.input ?? '')
        ? 'has no lookaround and no backreference'
        : error.error,
    }
  }
}

/** Where a pattern goes wrong. The engine names the part it choked on, which for a bracket is all of the pattern. */
function placeOf(pattern: string, why: string, part: string | null): number {
  if (why.startsWith('trailing backslash')) return pattern.length - 1
  if (why === 'missing closing )' || why === 'unexpected )') return oddParenthesis(pattern)
  return Math.max(0, pattern.indexOf(part ?? ''))
}

/** The first `)` that nothing opened, otherwise the last `(` that nothing closes. */
function oddParenthesis(pattern: string): number {
  const open: number[] = []
  let within = false
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at]
    if (char === '\\') at++
    else if (within) within = char !== ']'
    else if (char === '[') within = true
    else if (char === '(') open.push(at)
    else if (char === ')' && open.pop() === undefined) return at
  }
  return open.at(-1) ?? 0
}

type Test = (text: string) => boolean

const KEPT_MAX = 2000
const kept = new Map<string, Test>()

/** The test of one pattern that {@link checkPattern} has passed; kept, because many specs share their patterns. */
export function compilePattern(pattern: string, case_sensitive: boolean): Test {
  const key = `${case_sensitive ? '=' : '~'}${pattern}`
  const known = kept.get(key)
  if (known !== undefined) return known
  const { RE2JS } = engine()
  const compiled = RE2JS.compile(pattern, case_sensitive ? 0 : RE2JS.CASE_INSENSITIVE)
  const test: Test = (text) =>
    compiled.test(text.length > READ_MAX ? text.slice(0, READ_MAX) : text)
  if (kept.size >= KEPT_MAX) kept.clear()
  kept.set(key, test)
  return test
}
