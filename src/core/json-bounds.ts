const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const isOpening = (code: number): boolean => code === 0x5b || code === 0x7b
const isClosing = (code: number): boolean => code === 0x5d || code === 0x7d
const isSpace = (code: number): boolean =>
  code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d

/** How many levels of arrays and objects, and how many values of any kind, a text of JSON may have. */
export type JsonBounds = { depth: number; values: number }

/**
 * Whether a text of JSON goes beyond its bounds. For asking before it is parsed: a MiB can be a million values or as many
 * levels, and to make them all would hold up everybody else.
 */
export function isBeyond(
  text: string,
  { depth: depth_max, values: values_max }: JsonBounds,
): boolean {
  let depth = 0
  let values = 1
  // Whether what was opened last is empty so far.
  let empty = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (isSpace(code)) continue
    if (isClosing(code)) {
      depth -= 1
      empty = false
      continue
    }
    // What is opened holds as many values as there are commas in it, and one more.
    if (empty) values += 1
    empty = false
    if (code === QUOTE) at = endOfText(text, at + 1)
    else if (code === COMMA) values += 1
    else if (isOpening(code)) {
      depth += 1
      empty = true
    }
    if (values > values_max || depth > depth_max) return true
  }
  return false
}

/** Where the quote stands that ends a text; the end of all when none does. */
function endOfText(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at
    if (code === BACKSLASH) at += 1
  }
  return text.length
}
