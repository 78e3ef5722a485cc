import type { Item } from './items.ts'
import { linksIn, visibleText } from './markdown.ts'

/** Where terms can be looked for (contract 7, `search_in`), and what `field:term` can name. */
export const SEARCH_FIELDS = ['title', 'body', 'url', 'permalink', 'flair', 'author'] as const
export type SearchField = (typeof SEARCH_FIELDS)[number]

const WORD = /[\p{L}\p{M}\p{N}]/u
// Scripts that put no space between words, and Hangul, whose particles cling to the word before them.
const SPACELESS =
  /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Bopo}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Tibt}\p{scx=Java}\p{scx=Bali}\p{scx=Tale}\p{scx=Talu}\p{scx=Lana}]/u
const ALPHANUMERIC = /[a-z0-9]/i
const WHITE = /[\s\u0085]+/gu
// Soft hyphens, joiners, variation selectors: nobody sees them, and they are used to slip past filters.
const INVISIBLE = /\p{Default_Ignorable_Code_Point}+/gu
const ASCII = /^[\t\n\r -~]*$/
const ASCII_WHITE = /[\t\n\r ]+/g
const UNEVEN = /[\t\n\r]| {2}/
const MARKS = /[\u0300-\u036f]+/g
// Letters that are written with a stroke or as two, and that no decomposition takes apart.
const STROKES = new Map(
  'øo łl đd ðd ħh ŧt ıi ØO ŁL ĐD ÐD ĦH ŦT æae œoe þth ÆAE ŒOE ÞTH'
    .split(' ')
    .map((it) => [it.slice(0, 1), it.slice(1)]),
)
const STROKED = new RegExp(`[${[...STROKES.keys()].join('')}]`, 'g')

/** How texts are compared: as they are read (neither), without accents, with upper and lower case apart. */
export type View = 0 | 1 | 2 | 3

/** The view that a spec asks for. */
export const viewOf = (spec: { fold_accents: boolean; case_sensitive: boolean }): View =>
  spec.case_sensitive ? (spec.fold_accents ? 3 : 2) : spec.fold_accents ? 1 : 0

/** Whether a view of a text has no accents. */
export const foldsAccents = (view: View): boolean => view === 1 || view === 3
/** Whether a view of a text has capitals. */
export const keepsCase = (view: View): boolean => view >= 2

/**
 * Text as it is compared: NFKC, case folded, typographic quotes and hyphens made plain, what is
 * invisible left out, every run of white space one space. Doing it twice changes nothing.
 */
export function normalise(text: string, view: View = 0): string {
  if (ASCII.test(text)) {
    const plain = keepsCase(view) ? text : text.toLowerCase()
    // Most texts have single blanks alone, and stay the strings that they are.
    return (UNEVEN.test(plain) ? plain.replace(ASCII_WHITE, ' ') : plain).trim()
  }
  return (keepsCase(view) ? composed(text, view) : folded(composed(text, view)))
    .replace(/[‘’‛ʼ]/g, "'")
    .replace(/[“”„‟]/g, '"')
    .replaceAll('‐', '-')
    .replace(WHITE, ' ')
    .trim()
}

/** As {@link normalise}, but lines and quotes stay as they were written: for patterns, which may name them. */
export function composed(text: string, view: View): string {
  if (ASCII.test(text)) return text
  const whole = text.normalize('NFKC').replace(INVISIBLE, '').normalize('NFKC')
  return foldsAccents(view) ? withoutAccents(whole) : whole
}

// Folding case can bring accents back: the dotted capital İ becomes an i and a dot.
function folded(text: string): string {
  // Down, up and down again is Unicode's case folding: ß, ẞ and SS meet, and so do the three sigmas.
  return text.toLowerCase().toUpperCase().toLowerCase().normalize('NFKC').replaceAll('ς', 'σ')
}

// Marks of scripts whose vowels are marks stay: without them the word is another one.
const withoutAccents = (text: string): string =>
  text
    .normalize('NFD')
    .replace(MARKS, '')
    .replace(STROKED, (letter) => STROKES.get(letter) ?? letter)
    .normalize('NFC')

/** A normalised term as it is looked for: whether it must begin and end where a word does, and in which view of a text. */
export type Word = { text: string; left: boolean; right: boolean; view: View }

/**
 * The word that a normalised term looks for. A side that is a letter or digit must end a word there, but for scripts
 * without spaces; with `prefix` the right side is open, with `substring` both are.
 */
export const toWord = (
  text: string,
  view: View,
  { prefix, substring }: { prefix: boolean; substring: boolean },
): Word => ({
  text,
  left: !substring && joins(firstOf(text)),
  right: !substring && !prefix && joins(lastOf(text, text.length)),
  view,
})

/** Whether a word stands in a text of its view. */
export const occursIn = (text: string, { text: term, left, right }: Word): boolean =>
  occurs(text, term, left, right)

/** The same of a term and its sides. */
export function occurs(text: string, term: string, left: boolean, right: boolean): boolean {
  let at = text.indexOf(term)
  while (at !== -1) {
    const end = at + term.length
    if (!(left && joinedLeft(text, at)) && !(right && joinedRight(text, end))) return true
    at = text.indexOf(term, at + 1)
  }
  return false
}

// Whether a character clings to a neighbour of its kind to form a word.
function joins(char: string): boolean {
  if (char.length === 1 && char < '\u0080') return ALPHANUMERIC.test(char)
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
  const paired = low >= 0xdc00 && low <= 0xdfff
  return firstOf(text, paired ? end - 2 : end - 1)
}

const FIELD_AT: Readonly<Record<SearchField, number>> = {
  title: 0,
  body: 1,
  url: 2,
  permalink: 3,
  flair: 4,
  author: 5,
}

const prepared = new WeakMap<Item, (string | undefined)[]>()
// Thousands of questions about one item come in a row.
let latest: { item: Item; texts: (string | undefined)[] } | null = null

/** One field of an item, normalised; kept for as long as the item is, since every monitor asks for it. */
export function textOf(item: Item, field: SearchField, view: View = 0): string {
  if (latest === null || latest.item !== item) {
    let texts = prepared.get(item)
    if (texts === undefined) prepared.set(item, (texts = []))
    latest = { item, texts }
  }
  const { texts } = latest
  const at = view * SEARCH_FIELDS.length + FIELD_AT[field]
  const known = texts[at]
  if (known !== undefined) return known
  const written = writtenOf(item, field)
  // Without accents a plain text is the same text.
  const same = foldsAccents(view) && ASCII.test(written)
  return (texts[at] = same ? textOf(item, field, view === 1 ? 0 : 2) : normalise(written, view))
}

const as_written = new WeakMap<Item, (string | undefined)[]>()

/** One field of an item as its reader sees it; links' targets stand under `url`. Empty when there is none. */
export function writtenOf(item: Item, field: SearchField): string {
  let texts = as_written.get(item)
  if (texts === undefined) as_written.set(item, (texts = []))
  return (texts[FIELD_AT[field]] ??= fieldOf(item, field) ?? '')
}

/** The markdown that an item's author wrote. */
export const markdownOf = (item: Item): string => (item.kind === 'post' ? item.text : item.body)

/** Addresses that an item leads to: its own link, its thread's, and those in its text. */
export function linksOf(item: Item): string[] {
  const own = item.kind === 'post' ? item.link_url : threadLink(item)
  const inside = linksIn(markdownOf(item))
  return own === null ? inside : [own, ...inside]
}

function fieldOf(item: Item, field: SearchField): string | null {
  switch (field) {
    case 'title':
      return item.kind === 'post' ? item.title : item.link_title
    case 'body':
      return visibleText(markdownOf(item))
    case 'url':
      return linksOf(item).join(' ')
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
