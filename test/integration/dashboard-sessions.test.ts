import { expect, test } from 'bun:test'

import { json, startTestApi } from '../support/test-api.ts'
import { cookieOf, page } from './dashboard-fixture.ts'

const OWN = { 'sec-fetch-site': 'same-origin', authorization: '' }
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'
const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36'

/** A daemon behind a trusted proxy, and browsers that reach it. */
function start() {
  const daemon = startTestApi({ page, trusted_proxies: ['127.0.0.1'] })
  const signIn = async (key: string, user_agent: string, address: string) => {
    const from = { ...OWN, 'user-agent': user_agent, 'x-forwarded-for': address }
    return cookieOf(await daemon.call('/dashboard/session', json({ key }, from)))
  }
  const list = async (cookie: string) => {
    const answer = await daemon.call('/dashboard/session/list', { headers: { ...OWN, cookie } })
    return { status: answer.status, sessions: Array.from(Object(answer.body['sessions'] ?? [])) }
  }
  const end = (cookie: string, body: object) =>
    daemon.call('/dashboard/session/end', json(body, { ...OWN, cookie }))
  return { daemon, signIn, list, end }
}

test('the sessions of a key are listed with browser and address, the last used first', async () => {
  const { daemon, signIn, list } = start()
  await using _ = daemon
  const first = await signIn(daemon.token, FIREFOX, '203.0.113.7')
  await daemon.clock.advance(5000)
  await signIn(daemon.token, CHROME, '203.0.113.8')
  await signIn(daemon.newKey(), CHROME, '203.0.113.9')
  await signIn(daemon.newKey({ operator: true }), CHROME, '203.0.113.10')
  const { sessions } = await list(first)

  expect(sessions).toEqual([
    {
      id: expect.stringMatching(/^[0-9a-f]{16}$/),
      current: false,
      browser: 'Chrome 131 on Windows',
      address: '203.0.113.8',
      created_at: expect.any(String),
      last_used_at: expect.any(String),
    },
    expect.objectContaining({
      current: true,
      browser: 'Firefox 128 on Linux',
      address: '203.0.113.7',
    }),
  ])
  expect(JSON.stringify(sessions)).not.toContain(first.slice('forumd='.length))
})

test('a session is ended by its id, and only by its own key', async () => {
  const { daemon, signIn, list, end } = start()
  await using _ = daemon
  const kept = await signIn(daemon.token, FIREFOX, '203.0.113.7')
  const ended = await signIn(daemon.token, CHROME, '203.0.113.8')
  const stranger = await signIn(daemon.newKey(), CHROME, '203.0.113.9')
  const { sessions } = await list(ended)
  const { id } = Object(sessions.find((it) => Object(it).current))

  expect((await end(stranger, { id })).status).toBe(404)
  expect((await list(ended)).status).toBe(200)
  const answer = await end(kept, { id })
  expect([answer.status, answer.body]).toEqual([200, { ended: 1 }])
  expect((await list(ended)).status).toBe(401)
  expect((await list(kept)).sessions).toHaveLength(1)
  expect((await end(kept, { id })).status).toBe(404)
})

test('all other sessions of the key end at once, with its unused sign-in links', async () => {
  const { daemon, signIn, list, end } = start()
  await using _ = daemon
  const kept = await signIn(daemon.token, FIREFOX, '203.0.113.7')
  const others = [
    await signIn(daemon.token, CHROME, '203.0.113.8'),
    await signIn(daemon.token, CHROME, '203.0.113.8'),
  ]
  const stranger = await signIn(daemon.newKey(), CHROME, '203.0.113.9')
  const links = 'SELECT key_id FROM sign_in_links'
  daemon.db.run(
    `INSERT INTO sign_in_links SELECT randomblob(32), id, ${Number.MAX_SAFE_INTEGER} FROM api_keys`,
  )
  const before = daemon.db.query(links).all()
  const answer = await end(kept, { others: true })

  expect(answer.body).toEqual({ ended: 2 })
  expect(daemon.db.query(links).all()).toHaveLength(before.length - 1)
  for (const cookie of others) expect((await list(cookie)).status).toBe(401)
  for (const cookie of [kept, stranger]) expect((await list(cookie)).status).toBe(200)
})

test.each([
  ['neither', {}, 'id'],
  ['both', { id: '0'.repeat(16), others: true }, 'id'],
  ['a short id', { id: 'ab' }, 'id'],
  ['a number', { id: 7 }, 'id'],
  ['others false', { others: false }, 'others'],
  ['something besides', { others: true, all: true }, 'all'],
])('ending with %s is refused', async (_, body, field) => {
  const { daemon, signIn, list, end } = start()
  await using __ = daemon
  const cookie = await signIn(daemon.token, FIREFOX, '203.0.113.7')
  await signIn(daemon.token, FIREFOX, '203.0.113.7')
  const answer = await end(cookie, body)

  expect([answer.status, answer.body['field']]).toEqual([400, field])
  expect((await list(cookie)).sessions).toHaveLength(2)
})

test('a request with two sessions has none: one of them may be planted', async () => {
  const { daemon, signIn, list } = start()
  await using _ = daemon
  const own = await signIn(daemon.token, FIREFOX, '203.0.113.7')
  const planted = await signIn(daemon.newKey(), FIREFOX, '203.0.113.8')

  expect((await list(`${own}; ${planted}`)).status).toBe(401)
})

test('the list needs a session, and another site may not end one', async () => {
  const { daemon, signIn, list } = start()
  await using _ = daemon
  expect((await list('')).status).toBe(401)
  expect((await list('forumd=guess')).status).toBe(401)
  const cookie = await signIn(daemon.token, FIREFOX, '203.0.113.7')
  const sent = json({ others: true }, { ...OWN, cookie, 'sec-fetch-site': 'cross-site' })
  expect((await daemon.call('/dashboard/session/end', sent)).status).toBe(403)
})
