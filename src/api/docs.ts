import { Elysia } from 'elysia'
import * as z from 'zod'

import { once } from '../core/once.ts'

// Nothing is asked of another host: the page, its script and its data come from here, and its policy says so.
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

// Calls are tried out where the page came from: its policy lets it ask nobody else, whatever the service's own address.
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

/** Where the reference's script is kept: a megabyte or four that nobody loads who does not read the page. */
async function referenceScript(): Promise<string> {
  const { default: path } = await import(
    '../../node_modules/@scalar/api-reference/dist/browser/standalone.js',
    { with: { type: 'file' } }
  )
  return path
}

const page = (headers: Record<string, string | number>, type: string) => {
  headers['content-type'] = `${type}; charset=utf-8`
  headers['content-security-policy'] = CSP
  headers['referrer-policy'] = 'no-referrer'
}

const titled = once(() => z.object({ info: z.object({ title: z.string() }) }))

/** `/docs`, the reference for people, and `/openapi.json`, the same for machines. */
export function docs(document: () => Promise<unknown>) {
  // Anybody may ask for it, and it is a lot of work: done once, at the first call.
  const known = once(document)
  return new Elysia({ name: 'docs', detail: { hide: true } })
    .get('/openapi.json', () => known())
    .get('/docs', async ({ set }) => {
      page(set.headers, 'text/html')
      return pageOf(titled().parse(await known()).info.title)
    })
    .get('/docs/start.js', ({ set }) => {
      page(set.headers, 'text/javascript')
      return START
    })
    .get('/docs/reference.js', async ({ set }) => {
      page(set.headers, 'text/javascript')
      set.headers['cache-control'] = 'public, max-age=86400'
      // In a Response of ours: Elysia would call the whole file a range of itself.
      return new Response(Bun.file(await referenceScript()))
    })
}
