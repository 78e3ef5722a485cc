/** A cookie as it is sent: nothing but a name and a value. */
export type Cookie = { name: string; value: string }

// RFC 6265. A separator inside a value would be read as another cookie.
const VALUE = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/
/** Prefixes are promises of a browser, and the others are names that objects have of themselves. */
const RESERVED = /^(?:__host-|__secure-)|^(?:__proto__|constructor|prototype)$/i

const COOKIES_MAX = 40
const BYTES_MAX = 8192
/** `=` and `; ` around each. */
const AROUND_BYTES = 3

/** What is wrong with a value that is none. */
export const VALUE_FORM =
  'must be a cookie value: letters, digits and signs, without spaces, quotes, commas, semicolons or backslashes'
/** What is wrong with a name that is none. */
export const NAME_FORM = 'cannot be the name of a cookie'
/** What is wrong with too many of them. */
export const MANY_COOKIES = `must be at most ${COOKIES_MAX}, ${BYTES_MAX} bytes together`

/** Whether a text may stand as a cookie's value just as it is. */
export const isCookieValue = (text: string): boolean => VALUE.test(text)

/** Whether a caller may have a cookie of this name sent. */
export const isCookieName = (text: string): boolean => NAME.test(text) && !RESERVED.test(text)

/** Whether these are more cookies, or longer ones, than one request should carry. */
export function tooMany(cookies: readonly Cookie[]): boolean {
  const bytes = cookies.reduce(
    (sum, { name, value }) => sum + name.length + value.length + AROUND_BYTES,
    0,
  )
  return cookies.length > COOKIES_MAX || bytes > BYTES_MAX
}
