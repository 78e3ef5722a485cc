import { expect, test } from 'bun:test'

import { createPool } from '../../src/accounts/pool.ts'
import { parseConfig } from '../../src/config/load.ts'
import { homeOf } from '../../src/config/schema.ts'
import { newStatus } from '../../src/core/accounts/status.ts'
import { HOME } from '../../src/core/forum/items.ts'
import { createRuntime } from '../../src/runtime/runtime.ts'
import { insertAccount, listAccounts, openAccount } from '../../src/store/accounts/accounts.ts'
import { openInstance } from '../../src/store/maintenance/instance.ts'
import { addAccounts, jarText, SESSION_COOKIE } from '../support/accounts.ts'
import { tempFolder } from '../support/folder.ts'
import { openHome } from '../support/platform.ts'
import { startTestDaemon } from '../support/test-daemon.ts'

/** Headers with the remaining requests of an answer. */
const remaining = (count: string) => ({
  headers: { 'x-ratelimit-remaining': count, 'x-ratelimit-reset': '300' },
})

const SECOND = 1000
const MINUTE = 60_000
const NO_PASSWORD = { kind: 'session', password: null, totp_secret: null } as const
const ready_state = {
  state: 'ready',
  state_reason: null,
  state_since: 0,
  cooling_until: null,
} as const
const probe_state = { strikes: 0, probes: 0, probe_at: null }

const ONE_POST = {
  id: 'abc',
  title: 'one',
  subreddit: 'cats',
  permalink: '/r/cats/comments/abc/one/',
  created_utc: 1_700_000_000,
}
const ONE_ROW_PAGE = {
  kind: 'Listing',
  data: { modhash: 'm', after: null, children: [{ kind: 't3', data: ONE_POST }] },
}

/** A platform that sends each session a new cookie with each answer, and answers out of order. */
function startBaker() {
  const seen: { session: string; token: string | null }[] = []
  const releases: (() => void)[] = []
  let served = 0
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const cookies = new Map(
        (request.headers.get('cookie') ?? '')
          .split('; ')
          .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
      )
      const session = cookies.get(SESSION_COOKIE) ?? 'anonymous'
      seen.push({ session, token: cookies.get('token_v2') ?? null })
      const number = ++served
      await new Promise<void>((resolve) => void releases.push(resolve))
      return Response.json(ONE_ROW_PAGE, {
        headers: { 'set-cookie': `token_v2=${session}-${number}; Path=/` },
      })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    seen,
    /** Releases answers until no request waits: the newest first, then the oldest, alternately. */
    async answerAll(count: number) {
      for (let sent = 0; sent < count;) {
        const next = sent % 2 === 0 ? releases.pop() : releases.shift()
        if (next) sent += 1
        next?.()
        await Bun.sleep(0)
      }
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

test("with interleaved answers of ten accounts, no cookie is sent with another account's request", async () => {
  await using baker = startBaker()
  using folder = tempFolder()
  const config = parseConfig(
    `[[source]]\nname = "forum"\nkind = "reddit"\nbase_url = "${baker.url}"\nsession_cookie = "${SESSION_COOKIE}"`,
  )
  config.storage.dir = folder.path
  homeOf(config)!.accounts.session_requests_per_minute = 600
  const runtime = createRuntime(() => {})
  const { clock, random, log } = runtime
  const instance = openInstance({ ...config.storage, clock, random }, { mode: 'serve' })
  const { db, ring } = instance
  const names = Array.from({ length: 10 }, (_, n) => `account${n}`)
  for (const name of names)
    insertAccount(db, ring, {
      id: name,
      name,
      username: name,
      secrets: NO_PASSWORD,
      jar: { text: jarText(baker.url, { [SESSION_COOKIE]: name }), expires_at: null },
      proxy_id: null,
      status: { ...ready_state, ...probe_state },
      created_at: 0,
    })
  const stop = new AbortController()
  const {
    forum: platform,
    client,
    close,
  } = openHome(config, runtime, {
    signal: stop.signal,
    on_request: (event) => pool.onRequest(event),
  })
  const pool = createPool({
    db,
    ring,
    clock,
    log,
    client,
    source: HOME,
    allow_anonymous: false,
    signal: stop.signal,
    nudge: () => {},
  })

  for (let round = 0; round < 5; round++) {
    const reads = Array.from({ length: 40 }, () => {
      const identity = pool.lease('read') ?? expect.unreachable('no identity was leased')
      const query = { subforums: ['cats'], sort: 'new', t: null, limit: 25, after: null }
      return platform.posts(query, { identity, deadline_at: clock.now() + 60_000 })
    })
    await baker.answerAll(40)
    expect((await Promise.all(reads)).every(({ ok }) => ok)).toBe(true)
  }
  await pool.idle()

  expect(new Set(baker.seen.map(({ session }) => session))).toEqual(new Set(names))
  const later = baker.seen.filter(({ token }) => token !== null)
  expect(later.length).toBe(160)
  expect(later.filter(({ session, token }) => !token?.startsWith(`${session}-`))).toEqual([])
  for (const { id } of listAccounts(db)) {
    const cookies = openAccount(db, ring, id)?.jar ?? ''
    for (const name of names) expect(cookies.includes(`${name}-`)).toBe(name === id)
  }
  await close()
  instance.close()
})

type TestDaemon = Awaited<ReturnType<typeof startTestDaemon>>

/** Notices to the operator, over plain http on this machine. */
function startOperator() {
  const notices: { kind: string; subject: string }[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      notices.push((await request.json()) as { kind: string; subject: string })
      return new Response('')
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}/notices`,
    notices,
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

const startPoolDaemon = (operator_url = '') =>
  startTestDaemon({
    world: 'seeded',
    change(config) {
      homeOf(config)!.session_cookie = SESSION_COOKIE
      config.operator.webhook = operator_url
      config.limits.read_cache_s = 0
    },
  })

const READ = '/api/forum/posts?subforum=coffee&limit=1'
const plainOf = ({ sandbox }: TestDaemon) =>
  sandbox
    .overview()
    .accounts.find(({ totp_secret, flags }) => totp_secret === null && !flags.suspended) ??
  expect.unreachable('the sandbox has no such account')
const statesIn = async ({ url }: TestDaemon) => {
  const metrics = await (await fetch(`${url()}/metrics`)).text()
  return Object.fromEntries(
    [...metrics.matchAll(/forumd_pool_accounts\{state="(\w+)"\} ([1-9]\d*)/g)].map(
      ([, state, count]) => [state, Number(count)],
    ),
  )
}
const identitiesUsed = ({ sandbox }: TestDaemon, since: number) =>
  sandbox.requests
    .slice(since)
    .filter(({ path }) => path.startsWith('/r/'))
    .map(({ user }) => user)

test('an account added while the daemon runs is used within two seconds', async () => {
  await using it = await startPoolDaemon()
  expect((await it.call(READ)).status).toBe(200)
  expect(identitiesUsed(it, 0)).toEqual([null])

  const { username, cookies } = plainOf(it)
  addAccounts(it, [{ name: 'main', username, cookies }])
  await it.clock.advance(2 * SECOND)
  const since = it.sandbox.requests.length
  expect((await it.call(READ)).status).toBe(200)
  expect(identitiesUsed(it, since)).toEqual([username])
  expect(await statesIn(it)).toEqual({ ready: 1 })
})

test('an expired session is detected and signed in again without an error for callers', async () => {
  await using operator = startOperator()
  await using it = await startPoolDaemon(operator.url)
  const { username, password, cookies } = plainOf(it)
  const secrets = { kind: 'session', password, totp_secret: null } as const
  addAccounts(it, [{ name: 'main', username, cookies, secrets }])
  await it.clock.advance(2 * SECOND)
  it.sandbox.revoke({ username })

  expect((await it.call(READ)).status).toBe(200)
  await it.clock.advance(3 * MINUTE)
  expect(await statesIn(it)).toEqual({ ready: 1 })
  const since = it.sandbox.requests.length
  expect((await it.call(READ)).status).toBe(200)
  expect(identitiesUsed(it, since)).toEqual([username])
  expect(operator.notices).toEqual([])
})

test('without an automatic sign-in, the operator is notified once, reads end in 503 and are degraded', async () => {
  await using operator = startOperator()
  await using it = await startPoolDaemon(operator.url)
  const { username, cookies } = plainOf(it)
  addAccounts(it, [{ name: 'main', username, cookies }])
  await it.clock.advance(2 * SECOND)
  it.sandbox.revoke({ username })

  await it.call(READ)
  await it.clock.advance(MINUTE)
  const refused = await it.call(READ)
  expect(refused.status).toBe(503)
  expect(refused.body).toMatchObject({ code: 'upstream_unavailable' })
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await it.call('/health')).body).toMatchObject({ ok: true, reads: 'degraded' })
  await it.clock.advance(10 * MINUTE)
  expect(operator.notices.map(({ kind, subject }) => `${kind} ${subject}`).toSorted()).toEqual([
    'account_needs_login main',
    'pool_empty pool',
  ])

  addAccounts(it, [{ name: 'second', username, cookies: it.sandbox.session({ username }).cookies }])
  await it.clock.advance(2 * SECOND)
  expect((await it.call(READ)).status).toBe(200)
})

test('monitors poll through the pool, and one dead account of two hides no items', async () => {
  await using it = await startPoolDaemon()
  const { username, cookies } = plainOf(it)
  const other = it.sandbox
    .overview()
    .accounts.find(({ username: name, flags }) => name !== username && !flags.suspended)
  addAccounts(it, [
    { name: 'a', username, cookies },
    { name: 'b', username: other?.username ?? '', cookies: other?.cookies ?? {} },
  ])
  const webhook = await it.send('/forum/monitor/webhook/create', {
    kind: 'webhook',
    url: it.receiver.url,
  })
  expect(webhook.status).toBe(200)
  await it.send('/forum/monitor/add', { filter_spec: { subforum: 'coffee', q: 'zebra' } })
  await it.clock.advance(2 * MINUTE)
  it.sandbox.revoke({ username })
  for (let n = 0; n < 4; n++) {
    it.sandbox.post({ subforum: 'coffee', title: `zebra ${n}` })
    await it.clock.advance(MINUTE)
  }

  expect(it.receiver.received.length).toBe(4)
  expect(await statesIn(it)).toEqual({ ready: 1, needs_login: 1 })
  const lookers = it.sandbox.requests
    .filter(({ path }) => path.startsWith('/r/coffee'))
    .map(({ user }) => user)
  expect(lookers.at(-1)).toBe(other?.username ?? '')
})

test('a throttled account pauses as long as the platform said, including across a restart', async () => {
  await using it = await startPoolDaemon()
  const { username, cookies } = plainOf(it)
  addAccounts(it, [{ name: 'main', username, cookies }])
  await it.clock.advance(2 * SECOND)
  it.sandbox.addFault({ path: '/r/', fault: '429_html', times: 1, retry_after_s: 300 })
  expect((await it.call(READ)).status).toBe(429)
  await it.clock.advance(2 * SECOND)
  expect(await statesIn(it)).toEqual({ cooling: 1 })

  await it.restart()
  const since = it.sandbox.requests.length
  expect((await it.call(READ)).status).not.toBe(200)
  expect(identitiesUsed(it, since)).toEqual([])
  await it.clock.advance(300 * SECOND)
  expect((await it.call(READ)).status).toBe(200)
})

test('an OAuth application reads beside a session, each with its own credentials at its own host', async () => {
  await using bearer = await startBearer()
  await using it = await daemonWith(bearer)
  const { username, cookies } = plainOf(it)
  addAccounts(it, [{ name: 'session', username, cookies }, APPLICATION])
  await it.clock.advance(MINUTE)
  for (let n = 0; n < 10; n++) expect((await it.call(READ)).status).toBe(200)

  const basic = Buffer.from('app:shh').toString('base64')
  expect(bearer.grants).toEqual([`Basic ${basic} grant_type=refresh_token&refresh_token=r1`])
  const reads = bearer.token_requests.filter(({ path }) => path.startsWith('/r/'))
  expect(reads.length).toBeGreaterThan(0)
  expect(reads.length).toBeLessThan(10)
  expect(new Set(reads.map(({ authorization }) => authorization))).toEqual(new Set(['bearer t1']))
  expect(bearer.token_requests.filter(({ cookie }) => cookie !== null)).toEqual([])
  expect(identitiesUsed(it, 0).filter((user) => user === username).length).toBe(10 - reads.length)

  // Two minutes before its expiry the token is renewed, with the refresh token of the last answer.
  await it.clock.advance(57 * MINUTE)
  expect(bearer.grants.length).toBe(1)
  await it.clock.advance(2 * MINUTE)
  expect(bearer.grants[1]).toEndWith('refresh_token=r2')
})

test('an empty search does not count against its account', async () => {
  await using bearer = await startBearer()
  await using it = await daemonWith(bearer)
  const { username, cookies } = plainOf(it)
  const search = async () => {
    for (let n = 0; n < 3; n++)
      expect((await it.call('/api/forum/search/communities?q=zzzzzz')).body).toMatchObject({
        communities: [],
        listing_status: 'unknown',
      })
  }

  addAccounts(it, [APPLICATION])
  await it.clock.advance(MINUTE)
  await search()
  expect(bearer.token_requests.some(({ path }) => path.startsWith('/subreddits/search'))).toBe(true)
  expect(await statesIn(it)).toEqual({ ready: 1 })
  expect(bearer.grants.length).toBe(1)

  addAccounts(it, [{ name: 'session', username, cookies }])
  await it.clock.advance(MINUTE)
  const since = it.sandbox.requests.length
  for (let n = 0; n < 4; n++) await search()
  await it.clock.advance(10 * SECOND)
  const paths = it.sandbox.requests.slice(since).map(({ path }) => path.split('?')[0])
  expect(new Set(paths)).toEqual(new Set(['/subreddits/search.json']))
  expect(await statesIn(it)).toEqual({ ready: 2 })
})

test.each([{ reason: 'USER_REQUIRED', fields: [] }, { error: 403 }])(
  'an application without a user, reported by %j, can read',
  async (notice) => {
    await using bearer = await startBearer(notice)
    await using it = await daemonWith(bearer)
    const secrets = { kind: 'oauth', client_id: 'app', client_secret: 'shh' } as const
    addAccounts(it, [
      { name: 'app', secrets: { ...secrets, refresh_token: null }, status: newStatus(0) },
    ])

    for (const wait of [MINUTE, 61 * MINUTE]) {
      await it.clock.advance(wait)
      expect((await it.call(READ)).status).toBe(200)
      expect(await statesIn(it)).toEqual({ ready: 1 })
    }
    expect(bearer.token_requests.at(-1)?.authorization).toBe('bearer t2')
    expect(bearer.grants[0]).toEndWith('grant_type=client_credentials')
    // Once at first, and then every hour: its identity is not requested repeatedly.
    expect(bearer.token_requests.filter(({ path }) => path === '/api/v1/me').length).toBeLessThan(4)
  },
  20_000,
)

const APPLICATION = {
  name: 'application',
  secrets: { kind: 'oauth', client_id: 'app', client_secret: 'shh', refresh_token: 'r1' },
  status: newStatus(0),
} as const

/** A daemon whose applications get tokens from a host, and read there. */
const daemonWith = (bearer: { url: string }) =>
  startTestDaemon({
    world: 'seeded',
    change(config) {
      homeOf(config)!.session_cookie = SESSION_COOKIE
      homeOf(config)!.api_url = bearer.url
      homeOf(config)!.token_url = `${bearer.url}/token`
      config.limits.read_cache_s = 0
    },
  })

/**
 * A host that grants tokens for an hour, with the given answer for an anonymous `/api/v1/me`, and sends an empty
 * listing to every bearer.
 */
const COFFEE = { subreddit: 'coffee', permalink: '/r/coffee/comments/abc/one/' }

async function startBearer(anonymous_reply: object | null = null) {
  const grants: string[] = []
  const token_requests: { path: string; authorization: string | null; cookie: string | null }[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname: path } = new URL(request.url)
      const authorization = request.headers.get('authorization')
      if (path === '/token') {
        grants.push(`${authorization} ${await request.text()}`)
        const number = grants.length
        return Response.json({
          access_token: `t${number}`,
          expires_in: 3600,
          ...(anonymous_reply === null && { refresh_token: `r${number + 1}` }),
        })
      }
      token_requests.push({ path, authorization, cookie: request.headers.get('cookie') })
      // Plenty at first, so that it is selected; then little, so that the session is.
      if (path === '/api/v1/me' && anonymous_reply !== null)
        return Response.json(anonymous_reply, { status: 403 })
      if (path === '/api/v1/me')
        return Response.json({ id: 'app1', name: 'someone' }, remaining('9000000.0'))
      // Its answer to an empty search is a string with braces.
      if (path.startsWith('/subreddits/search')) return Response.json('{}', remaining('100.0'))
      const data = {
        modhash: null,
        after: null,
        children: [{ kind: 't3', data: { ...ONE_POST, ...COFFEE } }],
      }
      return Response.json({ kind: 'Listing', data }, remaining('100.0'))
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    grants,
    token_requests,
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}
