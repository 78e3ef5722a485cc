import { normalise, occursIn, toWord } from './filter-text.ts'
import { visibleText } from './markdown.ts'

/** Whether a search's words occur in a text. Every pattern here takes time linear in the text: strangers wrote it. */

type Test = (text: string) => boolean
const LETTER = /[\p{L}\p{N}]/u

/** A word without the signs of the sentence that it stands in: "which grinder?" asks for a grinder, not for "grinder?". */
const bare = (word: string): string => word.replace(/^["'¿¡]+|["',.;:!?]+$/g, '')

/**
 * Reads a search as the platform would, for looking into comments: adjacent words all occur, `OR`, `NOT`,
 * `-`, quotes and parentheses mean what they say, and `field:value` speaks of the post, so it is left out.
 * The test takes a markdown source and looks at its visible text. Null when no word is left to look for.
 * Never throws: a stray sign is read as if it were not there.
 */
export function parseSearch(q: string): Test | null {
  const tokens = q.match(/-?"[^"]*"|[()]|-(?=\()|[^\s()"]+/g) ?? []
  let at = 0
  let words = 0

  function either(): Test | null {
    const sides = [both()]
    while (tokens[at] === 'OR') {
      at++
      sides.push(both())
    }
    const tests = sides.filter((side) => side !== null)
    return tests.length === 0 ? null : (text) => tests.some((test) => test(text))
  }

  function both(): Test | null {
    const tests: Test[] = []
    while (at < tokens.length && tokens[at] !== 'OR' && tokens[at] !== ')') {
      const test = one()
      if (test !== null) tests.push(test)
    }
    return tests.length === 0 ? null : (text) => tests.every((test) => test(text))
  }

  function one(): Test | null {
    const token = tokens[at++] ?? ''
    if (token === 'AND') return null
    if (token === 'NOT' || token === '-') return opposite(() => (at < tokens.length ? one() : null))
    if (token === '(') {
      const inner = either()
      if (tokens[at] === ')') at++
      return inner
    }
    if (token.startsWith('-')) return opposite(() => term(token.slice(1)))
    return term(token)
  }

  // Words behind a NOT are not something to look for: a search of nothing else would find everything.
  function opposite(read: () => Test | null): Test | null {
    const before = words
    const test = read()
    words = before
    return test === null ? null : (text) => !test(text)
  }

  function term(token: string): Test | null {
    const quoted = token.startsWith('"')
    const text = quoted ? normalise(token.slice(1, -1)) : bare(normalise(token))
    if (!LETTER.test(text) || (!quoted && /^[a-z_]+:[^/]/.test(text))) return null
    words++
    // A trailing `*` asks for words that begin so.
    const prefix = !quoted && text.endsWith('*')
    const word = toWord(prefix ? text.slice(0, -1) : text, 0, { prefix, substring: false })
    return (plain) => occursIn(plain, word)
  }

  const tests: Test[] = []
  while (at < tokens.length) {
    const test = either()
    if (test !== null) tests.push(test)
    // What stopped it is a closing parenthesis that nothing opened.
    at++
  }
  if (words === 0) return null
  return (text) => {
    const plain = normalise(visibleText(text))
    return tests.every((test) => test(plain))
  }
}
