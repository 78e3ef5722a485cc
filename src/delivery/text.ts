import type { DisplayItem } from '../core/delivery/message.ts'

const ELLIPSIS = '…'

/**
 * A text, cut to at most `max` UTF-16 units after `escape` has been applied to each character. Never cuts within a
 * character or an escape; an ellipsis marks the cut.
 */
export function truncate(
  text: string,
  max: number,
  escape = (character: string) => character,
): string {
  let fits = ''
  let fits_with_ellipsis = ''
  for (const character of text.toWellFormed()) {
    const longer = fits + escape(character)
    if (longer.length > max) return max < ELLIPSIS.length ? '' : fits_with_ellipsis + ELLIPSIS
    fits = longer
    if (fits.length <= max - ELLIPSIS.length) fits_with_ellipsis = fits
  }
  return fits
}

// Characters that change the reading direction of the text after them, or break a line: a title could overwrite the
// words around it. Marks that belong to a language, such as joiners within a word, stay.
const UNRULY = /[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu
/** Invisible characters; a text of nothing else counts as empty. */
const UNSEEN = /[\s\p{Cc}\p{Cf}\p{Zs}\u115f\u1160\u2800\u3164\uffa0]/gu

/** Untrusted text on one line, without characters that would disturb its surroundings; '' when nothing is visible. */
export function oneLine(lines: string): string {
  const line = lines.toWellFormed().replace(/\s+/gu, ' ').replace(UNRULY, '').trim()
  return line.replace(UNSEEN, '') === '' ? '' : line
}

/** Untrusted text with its line breaks, else like {@link oneLine}. */
export function manyLines(text: string): string {
  const lines = text.toWellFormed().replace(/\r\n?/g, '\n').split('\n').map(oneLine)
  return lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}

/** Share of the excerpt before the term that matched. */
const BEFORE = 0.3

/**
 * About `max` characters of a text around the first of `terms` that occurs in it, whole words at both ends, with an
 * ellipsis where text is left out. The beginning of the text when none occurs.
 */
export function excerpt(text: string, terms: readonly string[], max: number): string {
  const whole = manyLines(text)
  if (whole.length <= max) return whole
  const lower = whole.toLowerCase()
  // If lower case changes the length of the text, positions cannot be compared.
  const found =
    lower.length === whole.length
      ? terms.map((term) => lower.indexOf(bareTerm(term))).filter((at) => at >= 0)
      : []
  const at = Math.min(...found, whole.length)
  if (at === whole.length || at < max * (1 - BEFORE)) return truncate(whole, max)
  const wanted = Math.min(at - Math.floor(max * BEFORE), whole.length - max)
  const space = whole.slice(wanted, at).search(/\s/u)
  const from = space < 0 ? at : wanted + space + 1
  return truncate(ELLIPSIS + whole.slice(from), max)
}

// A filter's term may be a phrase in quotes, or a prefix with a star.
const bareTerm = (term: string): string =>
  term
    .toLowerCase()
    .replace(/^"|"$|\*$/g, '')
    .trim() || '\u0000'

const TERMS_MAX = 10
const TERM_MAX = 60

/** The matched terms as a list for reading; '' when there are none. */
function termsOf({ matched_terms }: DisplayItem): string {
  const visible_terms = matched_terms
    .slice(0, TERMS_MAX)
    .map((term) => truncate(oneLine(term), TERM_MAX))
  const more = matched_terms.length - visible_terms.length
  return visible_terms.filter(Boolean).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

/** Details of an item beside its text: `matched kettle, pour · positive · question`. */
export function remarks(item: DisplayItem): string {
  const terms = termsOf(item)
  const intent = item.intent?.replaceAll('_', ' ') ?? ''
  return [terms && `matched ${terms}`, oneLine(item.sentiment ?? ''), oneLine(intent)]
    .filter(Boolean)
    .join(' · ')
}
