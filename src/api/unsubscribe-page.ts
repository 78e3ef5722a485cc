import { escapeMarkup as html } from '../core/markup.ts'

const CSP =
  "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

/** A page for a reader of mail: one sentence, and with `button` a form that sends itself to where the page came from. */
export function readerPage(
  sentence: string,
  { status = 200, button }: { status?: number; button?: string } = {},
): Response {
  const form =
    button === undefined
      ? ''
      : `\n<form method="post"><button type="submit">${html(button)}</button></form>`
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Alerts by mail</title>
<style>:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:3rem auto;padding:0 1rem}button{font:inherit;padding:.5rem 1rem}</style>
</head>
<body>
<p>${html(sentence)}</p>${form}
</body>
</html>
`
  return new Response(page, {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': CSP,
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    },
  })
}
