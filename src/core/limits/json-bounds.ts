const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const SPACE = 0x20
const [OPEN_ARRAY, OPEN_OBJECT] = [0x5b, 0x7b]
const [CLOSE_ARRAY, CLOSE_OBJECT] = [0x5d, 0x7d]
/** First letters of `true`, `null` and `false`. */
const [T, N, F] = [0x74, 0x6e, 0x66]

export type JsonBounds = { depth: number; values: number }

/**
 * Measures depth and values of a JSON text without parsing it; null as soon as it exceeds the
 * bounds. A MiB can hold a million values or levels, and parsing those would block all other
 * requests.
 */
export function measureJson(text: string, bounds: JsonBounds): JsonBounds | null {
  let depth = 0
  let deepest = 0
  let values = 1
  // True until the container opened last has a value: it has one value more than commas.
  let empty = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    // Most frequent first: this runs for every character outside of strings.
    if (code === QUOTE) {
      if (empty) values += 1
      empty = false
      at = endOfText(text, at)
      if (text.charCodeAt(at + 1) === COLON) at = endOfNamed(text, at + 1)
    } else if (code === COMMA) {
      values += 1
      if (values > bounds.values) return null
    } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      if (empty) values += 1
      empty = true
      depth += 1
      if (depth <= deepest) continue
      if (depth > bounds.depth) return null
      deepest = depth
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
      depth -= 1
      empty = false
    } else if (empty && code > SPACE) {
      values += 1
      empty = false
    }
  }
  return values > bounds.values ? null : { depth: deepest, values }
}

export const isBeyond = (text: string, bounds: JsonBounds): boolean =>
  measureJson(text, bounds) === null

/**
 * End of the string or literal after the colon at `at`, the common case; the colon itself for any
 * other value. The first letter identifies a literal: if the rest differs, parsing fails anyway.
 */
function endOfNamed(text: string, at: number): number {
  const first = text.charCodeAt(at + 1)
  if (first === QUOTE) return endOfText(text, at + 1)
  if (first === T || first === N) return at + 4
  return first === F ? at + 5 : at
}

/**
 * Position of the quote that closes the string at `from`; the end of the text if it is not closed.
 */
function endOfText(text: string, from: number): number {
  // Most of a body is strings, and indexOf skips them faster than a loop.
  let at = text.indexOf('"', from + 1)
  while (at !== -1) {
    let slashes = 0
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes += 1
    if (slashes % 2 === 0) return at
    at = text.indexOf('"', at + 1)
  }
  return text.length
}
