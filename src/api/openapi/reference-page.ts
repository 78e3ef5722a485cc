import { Elysia } from 'elysia'
import * as z from 'zod'

import { once } from '../../core/base/lazy.ts'
import { markShared } from '../http/response.ts'

// No other origin: page, script and data come from this service, as the policy enforces.
const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const pageOf = (title: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${Bun.escapeHTML(title)}</title>
<link rel="icon" href="data:,">
</head>
<body>
<noscript>This page needs JavaScript. All that it shows is in <a href="/openapi.json">/openapi.json</a>.</noscript>
<header><a href="/dashboard">Dashboard</a> <a href="/docs/operations">Operations</a> <a href="/openapi.json">OpenAPI document</a></header>
<div id="reference"></div>
<script src="/docs/reference.js"></script>
<script type="module" src="/docs/start.js"></script>
</body>
</html>
`

// Test calls go to the origin of the page: its policy permits no other. If the browser is signed in to the dashboard, a
// call without a key goes through the dashboard's API, which adds that key: the page never receives it. The observer and
// the style make up for names and contrasts that the library leaves out.
const START = `const signed_in = await fetch('/dashboard/session').then((answer) => answer.ok, () => false)

async function send(input, init) {
  const request = new Request(input, init)
  const { pathname, search, origin } = new URL(request.url)
  const key = (request.headers.get('authorization') ?? '').replace(/^Bearer\\s*/i, '')
  if (origin !== location.origin || pathname === '/openapi.json' || key !== '') return fetch(request)
  const { method, headers, signal } = request
  const body = ['GET', 'HEAD'].includes(method) ? undefined : await request.blob()
  return fetch('/dashboard/api' + pathname + search, { method, headers, body, signal })
}

function nameControls() {
  for (const it of document.querySelectorAll('button[class*=copy-button]:not([aria-label])'))
    it.setAttribute('aria-label', 'Copy')
  for (const it of document.querySelectorAll('.show-more[aria-label]')) it.removeAttribute('aria-label')
  // Every card of an operation is a region of the same name.
  for (const it of document.querySelectorAll('.scalar-card[role=region]'))
    for (const name of ['role', 'aria-label', 'aria-labelledby']) it.removeAttribute(name)
}
new MutationObserver(nameControls).observe(document.body, { childList: true, subtree: true })

Scalar.createApiReference('#reference', {
  url: '/openapi.json',
  servers: [
    {
      url: location.origin,
      description: signed_in
        ? 'Uses the key that is signed in to the dashboard, unless another is entered.'
        : 'Needs an API key, or sign in to the dashboard first.',
    },
  ],
  ...(signed_in && { customFetch: send }),
  customCss: \`
    :root { --scalar-custom-header-height: 2.5rem; }
    body > header {
      position: sticky; top: 0; z-index: 1000; box-sizing: border-box;
      display: flex; align-items: center; gap: 1.25rem; height: 2.5rem; padding: 0 1rem;
      border-bottom: 1px solid var(--scalar-border-color); background: var(--scalar-background-1);
      font: 0.875rem var(--scalar-font);
    }
    body > header a { color: var(--scalar-color-1); }
    .light-mode {
      --scalar-color-2: #555; --scalar-color-3: #666;
      --scalar-color-blue: #0067a8; --scalar-color-green: #00663f; --scalar-color-orange: #a34a00;
    }
    .dark-mode { --scalar-color-2: #bbb; --scalar-color-3: #a0a0a0; }
    /* A section that a link leads to gets the focus, and takes no key. */
    [tabindex='-1']:focus-visible { outline: none; }\`,
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
})
`

/** Path of the reference's script, loaded on demand: it has up to four megabytes. */
async function referenceScript(): Promise<string> {
  const { default: path } = await import(
    '../../../node_modules/@scalar/api-reference/dist/browser/standalone.js',
    { with: { type: 'file' } }
  )
  return path
}

const page = (headers: Record<string, string | number>, type: string) => {
  headers['content-type'] = `${type}; charset=utf-8`
  headers['content-security-policy'] = CSP
  // The calls of the dashboard's session may be recognised by their referrer alone.
  headers['referrer-policy'] = 'same-origin'
}

const title_shape = once(() => z.object({ info: z.object({ title: z.string() }) }))

/** `/docs`, the API reference, `/docs/operations`, the runbook, and `/openapi.json`, the document. */
export function docs(document: () => Promise<unknown>) {
  // Public and expensive: created once, at the first call, and sent as the same bytes afterwards.
  const documentOnce = once(async () => {
    const made = await document()
    if (typeof made === 'object' && made !== null) markShared(made)
    return made
  })
  return new Elysia({ name: 'docs', detail: { hide: true } })
    .get('/openapi.json', () => documentOnce())
    .get('/docs', async ({ set }) => {
      page(set.headers, 'text/html')
      return pageOf(title_shape().parse(await documentOnce()).info.title)
    })
    .get('/docs/operations', async ({ set }) => {
      page(set.headers, 'text/html')
      return (await import('./operations-page.ts')).operationsPage()
    })
    .get('/docs/start.js', ({ set }) => {
      page(set.headers, 'text/javascript')
      return START
    })
    .get('/docs/reference.js', async ({ set }) => {
      page(set.headers, 'text/javascript')
      set.headers['cache-control'] = 'public, max-age=86400'
      // In a Response: Elysia would answer a plain file as a range of itself.
      return new Response(Bun.file(await referenceScript()))
    })
}
