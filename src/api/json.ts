const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * Where a text stops being JSON, as a 0-based character position; its length when it ends too early. Only for texts
 * that JSON.parse refused: it tells that, but not where.
 */
export function whereBroken(text: string): number {
  let at = 0
  const skip = (pattern: RegExp) => {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    if (found) at += found[0].length
    return found !== null
  }
  const space = () => skip(/[ \t\n\r]*/y)
  // What may come next, innermost last: a value, or what follows a value or a name.
  const open: ('array' | 'object')[] = []
  let wanted: 'value' | 'first' | 'name' | 'firstName' | 'after' = 'value'
  for (;;) {
    space()
    if (at >= text.length) return at
    const character = text[at]
    const inside = open.at(-1)
    if (wanted === 'after') {
      if (inside === undefined) return at
      if (character === ',') wanted = inside === 'array' ? 'value' : 'name'
      else if (character === (inside === 'array' ? ']' : '}')) open.pop()
      else return at
      at += 1
    } else if (wanted === 'name' || wanted === 'firstName') {
      if (wanted === 'firstName' && character === '}') {
        open.pop()
        wanted = 'after'
        at += 1
        continue
      }
      const name = skipText(text, at)
      if (!name.ok) return name.at
      at = name.at
      space()
      if (text[at] !== ':') return at
      at += 1
      wanted = 'value'
    } else if (wanted === 'first' && character === ']') {
      open.pop()
      wanted = 'after'
      at += 1
    } else if (character === '[' || character === '{') {
      open.push(character === '[' ? 'array' : 'object')
      wanted = character === '[' ? 'first' : 'firstName'
      at += 1
    } else if (character === '"') {
      const value = skipText(text, at)
      if (!value.ok) return value.at
      at = value.at
      wanted = 'after'
    } else if (skip(WORD)) wanted = 'after'
    else return at
  }
}

const WORD = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y
const ESCAPES = new Set(Array.from('"\\/bfnrt', (it) => it.charCodeAt(0)))
const HEX = /^u[0-9a-fA-F]{4}$/

/**
 * Reads the text that begins at `start`: where it goes on behind it, or where it breaks. By hand, for a pattern that
 * does not find the end of a long text goes back through all of it.
 */
function skipText(text: string, start: number): { ok: boolean; at: number } {
  if (text.charCodeAt(start) !== QUOTE) return { ok: false, at: start }
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return { ok: true, at: at + 1 }
    if (code < 0x20) return { ok: false, at }
    if (code !== BACKSLASH) continue
    const length = ESCAPES.has(text.charCodeAt(at + 1))
      ? 1
      : HEX.test(text.slice(at + 1, at + 6))
        ? 5
        : 0
    if (length === 0) return { ok: false, at }
    at += length
  }
  return { ok: false, at: text.length }
}
