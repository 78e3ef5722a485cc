// Goal: what we do at the platform in somebody's name does what it should there, from the first page to a dead session.
// Method: the whole room in front of the sandbox, over real HTTP.
import { expect, test } from 'bun:test'

import { createEgress } from '../../src/net/egress.ts'
import { createJars } from '../../src/platform/cookies.ts'
import { createForum } from '../../src/platform/forum.ts'
import { createLogin } from '../../src/platform/login.ts'
import { createTokens } from '../../src/platform/oauth.ts'
import { ANONYMOUS, type Call, type Eyes } from '../../src/platform/platform.ts'
import { createCraft } from '../../src/pool/at-platform.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { fakeClock } from '../support/clock.ts'

const SECRET = 'JBSWY3DPEHPK3PXP'
const page = { limit: 25, after: null, t: null }

async function stage() {
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
    ...common,
    fetch,
    random: { uuid: () => '', fraction: () => 0.5, bytes: (count) => new Uint8Array(count) },
    log: () => {},
    api_url: sandbox.bearer_url ?? '',
    retries: 0,
    requests_per_minute: 600,
  })
  const jars = createJars({ base_url, session_cookie: sandbox.session_cookie, clock })
  const craft = createCraft({
    forum,
    jars,
    clock,
    login: createLogin({ ...common, jars }),
    tokens: createTokens({ ...common, token_url: `${base_url}/api/v1/access_token` }),
    signal: new AbortController().signal,
  })
  const through = (eyes: Partial<Eyes>): Call => ({
    eyes: { ...ANONYMOUS, id: 'acc', whose: 'pool', ...eyes },
    deadline_at: clock.now() + 30_000,
  })
  return {
    sandbox,
    forum,
    jars,
    craft,
    through,
    async signIn(username: string, password = 'open-sesame', totp_secret: string | null = null) {
      return craft.signIn({ username, password, totp_secret, proxy: null })
    },
    async [Symbol.asyncDispose]() {
      egress.close()
      await sandbox[Symbol.asyncDispose]()
    },
  }
}

test('who signs in is somebody, sees a front page and what is its own', async () => {
  await using it = await stage()
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

test('a second factor is given where it is wanted, with the code of the platform', async () => {
  await using it = await stage()

  expect(await it.signIn('bea')).toMatchObject({ reason: 'second_factor_required', final: true })
  expect(await it.signIn('bea', 'open-sesame', SECRET)).toMatchObject({ ok: true, username: 'bea' })
  expect(await it.signIn('bea', 'open-sesame', 'GEZDGNBVGY3TQOJQ')).toMatchObject({
    reason: 'second_factor_refused',
  })
})

test('a wrong password is a verdict, a human check is none', async () => {
  await using it = await stage()
  expect(await it.signIn('ann', 'wrong')).toMatchObject({
    reason: 'wrong_credentials',
    final: true,
  })

  it.sandbox.weather({
    path: '/svc/shreddit/account/login',
    fault: 'login_verdict',
    verdict: 'captcha',
  })

  expect(await it.signIn('ann')).toMatchObject({ reason: 'human_check', final: false })
})

test('a session that is ended elsewhere is found out wherever it matters', async () => {
  await using it = await stage()
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
  // What everybody may read goes on, and says for whom it was.
  const posts = await forum.posts({ ...page, subforums: [place], sort: 'new' }, call)
  expect(posts).toMatchObject({ ok: true, value: { logged_in: false } })
})

test('an application reads at its own host, with a token of its own', async () => {
  await using it = await stage()
  const { application, accounts } = it.sandbox.overview()
  const account = accounts.find(({ refresh_token }) => refresh_token !== null)
  if (!application || !account) throw new Error('the sandbox has granted nothing')

  const { client_id, client_secret } = application
  const grant = { client_id, client_secret, proxy: null }
  const mine = await it.craft.renew({ ...grant, refresh_token: account.refresh_token })
  const nobodys = await it.craft.renew({ ...grant, refresh_token: null })
  if (!mine.ok || !nobodys.ok) throw new Error('no token')
  const call = it.through({ bearer: mine.token.value })

  expect(await it.forum.me(call)).toMatchObject({ ok: true, value: { name: account.username } })
  expect(await it.forum.feed({ ...page, sort: 'best' }, call)).toMatchObject({ ok: true })
  const [place = ''] = it.sandbox.overview().subforums
  const posts = { ...page, subforums: [place], sort: 'new' }
  const as_nobody = it.through({ id: 'app', bearer: nobodys.token.value })
  expect(await it.forum.posts(posts, as_nobody)).toMatchObject({ ok: true })

  expect(await it.craft.renew({ ...grant, client_secret: 'wrong', refresh_token: null })).toEqual({
    ok: false,
    final: true,
  })
})

test('cookies out of a browser are as good as a sign-in', async () => {
  await using it = await stage()
  const [account] = it.sandbox.overview().accounts
  if (!account) throw new Error('nobody has a session')

  const found = it.jars.import(JSON.stringify(account.cookies))
  if (!found.ok) throw new Error(found.problems.join())
  const call = it.through({ cookie: found.jar.header() })

  expect(await it.forum.me(call)).toMatchObject({ ok: true, value: { name: account.username } })
})

test('pages about places, people and posts read as the sandbox writes them', async () => {
  await using it = await stage()
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
