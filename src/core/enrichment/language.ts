import { once } from '../base/lazy.ts'
/** Language detection of items by a small trained network (lande) that reports its confidence. */
import { markdownOf } from '../filter/text.ts'
import type { Item } from '../forum/items.ts'
import { visibleText } from './markdown.ts'

/** Detectable languages: ISO 639-1 and the detector's name. */
const LANGUAGES = {
  af: 'afr',
  ar: 'ara',
  az: 'aze',
  be: 'bel',
  bg: 'bul',
  bn: 'ben',
  ca: 'cat',
  cs: 'ces',
  da: 'dan',
  de: 'deu',
  el: 'ell',
  en: 'eng',
  es: 'spa',
  et: 'est',
  eu: 'eus',
  fa: 'pes',
  fi: 'fin',
  fr: 'fra',
  ha: 'hau',
  he: 'heb',
  hi: 'hin',
  hr: 'hrv',
  hu: 'hun',
  hy: 'hye',
  id: 'ind',
  is: 'isl',
  it: 'ita',
  ja: 'jpn',
  ka: 'kat',
  kk: 'kaz',
  ko: 'kor',
  ku: 'ckb',
  lt: 'lit',
  mk: 'mkd',
  mr: 'mar',
  nl: 'nld',
  no: 'nob',
  pl: 'pol',
  pt: 'por',
  rn: 'run',
  ro: 'ron',
  ru: 'rus',
  sk: 'slk',
  sr: 'srp',
  sv: 'swe',
  tl: 'tgl',
  tr: 'tur',
  uk: 'ukr',
  vi: 'vie',
  zh: 'cmn',
} as const

/** ISO 639-1 codes of the detectable languages. */
export const LANGUAGE_CODES: readonly string[] = Object.keys(LANGUAGES)

/** The detector guesses below this confidence. */
const CONFIDENCE_MIN = 0.8
/** Fewer letters are not conclusive. */
const LETTERS_MIN = 20
/** More UTF-16 units do not improve the result. */
const READ_MAX = 1000

const codes = new Map<string, string>(Object.entries(LANGUAGES).map(([code, name]) => [name, code]))
// Loaded with the first filter that needs it: its weights take 15 MB.
const detector = once((): typeof import('lande').default => {
  const { default: detect }: typeof import('lande') = require('lande')
  return detect
})

/**
 * ISO 639-1 code of a text's language; null if it has too few letters or the result is uncertain.
 */
export function languageOfText(text: string): string | null {
  const read = text.replace(/https?:\/\/\S{1,2000}/g, ' ').slice(0, READ_MAX)
  if ((read.match(/\p{L}/gu)?.length ?? 0) < LETTERS_MIN) return null
  const [best] = detector()(read)
  if (best === undefined || best[1] < CONFIDENCE_MIN) return null
  return codes.get(best[0]) ?? null
}

const codes_by_item = new WeakMap<Item, { code: string | null }>()

/** ISO 639-1 code of the language of an item's own title and text; null if uncertain. */
export function languageOf(item: Item): string | null {
  let found = codes_by_item.get(item)
  if (found === undefined) {
    const body = visibleText(markdownOf(item).slice(0, 4 * READ_MAX))
    const text = item.kind === 'post' ? `${item.title}\n${body}` : body
    codes_by_item.set(item, (found = { code: languageOfText(text) }))
  }
  return found.code
}
