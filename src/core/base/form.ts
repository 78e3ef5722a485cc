const WHITE = /[\s\u0085]+/gu
// Soft hyphens, joiners and variation selectors are invisible and are used to evade filters.
const INVISIBLE = /\p{Default_Ignorable_Code_Point}+/gu
const ASCII = /^[\t\n\r -~]*$/
const ASCII_WHITE = /[\t\n\r ]+/g
const UNEVEN = /[\t\n\r]| {2}/
// Accents of Latin, Greek and Cyrillic letters; vowel signs and the stretching of Arabic; points of Hebrew.
const MARKS = /(?:\u0640|[\u0300-\u036f\u064b-\u0652\u0670\u05b0-\u05c7])+/g
// Letters with a stroke, and ligatures, that no Unicode decomposition takes apart.
const STROKES = new Map(
  'øo łl đd ðd ħh ŧt ıi ØO ŁL ĐD ÐD ĦH ŦT æae œoe þth ÆAE ŒOE ÞTH'
    .split(' ')
    .map((it) => [it.slice(0, 1), it.slice(1)]),
)
const STROKED = new RegExp(`[${[...STROKES.keys()].join('')}]`, 'g')

/** Marks of one letter that are compared: the bound of Unicode's Stream-Safe Text Format (UAX #15). */
const MARKS_MAX = 30
/** U+FF9E and U+FF9F become marks. */
const LONG_RUN = new RegExp(`([\\p{M}\uff9e\uff9f]{${MARKS_MAX}})[\\p{M}\uff9e\uff9f]+`, 'gu')

const shortRuns = (text: string): string =>
  text.length > MARKS_MAX ? text.replace(LONG_RUN, '$1') : text

/**
 * A normalization form of a text, without the marks of a letter beyond {@link MARKS_MAX}: sorting a run of marks takes the square
 * of its length, so that 40 KB of them would take seconds.
 */
export const inForm = (text: string, form: 'NFC' | 'NFD' | 'NFKC'): string =>
  shortRuns(shortRuns(text).normalize(form))

/** Views in which texts are compared, as bits: 1 without accents, 2 case-sensitive; 0 neither. */
export type View = 0 | 1 | 2 | 3

/** The view that a spec selects. */
export const viewOf = (spec: { fold_accents: boolean; case_sensitive: boolean }): View =>
  spec.case_sensitive ? (spec.fold_accents ? 3 : 2) : spec.fold_accents ? 1 : 0

export const foldsAccents = (view: View): boolean => view === 1 || view === 3
/** True for case-sensitive views. */
export const keepsCase = (view: View): boolean => view >= 2

/**
 * Text in its compared form: NFKC, case folded, plain quotes and hyphens, invisible characters removed, every run of
 * white space one space. Idempotent.
 */
export function normalise(text: string, view: View = 0): string {
  if (ASCII.test(text)) {
    const plain = keepsCase(view) ? text : text.toLowerCase()
    // Most texts have only single spaces, and stay the same string.
    return (UNEVEN.test(plain) ? plain.replace(ASCII_WHITE, ' ') : plain).trim()
  }
  return (keepsCase(view) ? composed(text, view) : folded(composed(text, view)))
    .replace(/[‘’‛ʼ]/g, "'")
    .replace(/[“”„‟]/g, '"')
    .replaceAll('‐', '-')
    .replace(WHITE, ' ')
    .trim()
}

/** Like {@link normalise}, but line breaks and quotes stay as written, because patterns may contain them. */
export function composed(text: string, view: View): string {
  if (ASCII.test(text)) return text
  const whole = inForm(inForm(text, 'NFKC').replace(INVISIBLE, ''), 'NFKC')
  return foldsAccents(view) ? withoutAccents(whole) : whole
}

// Case folding can add accents: the dotted capital İ becomes an i and a dot.
function folded(text: string): string {
  // Down, up and down again is Unicode's case folding: it equates ß, ẞ and SS, and the three sigmas. The dotless ı is itself.
  const once = text.toLowerCase().replaceAll(/[^ı]+/gu, (run) => run.toUpperCase().toLowerCase())
  return inForm(once, 'NFKC').replaceAll('ς', 'σ')
}

// Marks of scripts whose vowels are marks stay: without them it is another word.
const withoutAccents = (text: string): string =>
  inForm(
    inForm(text, 'NFD')
      .replace(MARKS, '')
      .replace(STROKED, (letter) => STROKES.get(letter) ?? letter),
    'NFC',
  )
