import { compilePattern } from './evaluate.ts'

// The time of a pattern depends on the text, and an attacker controls the text too. So a pattern is
// measured on texts made from its own parts, which keep it in as many states as possible.

/**
 * Limit of the processor time of a pattern, in ms, for a text of {@link MEASURED_LENGTH}
 * characters.
 */
export const PATTERN_COST_MAX_MS = 20
const MEASURED_LENGTH = 4000
/** Number of measurements of a slow pattern: the first runs are slow, and other work interferes. */
const RUNS = 3

/** Limit of the processor time of the measurement itself; most patterns take 1 ms. */
const MEASURING_MAX_MS = 300

export type CpuClock = () => number

/**
 * Time of a pattern in ms for the worst of its adversarial texts, as the minimum of several runs.
 * Ends at the first text that exceeds the limit in each run. Infinity: the measurement exceeded its
 * own limit.
 */
export function measurePattern(pattern: string, case_sensitive: boolean, cpu_ms: CpuClock): number {
  const test = compilePattern(pattern, case_sensitive)
  const bare = bareOf(pattern)
  const opening = openingOf(bare)
  const started_ms = cpu_ms()
  let worst_ms = 0
  for (const [at, alphabet] of alphabetsOf(bare).entries()) {
    let least_ms = Infinity
    for (let run = 0; run < RUNS && least_ms > PATTERN_COST_MAX_MS; run++) {
      // A new text each time, so that states that the automaton cached for the previous one do not
      // help.
      const text = randomText(alphabet, at * RUNS + run + 1, opening)
      const began_ms = cpu_ms()
      test(text)
      least_ms = Math.min(least_ms, cpu_ms() - began_ms)
    }
    worst_ms = Math.max(worst_ms, least_ms)
    if (worst_ms > PATTERN_COST_MAX_MS) break
    if (cpu_ms() - started_ms > MEASURING_MAX_MS) return Infinity
  }
  return worst_ms
}

const LITERAL = /\\.|[^\\[\](){}*+?|^$.]/gu
const ESCAPED: Readonly<Record<string, string>> = {
  '\\d': '7',
  '\\w': 'w',
  '\\s': ' ',
  '\\D': 'd',
  '\\W': '-',
  '\\S': 's',
  '\\p': 'p',
  '\\P': '-',
  '\\n': '\n',
  '\\t': '\t',
}

const CHARACTERS_MAX = 7

/**
 * Alphabets of the texts: pairs of the pattern's own characters and of neutral ones, which keep a
 * repetition of a class going, and each of its words among neutral characters.
 */
function alphabetsOf(bare: string): string[][] {
  const chars = [...new Set([...(bare.match(LITERAL)?.map(plain) ?? []).slice(0, 40), 'x', ' '])]
  const some = [...chars.slice(0, CHARACTERS_MAX), ...chars.slice(-2)]
  const pool = [...new Set(some)]
  const pairs = pool.flatMap((one, at) => pool.slice(at + 1).map((other) => [one, other]))
  return [...pairs, ...wordsOf(bare).map((word) => [word, 'x', ' ']), pool]
}

const WORDS_MAX = 8
const wordsOf = (bare: string): string[] =>
  [...new Set(bare.match(/[\p{L}\p{N}]{2,}/gu))].slice(0, WORDS_MAX)

/**
 * Removes the parts of a pattern that match no character of their own: counts, flags, names of
 * classes.
 */
const bareOf = (pattern: string): string =>
  pattern.replace(/\{\d*,?\d*\}|\(\?[a-zA-Z-]*:?|\[:\^?\w+:\]|\\[pP]\{\^?\w+\}/g, ' ')

const plain = (literal: string): string =>
  literal.startsWith('\\') ? (ESCAPED[literal] ?? literal.slice(1)) : literal

/**
 * Text of random fragments. It begins with the pattern's words in reverse: without a required
 * literal the search would end early, and in order they might match.
 */
function randomText(alphabet: readonly string[], seed: number, opening: string): string {
  const parts = [opening]
  let length = 0
  let state = Math.imul(seed, 0x9e3779b1) | 1
  while (length < MEASURED_LENGTH) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    const part = alphabet[(state >>> 0) % alphabet.length] ?? 'x'
    parts.push(part)
    length += part.length
  }
  return parts.join('')
}

const openingOf = (bare: string): string =>
  `${wordsOf(bare).toReversed().join('\n')}\n${(bare.match(LITERAL) ?? []).map(plain).toReversed().join('\n')}\n`
