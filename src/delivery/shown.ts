import type { Shown } from '../core/shown.ts'

const ELLIPSIS = '…'

/**
 * A text, cut to at most `max` UTF-16 units after `escape` has been applied to each character, never within a
 * character or an escape; an ellipsis marks the cut.
 */
export function cut(whole: string, max: number, escape = (character: string) => character): string {
  let fits = ''
  let fits_with_ellipsis = ''
  for (const character of whole.toWellFormed()) {
    const longer = fits + escape(character)
    if (longer.length > max) return max < ELLIPSIS.length ? '' : fits_with_ellipsis + ELLIPSIS
    fits = longer
    if (fits.length <= max - ELLIPSIS.length) fits_with_ellipsis = fits
  }
  return fits
}

// What turns the reading direction of everything behind it, or breaks a line where none may be: a title could write
// over the words around it. Marks that belong to a language, such as the joiners within a word, stay.
const UNRULY = /[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu
/** Signs that nobody sees; a text of nothing else is no text. */
const UNSEEN = /[\s\p{Cc}\p{Cf}\p{Zs}\u115f\u1160\u2800\u3164\uffa0]/gu

/** A stranger's text on one line, without signs that would disturb what stands around it; '' when nothing is to be seen. */
export function oneLine(lines: string): string {
  const line = lines.toWellFormed().replace(/\s+/gu, ' ').replace(UNRULY, '').trim()
  return line.replace(UNSEEN, '') === '' ? '' : line
}

/** A stranger's text with its line breaks, else as {@link oneLine}. */
export function manyLines(text: string): string {
  const lines = text.toWellFormed().replace(/\r\n?/g, '\n').split('\n').map(oneLine)
  return lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}

/** How much of a text stands before the term that matched. */
const BEFORE = 0.3

/**
 * About `max` characters of a text around the first of `terms` that occurs in it, whole words at both ends, with an
 * ellipsis where something is left out. Its beginning when none occurs.
 */
export function excerpt(text: string, terms: readonly string[], max: number): string {
  const whole = manyLines(text)
  if (whole.length <= max) return whole
  const lower = whole.toLowerCase()
  // A text whose lower case is of another length has no places to compare.
  const found =
    lower.length === whole.length
      ? terms.map((term) => lower.indexOf(plain(term))).filter((at) => at >= 0)
      : []
  const at = Math.min(...found, whole.length)
  if (at === whole.length || at < max * (1 - BEFORE)) return cut(whole, max)
  const wanted = Math.min(at - Math.floor(max * BEFORE), whole.length - max)
  const space = whole.slice(wanted, at).search(/\s/u)
  const from = space < 0 ? at : wanted + space + 1
  return cut(ELLIPSIS + whole.slice(from), max)
}

// A term as a filter has it may be a phrase in quotes, or a prefix with a star.
const plain = (term: string): string =>
  term
    .toLowerCase()
    .replace(/^"|"$|\*$/g, '')
    .trim() || '\u0000'

const TERMS_MAX = 10
const TERM_MAX = 60

/** The terms that matched, as a list for reading; '' when there are none. */
function termsOf({ matched_terms }: Shown): string {
  const shown = matched_terms.slice(0, TERMS_MAX).map((term) => cut(oneLine(term), TERM_MAX))
  const more = matched_terms.length - shown.length
  return shown.filter(Boolean).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

/** What is told about an item beside it: `matched kettle, pour · positive · question`. */
export function remarks(item: Shown): string {
  const terms = termsOf(item)
  const intent = item.intent?.replaceAll('_', ' ') ?? ''
  return [terms && `matched ${terms}`, oneLine(item.sentiment ?? ''), oneLine(intent)]
    .filter(Boolean)
    .join(' · ')
}
