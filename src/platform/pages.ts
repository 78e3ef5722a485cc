// The pages that come where JSON was asked for. They are recognised to be reported, never to be got past.

/** Whether an answer is a page, whatever it calls itself. */
export const isHtml = (content_type: string | null, body: string): boolean =>
  /\bhtml\b/i.test(content_type ?? '') || /^\s*</.test(body)

const HUMAN_CHECK =
  /prove your humanity|please wait for verification|name="?(?:js_challenge|jsc_orig_r)\b/i

/** A page that wants to see a person, or a browser that does sums. */
export const isHumanCheck = (body: string): boolean => HUMAN_CHECK.test(body)

const LOGIN_TITLE = /<title>[^<]*(?:welcome to reddit|log ?in)[^<]*<\/title>/i
const LOGIN_FORM = /<form\b[^>]*\baction="?[^">]*\/login\b/i
const PASSWORD_FIELD = /<input\b[^>]*\btype="?password\b/i

/** The page that is served to a session that has died. */
export function isLoginPage(body: string): boolean {
  if (isHumanCheck(body)) return false
  return LOGIN_TITLE.test(body) || (LOGIN_FORM.test(body) && PASSWORD_FIELD.test(body))
}
