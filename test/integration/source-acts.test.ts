// Goal: acts reach the source that a call names, once, as the account whose credential it brings, and every refusal of the
// source has its own error. Method: the program acts on the simulated platforms over HTTP; what was done is read with clients
// of the real platforms, and how often it was sent from the platforms' own logs.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'

import Discourse from 'discourse2'
import { LemmyHttp } from 'lemmy-js-client-v3'

import { DISCOURSE } from '../../sandbox/discourse/kind.ts'
import { LEMMY } from '../../sandbox/lemmy/kind.ts'
import { startSource } from '../../sandbox/sources/start.ts'
import { tempFolder } from '../support/folder.ts'
import { type DaemonProcess, runForumd, startProcess } from '../support/process.ts'

const MANY = { requests: 100_000, seconds: 60 }
const SIMULATED = { port: 0, seed: 7, speed: 0, world: 'seeded', now: Date.now } as const
const ADA = { username: 'ada_reads', password: 'correct-horse-9' }
const TEXT = 'A reply that is long enough for every forum.'

const folder = tempFolder()
const config = folder.file('forumd.toml')
let forum: Awaited<ReturnType<typeof startSource<ReturnType<typeof DISCOURSE.create>>>>
let instance: Awaited<ReturnType<typeof startSource<ReturnType<typeof LEMMY.create>>>>
let daemon: DaemonProcess
let key = ''
let reader_key = ''
let user_key = ''
let topic_id = 0

type Reply = { status: number; headers: Headers; body: any }

async function post(
  path: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const response = await fetch(`${daemon.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return { status: response.status, headers: response.headers, body: await response.json() }
}
const act = (name: string, source: string, body: object, headers: Record<string, string> = {}) =>
  post(`/api/forum/${name}?source=${source}`, body, headers)
const asUser = (username: string) => {
  const { key: admin } = Object(forum.call('key', {}))
  return new Discourse(forum.url, { 'Api-Key': admin, 'Api-Username': username })
}
const posted = (path: string) =>
  forum.requests.filter((it) => it.method === 'POST' && it.path === path).length
const newTopic = () =>
  Number(
    Object(
      forum.call('post', {
        category: 'coffee',
        author: 'cedar_owl',
        title: `A topic about kettles ${crypto.randomUUID()}`,
        text: TEXT,
      }),
    ).topic_id,
  )
const urlOf = (id: number) => `${forum.url}/t/a-topic/${id}`

const credential = () => ({ forum_session: user_key })
const community_post = () =>
  Number(
    Object(instance.call('post', { community: 'main', title: `Kettles ${crypto.randomUUID()}` }))
      .id,
  )
const page = (query = '', method = 'GET') => fetch(`${daemon.url}/connect/meta${query}`, { method })

const draft = (source: string, body: object, action = 'comment') =>
  post('/drafts', { action, source, body })

const reply = (id: number, headers = {}, text = TEXT) =>
  act('v2/comment', 'meta', { ...credential(), post_url: urlOf(id), text }, headers)

beforeAll(async () => {
  forum = await startSource(DISCOURSE, SIMULATED)
  instance = await startSource(LEMMY, SIMULATED)
  instance.call('site', { limits: { message: MANY, search: MANY, register: MANY } })
  forum.call('site', { create_post_s: 0, user_key_per_minute: 10_000 })
  user_key = Object(forum.call('key', { username: 'ada_reads', scopes: ['read', 'write'] })).key
  const sources = [
    ['meta', 'discourse', forum.url],
    ['lem', 'lemmy', instance.url],
    ['hn', 'hackernews', 'http://127.0.0.1:1'],
  ].map(
    ([name, kind, url]) =>
      `[[source]]\nname = "${name}"\nkind = "${kind}"\nbase_url = "${url}"\nrequests_per_minute = 6000\n`,
  )
  writeFileSync(
    config,
    `server = { port = 0, trusted_proxies = ["127.0.0.1"] }
storage = { dir = "${folder.file('data')}" }
limits = { writes_per_minute = 1000 }
[[source]]
name = "forum"
kind = "reddit"
base_url = "http://127.0.0.1:1"
session_cookie = "s"
${sources.join('')}`,
  )
  const create = (...more: string[]) =>
    runForumd(['key', 'create', '--customer', 'ann', '--config', config, ...more])
  key = (await create()).trim()
  reader_key = (await create('--scopes', 'read')).trim()
  daemon = await startProcess(config)
  topic_id = newTopic()
}, 60_000)
afterAll(async () => {
  await daemon.end('SIGTERM')
  await forum.stop()
  await instance.stop()
  folder[Symbol.dispose]()
})

describe('discourse', () => {
  test('a comment is a reply that another client sees, answered in the usual shape', async () => {
    const id = newTopic()
    const { status, headers, body } = await reply(id)
    expect(status).toBe(200)
    expect(body).toMatchObject({ success: true, transport: 'http' })
    expect(body.comment).toMatchObject({ author: 'ada_reads', body: TEXT, post_id: String(id) })
    expect(Number(headers.get('x-credits-remaining'))).toBeGreaterThan(0)
    const seen = await asUser('ada_reads').getPost({ id: body.comment_id.slice(3) })
    expect([seen.raw, seen.topic_id, seen.username]).toEqual([TEXT, id, 'ada_reads'])
  })

  test('the call of the page replies over HTTP, and refuses fields that it would lose', async () => {
    const fields = { ...credential(), post_url: urlOf(newTopic()), text: TEXT }
    const done = await act('comment', 'meta', fields)
    expect(done.body).toMatchObject({ success: true, transport: 'http' })
    const other = await act('comment', 'meta', { ...fields, x_cookie: 'a' })
    expect([other.status, other.body.field]).toEqual([400, 'x_cookie'])
  })

  test('a like is given and taken back; there is no vote down', async () => {
    const topic = newTopic()
    const id = `t3_${topic}`
    const likers = () => forum.world.topics.get(topic)?.posts[0]?.likers.size
    const up = await act('vote', 'meta', { ...credential(), id, direction: 'up' })
    expect([up.status, up.body, likers()]).toMatchObject([200, { id, direction: 'up' }, 1])
    const none = await act('vote', 'meta', { ...credential(), url: urlOf(topic), direction: 0 })
    expect([none.status, likers()]).toEqual([200, 0])
    const down = await act('vote', 'meta', { ...credential(), id, direction: 'down' })
    expect([down.status, down.body.capability]).toEqual([501, 'downvote'])
    const odd = await act('vote', 'meta', { ...credential(), id: 't3_abc', direction: 'up' })
    expect([odd.status, odd.body.field]).toEqual([400, 'id'])
  })

  test('a message begins a conversation that its recipient has', async () => {
    const { body } = await act('dm', 'meta', {
      ...credential(),
      to: 'cedar_owl',
      subject: 'About your kettle, if I may',
      text: TEXT,
    })
    expect(body).toMatchObject({ success: true, channel: 'mail' })
    const inbox = await asUser('cedar_owl').listUserPrivateMessages({ username: 'cedar_owl' })
    expect(inbox.topic_list?.topics?.map(({ id }) => String(id))).toContain(body.thread_id)
  })

  test('cookies of the main platform are refused, and sent nowhere', async () => {
    const sent = forum.requests.length
    const fields = { post_url: urlOf(topic_id), text: TEXT }
    const both = await act('v2/comment', 'meta', { ...fields, forum_session: 'a', loid: 'b' })
    expect([both.status, both.body.field]).toEqual([400, 'loid'])
    const proxy = await act('v2/comment', 'meta', {
      ...fields,
      ...credential(),
      proxy: 'http://a:1',
    })
    expect([proxy.status, proxy.body.field]).toEqual([400, 'proxy'])
    const none = await act('v2/comment', 'meta', fields)
    expect([none.status, none.body.code]).toEqual([400, 'SESSION_REQUIRED'])
    expect(forum.requests.length).toBe(sent)
  })

  test.each([
    ['a closed topic', 403, 'PERMISSION_DENIED', { closed: true }],
    ['a silenced user', 403, 'PERMISSION_DENIED', { silenced: true }],
  ])('%s is refused', async (_, status, code, change) => {
    const id = newTopic()
    if ('closed' in change) forum.call('topic', { topic_id: id, ...change })
    else forum.call('user', { name: 'ada_reads', ...change })
    const { status: answered, body } = await reply(id)
    forum.call('user', { name: 'ada_reads', silenced: false })
    expect([answered, body.code]).toEqual([status, code])
    expect(forum.world.topics.get(id)?.posts).toHaveLength(1)
  })

  test('a link to a reply is that reply; a deleted one is refused', async () => {
    const id = newTopic()
    const first = await reply(id)
    const reply_url = `${urlOf(id)}/2`
    const answered = await act('v2/comment', 'meta', {
      ...credential(),
      post_url: reply_url,
      text: `${TEXT} Again.`,
    })
    expect(forum.world.topics.get(id)?.posts.map(({ reply_to }) => reply_to)).toEqual([
      null,
      null,
      2,
    ])
    expect(answered.body.comment.parent_id).toBe(first.body.comment_id)
    const { key: cedar } = Object(forum.call('key', { username: 'cedar_owl' }))
    const like = { forum_session: cedar, url: reply_url, direction: 'up' }
    expect((await act('vote', 'meta', like)).body.id).toBe(first.body.comment_id)
    forum.call('remove', { id: Number(first.body.comment_id.slice(3)), by: 'moderator' })
    const gone = await act('vote', 'meta', like)
    expect([gone.status, gone.body.code]).toEqual([404, 'NOT_FOUND'])
  })

  test('a limit of the action names the seconds to wait, and holds for its account only', async () => {
    forum.addFault({ path: '/posts', fault: 'action_limit', wait_s: 41, times: 1 })
    const { status, body } = await reply(newTopic())
    expect([status, body]).toMatchObject([502, { code: 'FORUM_RATELIMIT', retry_after: 41 }])
    forum.addFault({ path: '/posts', fault: 'rate_limit', wait_s: 300, times: 1 })
    const limited = await reply(newTopic())
    expect(limited.body).toMatchObject({ code: 'FORUM_RATELIMIT', retry_after: 300 })
    const read = await fetch(`${daemon.url}/api/forum/post/${newTopic()}?source=meta`, {
      headers: { authorization: `Bearer ${key}` },
    })
    expect(read.status).toBe(200)
  })

  test('a reply that a moderator has to approve is neither done nor refused', async () => {
    forum.addFault({ path: '/posts', fault: 'enqueued', times: 1 })
    const { status, body } = await reply(newTopic())
    expect([status, body]).toMatchObject([
      200,
      {
        success: true,
        comment_id: null,
        pending: true,
        pending_id: expect.stringMatching(/^\d+$/),
      },
    ])
  })

  test('an Idempotency-Key writes once, and its repeat gets the same answer', async () => {
    const id = newTopic()
    const sent = posted('/posts.json')
    const [first, second] = [
      await reply(id, { 'idempotency-key': 'a-1' }),
      await reply(id, { 'idempotency-key': 'a-1' }),
    ]
    expect(second.body).toEqual(first.body)
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(posted('/posts.json') - sent).toBe(1)
    const other = await reply(id, { 'idempotency-key': 'a-1' }, `${TEXT} Another.`)
    expect(other.body.code).toBe('IDEMPOTENCY_MISMATCH')
  })

  test('an answer that is lost is an unknown outcome, which is not tried again', async () => {
    const id = newTopic()
    const sent = posted('/posts.json')
    forum.addFault({ path: '/posts', fault: 'lost_answer', times: 1 })
    const lost = await reply(id, { 'idempotency-key': 'a-2' })
    const again = await reply(id, { 'idempotency-key': 'a-2' })
    expect([lost.body.code, again.body.code]).toEqual(['OUTCOME_UNKNOWN', 'OUTCOME_UNKNOWN'])
    expect(posted('/posts.json') - sent).toBe(1)
  })

  test('a kill between the send and the answer never sends it twice', async () => {
    const id = newTopic()
    const sent = posted('/posts.json')
    forum.addFault({ path: '/posts', fault: 'slow', delay_s: 20, times: 1 })
    const first = reply(id, { 'idempotency-key': 'a-3' }).catch(() => null)
    await Bun.sleep(700)
    await daemon.end('SIGKILL')
    expect(await first).toBeNull()
    daemon = await startProcess(config)
    const again = await reply(id, { 'idempotency-key': 'a-3' })
    expect(again.body.code).toBe('OUTCOME_UNKNOWN')
    expect(forum.world.topics.get(id)?.posts).toHaveLength(2)
    expect(posted('/posts.json') - sent).toBe(1)
  }, 30_000)
})

describe('lemmy', () => {
  let token = ''

  test('a wrong code, a missing one and a wrong password are verdicts', async () => {
    const bruno = instance.world.persons.find(({ name }) => name === 'bruno_keeps')
    const { password, totp_secret } = bruno ?? {}
    const account = { username: 'bruno_keeps', password }
    const login = (more: object) => act('login', 'lem', { ...account, ...more })
    const refusals = [
      await login({}),
      await login({ totp_secret: 'JBSWY3DPEHPK3PXP' }),
      await login({ password: 'wrong' }),
    ].map(({ status, body }) => [status, body.code])
    expect(refusals).toEqual([
      [502, 'TWO_FACTOR_REQUIRED'],
      [502, 'TWO_FACTOR_INVALID'],
      [502, 'AUTH_FAILED'],
    ])
    const { status, body } = await login({ totp_secret })
    expect([status, body]).toMatchObject([
      200,
      { success: true, method: 'http', username: 'bruno_keeps', link_karma: null },
    ])
    token = body.cookies.forum_session
    expect(body.expires).toEqual({ forum_session: null })
    const client = new LemmyHttp(instance.url, { headers: { Authorization: `Bearer ${token}` } })
    const { my_user } = await client.getSite()
    expect(my_user?.local_user_view.person.name).toBe('bruno_keeps')
  })

  test('a limit of sign-ins is named with its seconds, and reads go on', async () => {
    instance.addFault({
      path: '/api/v3/user/login',
      fault: 'rate_limit',
      retry_after_s: 600,
      times: 1,
    })
    const { status, body } = await act('login', 'lem', ADA)
    expect([status, body.code, body.retry_after > 0]).toEqual([502, 'UPSTREAM_ERROR', true])
    const read = await fetch(`${daemon.url}/api/forum/posts?subforum=all&source=lem`, {
      headers: { authorization: `Bearer ${key}` },
    })
    expect(read.status).toBe(200)
  })

  test('comments, replies, votes and messages are those of the account', async () => {
    const id = community_post()
    const session = { forum_session: token }
    const post_url = `${instance.url}/post/${id}`
    const first = await act('v2/comment', 'lem', { ...session, post_url, text: 'A first one.' })
    expect(first.body.comment).toMatchObject({ author: 'bruno_keeps', body: 'A first one.' })
    const answered = await act('comment', 'lem', {
      ...session,
      post_url: `${post_url}/${first.body.comment.id}`,
      text: 'And a reply.',
    })
    expect(answered.body.comment.parent_id).toBe(first.body.comment_id)
    const up = await act('vote', 'lem', { ...session, post_id: String(id), direction: 'up' })
    const down = await act('vote', 'lem', {
      ...session,
      id: first.body.comment_id,
      direction: 'down',
    })
    expect([up.status, down.status]).toEqual([200, 200])
    const sent = await act('dm', 'lem', {
      ...session,
      to: '@ada_reads',
      subject: 'Kettles',
      text: 'Have you one?',
    })
    expect(sent.body).toMatchObject({ success: true, channel: 'mail' })

    const client = new LemmyHttp(instance.url, { headers: { Authorization: `Bearer ${token}` } })
    const { comments } = await client.getComments({ post_id: id, max_depth: 8, type_: 'All' })
    const { private_messages } = await client.getPrivateMessages({})
    const { post_view } = await client.getPost({ id })
    expect(comments.map(({ comment, my_vote }) => [comment.content, my_vote ?? 0])).toEqual(
      expect.arrayContaining([
        ['A first one.', -1],
        ['And a reply.', 0],
      ]),
    )
    expect(post_view.my_vote).toBe(1)
    expect(private_messages[0]?.private_message.content).toBe('**Kettles**\n\nHave you one?')
  })

  test('a locked post and a session that has ended are refused', async () => {
    const id = community_post()
    instance.call('edit', { kind: 'post', id, locked: true })
    const fields = { post_url: `${instance.url}/post/${id}`, text: TEXT }
    const locked = await act('v2/comment', 'lem', { ...fields, forum_session: token })
    const ended = await act('v2/comment', 'lem', { ...fields, forum_session: 'ended' })
    expect([locked.body.code, ended.body.code]).toEqual(['THREAD_LOCKED', 'REAUTH_REQUIRED'])
  })
})

test('an act that a source lacks is named before anything is sent or billed', async () => {
  const fields = { forum_session: 'a', id: 't3_1', direction: 'up' }
  for (const [name, source, capability] of [
    ['vote', 'hn', 'vote'],
    ['v2/comment', 'hn', 'comment'],
    ['dm', 'hn', 'message'],
    ['login', 'hn', 'login'],
    ['login', 'meta', 'login'],
    ['dm/threads', 'lem', 'inbox'],
    ['profile/description', 'meta', 'profile'],
  ] as const) {
    const { status, headers, body } = await act(name, source, fields)
    expect([name, status, body.capability]).toEqual([name, 501, capability])
    expect(headers.get('x-credits-remaining')).toBeNull()
  }
})

test('a key without the scope for writes is refused by every path of a source', async () => {
  for (const path of ['vote?source=meta', 'sources/meta/vote']) {
    const { status } = await post(
      `/api/forum/${path}`,
      {},
      { authorization: `Bearer ${reader_key}` },
    )
    expect(status).toBe(403)
  }
})

/** Allows a request for a key as a person does in a browser. */
async function allow(authorize_url: string): Promise<Response> {
  const { searchParams } = new URL(authorize_url)
  forum.world.sessions.set('ada', forum.world.users.get('ada_reads') ?? fail())
  return fetch(`${forum.url}/user-api-key`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: '_t=ada', 'content-type': 'application/x-www-form-urlencoded' },
    body: searchParams,
  })
}
const fail = (): never => {
  throw new Error('there is no such user')
}
const payloadOf = (html: string) => /<code>([^<]+)<\/code>/.exec(html)?.[1] ?? ''
const linkIn = (html: string) => (/href="([^"]+)"/.exec(html)?.[1] ?? '').replaceAll('&amp;', '&')

/** A call of the page from an address behind the trusted proxy. */
const from = (address: string, query = '', method = 'POST') =>
  fetch(`${daemon.url}/connect/meta${query}`, { method, headers: { 'x-forwarded-for': address } })
const idIn = (html: string) => /name="request" value="(\w+)"/.exec(html)?.[1] ?? ''

describe('the page that connects an account', () => {
  test('a person allows it, pastes the answer, and gets a key once, with which a call writes', async () => {
    const explained = await page()
    expect(explained.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(await explained.text()).toContain(forum.url)
    const begun = await (await page('', 'POST')).text()
    const url = linkIn(begun)
    expect(new URL(url).searchParams.get('scopes')).toBe('read,write')
    const request = /name="request" value="(\w+)"/.exec(begun)?.[1]
    const payload = payloadOf(await (await allow(url)).text())
    const query = `?${new URLSearchParams({ request: request ?? '', payload: `${payload.slice(0, 60)}\n${payload.slice(60)}` }).toString()}`
    const wrong = await page(`?request=${request}&payload=AAAA`, 'POST')
    expect(wrong.status).toBe(400)
    expect((await (await page(query)).text()).includes('Show the key')).toBe(true)
    const shown = await (await page(query, 'POST')).text()
    const own = payloadOf(shown)
    expect(forum.world.keys.get(own)?.scopes).toEqual(['read', 'write'])
    const like = { forum_session: own, id: `t3_${newTopic()}`, direction: 'up' }
    expect((await act('vote', 'meta', like)).status).toBe(200)
    const again = await page(query, 'POST')
    expect([again.status, (await again.text()).includes(own)]).toEqual([404, false])
    forum.world.keys.get(own)!.revoked = true
    const revoked = await act('vote', 'meta', { ...like, id: `t3_${newTopic()}` })
    expect(revoked.status).toBe(403)
  })

  test('a forum that allows the address leads back to the page', async () => {
    const url = linkIn(await (await page('?return=yes', 'POST')).text())
    forum.call('site', { allowed_redirect: new URL(url).searchParams.get('auth_redirect') })
    const back = (await allow(url)).headers.get('location') ?? ''
    expect(back).toStartWith(`${daemon.url}/connect/meta?request=`)
    expect(await (await fetch(back)).text()).toContain('Show the key')
    const shown = await fetch(back, { method: 'POST' })
    expect(forum.world.keys.has(payloadOf(await shown.text()))).toBe(true)
  })

  test('300 requests without a key take no pair of keys each, and end only requests of their own address', async () => {
    const answered = async (address: string, id: string) =>
      (await from(address, `?request=${id}&payload=AAAA`, 'GET')).status
    const honest = await (await from('203.0.113.1')).text()
    const first = await (await from('203.0.113.2')).text()
    const pair = new URL(linkIn(honest)).searchParams.get('public_key')
    expect(new URL(linkIn(first)).searchParams.get('public_key')).toBe(pair)

    for (let round = 0; round < 29; round++)
      await Promise.all(Array.from({ length: 10 }, async () => (await from('203.0.113.2')).text()))

    expect(await answered('203.0.113.1', idIn(honest))).toBe(200)
    expect(await answered('203.0.113.2', idIn(first))).toBe(404)
  }, 30_000)

  test('is served under its own names only, and closed to scripts of other sites', async () => {
    const open = await page()
    expect([open.status, open.headers.get('access-control-allow-origin')]).toEqual([200, null])
    const rebound = await fetch(`${daemon.url}/connect/meta`, { headers: { host: 'evil.example' } })
    expect(rebound.status).toBe(421)
    const preflight = await fetch(`${daemon.url}/connect/meta`, { method: 'OPTIONS' })
    expect(preflight.headers.get('access-control-allow-origin')).toBeNull()
  })

  test('there is none for a source without such keys, nor for an unknown one', async () => {
    for (const name of ['lem', 'hn', 'nowhere'])
      expect((await fetch(`${daemon.url}/connect/${name}`)).status).toBe(404)
  })
})

describe("the operator's account and drafts", () => {
  const at = ['--config', config]
  test('a draft is written once at its source, as the account that was added there', async () => {
    const id = newTopic()
    const drafted = await draft('meta', { post_url: urlOf(id), text: TEXT })
    expect(drafted.body).toMatchObject({ status: 'waiting', source: 'meta' })
    const none = await runForumd(['draft', 'approve', drafted.body.id, 'meta', ...at]).catch(String)
    expect(none).toContain('forumd account add --source meta')
    const other = await runForumd(['draft', 'approve', drafted.body.id, 'x', ...at]).catch(String)
    expect(other).toContain("account must be meta, the name of the draft's source")

    const adding = Bun.spawn(
      [process.execPath, 'src/main.ts', 'account', 'add', '--source', 'meta', ...at],
      { stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' },
    )
    let asked = ''
    for await (const chunk of adding.stderr) {
      asked += new TextDecoder().decode(chunk)
      if (asked.includes('Ctrl-D')) break
    }
    const [url = ''] = /http\S+/.exec(asked.slice(asked.indexOf('Open this'))) ?? []
    forum.call('site', { allowed_redirect: null })
    void adding.stdin.write(payloadOf(await (await allow(url)).text()))
    void adding.stdin.end()
    expect([await adding.exited, await new Response(adding.stdout).text()]).toEqual([
      0,
      'your account at meta is added\n',
    ])
    const sent = posted('/posts.json')
    await runForumd(['draft', 'approve', drafted.body.id, 'meta', ...at])
    const posts = forum.world.topics.get(id)?.posts ?? []
    expect(posts.map(({ user }) => user.username)).toEqual(['cedar_owl', 'ada_reads'])
    expect(posted('/posts.json') - sent).toBe(1)
    const listed = JSON.parse(await runForumd(['account', 'list', '--json', ...at]))
    expect(listed.sources).toMatchObject([{ source: 'meta' }])
  }, 30_000)

  test('the draft tools of MCP name the source beside the fields of the write', async () => {
    const fields = { source: 'meta', id: `t3_${newTopic()}`, direction: 'up' }
    const response = await fetch(`${daemon.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'forum_draft_vote', arguments: fields },
      }),
    })
    expect(await response.text()).toContain('\\"source\\":\\"meta\\"')
  })

  test('the operator approves as the account of the source of the draft, and as no other', async () => {
    const { body } = await draft('meta', { id: `t3_${newTopic()}`, direction: 'up' }, 'vote')
    const operator = (await runForumd(['key', 'create', '--operator', ...at])).trim()
    const approve = (account: string) =>
      post(
        `/operator/drafts/${body.id}/approve`,
        { account },
        { authorization: `Bearer ${operator}` },
      )
    const other = await approve('lem')
    expect([other.status, other.body.error]).toEqual([
      400,
      "account must be meta, the name of the draft's source",
    ])
    await runForumd(['account', 'remove', '--source', 'meta', ...at])
    const none = await approve('meta')
    expect(none.body.error).toContain('forumd account add --source meta')
  })

  test('a caller approves with the credential alone; what a source lacks is no draft', async () => {
    const id = newTopic()
    const { body } = await draft('meta', { id: `t3_${id}`, direction: 'up' }, 'vote')
    const both = await post(`/drafts/${body.id}/approve`, { forum_session: 'a', loid: 'b' })
    expect([both.status, both.body.field]).toEqual([400, 'loid'])
    const done = await post(`/drafts/${body.id}/approve`, { forum_session: user_key })
    expect([done.status, done.body.status]).toEqual([200, 'approved'])
    expect(forum.world.topics.get(id)?.posts[0]?.likers.size).toBe(1)
    const again = await post(`/drafts/${body.id}/approve`, { forum_session: user_key })
    expect(again.body.code).toBe('draft_not_waiting')
    const down = await draft('meta', { id: `t3_${id}`, direction: 'down' }, 'vote')
    expect([down.status, down.body.capability]).toEqual([501, 'downvote'])
    const unknown = await draft('nowhere', { id: `t3_${id}`, direction: 'up' }, 'vote')
    expect([unknown.status, unknown.body.field]).toEqual([400, 'source'])
  })

  test('an account at an instance is added with its password and code', async () => {
    const bruno = instance.world.persons.find(({ name }) => name === 'bruno_keeps')
    writeFileSync(folder.file('pw'), bruno?.password ?? '')
    writeFileSync(folder.file('totp'), bruno?.totp_secret ?? '')
    const sign_in = ['--username', 'bruno_keeps', '--password-file', folder.file('pw')]
    const add = ['account', 'add', '--source', 'lem', ...at, ...sign_in]
    expect(await runForumd(add).catch(String)).toContain('totp_secret is required')
    expect(await runForumd([...add, '--totp-file', folder.file('totp')])).toContain('lem is added')
    expect(await runForumd(['account', 'add', '--source', 'hn', ...at]).catch(String)).toContain(
      'hn takes no account that is added in a browser',
    )
  })
})

test('the list of sources names the acts that work', async () => {
  const response = await fetch(`${daemon.url}/api/forum/sources`, {
    headers: { authorization: `Bearer ${key}` },
  })
  const { sources } = (await response.json()) as {
    sources: { name: string; capabilities: string[] }[]
  }
  const ACTS = ['login', 'comment', 'vote', 'downvote', 'message', 'inbox', 'profile', 'authorize']
  expect(
    Object.fromEntries(
      sources.map(({ name, capabilities }) => [
        name,
        ACTS.filter((it) => capabilities.includes(it)),
      ]),
    ),
  ).toEqual({
    forum: ACTS.slice(0, -1),
    meta: ['comment', 'vote', 'message', 'authorize'],
    lem: ['login', 'comment', 'vote', 'downvote', 'message'],
    hn: [],
  })
})
