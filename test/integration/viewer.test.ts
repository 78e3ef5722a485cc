import { afterAll, beforeAll, expect, test } from 'bun:test'

import type { Sandbox } from '../../sandbox/server/sandbox.ts'
import type { Identities } from '../../src/gateway/identity.ts'
import { ANONYMOUS, type Identity } from '../../src/platforms/port.ts'
import { addAccounts, headerOf } from '../support/accounts.ts'
import { startReading } from '../support/reads-fixture.ts'
import { signedIn } from '../support/sessions.ts'
import { startTestDaemon } from '../support/test-daemon.ts'
import { call, connectedTo } from './mcp-fixture.ts'

// Every read that uses an account of the pool, from the OpenAPI document: a new route is part of
// these tests.

type Reading = Awaited<ReturnType<typeof startReading>>
type Values = Readonly<Record<string, string>>
type Route = { method: 'GET' | 'POST'; path: string; parameters: { name: string; in: string }[] }

let identity: Identity = ANONYMOUS
// The pool holds both accounts, and lends this one unless a call avoids it.
const identities: Identities = {
  lease(_use, avoid = []) {
    const { ann, bob } = accounts
    return [identity, ann, bob].find(({ id }) => !avoid.includes(id)) ?? null
  },
  report: () => {},
}

let daemon: Reading
let routes: Route[]
let values: Values
let accounts: { ann: Identity; bob: Identity }

const poolAccount = (name: string, cookies: Readonly<Record<string, string>>): Identity => ({
  id: `acc_${name}`,
  whose: 'pool',
  cookie: headerOf(cookies),
  bearer: null,
  proxy: null,
})

/** Sends a write to the platform as an account, beside the daemon. */
async function act({ url }: Sandbox, { cookie }: Identity, path: string, form: Values) {
  const headers = { cookie: cookie ?? '' }
  const me: any = await (await fetch(`${url}/api/me.json`, { headers })).json()
  const body = new URLSearchParams({ ...form, uh: me.data.modhash, api_type: 'json' })
  const response = await fetch(url + path, { method: 'POST', headers, body })
  expect(response.status).toBe(200)
}

beforeAll(async () => {
  daemon = await startReading({ credits_micros: 1_000_000_000, identities, read_cache_ms: 0 })
  const { sandbox } = daemon
  const created_at = Date.now() - 7_200_000
  const post = sandbox.post({ subforum: 'open', author: 'carl', title: 'Kettle', created_at })
  const hidden = sandbox.post({ subforum: 'open', author: 'carl', title: 'Kettle 2', created_at })
  sandbox.post({ subforum: 'open', author: 'carl', title: 'Kettle 3', over_18: true, created_at })
  const comment = sandbox.comment({ parent: post.name, author: 'carl', text: 'Kettle', created_at })
  const reply = sandbox.comment({
    parent: comment.name,
    author: 'dora',
    text: 'Kettle',
    created_at,
  })
  for (let n = 0; n < 250; n++)
    sandbox.comment({ parent: post.name, author: 'dora', text: `Kettle ${n}`, created_at })
  const wiki = { index: 'Hello.' }
  sandbox.subforum({ name: 'open', title: 'Open place', wiki, moderators: ['ann', 'carl'] })
  sandbox.user({ name: 'ann', subscribed: ['open'] })
  sandbox.user({ name: 'bob' })
  const session = (username: string) => poolAccount(username, sandbox.session({ username }).cookies)
  accounts = { ann: session('ann'), bob: session('bob') }
  for (const { name } of [post, comment, reply]) {
    await act(sandbox, accounts.ann, '/api/vote', { id: name, dir: '1' })
    await act(sandbox, accounts.ann, '/api/vote', { id: name, dir: '0' })
    await act(sandbox, accounts.ann, '/api/save', { id: name })
  }
  await act(sandbox, accounts.ann, '/api/hide', { id: hidden.name })
  values = {
    subforum: 'open',
    name: 'open',
    user: 'carl',
    id: post.id,
    comment: comment.id,
    postId: post.id,
    fullnames: post.name,
    page: 'index',
    permalink: post.permalink,
    q: 'Kettle',
  }
  const { paths } = (await daemon.document()).body
  routes = Object.entries<Record<string, any>>(paths).flatMap(([path, methods]): Route[] => {
    if (!path.startsWith('/api/forum/')) return []
    return Object.entries(methods).map(([method, { parameters = [] }]) => ({
      method: method === 'get' ? 'GET' : 'POST',
      path: path.slice('/api/forum'.length),
      parameters: parameters.filter((it: any) => it.required && it.in !== 'header'),
    }))
  })
})
afterAll(() => daemon[Symbol.asyncDispose]())

const valueOf = ({ path }: Route, name: string, change: Values): string => {
  const of_user = name === 'name' && path.startsWith('/user/')
  const of_comment = name === 'id' && path.startsWith('/comment/')
  const value = change[name] ?? values[of_user ? 'user' : of_comment ? 'comment' : name]
  return value ?? expect.unreachable(`this test has no value for ${name} of ${path}`)
}

/** A request of a route with these values; `change` holds encoded values that replace them. */
function ask(route: Route, change: Values = {}, headers: Record<string, string> = {}) {
  let { path } = route
  const query: string[] = []
  for (const { name, in: where } of route.parameters) {
    const value = valueOf(route, name, change)
    if (where === 'path') path = path.replace(`{${name}}`, value)
    else query.push(`${name}=${name in change ? value : encodeURIComponent(value)}`)
  }
  const sent = query.length > 0 ? `${path}?${query.join('&')}` : path
  return route.method === 'GET'
    ? daemon.get(sent, headers)
    : daemon.post(sent, { ids: [values['comment']] }, headers)
}

test('two accounts of the pool answer every read with the same bytes', async () => {
  const different: string[] = []
  let compared = 0
  for (const route of routes) {
    const answers: string[] = []
    for (const account of [accounts.ann, accounts.bob]) {
      identity = account
      const { status, body } = await ask(route)
      answers.push(`${status} ${JSON.stringify(body)}`)
    }
    if (answers[0]?.includes('SESSION_REQUIRED')) continue
    expect(answers[0]?.slice(0, 4)).toBe('200 ')
    compared += 1
    if (answers[0] !== answers[1]) different.push(route.path)
  }

  expect(different).toEqual([])
  expect(compared).toBeGreaterThanOrEqual(24)
})

test('no read answers with the write token or the votes of the account', async () => {
  identity = accounts.ann
  const me: any = await (
    await fetch(`${daemon.sandbox.url}/api/me.json`, { headers: { cookie: identity.cookie ?? '' } })
  ).json()
  const leaks: string[] = []
  for (const route of routes) {
    const text = JSON.stringify((await ask(route)).body)
    leaks.push(...(text.includes(me.data.modhash) ? [`${route.path}: write token`] : []))
    leaks.push(...(/"(?:likes|saved|hidden)":true/.test(text) ? [`${route.path}: votes`] : []))
  }

  expect(leaks).toEqual([])
})

test('content visible to an account as a member of a private subforum is not answered', async () => {
  const { sandbox } = daemon
  sandbox.subforum({ name: 'cellar', access: 'private', members: ['ann'] })
  const written = { subforum: 'cellar', author: 'ann', title: 'Cask' }
  const post = sandbox.post(written)
  const comment = sandbox.comment({ parent: post.name, author: 'ann', text: 'Cask' })
  sandbox.post({ ...written, subforum: 'open' })
  const paths = [
    '/posts?subforum=cellar',
    '/sub/cellar/top',
    '/sub/cellar/comments',
    '/sub/cellar/about',
    '/search?q=Cask&subforum=cellar',
    '/search?q=Cask',
    `/post/${post.id}`,
    `/post/${post.id}/comments`,
    `/comments?permalink=${post.permalink}`,
    `/comment/${comment.id}`,
    `/by_id/${post.name}`,
    '/user/ann/comments',
    '/user/ann/submitted',
  ]
  for (const path of paths) {
    const answers: string[] = []
    for (const account of [accounts.ann, accounts.bob]) {
      identity = account
      const { status, body } = await daemon.get(path)
      answers.push(`${status} ${JSON.stringify(body)}`)
    }
    expect([path, answers[0]]).toEqual([path, answers[1]])
    expect([path, answers[0]?.includes('/r/cellar/')]).toEqual([path, false])
  }
  const own = signedIn(sandbox, 'ann')
  expect((await daemon.get('/posts?subforum=cellar', own)).status).toBe(200)
})

const NAMES = ['me', 'ME', '%6de', 'mE', 'u_me', 'friends', 'Friends', 'mod', 'm%6fd', 'saved']
const TERMS = [
  'author:me',
  'AUTHOR:Me',
  'kettle author:"me"',
  'subreddit:friends',
  'subreddit:(cats OR mod)',
  '-author:me kettle',
  'author: me',
  'author:u/me',
  'author:(x (me))',
  '(author:ｍｅ)',
  'subreddit:cats+friends',
]

test('names that refer to the account are refused in every parameter, before any request', async () => {
  identity = accounts.ann
  const answered: string[] = []
  let request_count = 0
  for (const route of routes)
    for (const { name } of route.parameters) {
      const words = name === 'q' ? TERMS.map(encodeURIComponent) : NAMES
      if (name !== 'q' && name !== 'name' && name !== 'subforum') continue
      for (const word of words) {
        const before = daemon.requestedPaths().length
        const { status, body } = await ask(route, { [name]: word })
        if (body.code === 'SESSION_REQUIRED') continue
        request_count += 1
        const sent = daemon.requestedPaths().length - before
        if (status !== 400 || body.field !== name || sent > 0)
          answered.push(`${route.path} ${name}=${word}: ${status}, ${sent} sent`)
      }
    }

  expect(answered).toEqual([])
  expect(request_count).toBeGreaterThan(150)
})

test('the optional subforum of a search is refused like the required ones', async () => {
  identity = accounts.ann
  const { status, body } = await daemon.get('/search?q=kettle&subforum=friends')

  expect([status, body.field]).toEqual([400, 'subforum'])
  expect(body.error).toContain('friends refers to the account of the request')
})

test('words that only resemble such names are searched for', async () => {
  identity = accounts.ann
  for (const q of ['me', 'about me', 'author:meg', '"author:me"', 'self:yes kettle', 'mod friends'])
    expect([q, (await daemon.get(`/search?q=${encodeURIComponent(q)}`)).status]).toEqual([q, 200])
  expect((await daemon.get('/search/users?q=me')).status).toBe(200)
})

test("a caller's session may use them, and gets its own votes", async () => {
  identity = accounts.bob
  const headers = signedIn(daemon.sandbox, 'ann')
  const found = await daemon.get('/search?q=author%3Ame', headers)
  const tree = await daemon.get(`/post/${values['id']}/comments?limit=500`, headers)
  await daemon.get('/posts?subforum=friends', headers)

  expect(found.status).toBe(200)
  expect(daemon.requestedPaths().at(-1)).toStartWith('/r/friends/new.json')
  expect(JSON.stringify(tree.body).includes('"saved":true')).toBe(true)
})

test('MCP tools and monitors refuse them too', async () => {
  await using it = await startTestDaemon()
  it.sandbox.subforum({ name: 'open' })
  addAccounts(it, [{ name: 'ann', cookies: it.sandbox.session({ username: 'ann' }).cookies }])
  const client = await connectedTo(it.url(), it.key)
  const sent = it.sandbox.requests.length

  for (const [tool, args] of [
    ['forum_user', { name: 'me' }],
    ['forum_posts', { subforum: 'mod' }],
    ['forum_search', { q: 'author:me' }],
  ] as const) {
    const answered = await call(client, tool, args)
    expect([answered.isError, answered.text]).toEqual([
      true,
      expect.stringContaining('refers to the account of the request'),
    ])
  }
  for (const path of ['/forum/monitor/add', '/forum/monitor/preview'])
    for (const filter_spec of [
      { author: 'me', kind: 'both' },
      { subforum: ['open', 'friends'] },
      { q: 'kettle OR author:me' },
    ]) {
      const answered = await it.send(path, { filter_spec })
      expect([path, answered.status]).toEqual([path, 400])
      expect(answered.body.message ?? answered.body.error).toContain(
        'refers to the account of the request',
      )
    }
  expect(it.sandbox.requests.slice(sent).map(({ path }) => path)).toEqual([])
  await client.close()
})
