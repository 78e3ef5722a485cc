import { expect, test } from 'bun:test'

import { codeAt } from '../../../sandbox/routes/login.ts'
import type { Sandbox } from '../../../sandbox/server/sandbox.ts'
import { fetchPath, NOON, open, page } from './fetch-path.ts'

const SECRET = 'JBSWY3DPEHPK3PXP'
const INSTALLED = 'https://oauth.reddit.com/grants/installed_client'

/** Platform with a bearer host, on which an application acts for ann and bea. */
async function granted() {
  const sandbox = await open({ bearer_port: 0 })
  sandbox.user({ name: 'ann', password: 'open-sesame' })
  sandbox.user({ name: 'bea', password: 'open-sesame', totp_secret: SECRET })
  return sandbox
}

const basic = (id: string, secret: string) => `Basic ${btoa(`${id}:${secret}`)}`

/** Requests a token, by default as the application of every world. */
function requestToken(sandbox: Sandbox, form: Record<string, string>, authorization?: string) {
  const { client_id, client_secret } = sandbox.overview().application ?? {}
  const basic_header = basic(client_id ?? '', client_secret ?? '')
  const headers = { authorization: authorization ?? basic_header }
  return fetchPath(sandbox, '/api/v1/access_token', { form, headers })
}

const tokenFor = async (sandbox: Sandbox, username: string): Promise<string> => {
  const form = { grant_type: 'password', username, password: 'open-sesame' }
  return (await requestToken(sandbox, form)).json.access_token
}

test('a password gives a token for a day, and the token its user, without an envelope', async () => {
  await using sandbox = await granted()

  const { json } = await requestToken(sandbox, {
    grant_type: 'password',
    username: 'ann',
    password: 'open-sesame',
  })
  const me = await fetchPath(sandbox, '/api/v1/me', { bearer: json.access_token })

  expect(json).toEqual({
    access_token: expect.stringMatching(/^eyJ/),
    token_type: 'bearer',
    expires_in: 86_400,
    scope: '*',
  })
  expect(me.json).toMatchObject({ name: 'ann', inbox_count: 0 })
  expect(me.json).not.toHaveProperty('modhash')
})

test('the code of a second factor follows the password', async () => {
  await using sandbox = await granted()
  const login = async (password: string) =>
    (await requestToken(sandbox, { grant_type: 'password', username: 'bea', password })).json

  expect(await login('open-sesame')).toEqual({ error: 'invalid_grant' })
  expect(await login(`open-sesame:${codeAt(SECRET, NOON / 1000)}`)).toMatchObject({
    token_type: 'bearer',
  })
})

test('a refresh token gives new tokens until it is revoked', async () => {
  await using sandbox = await granted()
  const { refresh_token } = sandbox.session({ username: 'ann' })
  const renew = () => requestToken(sandbox, { grant_type: 'refresh_token', refresh_token })

  const [one, other] = [await renew(), await renew()]
  expect(one.json).toMatchObject({ refresh_token, expires_in: 86_400 })
  expect(other.json.access_token).not.toBe(one.json.access_token)
  sandbox.revoke({ username: 'ann' })
  expect(await renew()).toMatchObject({ status: 400, json: { message: 'Bad Request', error: 400 } })
  expect((await fetchPath(sandbox, '/api/v1/me', { bearer: one.json.access_token })).status).toBe(
    401,
  )
})

test('an application alone reads anonymously', async () => {
  await using sandbox = await granted()
  sandbox.post({ subforum: 'cats', title: 'a cat' })
  const own = await requestToken(sandbox, { grant_type: 'client_credentials' })
  const device_id = 'DO_NOT_TRACK_THIS_DEVICE'
  const installed = await requestToken(
    sandbox,
    { grant_type: INSTALLED, device_id },
    basic('any', ''),
  )

  expect(installed.json).toMatchObject({ device_id, token_type: 'bearer' })
  for (const { json } of [own, installed]) {
    const bearer = json.access_token
    const { data } = await page(sandbox, '/r/cats/new', { bearer })
    expect(data.children.map((row) => row.data['title'])).toEqual(['a cat'])
    const me = await fetchPath(sandbox, '/api/v1/me', { bearer })
    expect(me).toMatchObject({ status: 403, json: { reason: 'USER_REQUIRED' } })
  }
})

test.each([
  ['another secret', basic('sandbox-application', 'guessed'), 401, { error: 401 }],
  ['no application', '', 401, { error: 401 }],
  ['an unknown application with a secret', basic('any', 'thing'), 401, { error: 401 }],
  ['one without a secret', basic('any', ''), 200, { error: 'unauthorized_client' }],
])('%s gets no token for a password', async (_, authorization, status, json) => {
  await using sandbox = await granted()
  const form = { grant_type: 'password', username: 'ann', password: 'open-sesame' }

  expect(await requestToken(sandbox, form, authorization)).toMatchObject({ status, json })
})

test.each([
  [{ grant_type: 'password', username: 'ann', password: 'wrong' }, 'invalid_grant'],
  [{ grant_type: INSTALLED, device_id: 'short' }, 'invalid_request'],
  [{ grant_type: 'kindness' }, 'unsupported_grant_type'],
  [{}, 'unsupported_grant_type'],
])('%j is refused with %s and status 200', async (form, error) => {
  await using sandbox = await granted()

  expect(await requestToken(sandbox, { ...form })).toMatchObject({ status: 200, json: { error } })
})

test('an invalid token is reported by status and one header only', async () => {
  await using sandbox = await granted()
  const bearer = await tokenFor(sandbox, 'ann')

  sandbox.advance(86_400)

  for (const path of ['/api/v1/me', '/r/cats/new', '/api/info?id=t3_x', '/nowhere']) {
    const { status, json, headers } = await fetchPath(sandbox, path, { bearer })
    expect([status, json]).toEqual([401, { message: 'Unauthorized', error: 401 }])
    expect(headers.get('www-authenticate')).toContain('invalid_token')
  }
  expect((await fetch(`${sandbox.bearer_url}/api/v1/me`)).status).toBe(401)
})

test('a revoked token is refused everywhere', async () => {
  await using sandbox = await granted()
  const bearer = await tokenFor(sandbox, 'ann')
  const headers = { authorization: basic('sandbox-application', 'sandbox-application-secret') }

  const gone = await fetchPath(sandbox, '/api/v1/revoke_token', {
    form: { token: bearer },
    headers,
  })

  expect([gone.status, gone.text]).toEqual([200, ''])
  expect((await fetchPath(sandbox, '/api/v1/me', { bearer })).status).toBe(401)
})

test('the bearer cookie of a session is valid on the bearer host until the session ends', async () => {
  await using sandbox = await granted()
  const [brief, usual] = [60, 3_600].map(
    (lasts_s) => sandbox.session({ username: 'ann', lasts_s }).cookies['token_v2'] ?? '',
  )
  const status = async (bearer = '') => (await fetchPath(sandbox, '/api/v1/me', { bearer })).status

  expect([await status(brief), await status(usual)]).toEqual([200, 200])
  sandbox.advance(60)
  expect([await status(brief), await status(usual)]).toEqual([401, 200])
  sandbox.revoke({ username: 'ann' })
  expect(await status(usual)).toBe(401)
})

test('a fault revokes a token for one request, or permanently after some requests', async () => {
  await using sandbox = await granted()
  const bearer = await tokenFor(sandbox, 'ann')
  const status = async () => (await fetchPath(sandbox, '/api/v1/me', { bearer })).status

  sandbox.addFault({ path: '/api/v1/me', fault: 'drop_session', times: 1 })
  expect([await status(), await status()]).toEqual([401, 200])
  sandbox.addFault({ path: '/api/v1/me', fault: 'revoke_after_n', count: 2 })
  expect([await status(), await status(), await status()]).toEqual([200, 200, 401])
})

test('the bearer host has no modhash and no .json, and its remaining budget is a float', async () => {
  await using sandbox = await granted()
  sandbox.post({ subforum: 'cats', title: 'a cat' })
  const bearer = await tokenFor(sandbox, 'ann')

  const { json, headers } = await fetchPath(sandbox, '/r/cats/new/', { bearer })

  expect(json.data).toMatchObject({ modhash: null, dist: 1 })
  expect(headers.get('x-ratelimit-remaining')).toBe('999.0')
  expect(headers.get('x-ratelimit-used')).toBe('1')
  expect(await fetchPath(sandbox, '/nowhere/at/all', { bearer })).toMatchObject({
    status: 404,
    json: { message: 'Not Found', error: 404 },
  })
})

test('a bearer writes without a write token', async () => {
  await using sandbox = await granted()
  const { name } = sandbox.post({ subforum: 'cats', title: 'a cat' })
  const bearer = await tokenFor(sandbox, 'ann')

  const { json } = await fetchPath(sandbox, '/api/comment/', {
    bearer,
    form: { api_type: 'json', thing_id: name, text: 'mine' },
  })

  expect(json.json.data.things[0]).toMatchObject({
    kind: 't1',
    data: { author: 'ann', body: 'mine', likes: true, parent_id: name },
  })
})

test('with cookies, routes of the bearer host are refused', async () => {
  await using sandbox = await granted()
  const { cookies } = sandbox.session({ username: 'ann' })
  const cookie = `reddit_session=${cookies['reddit_session']}`

  for (const path of [
    '/api/v1/me',
    '/api/v1/me/prefs',
    '/api/v1/me/karma',
    '/api/v1/cats/moderators',
  ])
    expect((await fetchPath(sandbox, path, { cookie })).status).toBe(403)
})

test('karma, preferences, friends and trophies are returned to their owner', async () => {
  await using sandbox = await granted()
  sandbox.post({ subforum: 'cats', title: 'a cat', author: 'ann', score: 40 })
  const dog = sandbox.post({ subforum: 'dogs', title: 'a dog', author: 'ann', score: 2 })
  sandbox.comment({ parent: dog.name, text: 'woof', author: 'ann', score: 3 })
  sandbox.user({ name: 'ann', blocks: ['bea'] })
  const bearer = await tokenFor(sandbox, 'ann')
  const of = async (what: string) => (await fetchPath(sandbox, `/api/v1/${what}`, { bearer })).json

  expect(await of('me/karma')).toEqual({
    kind: 'KarmaList',
    data: [
      { sr: 'cats', comment_karma: 0, link_karma: 40 },
      { sr: 'dogs', comment_karma: 3, link_karma: 2 },
    ],
  })
  expect(await of('me/prefs')).toMatchObject({ numsites: 25, accept_pms: 'everyone' })
  expect(await of('me/friends')).toEqual({ kind: 'UserList', data: { children: [] } })
  expect((await of('me/blocked')).data.children).toMatchObject([{ name: 'bea' }])
  expect((await of('user/ann/trophies')).data.trophies).toMatchObject([
    { kind: 't6', data: { name: '2-Year Club' } },
    { kind: 't6', data: { name: 'Verified Email' } },
  ])
  expect((await of('user/nobody_here/trophies')).error).toBe(404)
})

test('names under a domain select the host on one port', async () => {
  await using sandbox = await open({ domain: 'forum.test' })
  sandbox.post({ subforum: 'cats', title: 'a cat' })
  const at = async (host: string, path: string) =>
    (await fetch(`http://127.0.0.1:${sandbox.port}${path}`, { headers: { host } })).status

  expect(sandbox.url).toBe(`http://www.forum.test:${sandbox.port}`)
  expect(sandbox.bearer_url).toBe(`http://oauth.forum.test:${sandbox.port}`)
  expect(await at('www.forum.test', '/r/cats/new.json')).toBe(200)
  expect(await at('OAUTH.forum.test:8443', '/r/cats/new.json')).toBe(401)
  expect(await at('chat.forum.test', '/_matrix/client/v3/sync')).toBe(401)
})

test('links lead to the HTML pages, also on the bearer host', async () => {
  await using sandbox = await granted()
  const { permalink } = sandbox.post({ subforum: 'cats', title: 'a cat' })
  const bearer = await tokenFor(sandbox, 'ann')

  const [row] = (await page(sandbox, '/r/cats/new', { bearer })).data.children
  const elsewhere = await fetchPath(sandbox, '/r/nosuch/new', { bearer })

  expect(row?.data['url']).toBe(sandbox.url + permalink)
  expect(elsewhere.headers.get('location')).toStartWith(`${sandbox.bearer_url}/subreddits/search`)
})
