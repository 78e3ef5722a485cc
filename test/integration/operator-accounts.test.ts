import { expect, setDefaultTimeout, test } from 'bun:test'

import { DISCOURSE } from '../../sandbox/discourse/kind.ts'
import { LEMMY } from '../../sandbox/lemmy/kind.ts'
import { startSource } from '../../sandbox/sources/start.ts'
// Goal: an operator adds accounts and sources by the API as by the command line, each action is
// recorded, a refused credential is not stored, and no answer, list or record has a secret.
import { homeOf } from '../../src/config/schema.ts'
import { openSourceAccount } from '../../src/store/accounts/sources.ts'
import { SESSION_COOKIE } from '../support/accounts.ts'
import { startTestDaemon } from '../support/test-daemon.ts'
import { beside, operatorKey } from './operator-fixture.ts'

// Most tests start a daemon, and the machine may be busy.
setDefaultTimeout(30_000)

const SIMULATED = { port: 0, seed: 7, speed: 0, now: Date.now }

async function start(change: Parameters<typeof startTestDaemon>[0] = {}) {
  const daemon = await startTestDaemon({
    world: 'seeded',
    bearer: true,
    ...change,
    change(config) {
      homeOf(config)!.session_cookie = SESSION_COOKIE
      config.limits.management_per_minute = 0
      config.guard.allow_targets.push('127.0.0.1')
      config.guard.allow_http = true
      change.change?.(config)
    },
  })
  const key = operatorKey(daemon)
  const send = (path: string, init: RequestInit = {}) => daemon.call(`/operator${path}`, init, key)
  const post = (path: string, body: object = {}) =>
    send(path, { method: 'POST', body: JSON.stringify(body) })
  const pool = async () => (await send('/pool')).body.accounts
  const actions = async () =>
    (await send('/audit')).body.actions.map((it: { action: string }) => it.action)
  const everything = async () =>
    JSON.stringify(
      await Promise.all(['/pool', '/sources', '/audit'].map(async (it) => (await send(it)).body)),
    )
  const person = (guarded: boolean) => {
    const { accounts } = daemon.sandbox.overview()
    const found = accounts.find(
      ({ totp_secret, password, flags }) =>
        (totp_secret !== null) === guarded && password !== null && !flags.suspended,
    )
    if (found === undefined) throw new Error('the world has no such account')
    return found
  }
  return { daemon, key, send, post, pool, actions, everything, person }
}

test('an account signs in with password and second factor, again, and is removed', async () => {
  const { daemon, post, pool, actions, everything, person } = await start()
  await using _ = daemon
  const { username, password, totp_secret } = person(true)
  const account = { name: 'guarded', username, password }

  const lacking = await post('/accounts', account)
  const wrong = await post('/accounts', { ...account, password: 'secret-canary', totp_secret })
  expect([lacking.status, lacking.body.field]).toEqual([400, 'totp_secret'])
  expect([wrong.status, wrong.body.field]).toEqual([400, 'password'])
  expect(await pool()).toEqual([])

  const added = await post('/accounts', { ...account, totp_secret })
  const { id, ...row } = added.body
  expect(row).toEqual({
    name: 'guarded',
    username,
    status: 'ready',
    reason: null,
    verdict: null,
    remark: null,
  })
  expect((await daemon.call('/api/forum/posts?subforum=coffee&limit=1')).status).toBe(200)
  expect(daemon.sandbox.requests.at(-1)?.user).toBe(username)

  // The next code of the second factor: each is accepted once.
  await daemon.clock.advance(60_000)
  daemon.sandbox.revoke({ username })
  const refused = await post(`/accounts/${id}/login`, { password: 'secret-canary' })
  expect([refused.status, refused.body.field]).toEqual([400, 'password'])
  const again = await post(`/accounts/${id}/login`)
  expect(again.body).toMatchObject({ id, username, status: 'ready' })
  await daemon.call('/api/forum/posts?subforum=coffee&limit=2')
  expect(daemon.sandbox.requests.at(-1)?.user).toBe(username)

  const seen = (await everything()) + JSON.stringify([added.body, wrong.body, refused.body])
  for (const secret of [password ?? '', totp_secret ?? '', 'secret-canary'])
    expect(seen).not.toContain(secret)

  expect((await post(`/accounts/${id}/remove`)).body).toEqual({
    id,
    name: 'guarded',
    removed: true,
  })
  expect(await pool()).toEqual([])
  expect((await post(`/accounts/${id}/remove`)).status).toBe(404)
  expect(await actions()).toEqual(['account.removed', 'account.signed_in', 'account.added'])
})

test('two sign-ins of one account do not run at the same time', async () => {
  const { daemon, post, person } = await start()
  await using _ = daemon
  const { username, password } = person(false)
  const account = { name: 'twice', username, password }
  const answers = await Promise.all([post('/accounts', account), post('/accounts', account)])

  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409])
})

test('an OAuth application is added with its refresh token, and its tokens are renewed', async () => {
  const { daemon, post, pool, everything, person } = await start()
  await using _ = daemon
  const { application } = daemon.sandbox.overview()
  const { username, refresh_token } = daemon.sandbox.session({ username: person(false).username })
  const app = { name: 'app', kind: 'oauth', client_id: application?.client_id, refresh_token }
  const wrong = await post('/accounts', { ...app, client_secret: 'secret-canary' })
  const added = await post('/accounts', { ...app, client_secret: application?.client_secret })

  expect([wrong.status, wrong.body.field]).toEqual([400, 'client_secret'])
  expect(added.body).toMatchObject({ name: 'app', username, status: 'ready', verdict: 'alive' })
  expect(await pool()).toMatchObject([{ name: 'app', kind: 'oauth', status: 'ready' }])
  expect((await post(`/accounts/${added.body.id}/login`, { jar: 'a=b' })).body.field).toBe('jar')
  const seen = (await everything()) + JSON.stringify([added.body, wrong.body])
  for (const secret of [refresh_token, application?.client_secret ?? '', 'secret-canary'])
    expect(seen).not.toContain(secret)
})

test('a source is read as soon as it is added, until it is removed', async () => {
  const { daemon, send, post, actions } = await start()
  await using _ = daemon
  await using site = await startSource(LEMMY, {
    ...SIMULATED,
    world: 'seeded',
    now: () => daemon.clock.now(),
  })
  const member = site.world.persons.find((it) => it.password !== null && it.totp_secret === null)
  const list = async () => (await send('/sources')).body
  const all = await daemon.call('/forum/monitor/add', {
    method: 'POST',
    body: JSON.stringify({ filter_spec: { source: 'all', kind: 'post', include_any: ['tea'] } }),
  })
  expect(all.status).toBe(200)
  const added = await post('/sources', { name: 'lem', kind: 'lemmy', base_url: site.url })
  const again = await post('/sources', { name: 'lem', kind: 'lemmy', base_url: site.url })
  expect(added.body).toMatchObject({
    name: 'lem',
    kind: 'lemmy',
    base_url: site.url,
    needs_restart: false,
    tested: { fault: null },
  })
  expect([again.status, again.body.field]).toEqual([400, 'name'])
  expect((await list()).waiting).toEqual([])
  expect((await list()).sources[1]).toMatchObject({
    name: 'lem',
    feeds: 1,
    origin: 'added',
    account_by: 'password',
    account_at: null,
  })
  const read = await daemon.call('/api/forum/posts?source=lem&subforum=all&limit=1')
  expect([read.status, read.body.posts?.length]).toEqual([200, 1])
  expect((await post('/sources/lem/test')).body).toMatchObject({ ok: true, fault: null })
  expect((await list()).sources[0].origin).toBe('file')

  const ada = { username: member?.name, password: member?.password }
  const wrong = await post('/sources/lem/account', { ...ada, password: 'wrong' })
  expect([wrong.status, wrong.body.field]).toEqual([400, 'password'])
  expect((await post('/sources/lem/account', ada)).body).toEqual({ source: 'lem', connected: true })
  expect((await list()).sources[1].account_at).not.toBeNull()
  expect(beside(daemon, ({ db, ring }) => openSourceAccount(db, ring, 'lem'))).toMatch(/^\S{20,}/)
  expect((await post('/sources/lem/account/remove')).body.connected).toBe(false)

  await daemon.restart()
  expect((await list()).sources[1]).toMatchObject({ name: 'lem', feeds: 1 })
  expect((await post('/sources/lem/remove')).body).toEqual({ name: 'lem', removed: true })
  expect((await list()).sources).toHaveLength(1)
  const gone = await daemon.call('/api/forum/posts?source=lem&subforum=all')
  const direct = await daemon.call('/api/forum/sources/lem/posts?subforum=all')
  expect([gone.status, gone.body.field, direct.status]).toEqual([400, 'source', 404])

  await using forum = await startSource(DISCOURSE, { ...SIMULATED, world: 'seeded' })
  const other = await post('/sources', { name: 'lem', kind: 'discourse', base_url: forum.url })
  expect(other.body.tested).toMatchObject({ fault: null })
  const of_other = await daemon.call('/api/forum/posts?source=lem&limit=1&subforum=coffee')
  expect([of_other.status, of_other.body.posts?.[0].permalink]).toEqual([
    200,
    expect.stringMatching(/^\/t\//),
  ])
  expect(await actions()).toEqual([
    'source.added',
    'source.removed',
    'source_account.removed',
    'source_account.added',
    'source.added',
  ])
})

test('a source that does not answer is refused with the reason, and added where that is asked for', async () => {
  const { daemon, send, post } = await start()
  await using _ = daemon
  using none = Bun.serve({ port: 0, fetch: () => new Response('', { status: 404 }) })
  const dead = { name: 'dead', kind: 'lemmy', base_url: `http://127.0.0.1:${none.port}` }
  const refused = await post('/sources', dead)
  expect([refused.status, refused.body.field]).toEqual([400, 'base_url'])
  expect(refused.body.error).toContain('there is no such site')
  expect((await send('/sources')).body.sources).toHaveLength(1)
  const added = await post('/sources', { ...dead, untested: true })
  expect(added.body).toMatchObject({ tested: null, needs_restart: false })
  expect((await send('/sources')).body.sources).toHaveLength(2)
})

test('a table of the file has precedence over an added source of its name', async () => {
  const { daemon, send, post } = await start()
  await using _ = daemon
  const added = { name: 'dup', kind: 'lemmy', base_url: 'http://127.0.0.1:1', untested: true }
  expect((await post('/sources', added)).status).toBe(200)
  const more = { user_agent: '', requests_per_minute: 0, api_key: '', ends_at: '' }
  daemon.config.source.push({
    ...more,
    name: 'dup',
    kind: 'hackernews',
    base_url: 'http://127.0.0.1:1',
  })
  await daemon.restart()

  expect((await send('/sources')).body.sources[1]).toMatchObject({
    name: 'dup',
    kind: 'hackernews',
    origin: 'file',
  })
  expect(daemon.events.filter(({ event }) => event === 'source.left_out')).toHaveLength(1)
})

test('a person allows access at a site, and the answer of another request is refused', async () => {
  await using forum = await startSource(DISCOURSE, { ...SIMULATED, world: 'seeded' })
  const { daemon, send, post } = await start({
    change(config) {
      const more = { user_agent: '', requests_per_minute: 6000, api_key: '', ends_at: '' }
      config.source.push({ ...more, name: 'meta', kind: 'discourse', base_url: forum.url })
    },
  })
  await using _ = daemon
  const begin = async () => (await post('/sources/meta/account/begin')).body
  const first = await begin()
  const second = await begin()
  const ada = forum.world.users.get('ada_reads')
  if (ada === undefined) throw new Error('the world has no such user')
  forum.world.sessions.set('ada', ada)
  const shown = await fetch(`${forum.url}/user-api-key`, {
    method: 'POST',
    headers: { cookie: '_t=ada', 'content-type': 'application/x-www-form-urlencoded' },
    body: new URL(second.authorize_url).searchParams,
  })
  const [, answer = ''] = /<code>([^<]+)<\/code>/.exec(await shown.text()) ?? []
  const finish = (request: string) => post('/sources/meta/account/finish', { request, answer })

  expect((await finish(first.request)).body.field).toBe('answer')
  expect((await finish('0'.repeat(32))).body.field).toBe('request')
  // A request is of one source, and ends after a quarter of an hour.
  const elsewhere = { request: second.request, answer }
  expect((await post('/sources/main/account/finish', elsewhere)).body.field).toBe('request')
  expect((await finish(second.request)).body).toEqual({ source: 'meta', connected: true })
  expect((await finish(second.request)).body.field).toBe('request')
  await daemon.clock.advance(15 * 60_000)
  expect((await finish(first.request)).body.field).toBe('request')
  const stored = beside(daemon, ({ db, ring }) => openSourceAccount(db, ring, 'meta')) ?? ''
  expect(forum.world.keys.get(stored)?.scopes).toEqual(['read', 'write'])
  expect(JSON.stringify((await send('/sources')).body)).not.toContain(stored)
})
