import { NONE, type Sent, wrong } from './filter-fields.ts'
import {
  checkPattern,
  PATTERN_LENGTH_MAX,
  PATTERN_STEPS_MAX,
  PATTERNS_MAX,
  SPEC_STEPS_MAX,
} from './regex.ts'

/** Patterns as they were written, each once; empty when the field was not sent. */
export function readPatterns({ name, value }: Sent): string[] {
  if (value === undefined) return NONE
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

// A pattern is kept as it is: white space at its edges may be what is looked for.
function readPattern(sent: Sent, allowed: string): string {
  const { value } = sent
  if (typeof value !== 'string') throw wrong(sent, `must be one of ${allowed}`)
  const length = Array.from(value).length
  if (length < 1 || length > PATTERN_LENGTH_MAX)
    throw wrong(sent, `has ${length} characters; allowed are ${allowed}`)
  if (!value.isWellFormed()) throw wrong(sent, `holds half a character; allowed are ${allowed}`)
  return value
}

function stepsOf(sent: Sent, pattern: string): number {
  const checked = checkPattern(pattern)
  if (!checked.ok)
    throw wrong(
      sent,
      `is no pattern, see position ${checked.position}: ${checked.why}; allowed is RE2's syntax`,
    )
  if (checked.steps > PATTERN_STEPS_MAX)
    throw wrong(
      sent,
      `unfolds to ${checked.steps} steps; allowed are ${PATTERN_STEPS_MAX}, and x{100} is a hundred of them`,
    )
  return checked.steps
}
