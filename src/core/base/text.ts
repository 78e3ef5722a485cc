/** Closest name to a typo, at most a third of its length away; null if none is that close. */
export function nearest(typed: string, names: readonly string[]): string | null {
  // The beginning is enough: no name is near a longer text.
  const text = typed.slice(0, 64).toLowerCase().replaceAll('-', '_')
  const [best] = names
    .map((name) => ({ name, distance: distance(text, name.replaceAll('-', '_')) }))
    .filter((it) => it.distance <= Math.max(1, Math.floor(it.name.length / 3)))
    .toSorted((a, b) => a.distance - b.distance)
  return best?.name ?? null
}

/** The closest name as the end of a message; empty if none is close. */
export function meant(typed: string, names: readonly string[]): string {
  const near = nearest(typed, names)
  return near === null ? '' : `; did you mean ${near}?`
}

/** Edit distance of `a` and `b`; swapping two neighbours counts as one edit. */
function distance(a: string, b: string): number {
  let twoBack: number[] = []
  let back = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      const swapped =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
          ? (twoBack[j - 2] ?? 0) + 1
          : Infinity
      row.push(
        Math.min((back[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (back[j - 1] ?? 0) + same, swapped),
      )
    }
    twoBack = back
    back = row
  }
  return back[b.length] ?? 0
}

/** Locale of a browser if the caller names none. */
export const DEFAULT_LOCALE = 'en-US'
/** Rule for a locale, as the rest of a sentence that begins with its field. */
export const LOCALE_RULE = 'must be a BCP 47 language tag, such as en-US'

const LONGEST = 64

/**
 * Canonical form of a language tag; null if malformed.
 * @see https://www.rfc-editor.org/rfc/rfc5646
 */
export function parseLocale(text: string): string | null {
  if (text.length > LONGEST) return null
  try {
    return Intl.getCanonicalLocales(text)[0] ?? null
  } catch {
    return null
  }
}

/** Accept-Language of a browser with a canonical locale: the tag, then its language alone. */
export function languagesOf(locale: string): string {
  const { baseName, language } = new Intl.Locale(locale)
  return baseName === language ? language : `${baseName},${language}`
}

/** Rule for the name of a customer, as the rest of a sentence. */
export const CUSTOMER_NAME_RULE = '1 to 64 printable characters without blanks around them'

/** True for a valid name of a customer; see {@link CUSTOMER_NAME_RULE}. */
export const isCustomerName = (text: string): boolean =>
  /^[^\p{C}]{1,64}$/u.test(text) && text.trim() === text

/** Rule for the name of an account or a proxy, as the rest of a sentence. */
export const POOL_NAME_RULE = '1 to 64 letters, digits, dots, _ and -, a letter or digit first'

/** True for a valid name of an account or a proxy; see {@link POOL_NAME_RULE}. */
export const isPoolName = (text: string): boolean => /^[A-Za-z0-9][\w.-]{0,63}$/.test(text)
