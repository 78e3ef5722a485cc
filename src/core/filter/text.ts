import { foldsAccents, normalise, type View } from '../base/form.ts'
import { linksIn, visibleText } from '../enrichment/markdown.ts'
import type { Item } from '../forum/items.ts'

/** Fields to search for terms (`search_in`), which `field:term` can name too. */
export const SEARCH_FIELDS = [
  'title',
  'body',
  'url',
  'permalink',
  'flair',
  'author',
  'thread_title',
] as const
export type SearchField = (typeof SEARCH_FIELDS)[number]

const WORD = /[\p{L}\p{M}\p{N}]/u
/**
 * A character of a script without spaces between words, or of Hangul, whose particles attach to the word before them. Accents
 * that such a script shares with Latin and Cyrillic letters are none.
 */
export const SPACELESS =
  /(?![\u0300-\u036f])[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Bopo}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Tibt}\p{scx=Java}\p{scx=Bali}\p{scx=Tale}\p{scx=Talu}\p{scx=Lana}]/u
const ASCII = /^[\t\n\r -~]*$/
const ALPHANUMERIC = /[a-z0-9]/i

/** A normalised term to search for: the sides that must be word boundaries, and the view of the text. */
export type Word = { text: string; left: boolean; right: boolean; view: View }

/**
 * The word of a normalised term. A side that is a letter or digit must be a word boundary, except in scripts without
 * spaces; `prefix` opens the right side, `substring` both.
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

/** True when a word occurs in a text of its view. */
export const occursIn = (text: string, { text: term, left, right }: Word): boolean =>
  occurs(text, term, left, right)

/**
 * Like {@link occursIn}, for a term and its sides. Takes time linear in the text, even where the term occurs
 * everywhere within words.
 */
export function occurs(text: string, term: string, left: boolean, right: boolean): boolean {
  let at = text.indexOf(term)
  while (at !== -1) {
    const end = at + term.length
    const within_word = left && joinedLeft(text, at)
    if (!within_word && !(right && joinedRight(text, end))) return true
    at = text.indexOf(term, within_word ? endOfWord(text, at) : at + 1)
  }
  return false
}

/** End of the run of letters from here: a term that begins a word cannot begin before it. */
function endOfWord(text: string, at: number): number {
  let end = at + 1
  while (end < text.length && isWordUnit(text.charCodeAt(end))) end++
  return end
}

// True for characters that form a word with a neighbour of their kind.
function joins(char: string): boolean {
  if (char.length === 1 && char < '\u0080') return ALPHANUMERIC.test(char)
  return WORD.test(char) && !SPACELESS.test(char)
}

// An underscore joins two letters (snake_case) but not a letter and a space (_emphasis_).
function joinedLeft(text: string, at: number): boolean {
  let before = at
  while (before > 0 && text.charCodeAt(before - 1) === UNDERSCORE) before--
  if (before === 0) return false
  const code = text.charCodeAt(before - 1)
  return isSurrogate(code) ? joins(lastOf(text, before)) : isWordUnit(code)
}

function joinedRight(text: string, end: number): boolean {
  let after = end
  while (text.charCodeAt(after) === UNDERSCORE) after++
  if (after >= text.length) return false
  const code = text.charCodeAt(after)
  return isSurrogate(code) ? joins(firstOf(text, after)) : isWordUnit(code)
}

const UNDERSCORE = 0x5f
const isSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdfff

const UNKNOWN = 0
const JOINS = 1
const APART = 2
const known_units = new Uint8Array(0x1_0000)

/** {@link joins} for a character of one UTF-16 unit, memoised: a text may have 40,000 of them. */
function isWordUnit(code: number): boolean {
  const known = known_units[code] ?? UNKNOWN
  if (known !== UNKNOWN) return known === JOINS
  const joined = !isSurrogate(code) && joins(String.fromCharCode(code))
  known_units[code] = joined ? JOINS : APART
  return joined
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
  thread_title: 6,
}

const prepared = new WeakMap<Item, (string | undefined)[]>()
// Thousands of filters read the same item in a row.
let latest: { item: Item; texts: (string | undefined)[] } | null = null

/** One field of an item, normalised. Cached for the lifetime of the item, because every monitor reads it. */
export function textOf(item: Item, field: SearchField, view: View = 0): string {
  if (latest === null || latest.item !== item) {
    let texts = prepared.get(item)
    if (texts === undefined) prepared.set(item, (texts = []))
    latest = { item, texts }
  }
  const { texts } = latest
  const at = view * SEARCH_FIELDS.length + FIELD_AT[field]
  const cached = texts[at]
  if (cached !== undefined) return cached
  const written = writtenOf(item, field)
  // Without accents a plain text is the same text.
  const same = foldsAccents(view) && ASCII.test(written)
  return (texts[at] = same ? textOf(item, field, view === 1 ? 0 : 2) : normalise(written, view))
}

const as_written = new WeakMap<Item, (string | undefined)[]>()

/** One field of an item as a reader sees it; link targets belong to `url`. Empty when there is none. */
export function writtenOf(item: Item, field: SearchField): string {
  let texts = as_written.get(item)
  if (texts === undefined) as_written.set(item, (texts = []))
  return (texts[FIELD_AT[field]] ??= fieldOf(item, field) ?? '')
}

/** Drops what is cached of items that are done with: together it is several times as large as they are. */
export function forgetTexts(items: readonly Item[]): void {
  for (const item of items) {
    prepared.delete(item)
    as_written.delete(item)
  }
  latest = null
}

/** The markdown that an item's author wrote. */
export const markdownOf = (item: Item): string => (item.kind === 'post' ? item.text : item.body)

/** URLs that an item links to: its own link, its thread's, and those in its text. */
export function linksOf(item: Item): string[] {
  const own = item.kind === 'post' ? item.link_url : threadLink(item)
  const text_links = linksIn(markdownOf(item))
  return own === null ? text_links : [own, ...text_links]
}

function fieldOf(item: Item, field: SearchField): string | null {
  switch (field) {
    case 'title':
      return item.kind === 'post' ? item.title : null
    case 'thread_title':
      return item.kind === 'post' ? null : item.link_title
    case 'body':
      return visibleText(markdownOf(item))
    case 'url':
      // A comment has the links of its own text: the thread's would match each of its comments.
      return (item.kind === 'post' ? linksOf(item) : linksIn(item.body)).join(' ')
    case 'permalink':
      return item.permalink
    case 'flair':
      return item.kind === 'post' ? item.flair : null
    case 'author':
      return item.author === '[deleted]' ? null : item.author
  }
}

// The link of a text post's thread is the thread itself, and only repeats its title.
function threadLink(item: Item & { kind: 'comment' }): string | null {
  return item.link_url?.includes(`/${item.post_id}/`) === true ? null : item.link_url
}
