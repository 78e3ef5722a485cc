const DEPTH_MAX = 32
const NODES_MAX = 20_000

/** Whether a parsed JSON value is nested deeper, or holds more values, than any call of ours needs. */
export function isTooMuch(value: unknown): boolean {
  const open: { value: unknown; depth: number }[] = [{ value, depth: 1 }]
  let nodes = 0
  for (let next = open.pop(); next; next = open.pop()) {
    nodes += 1
    if (nodes > NODES_MAX || next.depth > DEPTH_MAX) return true
    if (typeof next.value !== 'object' || next.value === null) continue
    for (const inner of Object.values(next.value))
      open.push({ value: inner, depth: next.depth + 1 })
  }
  return false
}

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
      const start = at
      if (!skip(STRING)) return endOfString(text, start)
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
      if (!skip(STRING)) return endOfString(text, at)
      wanted = 'after'
    } else if (skip(WORD)) wanted = 'after'
    else return at
  }
}

// oxlint-disable-next-line no-control-regex -- control characters are exactly what JSON forbids in a text.
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const WORD = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y
// oxlint-disable-next-line no-control-regex -- as above.
const STRING_START = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/y

/** Where a broken text within the JSON breaks; its start when it is none at all. */
function endOfString(text: string, start: number): number {
  STRING_START.lastIndex = start
  return start + (STRING_START.exec(text)?.[0].length ?? 0)
}
