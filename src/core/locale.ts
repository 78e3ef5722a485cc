/** What a browser speaks where a caller names nothing. */
export const DEFAULT_LOCALE = 'en-US'
/** What a locale has to be, for a sentence that begins with its field. */
export const LOCALE_RULE = 'must be a BCP 47 language tag, such as en-US'

const LONGEST = 64

/** A language tag in its canonical form; null for what is none. */
export function parseLocale(text: string): string | null {
  if (text.length > LONGEST) return null
  try {
    return Intl.getCanonicalLocales(text)[0] ?? null
  } catch {
    return null
  }
}

/** What a browser of a canonical locale asks pages for, most wanted first: the tag, then its language alone. */
export function languagesOf(locale: string): string {
  const { baseName, language } = new Intl.Locale(locale)
  return baseName === language ? language : `${baseName},${language}`
}
