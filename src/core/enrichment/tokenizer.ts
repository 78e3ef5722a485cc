import { inForm } from '../base/form.ts'

/** Words and marks of a text. `words` are lower case; `from` holds their offsets in `text`. */
export type TokenisedText = { text: string; words: string[]; from: number[] }

const TOKENS_MAX = 1000
// A longer run of letters is not a word and is cut.
const WORD_MAX = 40

const ASCII = /^[\0-\x7f]*$/
const LETTER = /[\p{L}\p{M}\p{N}]/u
const PICTURE = /\p{Extended_Pictographic}/u

const OTHER = 0
const WORD_CHAR = 1
const MARK = 2
const KINDS = new Uint8Array(128)
for (const char of 'abcdefghijklmnopqrstuvwxyz0123456789') KINDS[char.charCodeAt(0)] = WORD_CHAR
for (const char of '.!?;:,\n%') KINDS[char.charCodeAt(0)] = MARK

const APOSTROPHE = "'".charCodeAt(0)
const HYPHEN = '-'.charCodeAt(0)
const DOT = '.'.charCodeAt(0)
const COLON = ':'.charCodeAt(0)
const SEMICOLON = ';'.charCodeAt(0)

/**
 * Splits a text into words, sentence marks and symbols; `:)` and `:(` represent all such emoticons.
 * A dot within a name or number ends no sentence. Time is linear in the text.
 */
export function tokenise(source: string): TokenisedText {
  const plain = ASCII.test(source) ? source : unadorned(source)
  const lower = plain.toLowerCase()
  // Some letters change length with case: then the displayed text is lower case as well.
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
    if (kind === WORD_CHAR) {
      const end = wordEnd(lower, at)
      push(lower.slice(at, Math.min(end, at + WORD_MAX)), at)
      at = end
    } else if (kind === MARK) {
      const emoticon = code === COLON || code === SEMICOLON ? emoticonAt(lower, at) : ''
      if (emoticon !== '') push(emoticon, at)
      else if (code >= 128) push(String.fromCodePoint(lower.codePointAt(at) ?? 0), at)
      else if (!((code === DOT || code === COLON) && isWordCharAt(lower, at + 1)))
        push(lower.charAt(at), at)
      at += emoticon === '' ? widthAt(lower, at) : emoticon.length
    } else at += 1
  }
  return { text, words, from }
}

/** Original text from one token to another. */
export function written({ text, words, from }: TokenisedText, first: number, last: number): string {
  const end = (from[last] ?? 0) + (words[last]?.length ?? 0)
  return text.slice(from[first], end).replace(/\s+/g, ' ')
}

const unadorned = (text: string): string =>
  inForm(text, 'NFKC')
    .replace(/[‘’‛ʼ]/g, "'")
    .replace(/[‐‑]/g, '-')
    .replace(/\p{Default_Ignorable_Code_Point}+/gu, '')

function kindOf(text: string, at: number): number {
  const char = String.fromCodePoint(text.codePointAt(at) ?? 0)
  if (LETTER.test(char)) return WORD_CHAR
  return PICTURE.test(char) ? MARK : OTHER
}

const widthAt = (text: string, at: number): number => ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1)

function isWordCharAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code < 128 ? KINDS[code] === WORD_CHAR : at < text.length && kindOf(text, at) === WORD_CHAR
}

function wordEnd(text: string, start: number): number {
  let at = start
  while (at < text.length) {
    const code = text.charCodeAt(at)
    const joins = code === APOSTROPHE || code === HYPHEN
    if (joins ? !isWordCharAt(text, at + 1) : !isWordCharAt(text, at)) break
    at += joins ? 1 : widthAt(text, at)
  }
  return at
}

// An emoticon is two or three characters and not followed by a letter: ":Pascal" is none.
function emoticonAt(text: string, at: number): string {
  const nose = text.charCodeAt(at + 1) === HYPHEN ? 1 : 0
  const mouth = text.charAt(at + 1 + nose)
  if (isWordCharAt(text, at + 2 + nose)) return ''
  if (mouth === ')' || mouth === 'd' || mouth === 'p') return nose === 1 ? ':-)' : ':)'
  return mouth === '(' ? (nose === 1 ? ':-(' : ':(') : ''
}
