import { escapeHtml } from '../server/response.ts'

// HTML pages that the platform serves in place of the requested content. The phrases that a
// classifier matches are the platform's; the rest is invented.

const html = (title: string, body: string) =>
  `<!doctype html>\n<html lang="en">\n  <head>\n    <meta charset="utf-8">\n    <title>${escapeHtml(title)}</title>\n    <link rel="icon" href="data:,">\n  </head>\n  <body>\n${body}\n  </body>\n</html>\n`

/**
 * 403, the modern block page: as long as the real one, because clients also recognise it by size.
 */
export const blockedPage = (): string =>
  html(
    'Blocked',
    `    <h1>whoa there, pardner!</h1>\n    <p>You've been blocked by network security.</p>\n    <p>To continue, log in to your Reddit account or use your developer token. If you think you've been blocked by mistake, file a ticket below and we'll look into it.</p>\n    <!--${' '.repeat(4_096)}-->`,
  )

/** 200, an interstitial that requires a script. */
export const challengePage = (): string =>
  html(
    'Reddit - Please wait for verification',
    '    <p>Please wait for verification</p>\n    <form method="GET">\n      <input type="hidden" name="solution" value="">\n      <input type="hidden" name="js_challenge" value="1">\n      <input type="hidden" name="token" value="c2FuZGJveA">\n      <input type="hidden" name="jsc_orig_r" value="">\n    </form>',
  )

/** 200, in place of content that requires a session. */
export const loginPage = (csrf_token = ''): string =>
  html(
    'Welcome to Reddit',
    `    <form id="login" method="post" action="/svc/shreddit/account/login">\n      <input name="username" autocomplete="username">\n      <input name="password" type="password">\n      <input name="csrf_token" type="hidden" value="${escapeHtml(csrf_token)}">\n      <button type="submit">Log In</button>\n    </form>`,
  )

/** 429. */
export const tooManyPage = (seconds: number): string =>
  html(
    'Too Many Requests',
    `    <h1>whoa there, pardner!</h1>\n    <p>we're sorry, but you appear to be a bot and we've seen too many requests from you lately.</p>\n    <p>please wait ${seconds} second(s) and try again.</p>`,
  )

/** 5xx. */
export const failurePage = (status: number): string =>
  html(
    'Ow! -- reddit.com',
    `    <p>Our CDN was unable to reach our servers</p>\n    <p>error ${status}</p>`,
  )

/** 404 for an invalid name, and pages whose content is irrelevant. */
export const shellPage = (title: string, body = '', logged_in = false): string =>
  html(title, `    <shreddit-app user-logged-in="${logged_in}"></shreddit-app>\n${body}`)
