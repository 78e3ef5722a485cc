// Goal: actions on behalf of an account have the expected effect at the platform, from the first
// page to an ended session. Method: the whole adapter against the sandbox, over real HTTP.
import { expect, test } from 'bun:test'

import { startSandbox } from '../../sandbox/server/sandbox.ts'
import { createAccountClient } from '../../src/accounts/client.ts'
import { createEgress } from '../../src/net/egress.ts'
import { ANONYMOUS, type Call, type Identity } from '../../src/platforms/port.ts'
import { createForum } from '../../src/platforms/reddit/adapter.ts'
import { createJars } from '../../src/platforms/reddit/login/cookie-jar.ts'
import { createLogin } from '../../src/platforms/reddit/login/login.ts'
import { createOAuthTokens } from '../../src/platforms/reddit/login/oauth.ts'
import { fakeClock } from '../support/clock.ts'

const SECRET = 'JBSWY3DPEHPK3PXP'
const page = { limit: 25, after: null, t: null }

async function createFixture() {
  const clock = fakeClock(() => Bun.sleep(1))
  const sandbox = await startSandbox({
    port: 0,
    bearer_port: 0,
    seed: 1,
    speed: 0,
    world: 'seeded',
    now: clock.now,
  })
  sandbox.user({ name: 'ann', password: 'open-sesame' })
  sandbox.user({ name: 'bea', password: 'open-sesame', totp_secret: SECRET })
  const base_url = sandbox.url
  const egress = createEgress({
    fetch,
    clock,
    resolve: () => Promise.reject(new Error('no such name')),
    guard: () => Promise.resolve({ ok: false, refusal: 'not_public' }),
  })
  const common = { egress, clock, base_url, user_agent: 'forumd-test/1.0', timeout_ms: 10_000 }
  const forum = createForum({
    name: 'forum',
    ...common,
    fetch,
    random: { uuid: () => '', fraction: () => 0.5, bytes: (count) => new Uint8Array(count) },
    log: () => {},
    api_url: sandbox.bearer_url ?? '',
    retries: 0,
    requests_per_minute: 600,
  })
  const jars = createJars({ base_url, session_cookie: sandbox.session_cookie, clock })
  const client = createAccountClient({
    forum,
    jars,
    clock,
    login: createLogin({ ...common, jars }),
    tokens: createOAuthTokens({ ...common, token_url: `${base_url}/api/v1/access_token` }),
    signal: new AbortController().signal,
  })
  const through = (identity: Partial<Identity>): Call => ({
    identity: { ...ANONYMOUS, id: 'acc', whose: 'pool', ...identity },
    deadline_at: clock.now() + 30_000,
  })
  return {
    sandbox,
    forum,
    jars,
    craft: client,
    through,
    async signIn(username: string, password = 'open-sesame', totp_secret: string | null = null) {
      return client.signIn({ username, password, totp_secret, proxy: null })
    },
    async [Symbol.asyncDispose]() {
      egress.close()
      await sandbox[Symbol.asyncDispose]()
    },
  }
}

test('a signed-in account has a name, a front page and its own listings', async () => {
  await using it = await createFixture()
  const { forum } = it

  const done = await it.signIn('ann')
  if (!done.ok) throw new Error(`not signed in: ${done.reason}`)
  const call = it.through({ cookie: done.jar.header() })

  expect(done.username).toBe('ann')
  expect(await forum.me(call)).toMatchObject({ ok: true, value: { name: 'ann' } })
  expect(await forum.feed({ ...page, sort: 'best' }, call)).toMatchObject({
    ok: true,
    value: { logged_in: true },
  })
  for (const tab of ['upvoted', 'saved', 'hidden'] as const)
    expect(await forum.userItems({ ...page, name: 'ann', tab, sort: 'new' }, call)).toMatchObject({
      ok: true,
      value: { rows: [], logged_in: true },
    })
  expect(done.jar.expires_at()).not.toBeNull()
})

test("a second factor is sent if required, with a code by the platform's time", async () => {
  await using it = await createFixture()

  expect(await it.signIn('bea')).toMatchObject({ reason: 'second_factor_required', final: true })
  expect(await it.signIn('bea', 'open-sesame', SECRET)).toMatchObject({ ok: true, username: 'bea' })
  expect(await it.signIn('bea', 'open-sesame', 'GEZDGNBVGY3TQOJQ')).toMatchObject({
    reason: 'second_factor_refused',
  })
})

test('a wrong password is a final verdict, a human check is not', async () => {
  await using it = await createFixture()
  expect(await it.signIn('ann', 'wrong')).toMatchObject({
    reason: 'wrong_credentials',
    final: true,
  })

  it.sandbox.addFault({
    path: '/svc/shreddit/account/login',
    fault: 'login_verdict',
    verdict: 'captcha',
  })

  expect(await it.signIn('ann')).toMatchObject({ reason: 'human_check', final: false })
})

test('a session revoked on the platform is detected by every call that needs it', async () => {
  await using it = await createFixture()
  const { forum } = it
  const done = await it.signIn('ann')
  if (!done.ok) throw new Error(`not signed in: ${done.reason}`)
  const call = it.through({ cookie: done.jar.header() })
  const [place = ''] = it.sandbox.overview().subforums

  it.sandbox.revoke({ username: 'ann' })

  const dead = { ok: false, fault: { kind: 'login_required' } } as const
  expect(await forum.me(call)).toEqual({ ok: true, value: null })
  expect(await forum.feed({ ...page, sort: 'best' }, call)).toEqual(dead)
  const saved = { ...page, name: 'ann', tab: 'saved', sort: 'new' } as const
  expect(await forum.userItems(saved, call)).toEqual(dead)
  expect(await forum.moderators(place, call)).toEqual(dead)
  // Public reads continue, and report the identity they used.
  const posts = await forum.posts({ ...page, subforums: [place], sort: 'new' }, call)
  expect(posts).toMatchObject({ ok: true, value: { logged_in: false } })
})

test('an OAuth application reads at its own host, with its own token', async () => {
  await using it = await createFixture()
  const { application, accounts } = it.sandbox.overview()
  const account = accounts.find(({ refresh_token }) => refresh_token !== null)
  if (!application || !account) throw new Error('the sandbox has granted nothing')

  const { client_id, client_secret } = application
  const grant = { client_id, client_secret, proxy: null }
  const mine = await it.craft.renew({ ...grant, refresh_token: account.refresh_token })
  const app_only = await it.craft.renew({ ...grant, refresh_token: null })
  if (!mine.ok || !app_only.ok) throw new Error('no token')
  const call = it.through({ bearer: mine.token.value })

  expect(await it.forum.me(call)).toMatchObject({ ok: true, value: { name: account.username } })
  expect(await it.forum.feed({ ...page, sort: 'best' }, call)).toMatchObject({ ok: true })
  const [place = ''] = it.sandbox.overview().subforums
  const posts = { ...page, subforums: [place], sort: 'new' }
  const app_call = it.through({ id: 'app', bearer: app_only.token.value })
  expect(await it.forum.posts(posts, app_call)).toMatchObject({ ok: true })

  expect(await it.craft.renew({ ...grant, client_secret: 'wrong', refresh_token: null })).toEqual({
    ok: false,
    final: true,
    revoked: true,
  })
})

test('cookies of a browser work like a sign-in', async () => {
  await using it = await createFixture()
  const [account] = it.sandbox.overview().accounts
  if (!account) throw new Error('no account has this session')

  const found = it.jars.import(JSON.stringify(account.cookies))
  if (!found.ok) throw new Error(found.problems.join())
  const call = it.through({ cookie: found.jar.header() })

  expect(await it.forum.me(call)).toMatchObject({ ok: true, value: { name: account.username } })
})

test('pages about places, users and posts are parsed as the sandbox writes them', async () => {
  await using it = await createFixture()
  const { forum } = it
  const call = it.through({})
  const [place = ''] = it.sandbox.overview().subforums
  const [account] = it.sandbox.overview().accounts
  const posts = await forum.posts({ ...page, subforums: [place], sort: 'new' }, call)
  const [post] = posts.ok ? posts.value.rows : []

  expect(await forum.rules(place, call)).toMatchObject({ ok: true })
  expect(await forum.achievements(account?.username ?? '', call)).toMatchObject({ ok: true })
  for (const which of ['popular', 'new', 'default'] as const)
    expect(await forum.communities({ limit: 5, after: null, which }, call)).toMatchObject({
      ok: true,
    })
  expect(await forum.visibility(post?.id ?? '', call)).toMatchObject({
    ok: true,
    value: { verdict: 'live' },
  })
  it.sandbox.remove({ name: post?.name ?? '', by: 'moderator' })
  expect(await forum.visibility(post?.id ?? '', call)).toEqual({
    ok: true,
    value: { verdict: 'not_visible', reason: 'removed', confident: true },
  })
})
