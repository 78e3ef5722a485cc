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
