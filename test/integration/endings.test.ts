import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'

import { homeOf } from '../../src/config/schema.ts'
import type { Config } from '../../src/config/schema.ts'
import { newStatus } from '../../src/core/accounts/status.ts'
import { addAccounts, SESSION_COOKIE } from '../support/accounts.ts'
import { startTestDaemon } from '../support/test-daemon.ts'

// Most tests start a daemon, and the machine may be busy.
setDefaultTimeout(30_000)

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

type Notice = { kind: string; subject: string; message: string; runbook_url: string }

let operator: ReturnType<typeof startOperator>
beforeAll(() => void (operator = startOperator()))
afterAll(() => operator.stop(true))
const notices: Notice[] = []
const announced = () => notices.map(({ kind, subject }) => `${kind} ${subject}`)

function startOperator() {
  return Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      notices.push((await request.json()) as Notice)
      return new Response()
    },
  })
}

async function start(
  choice: Parameters<typeof startTestDaemon>[0] = {},
  change: (config: Config) => void = () => {},
) {
  notices.length = 0
  const daemon = await startTestDaemon({
    ...choice,
    change(config) {
      homeOf(config)!.retries = 0
      homeOf(config)!.session_cookie = SESSION_COOKIE
      config.limits.read_cache_s = 0
      config.limits.health_cache_s = 0
      config.limits.key_burst = 0
      config.operator.webhook = operator.url.href
      change(config)
    },
  })
  const read = async (path: string) => {
    const { status, body } = await daemon.call(`/api/forum${path}`)
    return { status, code: body.code, reason: body.reason, body }
  }
  return Object.assign(daemon, {
    read,
    /** Notices of ways in, in the order of their arrival. */
    async ends() {
      await daemon.clock.advance(2 * SECOND)
      return notices
        .filter(({ kind }) => kind.startsWith('access_'))
        .map(({ kind, subject }) => [kind, subject])
    },
    async watch(filter_spec: object) {
      await daemon.clock.advance(MINUTE)
      await daemon.send('/forum/monitor/webhook/create', { url: daemon.receiver.url })
      const { body } = await daemon.send('/forum/monitor/add', { filter_spec })
      await daemon.clock.advance(2 * MINUTE)
      return async () => (await daemon.call(`/forum/monitor/health?id=${body.id}`)).body
    },
  })
}

type Ending = Awaited<ReturnType<typeof start>>

const coverageOf = async (health: () => Promise<any>) => {
  const { status, gaps } = (await health()).coverage_24h
  const open = gaps.filter(({ healed_at }: any) => healed_at === null)
  return { status, open: [...new Set(open.map(({ reason }: any) => reason))] }
}

const titles = ({ receiver }: Ending): string[] =>
  receiver.received.flatMap(({ text }) => JSON.parse(text).items.map((it: any) => it.title))

describe('a monitored place', () => {
  const LISTING = '/r/cats/new*'
  const cases = [
    ['an emptied page', { path: LISTING, fault: 'emptied' }, 'emptied', 'posts:cats'],
    [
      'a notice in place of rows',
      { path: LISTING, fault: 'placeholder' },
      'placeholder',
      'posts:cats',
    ],
    ['a login page', { path: '/r/*', fault: 'login_page_200' }, 'login_wall', null],
  ] as const

  test.each(cases)(
    'with %s keeps a gap until it is listed again, and the operator learns of both',
    async (_, fault, reason, subject) => {
      await using daemon = await start()
      daemon.sandbox.post({ subforum: 'cats', title: 'before' })
      const health = await daemon.watch({ subforum: 'cats' })
      expect(await coverageOf(health)).toEqual({ status: 'complete', open: [] })

      daemon.sandbox.addFault(fault)
      // An emptied page: more checks than confirm a truly empty place.
      const minutes = reason === 'emptied' ? 12 : 4
      for (let minute = 0; minute < minutes; minute++) {
        if (minute === 2) daemon.sandbox.post({ subforum: 'cats', title: 'meanwhile' })
        await daemon.clock.advance(MINUTE)
      }
      const place = subject ?? new URL(daemon.sandbox.url).host
      expect(await coverageOf(health)).toEqual({ status: 'degraded', open: [reason] })
      expect(await daemon.ends()).toEqual([['access_ended', place]])
      expect(titles(daemon)).toEqual([])

      daemon.sandbox.clearFaults()
      await daemon.clock.advance(3 * MINUTE)
      expect((await coverageOf(health)).open).toEqual([])
      expect(await daemon.ends()).toEqual([
        ['access_ended', place],
        ['access_restored', place],
      ])
      expect(titles(daemon)).toEqual(['meanwhile'])
      expect(notices[0]?.runbook_url).toBe('docs/operations.md#access-ends')
    },
  )

  test('emptied across a restart is refused by its known rows', async () => {
    await using daemon = await start()
    daemon.sandbox.post({ subforum: 'cats', title: 'before' })
    const health = await daemon.watch({ subforum: 'cats' })
    daemon.sandbox.addFault({ path: LISTING, fault: 'emptied' })
    await daemon.restart()
    await daemon.clock.advance(15 * MINUTE)

    expect(await coverageOf(health)).toEqual({ status: 'degraded', open: ['emptied'] })
    expect(await daemon.ends()).toEqual([['access_ended', 'posts:cats']])
  })

  test('with many followers and an empty first page is not complete', async () => {
    await using daemon = await start()
    daemon.sandbox.subforum({ name: 'cats', subscribers: 50_000 })
    const health = await daemon.watch({ subforum: 'cats' })

    expect(await coverageOf(health)).toEqual({ status: 'degraded', open: ['emptied'] })
  })

  test('that is new and small is complete', async () => {
    await using daemon = await start()
    daemon.sandbox.subforum({ name: 'cats' })
    const health = await daemon.watch({ subforum: 'cats' })

    expect(await coverageOf(health)).toEqual({ status: 'complete', open: [] })
    expect(await daemon.ends()).toEqual([])
  })

  test('with all posts deleted is empty after ten checks, without an operator event', async () => {
    await using daemon = await start()
    const { name } = daemon.sandbox.post({ subforum: 'cats', title: 'before' })
    const health = await daemon.watch({ subforum: 'cats' })
    daemon.sandbox.remove({ name, by: 'author' })
    await daemon.clock.advance(15 * MINUTE)

    expect((await coverageOf(health)).open).toEqual([])
    expect(await daemon.ends()).toEqual([])
  })
})

describe('a read', () => {
  test('is refused where a place that had rows answers an empty page, until it has rows', async () => {
    await using daemon = await start()
    const { name } = daemon.sandbox.post({ subforum: 'cats', title: 'one' })
    const post = { name }
    daemon.sandbox.comment({ parent: post.name, text: 'meow' })
    await daemon.read('/posts?subforum=cats&sort=new')
    await daemon.read('/sub/cats/comments')
    daemon.sandbox.addFault({ path: '/r/cats/*', fault: 'emptied' })

    for (const path of ['/posts?subforum=cats&sort=new', '/sub/cats/comments'])
      expect(await daemon.read(path)).toMatchObject({
        status: 403,
        code: 'PERMISSION_DENIED',
        reason: 'emptied',
      })
    daemon.sandbox.clearFaults()
    expect((await daemon.read('/posts?subforum=cats&sort=new')).body.posts).toHaveLength(1)
  })

  test('accepts an empty ranking of a day, and a search without hits', async () => {
    await using daemon = await start()
    daemon.sandbox.subforum({ name: 'cats', subscribers: 50_000 })

    expect((await daemon.read('/sub/cats/top?t=day')).status).toBe(200)
    expect((await daemon.read('/search?q=nothing')).body).toMatchObject({
      posts: [],
      listing_status: 'unknown',
    })
  })

  test('refuses a notice in place of mature rows, also one with the path of a post', async () => {
    await using daemon = await start()
    const row = {
      id: 'zzz',
      name: 't3_zzz',
      title: 'Confirm your age',
      subreddit: 'cellar',
      over_18: true,
      permalink: '/r/cellar/comments/zzz/confirm/',
      created_utc: 1_700_000_000,
    }
    const rows = {
      cellar: row,
      // Marked as suitable for all, it is known by its path, or by another place.
      porch: { ...row, subreddit: 'porch', over_18: false, permalink: '/over18?dest=/r/porch' },
      shed: { ...row, over_18: false },
    }
    for (const [place, data] of Object.entries(rows))
      daemon.sandbox.addFault({
        path: `/r/${place}/new*`,
        fault: 'answer',
        body: JSON.stringify({
          kind: 'Listing',
          data: { after: null, modhash: '', children: [{ kind: 't3', data }] },
        }),
        headers: { 'content-type': 'application/json' },
      })
    daemon.sandbox.addFault({ path: '/r/attic/new*', fault: 'placeholder' })
    daemon.sandbox.subforum({ name: 'attic', over_18: true })
    daemon.sandbox.addFault({ path: '/search*', fault: 'placeholder' })

    for (const path of [
      ...Object.keys(rows).map((place) => `/posts?subforum=${place}&sort=new`),
      '/posts?subforum=attic&sort=new',
      '/search?q=adult&nsfw=true',
    ])
      expect(await daemon.read(path)).toMatchObject({ status: 403, reason: 'placeholder' })
  })

  test('returns the only post of a mature place', async () => {
    await using daemon = await start()
    daemon.sandbox.subforum({ name: 'cellar', over_18: true })
    daemon.sandbox.post({ subforum: 'cellar', title: 'alone', over_18: true })

    expect((await daemon.read('/posts?subforum=cellar&sort=new')).body.posts).toHaveLength(1)
  })

  test('refuses a hidden profile with karma, and returns the empty one of a newcomer', async () => {
    await using daemon = await start()
    daemon.sandbox.user({ name: 'quiet_one', curated: true, post_karma: 40, comment_karma: 0 })
    daemon.sandbox.user({ name: 'newcomer' })
    daemon.sandbox.user({ name: 'talker', curated: true, post_karma: 1, comment_karma: -7 })
    const reasons = async (name: string) => [
      (await daemon.read(`/user/${name}/submitted`)).reason,
      (await daemon.read(`/user/${name}/comments`)).reason,
    ]

    expect(await reasons('quiet_one')).toEqual(['profile_hidden', undefined])
    expect(await reasons('talker')).toEqual([undefined, 'profile_hidden'])
    expect(await reasons('newcomer')).toEqual([undefined, undefined])
    expect(await daemon.ends()).toEqual([['access_ended', 'user_posts:quiet_one']])
    for (const name of ['quiet_one', 'talker']) {
      daemon.sandbox.user({ name, curated: false })
      const { name: post } = daemon.sandbox.post({ subforum: 'cats', author: name, title: 'hello' })
      daemon.sandbox.comment({ parent: post, author: name, text: 'hello' })
    }
    expect(await reasons('quiet_one')).toEqual([undefined, undefined])
    expect(await reasons('talker')).toEqual([undefined, undefined])
    expect((await daemon.ends()).at(-1)).toEqual(['access_restored', 'user_posts:quiet_one'])
  })

  test('behind a login wall names it; one login page alone is no wall', async () => {
    await using daemon = await start()
    daemon.sandbox.post({ subforum: 'cats', title: 'one' })
    daemon.sandbox.addFault({ path: '/r/*', fault: 'login_page_200', times: 1 })
    expect(await daemon.read('/posts?subforum=cats')).toMatchObject({
      status: 403,
      reason: 'login_wall',
    })
    expect((await daemon.read('/posts?subforum=cats')).status).toBe(200)
    expect(await daemon.ends()).toEqual([])

    daemon.sandbox.addFault({ path: '/r/*', fault: 'block_403_html' })
    for (let n = 0; n < 20; n++) {
      const { status, reason } = await daemon.read('/posts?subforum=cats')
      expect([status, reason]).toEqual([503, 'login_wall'])
      await daemon.clock.advance(2 * SECOND)
    }
    expect((await daemon.call('/health')).body.reads).toBe('degraded')
    expect(await daemon.ends()).toHaveLength(1)
  })

  test('behind redirects to the login counts as degraded', async () => {
    await using daemon = await start()
    daemon.sandbox.addFault({ path: '/r/*', fault: 'login_redirect' })
    for (let n = 0; n < 22; n++) await daemon.read('/posts?subforum=cats')

    expect((await daemon.call('/health')).body.reads).toBe('degraded')
  })
})

async function withApplication() {
  const daemon = await start({ world: 'seeded', bearer: true }, (config) => {
    homeOf(config)!.accounts.oauth_requests_per_minute = 60_000
  })
  const application = daemon.sandbox.overview().application
  if (application === null) throw new Error('the sandbox has no application')
  const { client_id, client_secret } = application
  const secrets = { kind: 'oauth', client_id, client_secret, refresh_token: null } as const
  addAccounts(daemon, [{ name: 'app', secrets, status: newStatus(daemon.clock.now()) }])
  await daemon.clock.advance(2 * SECOND)
  const states = async () => (await daemon.read('/posts?subforum=coffee&limit=1')).status
  // The first read notices the account, whose token is requested then.
  await states()
  await daemon.clock.advance(5 * SECOND)
  expect(await states()).toBe(200)
  return Object.assign(daemon, { status: states })
}

describe('a revoked application', () => {
  test.each([
    ['its token is refused and no other is issued', '/'],
    ['every call is refused, though tokens are issued', '/r/*'],
  ])('is not used any more and returns by itself: %s', async (_, path) => {
    await using daemon = await withApplication()
    daemon.sandbox.addFault({ path, fault: 'client_revoked' })
    // The list that any application may read.
    if (path !== '/') daemon.sandbox.addFault({ path: '/subreddits/*', fault: 'client_revoked' })
    for (let n = 0; n < 3; n++) expect(await daemon.status()).toBe(403)
    await daemon.clock.advance(10 * SECOND)

    expect(await daemon.status()).toBe(503)
    expect((await daemon.call('/health')).body.reads).toBe('degraded')
    expect(await daemon.ends()).toEqual([['access_ended', 'app']])
    daemon.clock.jump(HOUR)
    await daemon.clock.advance(MINUTE)
    expect(await daemon.ends()).toHaveLength(1)

    daemon.sandbox.clearFaults()
    daemon.clock.jump(HOUR)
    await daemon.clock.advance(MINUTE)
    expect(await daemon.status()).toBe(200)
    expect((await daemon.ends()).at(-1)).toEqual(['access_restored', 'app'])
  })

  test('is another thing than calls that are refused alone', async () => {
    await using daemon = await withApplication()
    daemon.sandbox.addFault({ path: '/r/coffee/*', fault: 'client_revoked' })
    for (let n = 0; n < 6; n++) {
      await daemon.status()
      await daemon.clock.advance(10 * SECOND)
    }
    daemon.sandbox.clearFaults()

    expect(await daemon.status()).toBe(200)
    expect(await daemon.ends()).toEqual([])
  })
})

describe('a source with a last day', () => {
  test('is announced at 30, 14, 7 and 1 days, and explains its faults afterwards', async () => {
    const start_at = Date.parse('2027-02-10T10:00:00Z')
    await using daemon = await start({ start_at }, (config) => {
      homeOf(config)!.ends_at = '2027-03-31'
    })
    await daemon.clock.advance(MINUTE)
    const logged = () => daemon.events.filter(({ event }) => event.startsWith('source.end'))
    expect(logged().map(({ event, fields }) => [event, fields['days']])).toEqual([
      ['source.ends', 49],
    ])
    expect((await daemon.call('/health')).body).not.toHaveProperty('ends')
    expect((await daemon.call('/api/forum/sources')).body.sources[0].ends_at).toBe('2027-03-31')

    // To 30, 29, 14, 7 and 1 days before the day, the day itself, and the day after.
    for (const days of [19, 1, 15, 7, 6, 1, 1]) {
      daemon.clock.jump(days * DAY)
      await daemon.clock.advance(2 * MINUTE)
      // A day after the first warning, which is not repeated.
      if (days === 1) await daemon.restart()
    }
    expect(announced().filter((it) => it.startsWith('source_'))).toEqual([
      'source_ending forum 30',
      'source_ending forum 14',
      'source_ending forum 7',
      'source_ending forum 1',
      'source_ended forum',
    ])
    expect((await daemon.call('/health')).body.ends).toEqual([
      { source: 'forum', ends_at: '2027-03-31' },
    ])
    daemon.sandbox.addFault({ path: '/r/*', fault: 'login_page_200' })
    expect((await daemon.read('/posts?subforum=cats')).body.message).toEndWith(
      'access to this source ended on 2027-03-31, says its configuration',
    )
  })
})
