/** A text cut into words and marks. `words` are lower case; `from` is where each stands in `text`. */
export type Tokens = { text: string; words: string[]; from: number[] }

/** How much of a text is looked at. */
const TOKENS_MAX = 1000
// A longer run of letters is no word, and is cut.
const WORD_MAX = 40

const ASCII = /^[\0-\x7f]*$/
const LETTER = /[\p{L}\p{M}\p{N}]/u
const PICTURE = /\p{Extended_Pictographic}/u

const OTHER = 0
const INSIDE = 1
const MARK = 2
const KINDS = new Uint8Array(128)
for (const char of 'abcdefghijklmnopqrstuvwxyz0123456789') KINDS[char.charCodeAt(0)] = INSIDE
for (const char of '.!?;:,\n%') KINDS[char.charCodeAt(0)] = MARK

const APOSTROPHE = "'".charCodeAt(0)
const HYPHEN = '-'.charCodeAt(0)
const DOT = '.'.charCodeAt(0)
const COLON = ':'.charCodeAt(0)
const SEMICOLON = ';'.charCodeAt(0)

/**
 * Cuts a text into words, the marks that end a thought, and signs; `:)` and `:(` stand for every such face.
 * A point within a name or a number ends nothing. Time linear in the text.
 */
export function tokenise(source: string): Tokens {
  const plain = ASCII.test(source) ? source : unadorned(source)
  const lower = plain.toLowerCase()
  // Some letters change their length with their case: then what is shown is lower case as well.
  const text = lower.length === plain.length ? plain : lower
  const words: string[] = []
  const from: number[] = []
  const push = (word: string, at: number) => {
    words.push(word)
    from.push(at)
  }
  for (let at = 0; at < lower.length && words.length < TOKENS_MAX;) {
    const code = lower.charCodeAt(at)
    const kind = code < 128 ? (KINDS[code] ?? OTHER) : kindOf(lower, at)
    if (kind === INSIDE) {
      const end = wordEnd(lower, at)
      push(lower.slice(at, Math.min(end, at + WORD_MAX)), at)
      at = end
    } else if (kind === MARK) {
      const face = code === COLON || code === SEMICOLON ? faceAt(lower, at) : ''
      if (face !== '') push(face, at)
      else if (code >= 128) push(String.fromCodePoint(lower.codePointAt(at) ?? 0), at)
      else if (!((code === DOT || code === COLON) && insideAt(lower, at + 1)))
        push(lower.charAt(at), at)
      at += face === '' ? widthAt(lower, at) : face.length
    } else at += 1
  }
  return { text, words, from }
}

/** The text from one token to another, as it was written. */
export function written({ text, words, from }: Tokens, first: number, last: number): string {
  const end = (from[last] ?? 0) + (words[last]?.length ?? 0)
  return text.slice(from[first], end).replace(/\s+/g, ' ')
}

const unadorned = (text: string): string =>
  text
    .normalize('NFKC')
    .replace(/[‘’‛ʼ]/g, "'")
    .replace(/[‐‑]/g, '-')
    .replace(/\p{Default_Ignorable_Code_Point}+/gu, '')

function kindOf(text: string, at: number): number {
  const char = String.fromCodePoint(text.codePointAt(at) ?? 0)
  if (LETTER.test(char)) return INSIDE
  return PICTURE.test(char) ? MARK : OTHER
}

const widthAt = (text: string, at: number): number => ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1)

function insideAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code < 128 ? KINDS[code] === INSIDE : at < text.length && kindOf(text, at) === INSIDE
}

function wordEnd(text: string, start: number): number {
  let at = start
  while (at < text.length) {
    const code = text.charCodeAt(at)
    const joins = code === APOSTROPHE || code === HYPHEN
    if (joins ? !insideAt(text, at + 1) : !insideAt(text, at)) break
    at += joins ? 1 : widthAt(text, at)
  }
  return at
}

// A face is two or three signs, and a letter after it makes it something else: ":Pascal" laughs at nobody.
function faceAt(text: string, at: number): string {
  const nose = text.charCodeAt(at + 1) === HYPHEN ? 1 : 0
  const mouth = text.charAt(at + 1 + nose)
  if (insideAt(text, at + 2 + nose)) return ''
  if (mouth === ')' || mouth === 'd' || mouth === 'p') return nose === 1 ? ':-)' : ':)'
  return mouth === '(' ? (nose === 1 ? ':-(' : ':(') : ''
}
