import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import type { Sandbox } from '../../sandbox/server/sandbox.ts'
import type { SessionUse } from '../../src/core/forum/session.ts'
import { startReading } from '../support/reads-fixture.ts'
import { fake_session, signedIn } from '../support/sessions.ts'

// Every read, by every kind of session, with every kind of fault. The expected answers are computed
// from the rules below; no case is listed by hand.

type TestDaemon = Awaited<ReturnType<typeof startReading>>

/** Subject of a read, because the platform refuses each differently. */
type About =
  /** A subforum's own pages, and its listings. */
  | 'place'
  /** A post with its comments. */
  | 'tree'
  /** One item by its id; invisible ones are absent. */
  | 'thing'
  /** Several items by id, or their visibility: an answer for each, in any state. */
  | 'things'
  | 'profile'
  /** Content of a user. */
  | 'history'
  | 'honours'
  /** No particular subject. */
  | 'site'

type World = { place: string; person: string; post: string; permalink: string; comment: string }
type Endpoint = {
  name: string
  use: SessionUse
  about: About
  path: (world: World) => string
  body?: (world: World) => unknown
}

const read = (name: string, use: SessionUse, about: About, path: Endpoint['path']): Endpoint => ({
  name,
  use,
  about,
  path,
})

const ENDPOINTS: Endpoint[] = [
  read('posts', 'optional', 'place', ({ place }) => `/posts?subforum=${place}`),
  read('sub top', 'optional', 'place', ({ place }) => `/sub/${place}/top?t=all`),
  read('sub comments', 'optional', 'place', ({ place }) => `/sub/${place}/comments`),
  read('search', 'optional', 'site', () => '/search?q=Kettle'),
  read('comments', 'optional', 'tree', ({ permalink }) => `/comments?permalink=${permalink}`),
  read('post comments', 'optional', 'tree', ({ post }) => `/post/${post}/comments`),
  read('comments of post', 'optional', 'tree', ({ post }) => `/comments/${post}`),
  read('feed', 'required', 'site', () => '/feed?sort=new'),
  read('moderators', 'required', 'place', ({ place }) => `/sub/${place}/moderators`),
  ...['upvoted', 'saved', 'hidden', 'gilded'].map((tab) =>
    read(tab, 'own', 'site', () => `/user/ann/${tab}`),
  ),
  read('communities', 'none', 'site', () => '/search/communities?q=open'),
  read('search comments', 'none', 'site', () => '/search/comments?q=Kettle'),
  read('deep search', 'none', 'site', () => '/search/comments/deep?q=Kettle'),
  read('media', 'none', 'site', () => '/search/media?q=Kettle'),
  read('users', 'none', 'site', () => '/search/users?q=ann'),
  read('popular', 'none', 'site', () => '/subforums/popular'),
  read('new', 'none', 'site', () => '/subforums/new'),
  read('default', 'none', 'site', () => '/subforums/default'),
  read('about', 'none', 'place', ({ place }) => `/sub/${place}/about`),
  read('rules', 'none', 'place', ({ place }) => `/sub/${place}/rules`),
  read('wiki', 'none', 'place', ({ place }) => `/sub/${place}/wiki/index`),
  read('post', 'none', 'thing', ({ post }) => `/post/${post}`),
  read('comment', 'none', 'thing', ({ comment }) => `/comment/${comment}`),
  read('by id', 'none', 'things', ({ post }) => `/by_id/${post}`),
  read('visibility', 'none', 'things', ({ post }) => `/post/${post}/visibility`),
  {
    ...read('verify', 'none', 'things', () => '/comments/verify'),
    body: ({ comment }) => ({ ids: [comment] }),
  },
  read('user', 'none', 'profile', ({ person }) => `/user/${person}`),
  read('user comments', 'none', 'history', ({ person }) => `/user/${person}/comments`),
  read('submitted', 'none', 'history', ({ person }) => `/user/${person}/submitted`),
  read('achievements', 'none', 'honours', ({ person }) => `/user/${person}/achievements`),
]

const SESSIONS = ['none', 'half', 'dead', 'live', 'another customer’s'] as const
type SessionKind = (typeof SESSIONS)[number]

type Answer = { status: number; code: string | null }
const answer = (status: number, code: string | null = null): Answer => ({ status, code })
const DONE = answer(200)
const DENIED = answer(403, 'PERMISSION_DENIED')
const ABSENT = answer(404, 'NOT_FOUND')
const REAUTH = answer(401, 'REAUTH_REQUIRED')
const UNREADABLE = answer(503, 'upstream_unavailable')

/** Refused places and users: faults missing here are answered. */
const SUBJECTS: Record<string, Partial<Record<About, Answer>>> = {
  'nothing odd': {},
  private: { place: DENIED, tree: DENIED, thing: ABSENT },
  quarantined: { place: DENIED, tree: DENIED, thing: ABSENT },
  banned: { place: ABSENT, tree: ABSENT, thing: ABSENT },
  absent: {
    place: ABSENT,
    tree: ABSENT,
    thing: ABSENT,
    profile: ABSENT,
    history: ABSENT,
    honours: ABSENT,
  },
  suspended: { history: DENIED },
  'shadow-removed': { profile: ABSENT, history: ABSENT, honours: ABSENT },
}

/**
 * Faults of the platform, as the error table of the API answers them. `login page` has rules below.
 */
const FAULT_RULES: Record<
  string,
  { fault: Parameters<Sandbox['addFault']>[0]['fault']; read: Answer }
> = {
  '429': { fault: '429_html', read: answer(429, 'HTTP_429') },
  'a block page': { fault: 'block_403_html', read: UNREADABLE },
  'a challenge page': { fault: 'challenge_200_html', read: UNREADABLE },
  'a login page': { fault: 'login_page_200', read: DENIED },
  HTML: { fault: 'html', read: UNREADABLE },
  'a truncated body': { fault: 'truncated', read: UNREADABLE },
  'a connection reset': { fault: 'reset', read: UNREADABLE },
  'a 500': { fault: '5xx', read: UNREADABLE },
  'no answer in time': { fault: 'slow', read: answer(408, 'upstream_timeout') },
}

/** Billing rules: these statuses are free. */
const FREE: readonly number[] = [400, 408, 429, 502, 503]

/** The rules, in the order in which a call meets them. */
function expected(endpoint: Endpoint, session: SessionKind, trouble: string): Answer {
  const { use, about, name } = endpoint
  const own = use === 'own'
  const sent = use !== 'none' && session !== 'none'
  if (use !== 'none' && session === 'half') return answer(400, 'INCOMPLETE_SESSION')
  if ((own || use === 'required') && session === 'none') return answer(400, 'SESSION_REQUIRED')

  const fault_rule = FAULT_RULES[trouble]
  if (fault_rule) {
    if (fault_rule.fault === 'login_page_200') return sent ? REAUTH : DENIED
    const upstream = [408, 503].includes(fault_rule.read.status)
    // "502 UPSTREAM_ERROR on these four and on verify, 503 elsewhere."
    return upstream && (own || name === 'verify') ? answer(502, 'UPSTREAM_ERROR') : fault_rule.read
  }
  if ((own || use === 'required') && session === 'dead') return REAUTH
  if (own) return session === 'live' ? DONE : DENIED
  const refused = SUBJECTS[trouble]?.[about] ?? DONE
  // "401 REAUTH_REQUIRED: the platform rejected the session"; 403 is for one that is alive.
  return sent && session === 'dead' && refused === DENIED ? REAUTH : refused
}

const PLACES: Record<string, string> = { private: 'cellar', quarantined: 'fringe', banned: 'ruins' }
const PEOPLE: Record<string, string> = { suspended: 'sent_off', 'shadow-removed': 'unseen' }

/** A small data set, and the subject of a read that is to have this fault. */
function settle({ sandbox }: TestDaemon, trouble: string): World {
  const place = PLACES[trouble] ?? 'open'
  const person = PEOPLE[trouble] ?? 'bob'
  sandbox.subforum({ name: 'open', title: 'An open place', wiki: { index: 'Hello.' } })
  sandbox.post({ subforum: 'open', author: 'bob', title: 'Kettle', text: 'Kettles!' })
  const post = sandbox.post({ subforum: place, author: 'bob', title: 'Kettle, once more' })
  const comment = sandbox.comment({ parent: post.name, author: 'bob', text: 'A kettle.' })
  sandbox.subforum({ name: 'cellar', access: 'private' })
  sandbox.subforum({ name: 'fringe', access: 'quarantined' })
  sandbox.subforum({ name: 'ruins', access: 'banned' })
  sandbox.user({ name: 'sent_off', standing: 'suspended' })
  sandbox.user({ name: 'unseen', standing: 'shadowed' })
  sandbox.user({ name: 'ann' })
  if (trouble !== 'absent')
    return { place, person, post: post.id, permalink: post.permalink, comment: comment.id }
  const permalink = '/r/nowhere/comments/zzzzzz/nothing/'
  return { place: 'nowhere', person: 'nobody_here', post: 'zzzzzz', permalink, comment: 'zzzzzz' }
}

function sessionsOf({ sandbox }: TestDaemon): Record<SessionKind, Record<string, string>> {
  const live = signedIn(sandbox, 'ann')
  return {
    none: {},
    half: { 'x-forum-session': live['x-forum-session'] ?? '' },
    dead: fake_session,
    live,
    'another customer’s': signedIn(sandbox, 'cleo'),
  }
}

const PRICE = { read: 0.002, deep: 0.02 }
// Used where no answer ever comes, so no answer is cut off.
const NO_PATIENCE_MS = 40

describe.each([...Object.keys(SUBJECTS), ...Object.keys(FAULT_RULES)])('met with %s', (trouble) => {
  let daemon: TestDaemon
  let world: World
  let sessions: Record<SessionKind, Record<string, string>>

  beforeAll(async () => {
    const fault = FAULT_RULES[trouble]?.fault
    daemon = await startReading({
      credits_micros: 10_000_000,
      ...(fault === 'slow' && { timeout_ms: NO_PATIENCE_MS }),
    })
    world = settle(daemon, trouble)
    sessions = sessionsOf(daemon)
    if (fault)
      daemon.sandbox.addFault({
        path: '/',
        fault,
        ...(fault === 'slow' && { delay_s: 3600 }),
        // Otherwise the daemon would wait a moment and retry.
        ...(fault === '429_html' && { retry_after_s: 300 }),
      })
  })
  afterAll(() => daemon[Symbol.asyncDispose]())

  test('every read answers, and costs, by the rules', async () => {
    const wrong: string[] = []
    let spent = 0
    for (const endpoint of ENDPOINTS) {
      const answers = await Promise.all(
        SESSIONS.map((kind) => {
          const path = endpoint.path(world)
          const body = endpoint.body?.(world)
          return body ? daemon.post(path, body, sessions[kind]) : daemon.get(path, sessions[kind])
        }),
      )
      for (const [at, kind] of SESSIONS.entries()) {
        const { status = 0, body, headers } = answers[at] ?? {}
        const right = expected(endpoint, kind, trouble)
        const billed = !FREE.includes(right.status)
        if (billed) spent += endpoint.name === 'deep search' ? PRICE.deep : PRICE.read
        const got = `${status} ${body?.code ?? null} ${headers?.has('x-credits-remaining')}`
        const want = `${right.status} ${right.code} ${billed}`
        if (got !== want) wrong.push(`${endpoint.name}, session ${kind}: ${got}, not ${want}`)
        if ([408, 429, 503].includes(status) && !headers?.has('retry-after'))
          wrong.push(`${endpoint.name}, session ${kind}: no Retry-After`)
      }
    }

    expect(wrong).toEqual([])
    const { credits_used } = (await daemon.account()).body
    expect(credits_used).toBeCloseTo(spent, 6)
  })
})

test('a proxy that is empty, malformed or without a session is an error of every read', async () => {
  await using daemon = await startReading()
  const world = settle(daemon, 'nothing odd')
  const live = signedIn(daemon.sandbox, 'ann')
  const seen = daemon.sandbox.requests.length
  const wrong: string[] = []
  for (const endpoint of ENDPOINTS)
    for (const [session, proxy] of [
      [{}, 'p.test:1'],
      [{}, ''],
      [live, ''],
      [live, 'nonsense'],
    ] as const) {
      const headers = { ...session, 'x-forum-proxy': proxy }
      const body = endpoint.body?.(world)
      const path = endpoint.path(world)
      const { status, ...got } = await (body
        ? daemon.post(path, body, headers)
        : daemon.get(path, headers))
      const sent = session === live ? 'INVALID_PROXY' : 'PROXY_WITHOUT_SESSION'
      const code = endpoint.use === 'own' ? 'INVALID_FIELD' : sent
      if (status !== 400 || got.body.code !== code || got.body.field !== 'x-forum-proxy')
        wrong.push(`${endpoint.name}, '${proxy}': ${status} ${got.body.code}, not ${code}`)
    }
  expect(wrong).toEqual([])
  expect(daemon.sandbox.requests).toHaveLength(seen)
})

/** Pattern of a route's paths. */
const shapeOf = (route: string) => new RegExp(`^${route.replace(/\{\w+\}/g, '[^/?]+')}$`)

test('every read of the interface is in the matrix', async () => {
  await using daemon = await startReading()
  const { paths } = (await daemon.document()).body
  const world = { place: 'p', person: 'u', post: '1', permalink: '/r/p/comments/1/', comment: '1' }

  const routes = Object.keys(paths).filter((path) => path.startsWith('/api/forum/'))
  const endpoint_paths = ENDPOINTS.map(({ path }) => `/api/forum${path(world)}`.replace(/\?.*/, ''))
  const missing = routes.filter(
    (route) => !endpoint_paths.some((path) => shapeOf(route).test(path)),
  )

  expect(missing).toEqual([])
})
