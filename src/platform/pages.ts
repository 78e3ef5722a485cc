// The pages that come where JSON was asked for. They are recognised to be reported, never to be got past.

/** Whether an answer is a page, whatever it calls itself. */
export const isHtml = (content_type: string | null, body: string): boolean =>
  /\bhtml\b/i.test(content_type ?? '') || /^\s*</.test(body)

/** Whatever tells one page from another stands in its beginning; what comes after it may be megabytes of anything. */
const LOOKED_AT = 512 * 1024
const beginning = (body: string): string => body.slice(0, LOOKED_AT)

const HUMAN_CHECK =
  /prove your humanity|please wait for verification|name="?(?:js_challenge|jsc_orig_r)\b/i

/** A page that wants to see a person, or a browser that does sums. */
export const isHumanCheck = (body: string): boolean => HUMAN_CHECK.test(beginning(body))

// No further than to the next tag, and bounded: what never ends would be gone through again from each of its beginnings.
const LOGIN_TITLE = /<title>[^<]{0,200}(?:welcome to reddit|log ?in)[^<]{0,200}<\/title>/i
const LOGIN_FORM = /<form\b[^<>]{0,500}\baction="?[^<">]{0,300}\/login\b/i
const PASSWORD_FIELD = /<input\b[^<>]{0,500}\btype="?password\b/i

/** The page that is served to a session that has died. */
export function isLoginPage(body: string): boolean {
  if (isHumanCheck(body)) return false
  const page = beginning(body)
  return LOGIN_TITLE.test(page) || (LOGIN_FORM.test(page) && PASSWORD_FIELD.test(page))
}
