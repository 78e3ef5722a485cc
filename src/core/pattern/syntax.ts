import { composed, inForm } from '../base/form.ts'
import { once } from '../base/lazy.ts'
import { type FieldInput, wrong } from '../filter/readers.ts'

/**
 * Customers' patterns in RE2's syntax, matched in linear time (re2js). Linear time is not enough: a
 * pattern such as `a[ab]{240}c` costs 10 µs per character. So length, program size and the part of
 * a text that is read are limited here, and patterns run in a thread of their own under a time
 * budget (src/patterns).
 */
export const PATTERNS_MAX = 10
export const PATTERN_LENGTH_MAX = 200
/** Maximum program size of a pattern; `x{100}` has a hundred steps. */
export const PATTERN_STEPS_MAX = 500
/** Maximum program size of all patterns of a filter together. */
const SPEC_STEPS_MAX = 1000

/** A character of a pattern, an escape, or the bounds of a class. */
const PIECE = /\\[^]|\[\^?\]?|\]|[^]/gu

/** Pieces of a pattern, each with its form in compared texts. Classes hold single characters. */
function* piecesOf(pattern: string): Generator<{ form: string; piece: string; within: boolean }> {
  let within = false
  for (const [piece] of inForm(pattern, 'NFC').matchAll(PIECE)) {
    if (piece.startsWith('\\')) {
      yield { form: piece, piece, within }
      continue
    }
    const was = within
    if (piece.startsWith('[') && !within) within = true
    else if (piece === ']') within = false
    const form = piece > '\u007f' ? composed(piece, 0) : piece
    yield { form, piece, within: was && within }
  }
}

const META = /[\\^$.|?*+()[\]{}-]/g

/** A pattern as it is compared: texts are in NFKC, without invisible characters. */
export const comparable = (pattern: string): string =>
  /^[ -~]*$/.test(pattern)
    ? pattern
    : Array.from(piecesOf(pattern), ({ form, piece, within }) => {
        if (form === piece) return piece
        const literal = form.replace(META, '\\$&')
        return within || Array.from(form).length <= 1 ? literal : `(?:${literal})`
      }).join('')

/** A character of a class that is compared as several ones; null: there is none. */
const splitInClass = (pattern: string): string | null =>
  Array.from(piecesOf(pattern)).find((it) => it.within && Array.from(it.form).length > 1)?.piece ??
  null

/** Loaded with the first pattern: most daemons never need it. */
export const patternEngine = once((): typeof import('re2js') => require('re2js'))

/**
 * Size of a pattern in steps, or the position (characters, from 1) and reason of its syntax error.
 */
export type PatternCheck =
  { ok: true; steps: number } | { ok: false; position: number; why: string }

export function checkPattern(pattern: string): PatternCheck {
  const { RE2JS, RE2JSSyntaxException } = patternEngine()
  try {
    return { ok: true, steps: RE2JS.compile(comparable(pattern)).programSize() }
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

/**
 * Offset of a syntax error. The engine reports the part that it could not parse, which for a
 * bracket is the whole pattern.
 */
function placeOf(pattern: string, why: string, part: string | null): number {
  if (why.startsWith('trailing backslash')) return pattern.length - 1
  if (why === 'missing closing )' || why === 'unexpected )') return oddParenthesis(pattern)
  return Math.max(0, pattern.indexOf(part ?? ''))
}

/** Offset of the first unmatched `)`, else of the last unmatched `(`. */
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

/**
 * Parses the patterns of a filter; duplicates are removed.
 * @throws {ApiError} 400 naming the field and the limit
 */
export function readPatterns({ name, value }: FieldInput): string[] {
  const allowed = `up to ${PATTERNS_MAX} patterns of 1 to ${PATTERN_LENGTH_MAX} characters in RE2's syntax`
  if (!Array.isArray(value)) throw wrong({ name, value }, `must be a list of ${allowed}`)
  const list: unknown[] = value
  if (list.length > PATTERNS_MAX)
    throw wrong({ name, value }, `has ${list.length} patterns; allowed are ${allowed}`)
  let steps = 0
  const patterns = Array.from(list, (it, i) => {
    const sent = { name: `${name}[${i}]`, value: it }
    const pattern = readPattern(sent, allowed)
    steps += stepsOf(sent, pattern)
    return pattern
  })
  if (steps > SPEC_STEPS_MAX)
    throw wrong(
      { name, value },
      `unfolds to ${steps} steps; allowed are ${SPEC_STEPS_MAX} for all patterns together`,
    )
  return [...new Set(patterns)]
}

// A pattern is not trimmed: white space at its edges may be significant.
function readPattern(sent: FieldInput, allowed: string): string {
  const { value } = sent
  if (typeof value !== 'string') throw wrong(sent, `must be one of ${allowed}`)
  const length = Array.from(value).length
  if (length < 1 || length > PATTERN_LENGTH_MAX)
    throw wrong(sent, `has ${length} characters; allowed are ${allowed}`)
  const split = splitInClass(value)
  if (split !== null)
    throw wrong(
      sent,
      `has ${split} in a class, which is compared as several characters; write it as a branch, (?:${split}|…)`,
    )
  if (!value.isWellFormed())
    throw wrong(sent, `contains half a surrogate pair; allowed are ${allowed}`)
  return value
}

function stepsOf(sent: FieldInput, pattern: string): number {
  const checked = checkPattern(pattern)
  if (!checked.ok)
    throw wrong(
      sent,
      `is not a valid pattern, see position ${checked.position}: ${checked.why}; allowed is RE2's syntax`,
    )
  if (checked.steps > PATTERN_STEPS_MAX)
    throw wrong(
      sent,
      `unfolds to ${checked.steps} steps; allowed are ${PATTERN_STEPS_MAX}, and x{100} is a hundred of them`,
    )
  return checked.steps
}
