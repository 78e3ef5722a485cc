/** Which language an item is written in, by a small trained network (lande) that tells how sure it is. */
import { markdownOf } from './filter-text.ts'
import type { Item } from './items.ts'
import { visibleText } from './markdown.ts'
import { once } from './once.ts'

/** Languages that can be told apart: ISO 639-1, and what the detector calls them. */
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

/** ISO 639-1 codes of the languages that can be told apart. */
export const LANGUAGE_CODES: readonly string[] = Object.keys(LANGUAGES)

/** Below this the detector is guessing. */
const CONFIDENCE_MIN = 0.8
/** Fewer letters than this say nothing. */
const LETTERS_MIN = 20
/** What a text is written in is plain after this many UTF-16 units. */
const READ_MAX = 1000

const codes = new Map<string, string>(Object.entries(LANGUAGES).map(([code, name]) => [name, code]))
// Loaded with the first filter that asks: its weights take 15 MB.
const detector = once((): typeof import('lande').default => {
  const { default: detect }: typeof import('lande') = require('lande')
  return detect
})

/** ISO 639-1 code of the language a text is written in; null when too little of it is letters, or nobody can tell. */
export function languageOfText(text: string): string | null {
  const read = text.replace(/https?:\/\/\S{1,2000}/g, ' ').slice(0, READ_MAX)
  if ((read.match(/\p{L}/gu)?.length ?? 0) < LETTERS_MIN) return null
  const [best] = detector()(read)
  if (best === undefined || best[1] < CONFIDENCE_MIN) return null
  return codes.get(best[0]) ?? null
}

const known = new WeakMap<Item, { code: string | null }>()

/** ISO 639-1 code of the language an item's own words are in, its title's and its text's; null when nobody can tell. */
export function languageOf(item: Item): string | null {
  let found = known.get(item)
  if (found === undefined) {
    const body = visibleText(markdownOf(item).slice(0, 4 * READ_MAX))
    const text = item.kind === 'post' ? `${item.title}\n${body}` : body
    known.set(item, (found = { code: languageOfText(text) }))
  }
  return found.code
}
