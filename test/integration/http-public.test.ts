import { expect, test } from 'bun:test'

import { startTestApi } from '../support/test-api.ts'

const NO_KEY = { headers: { authorization: '' } }

test('health is answered without a key, and cached for ten seconds', async () => {
  let trouble: string | null = null
  await using daemon = startTestApi({ trouble: () => trouble })
  expect((await daemon.call('/health', NO_KEY)).body).toEqual({ ok: true, reads: 'unknown' })

  trouble = 'starting'
  for (let n = 0; n < 5; n += 1) daemon.reads_health.record(null)
  expect((await daemon.call('/health', NO_KEY)).body).toEqual({ ok: true, reads: 'unknown' })
  await daemon.clock.advance(10_000)
  const later = await daemon.call('/health', NO_KEY)
  expect([later.status, later.body]).toEqual([200, { ok: false, reads: 'ok' }])
})

test('readiness is 503 while the daemon does not serve', async () => {
  let trouble: string | null = 'storage'
  await using daemon = startTestApi({ trouble: () => trouble })
  const before = await daemon.call('/health/ready', NO_KEY)
  trouble = null

  expect([before.status, before.body]).toEqual([503, { ready: false, reason: 'storage' }])
  expect((await daemon.call('/health/ready', NO_KEY)).body).toEqual({ ready: true })
})

test('metrics are limited to this machine, unless a proxy forwards the request', async () => {
  await using daemon = startTestApi()
  await daemon.call('/api/forum/search?q=cats')
  const answer = await daemon.call('/metrics', NO_KEY)

  expect(answer.headers.get('content-type')).toStartWith('text/plain; version=0.0.4')
  expect(answer.text).toContain(
    'forumd_http_requests_total{method="GET",route="/api/forum/search",status="200"} 1\n',
  )
  expect(answer.text).toContain('# TYPE forumd_http_request_seconds histogram')
  const forwarded = { headers: { authorization: '', 'x-forwarded-for': '203.0.113.9' } }
  expect((await daemon.call('/metrics', forwarded)).status).toBe(404)
})

test('metrics with a token require it', async () => {
  await using daemon = startTestApi({ metrics_token: 'a-token' })
  const status = async (authorization: string) =>
    (await daemon.call('/metrics', { headers: { authorization } })).status

  expect([await status(''), await status('Bearer other'), await status('Bearer a-token')]).toEqual([
    401, 403, 200,
  ])
})

test.each(['', 'a-token'])(
  'metrics are refused to pages of other sites, and under foreign host names (token %p)',
  async (metrics_token) => {
    await using daemon = startTestApi({ metrics_token, hosts: ['scrape.internal'] })
    const ask = async (headers: Record<string, string>, method = 'GET') => {
      const authorization = metrics_token === '' ? '' : `Bearer ${metrics_token}`
      const response = await daemon.call('/metrics', {
        method,
        headers: { authorization, ...headers },
      })
      expect(response.headers.get('access-control-allow-origin')).toBeNull()
      return response.status
    }
    const { port } = new URL(daemon.url)

    expect(await ask({})).toBe(200)
    expect(await ask({ host: `localhost:${port}` })).toBe(200)
    expect(await ask({ host: 'scrape.internal:9090' })).toBe(200)
    expect(await ask({ host: 'api.forum.example' })).toBe(200)
    expect(await ask({ host: `rebound.attacker.example:${port}` })).toBe(421)
    expect(await ask({ origin: 'https://attacker.example' })).toBe(403)
    expect(await ask({ origin: 'null' })).toBe(403)
    expect(await ask({ origin: 'https://attacker.example' }, 'OPTIONS')).not.toBe(204)
  },
)

test('the document lists the routes', async () => {
  await using daemon = startTestApi()
  const { body } = await daemon.call('/openapi.json', NO_KEY)

  expect(body).toMatchObject({
    openapi: '3.1.0',
    info: { version: '1.0.0' },
    servers: [{ url: 'https://api.forum.example' }],
    security: [{ bearer: [] }],
    components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
    paths: {
      '/health': { get: { security: [] } },
      '/api/forum/user/{name}': {
        get: {
          parameters: [
            { name: 'name', in: 'path', required: true },
            { name: 'source', in: 'query', required: false },
          ],
        },
      },
      '/api/forum/search': {
        get: {
          operationId: 'search',
          tags: ['Reads'],
          parameters: expect.arrayContaining(
            [
              { name: 'q', in: 'query', required: true },
              {
                name: 'sort',
                schema: { type: 'string', enum: ['relevance', 'new'], default: 'relevance' },
              },
              {
                name: 'limit',
                required: false,
                schema: { type: 'integer', format: 'int64', minimum: 1, maximum: 100, default: 25 },
              },
            ].map((parameter) => expect.objectContaining(parameter)),
          ),
          responses: {
            200: {
              headers: {
                'X-Credits-Remaining': { $ref: '#/components/headers/X-Credits-Remaining' },
              },
              content: { 'application/json': { example: { posts: [{}] } } },
            },
            400: {},
            401: {},
            402: {},
            403: {},
            404: {},
            408: {},
            429: {},
            500: {},
            502: {},
            503: {},
          },
        },
      },
      '/api/forum/comments/verify': {
        post: {
          requestBody: {
            content: {
              'application/json': { schema: { required: ['ids'], additionalProperties: false } },
            },
          },
        },
      },
    },
  })
  expect(Object.keys(body['paths'] ?? {})).not.toContain('/docs')
})

test('operation names are unique', async () => {
  await using daemon = startTestApi()
  const { text } = await daemon.call('/openapi.json', NO_KEY)
  const names = [...text.matchAll(/"operationId":"([^"]+)"/g)].map(([, name]) => name)

  expect(new Set(names).size).toBe(names.length)
  expect(names.length).toBeGreaterThan(8)
})

test('the runbook is a page with an anchor for each section', async () => {
  await using daemon = startTestApi()
  const { status, headers, text } = await daemon.call('/docs/operations', NO_KEY)

  expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  expect(headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(text).toContain('<h3 id="file-descriptors">File descriptors</h3>')
  expect(text).not.toMatch(/href="[^"]*\.md/)
})

test('the API reference loads nothing from another host', async () => {
  await using daemon = startTestApi()
  const page = await daemon.call('/docs', NO_KEY)
  const script = await daemon.call('/docs/reference.js', NO_KEY)

  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(page.text).not.toMatch(/https?:/)
  // Without scripts, a reader gets a link to the document.
  expect(page.text).toMatch(/<noscript>.*\/openapi\.json/)
  for (const [, src = ''] of page.text.matchAll(/src="([^"]+)"/g))
    expect((await daemon.call(src, NO_KEY)).status).toBe(200)
  expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
  expect(script.text).toContain('createApiReference')
})
