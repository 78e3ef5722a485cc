const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const SPACE = 0x20
const [OPEN_ARRAY, OPEN_OBJECT] = [0x5b, 0x7b]
const [CLOSE_ARRAY, CLOSE_OBJECT] = [0x5d, 0x7d]
/** What `true`, `null` and `false` begin with. */
const [T, N, F] = [0x74, 0x6e, 0x66]

/** How many levels of arrays and objects, and how many values of any kind, a text of JSON may have. */
export type JsonBounds = { depth: number; values: number }

/**
 * How deep a text of JSON goes and how many values it has; null as soon as it goes beyond its bounds. For asking before
 * it is parsed: a MiB can be a million values or as many levels, and to make them all would hold up everybody else.
 */
export function measureJson(text: string, bounds: JsonBounds): JsonBounds | null {
  let depth = 0
  let deepest = 0
  let values = 1
  // Whether what was opened last is empty so far. What is opened holds as many values as there are commas in it, and one more.
  let empty = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    // The commonest first: this is asked of every letter that stands in no text.
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

/**
 * Whether a text of JSON is surely within its bounds, told from its length and from how much is opened in it, in half the
 * time that measuring it takes. False says nothing.
 */
export function isSurelyWithin(text: string, { depth, values }: JsonBounds): boolean {
  // A value takes a letter at least, and so does what parts it from the next.
  if (text.length >= 2 * values) return false
  let opened = 0
  for (const sign of ['{', '['])
    for (let at = text.indexOf(sign); at !== -1; at = text.indexOf(sign, at + 1))
      if (++opened > depth) return false
  return true
}

/** Whether a text of JSON goes beyond its bounds. */
export const isBeyond = (text: string, bounds: JsonBounds): boolean =>
  measureJson(text, bounds) === null

/**
 * Where a text or a word ends that stands behind the colon at `at`, as most values do; the colon itself before anything
 * else. A word is told by its first letter: where it is another one than it seems, parsing ends, and so may counting.
 */
function endOfNamed(text: string, at: number): number {
  const first = text.charCodeAt(at + 1)
  if (first === QUOTE) return endOfText(text, at + 1)
  if (first === T || first === N) return at + 4
  return first === F ? at + 5 : at
}

/** Where the quote stands that ends the text which one at `from` begins; the end of all when none does. */
function endOfText(text: string, from: number): number {
  // Most of what is sent stands in quotes, and is passed over faster than it can be looked at letter by letter.
  let at = text.indexOf('"', from + 1)
  while (at !== -1) {
    let slashes = 0
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes += 1
    if (slashes % 2 === 0) return at
    at = text.indexOf('"', at + 1)
  }
  return text.length
}
