import { expect, test } from 'bun:test'

import { insertSignInLink, LINK_VALID_MS } from '../../src/store/customers/web-sessions.ts'
import { LIMITS } from '../support/app-options.ts'
import { json, startTestApi } from '../support/test-api.ts'
import { cookieOf, page } from './dashboard-fixture.ts'

const OWN = { 'sec-fetch-site': 'same-origin', authorization: '' }

/** A link for this key, as the command line makes it. */
function linkFor({ db, clock }: ReturnType<typeof startTestApi>, token: string) {
  const link = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('base64url')
  const key = db.query<{ id: string }, [string]>('SELECT id FROM api_keys WHERE prefix = ?')
  insertSignInLink(db, { token: link, key_id: key.get(token.slice(0, 8))?.id ?? '' }, clock.now())
  return link
}

test('a sign-in link signs in once, as its key', async () => {
  await using daemon = startTestApi({ page })
  const link = linkFor(daemon, daemon.token)
  const use = () => daemon.call('/dashboard/session', json({ link }, OWN))
  const [first, second] = [await use(), await use()]

  expect([first.status, first.body['role']]).toEqual([200, 'customer'])
  expect(
    (await daemon.call('/dashboard/session', { headers: { ...OWN, cookie: cookieOf(first) } }))
      .status,
  ).toBe(200)
  expect([second.status, second.body['code'], second.body['field']]).toEqual([
    403,
    'invalid_token',
    'link',
  ])
  expect(second.headers.get('set-cookie')).toBeNull()
  expect(JSON.stringify(daemon.log)).not.toContain(link)
})

test('two uses of a sign-in link at the same time give one session', async () => {
  await using daemon = startTestApi({ page })
  const link = linkFor(daemon, daemon.token)
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => daemon.call('/dashboard/session', json({ link }, OWN))),
  )

  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
    200, 403, 403, 403, 403,
  ])
})

test('a sign-in link is valid for 15 minutes, and while its key is', async () => {
  await using daemon = startTestApi({ page })
  const use = async (link: string) =>
    (await daemon.call('/dashboard/session', json({ link }, OWN))).status
  const [late, in_time] = [linkFor(daemon, daemon.token), linkFor(daemon, daemon.token)]
  await daemon.clock.advance(LINK_VALID_MS - 1)
  expect(await use(in_time)).toBe(200)
  await daemon.clock.advance(1)
  expect(await use(late)).toBe(403)

  const other = daemon.newKey()
  const link = linkFor(daemon, other)
  daemon.revoke(other)
  expect(await use(link)).toBe(403)
})

test('a sign-in link is stored as a hash, the five newest of a key', async () => {
  await using daemon = startTestApi({ page })
  const links: string[] = []
  for (let count = 0; count < 6; count++) {
    links.push(linkFor(daemon, daemon.token))
    await daemon.clock.advance(1000)
  }
  const rows = daemon.db.query<{ hash: Uint8Array }, []>('SELECT hash FROM sign_in_links').all()

  expect(rows.map(({ hash }) => Buffer.from(hash).toString('hex')).toSorted()).toEqual(
    links
      .slice(1)
      .map((it) => new Bun.CryptoHasher('sha256').update(it).digest('hex'))
      .toSorted(),
  )
})

test.each([
  ['another site', { 'sec-fetch-site': 'cross-site' }, 403],
  ['a page of another name', { origin: 'https://forum.example' }, 403],
])('a sign-in link is not used by %s', async (_, headers, status) => {
  await using daemon = startTestApi({ page })
  const link = linkFor(daemon, daemon.token)
  const refused = await daemon.call('/dashboard/session', json({ link }, { ...OWN, ...headers }))

  expect([refused.status, refused.body['reason']]).toEqual([status, 'cross_site'])
  expect((await daemon.call('/dashboard/session', json({ link }, OWN))).status).toBe(200)
})

test('guesses of sign-in links count as failed sign-ins', async () => {
  await using daemon = startTestApi({ page, limits: { ...LIMITS, failed_auth_per_minute: 2 } })
  const guess = (character: string) =>
    daemon.call('/dashboard/session', json({ link: character.repeat(22) }, OWN))
  const statuses = [await guess('a'), await guess('b'), await guess('c')].map((it) => it.status)

  expect(statuses).toEqual([403, 403, 429])
})

test('/ leads a browser to the dashboard and a program to the documents', async () => {
  await using daemon = startTestApi({ page })
  const at = (accept: string) =>
    daemon.call('/', { headers: { accept, authorization: '' }, redirect: 'manual' })
  const browser = await at('text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8')
  const program = await at('*/*')

  expect([browser.status, browser.headers.get('location')]).toEqual([303, '/dashboard'])
  expect([program.status, program.body]).toEqual([
    200,
    {
      name: 'forumd',
      version: expect.any(String),
      docs: '/docs',
      openapi: '/openapi.json',
      dashboard: '/dashboard',
      health: '/health',
    },
  ])
  expect([browser, program].map(({ headers }) => headers.get('vary'))).toEqual(['accept', 'accept'])
})
