import { expect, test } from 'bun:test'

import { json, startTestApi } from '../support/test-api.ts'
import { cookieOf, page } from './dashboard-fixture.ts'

const OWN = { 'sec-fetch-site': 'same-origin', authorization: '' }

/** Calls of each kind; returns the lines of the access log without their times. */
async function linesOf(access: boolean) {
  await using daemon = startTestApi({ page, access_log: () => access })
  await daemon.call('/api/forum/search?q=secret-word')
  await daemon.call('/api/forum/search')
  await daemon.call('/nothing/secret-path', { headers: { authorization: '' } })
  await daemon.call('/account/me', { headers: { authorization: 'Bearer fk_wrong' } })
  const cookie = cookieOf(await daemon.call('/dashboard/session', json({ key: daemon.token }, OWN)))
  await daemon.call('/dashboard/api/account/me', { headers: { ...OWN, cookie } })
  // The line of a request follows its answer.
  await Bun.sleep(20)
  const lines = daemon.log.filter(([, event]) => event === 'http.request')
  const key = daemon.db.query<{ id: string }, []>('SELECT id FROM api_keys').get()?.id
  return { key, text: JSON.stringify(lines), fields: lines.map(([, , fields = {}]) => fields) }
}

test('the access log has one line for each request, with the pattern of its route', async () => {
  const { key, fields, text } = await linesOf(true)

  expect(
    fields.map(({ method, route, status, key_id }) => [method, route, status, key_id ?? null]),
  ).toEqual([
    ['GET', '/api/forum/search', 200, key ?? ''],
    ['GET', '/api/forum/search', 400, key ?? ''],
    ['GET', 'none', 404, null],
    ['GET', '/account/me', 403, null],
    ['POST', '/dashboard/session', 200, null],
    ['GET', '/dashboard/api/*', 200, key ?? ''],
  ])
  for (const { duration_ms } of fields) expect(duration_ms).toBeNumber()
  expect(text).not.toContain('secret')
})

test('without the setting there is no line', async () => {
  expect((await linesOf(false)).fields).toEqual([])
})
