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
<div id="reference"></div>
<script src="/docs/reference.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`

// Test calls go to the origin of the page: its policy permits no other.
const START = `Scalar.createApiReference('#reference', {
  url: '/openapi.json',
  servers: [{ url: location.origin }],
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
  headers['referrer-policy'] = 'no-referrer'
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
