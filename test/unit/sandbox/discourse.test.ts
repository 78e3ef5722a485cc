// Goal: the simulated Discourse shows the behaviour that a reader of the site depends on: its listings, gaps in ids, what
// disappears and returns, its limits and its keys.
import { expect, test } from 'bun:test'
import { constants, generateKeyPairSync, privateDecrypt } from 'node:crypto'

import { DISCOURSE } from '../../../sandbox/discourse/kind.ts'
import { codeAt } from '../../../sandbox/routes/login.ts'
import { ask, control, openSource } from './source-fixture.ts'

const DAY_S = 86_400
const TEXT = 'A text that is long enough for every limit of the site.'

/** Site with one topic of `replies` replies. */
async function withTopic(replies: number) {
  const site = await openSource(DISCOURSE)
  const topic = control(site, 'post', { title: 'A quiet grinder', text: TEXT, category: 'coffee' })
  const posts: number[] = [topic.post_id]
  for (let at = 0; at < replies; at++)
    posts.push(control(site, 'comment', { topic_id: topic.topic_id, text: `Reply ${at}` }).post_id)
  return { site, topic_id: topic.topic_id as number, posts }
}

const idsOf = (rows: { id: number }[]) => rows.map(({ id }) => id)
const latest = async (site: { url: string }, query = '') =>
  idsOf((await ask(site, `/posts.json${query}`)).json.latest_posts)

/** Headers of a user key for a user. */
const keyOf = (site: Parameters<typeof control>[0], username: string, scopes?: string[]) => ({
  'user-api-key': control(site, 'key', { username, ...(scopes && { scopes }) }).key as string,
})
const adminOf = (site: Parameters<typeof control>[0]) => ({
  'api-key': control(site, 'key', {}).key as string,
})

test('a walk below the lowest id reaches every public post once, in descending order', async () => {
  await using site = await openSource(DISCOURSE, { world: 'seeded' })
  control(site, 'site', { anonymous_per_minute: 9999, anonymous_per_10s: 9999 })
  const seen: number[] = []
  for (
    let page = await latest(site);
    page.length > 0;
    page = await latest(site, `?before=${seen.at(-1)}`)
  )
    seen.push(...page)
  const expected = site.world.posts
    .filter(({ topic, type, hidden, deleted_at, user_deleted_at }) => {
      const open = topic.archetype === 'regular' && topic.visible && topic.deleted_at === null
      const gone =
        deleted_at ??
        (user_deleted_at !== null && site.world.now() - user_deleted_at >= DAY_S * 1000)
      return (
        open &&
        !topic.category?.read_restricted &&
        type === 1 &&
        !hidden &&
        (gone === null || gone === false)
      )
    })
    .map(({ id }) => id)

  expect(seen.toReversed()).toEqual(expected)
  expect(seen.length).toBeGreaterThan(1000)
  // Ids have gaps.
  expect((seen[0] ?? 0) - (seen.at(-1) ?? 0)).toBeGreaterThan(seen.length * 1.1)
})

test('the listing of 2.8 has windows of 50 ids that include the asked one, and shows small actions', async () => {
  const { site, posts } = await withTopic(60)
  await using _ = site
  control(site, 'site', { listing: 'old' })
  const newest = posts.at(-1) ?? 0
  const page = await latest(site, `?before=${newest - 10}`)

  expect(page[0]).toBeLessThanOrEqual(newest - 10)
  expect(page.every((id) => id > newest - 60 && id <= newest - 10)).toBe(true)
  expect(await latest(site, `?before=${newest}`)).toContain(newest)
  expect(await latest(site, '?before=5')).toEqual([])
})

test.each([
  ['by its author, today', { by: 'author' }, 0, [200, true]],
  ['by its author, yesterday', { by: 'author' }, DAY_S, [404, false]],
  ['by a moderator', { by: 'moderator' }, 0, [404, false]],
])('a post deleted %s answers and is listed accordingly', async (_name, how, later_s, expected) => {
  const { site, posts } = await withTopic(3)
  await using _site = site
  const [, , id = 0] = posts
  control(site, 'remove', { id, ...how })
  site.advance(later_s)
  const answer = await ask(site, `/posts/${id}.json`)

  expect([answer.status, (await latest(site)).includes(id)]).toEqual(expected as [number, boolean])
})

test('a deleted post that is restored has its old id', async () => {
  const { site, posts } = await withTopic(3)
  await using _ = site
  const before = await latest(site)
  control(site, 'remove', { id: posts[1], by: 'moderator' })
  expect(await latest(site)).not.toContain(posts[1] ?? 0)
  control(site, 'restore', { id: posts[1] })

  expect(await latest(site)).toEqual(before)
})

test('a hidden post leaves the listing, and by id its text is withheld', async () => {
  const { site, posts } = await withTopic(2)
  await using _ = site
  control(site, 'edit', { id: posts[1], hidden: true })
  const { json } = await ask(site, `/posts/${posts[1]}.json`)

  expect(await latest(site)).not.toContain(posts[1] ?? 0)
  expect(json).toMatchObject({ hidden: true, cooked_hidden: true })
  expect(json.raw).toBeUndefined()
})

test('moved posts keep their ids, but the first is a copy under a new id with its old time', async () => {
  const { site, topic_id, posts } = await withTopic(4)
  await using _ = site
  site.advance(3600)
  const moved = control(site, 'move', {
    post_ids: [posts[2], posts[3]],
    title: 'A topic of its own',
  })
  const { json } = await ask(site, `/t/${moved.topic_id}.json`)
  const [copy, kept] = json.post_stream.posts

  expect(copy.id).toBeGreaterThan(posts.at(-1) ?? 0)
  expect(copy.created_at).toBe('2026-11-20T12:00:00.000Z')
  expect(kept.id).toBe(posts[3])
  expect((await ask(site, `/posts/${posts[2]}.json`)).status).toBe(404)
  expect((await ask(site, `/t/${topic_id}.json`)).json.post_stream.stream).not.toContain(posts[3])
})

test('an unlisted topic and a restricted category are left out; the latter is refused with 403', async () => {
  await using site = await openSource(DISCOURSE)
  control(site, 'category', { name: 'lounge', read_restricted: true })
  const hidden = control(site, 'post', { title: 'Not for all', category: 'lounge' })
  const unlisted = control(site, 'post', { title: 'Unlisted', visible: false })

  expect(await latest(site)).toEqual([])
  const refused = await ask(site, `/t/${hidden.topic_id}.json`)
  expect([refused.status, refused.json.error_type]).toEqual([403, 'invalid_access'])
  expect((await ask(site, `/t/${unlisted.topic_id}.json`)).status).toBe(200)
  control(site, 'topic', { topic_id: unlisted.topic_id, visible: true })
  expect(await latest(site)).toEqual([unlisted.post_id])
})

test('a long topic is read by pages of 20, by ids, and before a number', async () => {
  const { site, topic_id, posts } = await withTopic(44)
  await using _ = site
  const page = async (path: string) =>
    idsOf((await ask(site, `/t/${topic_id}${path}`)).json.post_stream.posts)

  expect(await page('.json')).toEqual(posts.slice(0, 20))
  expect(await page('.json?page=3')).toEqual(posts.slice(40))
  expect((await ask(site, `/t/${topic_id}.json?page=4`)).status).toBe(404)
  expect(await page(`/posts.json?post_ids[]=${posts[7]}&post_ids[]=${posts[30]}`)).toEqual([
    posts[7] ?? 0,
    posts[30] ?? 0,
  ])
  expect(await page('/posts.json?post_number=4')).toEqual(posts.slice(0, 3).toReversed())
  expect(await page('/30.json')).toContain(posts[29] ?? 0)
})

test('latest topics are paged by 30, and name the next page', async () => {
  await using site = await openSource(DISCOURSE)
  for (let at = 0; at < 35; at++) control(site, 'post', { title: `Topic ${at}` })
  const first = (await ask(site, '/latest.json?order=created')).json.topic_list
  const next: string = first.more_topics_url
  const second = (await ask(site, next.replace('/latest?', '/latest.json?'))).json.topic_list

  expect([first.topics.length, second.topics.length]).toEqual([30, 5])
  expect(next).toContain('page=1')
  expect(second.more_topics_url).toBeUndefined()
})

test('an address is limited with text, a key and an action with JSON', async () => {
  await using site = await openSource(DISCOURSE)
  control(site, 'site', { anonymous_per_10s: 2, user_key_per_minute: 1 })
  const headers = keyOf(site, 'ada')
  const anonymous = await Promise.all([1, 2, 3].map(() => ask(site, '/latest.json')))
  await ask(site, '/latest.json', { headers })
  const keyed = await ask(site, '/latest.json', { headers })

  const refused = anonymous.find(({ status }) => status === 429)
  expect(refused?.headers.get('content-type')).toStartWith('text/plain')
  expect(refused?.headers.get('discourse-rate-limit-error-code')).toBe('ip_10_secs_limit')
  expect([keyed.status, keyed.json.error_type]).toEqual([429, 'rate_limit'])
  expect(keyed.json.extras.wait_seconds).toBe(60)
  expect(keyed.headers.get('retry-after')).toBe('60')
  site.advance(60)
  expect((await ask(site, '/latest.json', { headers })).status).toBe(200)
})

test('a reply is written, repeated as one, limited, and refused where it is too short', async () => {
  const { site, topic_id } = await withTopic(0)
  await using _ = site
  control(site, 'site', { user_key_per_minute: 999 })
  const headers = keyOf(site, 'ada')
  const reply = { topic_id, raw: 'I would try the other one first, seriously.' }
  const first = await ask(site, '/posts.json', { headers, body: reply })
  const again = await ask(site, '/posts.json', { headers, body: reply })
  const soon = await ask(site, '/posts.json', {
    headers,
    body: { ...reply, raw: `${reply.raw} Or not.` },
  })
  const short = await ask(site, '/posts.json', { headers, body: { topic_id, raw: 'Short' } })

  expect([first.status, again.json.id]).toEqual([200, first.json.id])
  expect([soon.status, soon.json.extras.wait_seconds]).toEqual([429, 5])
  expect([short.status, short.json.action]).toEqual([422, 'create_post'])
  expect(site.world.posts.length).toBe(2)
})

test('a write without an account, with a key for reading, or to a closed topic is refused', async () => {
  const { site, topic_id } = await withTopic(0)
  await using _ = site
  const body = { topic_id, raw: TEXT }
  const reader = keyOf(site, 'ada', ['read'])

  expect((await ask(site, '/posts.json', { body })).json.error_type).toBe('not_logged_in')
  expect((await ask(site, '/posts.json', { body, headers: reader })).status).toBe(403)
  control(site, 'topic', { topic_id, closed: true })
  expect((await ask(site, '/posts.json', { body, headers: keyOf(site, 'bob') })).status).toBe(403)
  expect((await ask(site, '/latest.json', { headers: { 'user-api-key': 'x' } })).status).toBe(403)
})

test('a like counts once, is taken back, and notifies the author', async () => {
  const { site, posts } = await withTopic(0)
  await using _ = site
  const headers = keyOf(site, 'ada')
  const form = { id: String(posts[0]), post_action_type_id: '2' }
  const liked = await ask(site, '/post_actions.json', { headers, form })
  const twice = await ask(site, '/post_actions.json', { headers, form })
  const author = keyOf(site, 'passer_by')
  const notices = await ask(site, '/notifications.json', { headers: author })
  const undone = await ask(site, `/post_actions/${posts[0]}.json?post_action_type_id=2`, {
    headers,
    method: 'DELETE',
  })

  expect(liked.json.actions_summary[0]).toMatchObject({ id: 2, count: 1, acted: true })
  expect(liked.headers.get('discourse-actions-remaining')).toBe('49')
  expect([twice.status, undone.status]).toEqual([403, 200])
  expect(notices.json.notifications[0].data.display_username).toBe('ada')
})

test('a private message is seen by its participants only', async () => {
  await using site = await openSource(DISCOURSE)
  const [ada, bob, eve] = ['ada', 'bob', 'eve'].map((name) => keyOf(site, name))
  const body = {
    raw: TEXT,
    title: 'About the grinder',
    archetype: 'private_message',
    target_recipients: 'bob',
  }
  const { json } = await ask(site, '/posts.json', { headers: ada ?? {}, body })
  const show = (headers = {}) => ask(site, `/t/${json.topic_id}.json`, { headers })
  const inbox = await ask(site, '/topics/private-messages/bob.json', { headers: bob ?? {} })
  const sent = await ask(site, '/topics/private-messages-sent/ada.json', { headers: ada ?? {} })

  expect((await show(bob)).status).toBe(200)
  expect([(await show(eve)).status, (await show()).status]).toEqual([403, 403])
  expect(idsOf(inbox.json.topic_list.topics)).toEqual([json.topic_id])
  expect(idsOf(sent.json.topic_list.topics)).toEqual([json.topic_id])
  expect(await latest(site)).toEqual([])
})

test('search has words, operators, and refuses more than its limit', async () => {
  await using site = await openSource(DISCOURSE)
  control(site, 'site', { search_per_minute: 5 })
  control(site, 'post', { title: 'Burr grinder', text: TEXT, category: 'coffee', author: 'ada' })
  site.advance(60)
  control(site, 'post', { title: 'Blade grinder', text: TEXT, category: 'tools', tags: ['cheap'] })
  const found = async (q: string) => {
    const { json, status } = await ask(site, `/search.json?q=${encodeURIComponent(q)}`)
    return status === 200 ? json.topics.map(({ title }: { title: string }) => title) : status
  }

  expect(await found('grinder order:latest')).toEqual(['Blade grinder', 'Burr grinder'])
  expect(await found('grinder @ada')).toEqual(['Burr grinder'])
  expect(await found('grinder #tools')).toEqual(['Blade grinder'])
  expect(await found('tags:cheap')).toEqual(['Blade grinder'])
  expect(await found('no such words')).toEqual([])
  expect(await found('grinder')).toBe(429)
})

test('a user key is granted to a signed-in person, replaces the one before, and is revoked', async () => {
  await using site = await openSource(DISCOURSE)
  const totp_secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
  control(site, 'user', { name: 'ada', password: 'correct-horse-7', totp_secret })
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const login = { login: 'ada', password: 'correct-horse-7' }
  const wrong = await ask(site, '/session.json', { form: login })
  const code = codeAt(totp_secret, site.world.now() / 1000)
  const right = await ask(site, '/session.json', { form: { ...login, second_factor_token: code } })
  const headers = { cookie: right.headers.get('set-cookie')?.split(';')[0] ?? '' }
  const form = {
    application_name: 'reader',
    client_id: 'one',
    scopes: 'read,write',
    public_key: String(publicKey.export({ type: 'spki', format: 'pem' })),
    nonce: '42',
    auth_redirect: 'https://reader.example/back',
  }
  const grant = async () => {
    const { headers: answer } = await ask(site, '/user-api-key', { headers, form })
    const payload = new URL(answer.get('location') ?? '').searchParams.get('payload') ?? ''
    // Bun refuses to remove padding of PKCS #1 v1.5: 0, 2, random bytes, 0, message.
    const padding = constants.RSA_NO_PADDING
    const block = privateDecrypt({ key: privateKey, padding }, Buffer.from(payload, 'base64'))
    return JSON.parse(block.subarray(block.indexOf(0, 2) + 1).toString())
  }
  const [first, second] = [await grant(), await grant()]
  const me = (key: string) =>
    ask(site, '/session/current.json', { headers: { 'user-api-key': key } })

  expect(wrong.json.reason).toBe('invalid_second_factor')
  const probe = await ask(site, '/user-api-key/new', { method: 'HEAD' })
  expect(probe.headers.get('auth-api-version')).toBe('4')
  expect(second).toMatchObject({ nonce: '42', api: 4 })
  expect((await me(first.key)).status).toBe(403)
  expect((await me(second.key)).json.current_user.username).toBe('ada')
  await ask(site, '/user-api-key/revoke', {
    method: 'POST',
    headers: { 'user-api-key': second.key },
  })
  expect((await me(second.key)).status).toBe(403)
})

test.each([
  ['rate_limit', '/latest.json', { status: 429 }],
  ['action_limit', '/latest.json', { status: 429, json: { extras: { wait_seconds: 30 } } }],
  ['search_limit', '/search.json?q=grinder', { status: 429, json: { failed: 'FAILED' } }],
  ['search_busy', '/search.json?q=grinder', { status: 200, json: { posts: [] } }],
  ['read_only', '/latest.json', { status: 503 }],
  ['invalid_access', '/latest.json', { status: 403, json: { error_type: 'invalid_access' } }],
  ['block_403_html', '/latest.json', { status: 403, json: null }],
  ['empty_200', '/latest.json', { status: 200, text: '' }],
  ['5xx', '/latest.json', { status: 502, json: null }],
])('the fault %s answers once in its form', async (fault, path, expected) => {
  await using site = await openSource(DISCOURSE)
  site.addFault({ path: '/', fault, times: 1 })

  expect(await ask(site, path)).toMatchObject(expected)
  expect((await ask(site, path)).json).not.toBeNull()
  expect(site.requests.map((it) => it.fault)).toEqual([fault, null])
})

test('a fault answers a signed-in reader as anonymous, and a stale page lacks the newest', async () => {
  const { site, posts } = await withTopic(1)
  await using _ = site
  const headers = adminOf(site)
  site.addFault({ path: '/posts.json', fault: 'as_anonymous', times: 1 })
  const forced = await ask(site, '/posts.json', { headers })
  const usual = await ask(site, '/posts.json', { headers })
  site.addFault({ path: '/posts.json', fault: 'stale', age_s: 60, times: 1 })
  site.advance(30)

  expect(forced.headers.get('x-discourse-username')).toBeNull()
  expect(usual.headers.get('x-discourse-username')).toBe('system')
  expect(await latest(site)).toEqual([])
  expect(await latest(site)).toEqual(posts.toReversed())
})

test('an anonymous answer is kept for a time by its whole address, one to a key is not', async () => {
  const { site, posts } = await withTopic(1)
  await using _ = site
  control(site, 'site', { anonymous_cache_s: 60 })
  const cached = async (path: string, headers = {}) => {
    const answer = await ask(site, path, { headers })
    return [answer.headers.get('x-discourse-cached'), answer.json.latest_posts.length]
  }
  expect(await cached('/posts.json')).toEqual(['store', posts.length])
  control(site, 'post', { title: 'Newer' })

  expect(await cached('/posts.json')).toEqual(['true', posts.length])
  expect(await cached('/posts.json?fresh=1')).toEqual(['store', posts.length + 1])
  expect(await cached('/posts.json', adminOf(site))).toEqual([null, posts.length + 1])
  site.advance(60)
  expect(await cached('/posts.json')).toEqual(['store', posts.length + 1])
})

test('a write that waits for approval is answered with 200, and not done', async () => {
  await using site = await openSource(DISCOURSE)
  site.addFault({ path: '/posts.json', fault: 'enqueued' })
  const body = { title: 'A title of some length', raw: TEXT }
  const { status, json } = await ask(site, '/posts.json', { headers: keyOf(site, 'ada'), body })

  expect([status, json.action, site.world.posts.length]).toEqual([200, 'enqueued', 0])
})

test('the same seed gives the same site, and it grows with time', async () => {
  const options = { world: 'seeded', speed: 3 } as const
  await using one = await openSource(DISCOURSE, options)
  await using other = await openSource(DISCOURSE, options)
  const [before] = await latest(one)
  one.advance(600)
  other.advance(600)
  const pages = await Promise.all([ask(one, '/posts.json'), ask(other, '/posts.json')])

  expect(pages[0]?.json).toEqual(pages[1]?.json)
  expect(pages[0]?.json.latest_posts[0].id).toBeGreaterThan(before ?? 0)
})

test('its controls answer by HTTP, and name a wrong field', async () => {
  await using site = await openSource(DISCOURSE)
  const { json } = await ask(site, '/__sandbox/post', { body: { title: 'By HTTP' } })
  const wrong = await ask(site, '/__sandbox/comment', { body: { topic_id: 'x', text: 'y' } })
  const index = await ask(site, '/__sandbox/')

  expect((await ask(site, `/t/${json.topic_id}.json`)).json.title).toBe('By HTTP')
  expect([wrong.status, wrong.json.error]).toEqual([400, expect.stringContaining('topic_id')])
  expect(index.json.calls.join()).toContain('POST /__sandbox/comment {topic_id, reply_to?, author?')
  expect(index.json.faults).toContain('as_anonymous')
})

test('a topic that a timer publishes is dated now, under its old ids', async () => {
  await using site = await openSource(DISCOURSE)
  const draft = control(site, 'post', {
    title: 'Planned',
    visible: false,
    created_at: 1_700_000_000_000,
  })
  control(site, 'post', { title: 'Later' })
  control(site, 'publish', { topic_id: draft.topic_id })
  const { json } = await ask(site, '/latest.json?order=created')
  const row = json.topic_list.topics.find(({ id }: { id: number }) => id === draft.topic_id)
  expect(Date.parse(row.created_at)).toBeGreaterThan(1_700_000_000_000)
  const { json: topic } = await ask(site, `/t/${draft.topic_id}.json`)
  expect(topic.post_stream.posts[0]).toMatchObject({
    id: draft.post_id,
    created_at: row.created_at,
  })
})
