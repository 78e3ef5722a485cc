import type { Item } from './items.ts'

/** Where terms can be looked for (contract 7, `search_in`), and what `field:term` can name. */
export const SEARCH_FIELDS = ['title', 'body', 'url', 'permalink', 'flair', 'author'] as const
export type SearchField = (typeof SEARCH_FIELDS)[number]

const WORD = /[\p{L}\p{M}\p{N}]/u
// Scripts that put no space between words, and Hangul, whose particles cling to the word before them.
const SPACELESS =
  /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Bopo}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Tibt}\p{scx=Java}\p{scx=Bali}\p{scx=Tale}\p{scx=Talu}\p{scx=Lana}]/u
const WHITE = /[\s\u0085]+/gu
// Soft hyphens, joiners, variation selectors: nobody sees them, and they are used to slip past filters.
const INVISIBLE = /\p{Default_Ignorable_Code_Point}+/gu
const ASCII = /^[\t\n\r -~]*$/
const ASCII_WHITE = /[\t\n\r ]+/g

/**
 * Text as it is compared: NFKC, case folded, typographic quotes and hyphens made plain, what is
 * invisible left out, every run of white space one space. Doing it twice changes nothing.
 */
export function normalise(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase().replace(ASCII_WHITE, ' ').trim()
  return (
    text
      .normalize('NFKC')
      .replace(INVISIBLE, '')
      .normalize('NFKC')
      // Down, up and down again is Unicode's case folding: ß, ẞ and SS meet, and so do the three sigmas.
      .toLowerCase()
      .toUpperCase()
      .toLowerCase()
      .normalize('NFKC')
      .replaceAll('ς', 'σ')
      .replace(/[‘’‛ʼ]/g, "'")
      .replace(/[“”„‟]/g, '"')
      .replace(/[‐‑]/g, '-')
      .replace(WHITE, ' ')
      .trim()
  )
}

/** Whether a term occurs in a text; both normalised. */
export type TermTest = (text: string) => boolean

/**
 * The test of one normalised term. A side that is a letter or digit must end a word there, but for
 * scripts without spaces; with `prefix` the right side is open.
 */
export function compileTerm(term: string, prefix: boolean): TermTest {
  const left = joins(firstOf(term))
  const right = !prefix && joins(lastOf(term, term.length))
  return (text) => {
    let at = text.indexOf(term)
    while (at !== -1) {
      const end = at + term.length
      if (!(left && joinedLeft(text, at)) && !(right && joinedRight(text, end))) return true
      at = text.indexOf(term, at + 1)
    }
    return false
  }
}

// Whether a character clings to a neighbour of its kind to form a word.
function joins(char: string): boolean {
  if (char.length === 1 && char < '\u0080') return /[a-z0-9]/i.test(char)
  return WORD.test(char) && !SPACELESS.test(char)
}

// An underscore joins two letters (snake_case) but not a letter and a space (_emphasis_).
function joinedLeft(text: string, at: number): boolean {
  let before = at
  while (before > 0 && text[before - 1] === '_') before--
  return before > 0 && joins(lastOf(text, before))
}

function joinedRight(text: string, end: number): boolean {
  let after = end
  while (text[after] === '_') after++
  return after < text.length && joins(firstOf(text, after))
}

function firstOf(text: string, at = 0): string {
  const point = text.codePointAt(at)
  return point === undefined ? '' : String.fromCodePoint(point)
}

function lastOf(text: string, end: number): string {
  const low = text.charCodeAt(end - 1)
  const paired = low >= 0xdc00 && low <= 0xdfff && end > 1
  return firstOf(text, paired ? end - 2 : end - 1)
}

const prepared = new WeakMap<Item, Map<SearchField, string>>()

/** One field of an item, normalised; kept for as long as the item is, since every monitor asks for it. */
export function textOf(item: Item, field: SearchField): string {
  let texts = prepared.get(item)
  if (texts === undefined) prepared.set(item, (texts = new Map()))
  let text = texts.get(field)
  if (text === undefined) texts.set(field, (text = normalise(fieldOf(item, field) ?? '')))
  return text
}

function fieldOf(item: Item, field: SearchField): string | null {
  switch (field) {
    case 'title':
      return item.kind === 'post' ? item.title : item.link_title
    case 'body':
      return item.kind === 'post' ? item.text : item.body
    case 'url':
      return item.kind === 'post' ? item.link_url : threadLink(item)
    case 'permalink':
      return item.permalink
    case 'flair':
      return item.kind === 'post' ? item.flair : null
    case 'author':
      return item.author === '[deleted]' ? null : item.author
  }
}

// A text post's thread links to itself, and that address only repeats its title.
function threadLink(item: Item & { kind: 'comment' }): string | null {
  return item.link_url?.includes(`/${item.post_id}/`) === true ? null : item.link_url
}
