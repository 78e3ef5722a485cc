// Goal: an operator's key does by the API what the command line does, each action is recorded with
// its operator, a repeated payment books nothing, and no answer or record has a secret.
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'

import { pruneActions } from '../../src/store/customers/operator-actions.ts'
import { beside, operatorKey, pageOf, startOperated } from './operator-fixture.ts'

// Most tests start a daemon, and the machine may be busy.
setDefaultTimeout(30_000)

const YEAR_MS = 365 * 86_400_000

async function start() {
  const daemon = await startOperated((config) => {
    const [plan] = Object.values(config.plans)
    if (plan) config.plans['pro'] = plan
  })
  const key = operatorKey(daemon)
  const send = (path: string, init: RequestInit = {}) => daemon.call(`/operator${path}`, init, key)
  const post = (path: string, body: object = {}, headers: Record<string, string> = {}) =>
    send(path, { method: 'POST', body: JSON.stringify(body), headers })
  const pay = (id: string, name: string, body: object) =>
    post(`/customers/${id}/credits`, body, { 'idempotency-key': name })
  const actions = async () => (await send('/audit')).body.actions
  return { daemon, key, send, post, pay, actions }
}

let shared: Awaited<ReturnType<typeof start>> | null = null
const sharing = async () => (shared ??= await start())
afterAll(() => shared?.daemon[Symbol.asyncDispose]())

test('a customer is created with a key, credits and a plan, and each action names its operator', async () => {
  const { daemon, send, post, pay, actions } = await start()
  await using _ = daemon
  const { plans, default_plan } = (await send('/plans')).body
  expect(plans).toEqual(Object.keys(daemon.config.plans))
  const created = await post('/customers', { name: 'acme' })
  const { id, credits_remaining } = created.body
  expect(created.status).toBe(200)
  expect(id).toMatch(/^cus_/)
  expect(created.body).toMatchObject({ name: 'acme', plan: default_plan, unlimited: false })

  const paid = await pay(id, 'a', { usd: '12.5', note: 'invoice 17' })
  expect(paid.body.credits_remaining).toBe(credits_remaining + 12.5)

  const other_plan = plans.find((it: string) => it !== default_plan)
  const moved = await post(`/customers/${id}/plan`, { plan: other_plan })
  expect(moved.body.plan).toBe(other_plan)
  // The same plan again is no change.
  await post(`/customers/${id}/plan`, { plan: other_plan })

  const issued = await post('/keys', { customer: id, name: 'bot', scopes: ['monitor', 'read'] })
  const { key: token, key_id, ...rest } = issued.body
  expect(token).toMatch(/^fk_\w{43}$/)
  expect(key_id).toMatch(/^key_/)
  expect(rest).toMatchObject({ name: 'bot', scopes: ['read', 'monitor'], expires_at: null })
  const me = await daemon.call('/account/me', {}, token)
  expect([me.status, me.body.plan]).toEqual([200, other_plan])
  expect((await daemon.call('/account/payments', {}, token)).body.payments).toMatchObject([
    { kind: 'top_up', note: 'invoice 17' },
    { kind: 'signup_credit' },
  ])

  const page = await pageOf(daemon, token)
  expect((await post(`/keys/${key_id}/revoke`)).status).toBe(200)
  expect((await daemon.call('/account/me', {}, token)).status).toBe(403)
  const signed_in = await fetch(`${daemon.url()}/dashboard/session`, { headers: page })
  expect(signed_in.status).toBe(401)

  const recorded = await actions()
  expect(recorded.map((it: { action: string }) => it.action)).toEqual([
    'key.revoked',
    'key.created',
    'plan.changed',
    'credits.added',
    'customer.created',
  ])
  expect(recorded[3]).toEqual({
    id: expect.any(Number),
    at: '2026-01-01T00:00:00.000Z',
    action: 'credits.added',
    subject: { id, name: 'acme' },
    key: { id: 'key_operator', name: 'ops', prefix: expect.stringMatching(/^fo_\w{5}$/) },
    address: '127.0.0.1',
    detail: { usd: 12.5 },
  })
  expect(recorded[2].detail).toEqual({ from: default_plan, to: other_plan })
  expect(JSON.stringify(recorded)).not.toContain(token)
  // A key approves drafts in a client only if the operator names that scope.
  expect((await post('/keys', { customer: id })).body).toMatchObject({
    scopes: ['read', 'write', 'monitor', 'webhook'],
  })
})

test('a repeated payment books nothing, and a name with another body is refused', async () => {
  const { daemon, post, pay, actions } = await start()
  await using _ = daemon
  const { id, credits_remaining } = (await post('/customers', { name: 'twice' })).body
  const both = await Promise.all([pay(id, 'click', { usd: 5 }), pay(id, 'click', { usd: 5 })])
  const other = await pay(id, 'click', { usd: 6 })
  const without_name = await post(`/customers/${id}/credits`, { usd: 5 })

  expect(both.map(({ status, body }) => [status, body.credits_remaining])).toEqual([
    [200, credits_remaining + 5],
    [200, credits_remaining + 5],
  ])
  expect([other.status, other.body.code]).toEqual([409, 'IDEMPOTENCY_MISMATCH'])
  expect([without_name.status, without_name.body.field]).toEqual([400, 'idempotency-key'])
  const paid = (await actions()).filter((it: { action: string }) => it.action === 'credits.added')
  expect(paid).toHaveLength(1)
})

const REFUSED: [string, object, number, string, RegExp][] = [
  ['/customers', {}, 400, 'name', /is required/],
  ['/customers', { name: ' x' }, 400, 'name', /1 to 64 printable characters/],
  ['/customers', { name: 'ann' }, 400, 'name', /there is a customer "ann" already/],
  ['/customers', { name: 'x', plan: 'gold' }, 400, 'plan', /one of entry/],
  ['/customers/ANN/plan', { plan: 'gold' }, 400, 'plan', /one of entry/],
  ['/customers/ANN/credits', { usd: -1 }, 400, 'usd', /above 0/],
  ['/customers/ANN/credits', { usd: '1e9' }, 400, 'usd', /above 0/],
  ['/customers/ANN/credits', { usd: 0 }, 400, 'usd', /above 0/],
  ['/keys', { scopes: ['all'] }, 400, 'scopes[0]', /read, write, monitor/],
  ['/keys', { scopes: [] }, 400, 'scopes', /read, write, monitor/],
  ['/keys', { expires_at: 'soon' }, 400, 'expires_at', /ISO 8601/],
  ['/keys', { expires_at: '2020-01-01' }, 400, 'expires_at', /in the future/],
  ['/keys', { operator: true, plan: 'entry' }, 400, 'plan', /an operator key has no customer/],
  ['/keys', { customer: 'cus_none' }, 404, '', /there is no customer "cus_none"/],
  ['/keys/import', { customer: 'ann', key: 'hunter22' }, 400, 'key', /^(?!.*hunter22).*16 to 256/],
  ['/keys/key_command_line/revoke', {}, 404, '', /no active key/],
  ['/accounts', { name: 'a b', jar: 'x' }, 400, 'name', /letters, digits/],
  ['/accounts', { name: 'x' }, 400, 'password', /is required, or a jar/],
  ['/accounts', { name: 'x', kind: 'bot' }, 400, 'kind', /session or oauth/],
  ['/accounts', { name: 'x', kind: 'oauth', jar: 'a=b' }, 400, 'jar', /must be left out/],
  ['/accounts', { name: 'x', kind: 'oauth' }, 400, 'client_id', /is required/],
  ['/accounts', { name: 'x', client_id: 'a' }, 400, 'client_id', /must be left out/],
  ['/accounts', { name: 'x', password: 'secret-canary\n' }, 400, 'password', /one line of/],
  ['/accounts', { name: 'x', totp_secret: 'secret-canary1' }, 400, 'totp_secret', /base32/],
  [
    '/accounts',
    { name: 'x', kind: 'oauth', client_id: 'a', client_secret: 'b' },
    400,
    'kind',
    /token_url/,
  ],
  ['/accounts/acc_none/login', {}, 404, '', /no account "acc_none"/],
  ['/accounts/acc_none/remove', {}, 404, '', /no account "acc_none"/],
  ['/sources', { name: 'x', kind: 'fidonet' }, 400, 'kind', /one of "discourse"/],
  ['/sources', { name: 'all', kind: 'hackernews' }, 400, 'name', /other than all/],
  ['/sources', { name: 'x', kind: 'discourse' }, 400, 'base_url', /address of the site is needed/],
  ['/sources', { name: 'x', kind: 'discourse', base_url: 'env:HOME' }, 400, 'base_url', /http/],
  [
    '/sources',
    { name: 'x', kind: 'lemmy', base_url: 'https://10.0.0.1' },
    400,
    'base_url',
    /public addresses/,
  ],
  ['/sources/none/remove', {}, 404, '', /there is no source "none"/],
  ['/sources/forum/remove', {}, 400, 'name', /configuration file/],
  ['/sources/none/test', {}, 404, '', /there is no source "none"/],
  [
    '/sources/forum/account',
    { username: 'a', password: 'b' },
    404,
    '',
    /forum takes no account that is added with a username/,
  ],
  [
    '/sources/forum/account/begin',
    {},
    404,
    '',
    /forum takes no account that is added in a browser/,
  ],
  ['/sources/forum/account/remove', {}, 404, '', /no account at this source/],
  ['/accounts', { name: 'x', jar: '{"secret-canary":' }, 400, 'jar', /jar is not usable/],
  ['/accounts', { name: 'x', jar: 'a=b', proxy: 'none' }, 400, 'proxy', /of the pool/],
]

test.each(REFUSED)('POST %s with %j is refused', async (path, body, status, field, why) => {
  const { daemon, post, actions } = await sharing()
  const { id } = (await daemon.call('/account/me')).body
  const headers = { 'idempotency-key': 'refused' }
  const answer = await post(path.replace('ANN', id), body, headers)

  expect([answer.status, answer.body.field ?? '']).toEqual([status, field])
  expect(answer.body.message ?? answer.body.error).toMatch(why)
  expect(JSON.stringify(answer.body)).not.toContain('canary')
  expect(await actions()).toEqual([])
})

test('a page of another site cannot make an action with the cookie of an operator', async () => {
  const { daemon, key, actions } = await sharing()
  const own = await pageOf(daemon, key)
  const body = JSON.stringify({ name: 'mallory' })
  const create = (headers: Record<string, string>) =>
    fetch(`${daemon.url()}/dashboard/api/operator/customers`, { method: 'POST', headers, body })
  const evil = await create({
    ...own,
    origin: 'https://evil.example',
    'sec-fetch-site': 'cross-site',
  })
  const form = await create({ ...own, 'content-type': 'text/plain' })

  expect([evil.status, await evil.json()]).toMatchObject([403, { reason: 'cross_site' }])
  expect(form.status).toBeGreaterThanOrEqual(400)
  expect(await actions()).toEqual([])
})

test('the dashboard records the address of the browser', async () => {
  const { daemon, key, actions } = await start()
  await using _ = daemon
  const headers = await pageOf(daemon, key)
  const url = `${daemon.url()}/dashboard/api/operator/customers`
  const answer = await fetch(url, { method: 'POST', headers, body: '{"name":"by-page"}' })

  expect(answer.status).toBe(200)
  expect((await actions())[0]).toMatchObject({ subject: { name: 'by-page' }, address: '127.0.0.1' })
})

test('exported cookies become an account of the pool, which reads use', async () => {
  const { daemon, post, send, actions } = await start()
  await using _ = daemon
  const [owner] = daemon.sandbox
    .overview()
    .accounts.filter(({ totp_secret, flags }) => totp_secret === null && !flags.suspended)
  const { username = '', cookies = {} } = owner ?? {}
  const jar = Object.entries(cookies)
    .map(([name, value]) => `${name}=${value}`)
    .join('; ')
  const added = await post('/accounts', { name: 'main', jar })
  const again = await post('/accounts', { name: 'main', jar })
  await daemon.call('/api/forum/posts?subforum=coffee&limit=1')
  daemon.sandbox.revoke({ username })
  const ended = await post('/accounts', { name: 'late', jar })

  const { id, ...row } = added.body
  expect(id).toMatch(/^acc_/)
  expect(row).toEqual({
    name: 'main',
    username,
    status: 'ready',
    reason: null,
    verdict: 'alive',
    remark: expect.stringContaining('it has blocked cedar_owl'),
  })
  expect([again.status, again.body.field]).toEqual([400, 'name'])
  expect(daemon.sandbox.requests.at(-2)?.user).toBe(username)
  expect([ended.status, ended.body.field]).toEqual([400, 'jar'])
  const { accounts } = (await send('/pool')).body
  expect(accounts.map((it: { name: string }) => it.name)).toEqual(['main'])

  await post(`/pool/${id}/pause`)
  await post(`/pool/${id}/resume`)
  const recorded = await actions()
  expect(recorded.map((it: { action: string }) => it.action)).toEqual([
    'account.resumed',
    'account.paused',
    'account.added',
  ])
  const text = JSON.stringify([added.body, ended.body, recorded])
  for (const value of Object.values(cookies)) expect(text).not.toContain(value)
})

test('the audit list is paged, and its rows cannot be changed or deleted', async () => {
  const { daemon, post, send } = await start()
  await using _ = daemon
  for (const name of ['one', 'two', 'three']) await post('/customers', { name })
  const first = (await send('/audit?limit=2')).body
  const second = (await send(`/audit?limit=2&cursor=${first.next_cursor}`)).body
  const names = ({ actions }: typeof first) =>
    actions.map((it: { subject: { name: string } }) => it.subject.name)

  expect([names(first), names(second), second.next_cursor]).toEqual([
    ['three', 'two'],
    ['one'],
    null,
  ])
  expect((await send('/audit?cursor=x')).status).toBe(400)
  beside(daemon, ({ db }) => {
    const fill = (at: number) =>
      db
        .query(
          `INSERT INTO operator_actions (at, key_id, key_prefix, address, action, subject, detail)
           VALUES ($at, 'k', 'fo_', 'x', 'key.revoked', 's', '{}')`,
        )
        .run({ at })
    fill(Date.now())
    fill(Date.now() - 2 * YEAR_MS)
    expect(() => db.run("UPDATE operator_actions SET address = 'y'")).toThrow('append-only')
    expect(() =>
      db.run('DELETE FROM operator_actions WHERE at > ?', [Date.now() - YEAR_MS]),
    ).toThrow('append-only')
    const count = () =>
      db.query("SELECT count(*) AS n FROM operator_actions WHERE subject = 's'").get()
    expect(count()).toEqual({ n: 2 })
    pruneActions(db, Date.now() - 3 * YEAR_MS)
    expect(count()).toEqual({ n: 2 })
    // A clock that is ahead deletes no row that is too young.
    pruneActions(db, Date.now() + YEAR_MS)
    expect(count()).toEqual({ n: 1 })
  })
})

test('a customer has at most 100 valid keys', async () => {
  const { daemon, post } = await start()
  await using _ = daemon
  const { id } = (await post('/customers', { name: 'many' })).body
  const create = () => post('/keys', { customer: id })
  const [first] = await Promise.all(Array.from({ length: 100 }, create))
  const refused = await create()
  await post(`/keys/${first?.body.key_id}/revoke`)

  expect([refused.status, refused.body.error]).toEqual([400, expect.stringMatching(/at most 100/)])
  expect((await create()).status).toBe(200)
})
