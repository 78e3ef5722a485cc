// Goal: the simulated Lemmy shows the behaviour that a reader of an instance depends on: the two API generations, ids in the
// order of arrival, cursors, what is hidden without a word, limits and refusals.
import { expect, test } from 'bun:test'

import { LEMMY } from '../../../sandbox/lemmy/kind.ts'
import { codeAt } from '../../../sandbox/routes/login.ts'
import { ask, control, openSource } from './source-fixture.ts'

const NOON = Date.UTC(2026, 10, 20, 12)
const open = () => openSource(LEMMY)
type Site = Awaited<ReturnType<typeof open>>

const addPost = (site: Site, more: object = {}): number =>
  control(site, 'post', { community: 'coffee', title: 'A quiet grinder', ...more }).id
const bearer = (site: Site, username: string) => ({
  authorization: `Bearer ${control(site, 'session', { username }).jwt}`,
})
const listed = async (site: Site, query = 'sort=New') => {
  const { json } = await ask(site, `/api/v3/post/list?limit=50&${query}`)
  return json.posts.map(({ post }: { post: { id: number } }) => post.id) as number[]
}
const post = (site: Site, id: number) => ask(site, `/api/v3/post?id=${id}`)

test('0.19 has v3 alone, 1.0 has v4 and a part of v3', async () => {
  await using site = await open()
  addPost(site)
  const statuses = async () =>
    Promise.all(
      ['v4/site', 'v3/site', 'v3/user?username=passer_by', 'v3/comment?id=1', 'v3/modlog'].map(
        async (path) => (await ask(site, `/api/${path}`)).status,
      ),
    )
  const old = await statuses()
  control(site, 'site', { version: '1.0' })

  expect(old).toEqual([404, 200, 200, 404, 200])
  expect(await statuses()).toEqual([200, 200, 404, 404, 404])
  expect((await ask(site, '/api/v3/comment?id=1')).text).toBe('')
  expect((await ask(site, '/api/v3/post/list')).json.next_page).toBeNull()
})

test('a federated post is old by its author, and new by its id', async () => {
  await using site = await open()
  const first = addPost(site)
  site.advance(60)
  const second = addPost(site)
  const late = addPost(site, { author: 'wren@north.example', created_at: NOON - 86_400_000 })
  const { json } = await post(site, late)

  expect(late).toBeGreaterThan(second)
  expect(await listed(site)).toEqual([second, first, late])
  expect(json.post_view.post).toMatchObject({
    local: false,
    published: '2026-11-19T12:00:00.000000Z',
  })
  expect(json.post_view.post.ap_id).toStartWith('https://north.example/post/')
  expect(json.post_view.creator.actor_id).toBe('https://north.example/u/wren')
})

test('a cursor names the last row by its id; it fails after a purge', async () => {
  await using site = await open()
  for (let at = 0; at < 15; at++) {
    addPost(site, { title: `Post ${at}` })
    site.advance(1)
  }
  const first = (await ask(site, '/api/v3/post/list?sort=New')).json
  const last: number = first.posts.at(-1).post.id
  const path = `/api/v3/post/list?sort=New&page_cursor=${first.next_page}`
  const second = (await ask(site, path)).json
  control(site, 'purge', { id: last })

  expect([first.posts.length, first.next_page]).toEqual([10, `P${last.toString(16)}`])
  expect(second.posts.map((it: any) => it.post.id)[0]).toBeLessThan(last)
  expect([second.posts.length, second.next_page]).toEqual([5, undefined])
  expect((await ask(site, path)).json.error).toBe('couldnt_parse_pagination_token')
})

test('featured posts come first in 0.19, also among the newest, and not in 1.0', async () => {
  await using site = await open()
  const featured = addPost(site, { featured: true })
  site.advance(1)
  const newer = addPost(site)
  expect(await listed(site)).toEqual([featured, newer])
  control(site, 'site', { version: '1.0' })
  const { json } = await ask(site, '/api/v4/post/list?sort=new')

  expect(json.items.map((it: any) => it.post.id)).toEqual([newer, featured])
})

test('lists leave out what a reader is not shown, without a word', async () => {
  await using site = await open()
  const usual = addPost(site)
  const nsfw = addPost(site, { nsfw: true })
  const pending = addPost(site, { pending: true })
  const scheduled = addPost(site, { scheduled_at: NOON + 3600_000 })
  control(site, 'community', { name: 'backstage', hidden: true })
  const hidden = addPost(site, { community: 'backstage' })

  expect(await listed(site)).toEqual([usual])
  expect(await listed(site, 'sort=New&show_nsfw=true')).toEqual([nsfw, usual])
  expect(await listed(site, 'community_name=backstage')).toEqual([hidden])
  expect((await post(site, pending)).status).toBe(404)
  site.advance(3600)
  expect(await listed(site)).toContain(scheduled)
})

test('a removed post leaves the list and is missing by id; restored, it returns with its old id', async () => {
  await using site = await open()
  const [first, second] = [addPost(site), addPost(site)]
  control(site, 'remove', { kind: 'post', id: first, by: 'moderator' })
  const gone = await post(site, first)
  const while_gone = await listed(site)
  control(site, 'restore', { kind: 'post', id: first })
  const { json } = await ask(site, '/api/v3/modlog')

  expect([gone.status, gone.json]).toEqual([404, { error: 'couldnt_find_post' }])
  expect(while_gone).toEqual([second])
  expect(await listed(site)).toEqual([second, first])
  expect(json.removed_posts.map((it: any) => it.mod_remove_post.removed)).toEqual([false, true])
})

test('a deleted post with comments is answered by id, one without is not', async () => {
  await using site = await open()
  const [first, second] = [addPost(site, { text: 'Body' }), addPost(site)]
  control(site, 'comment', { post_id: first, text: 'Answer' })
  for (const id of [first, second]) control(site, 'remove', { kind: 'post', id, by: 'author' })
  const { json } = await post(site, first)

  expect(json.post_view.post).toMatchObject({ deleted: true, body: '' })
  expect((await post(site, second)).status).toBe(404)
  expect(await listed(site)).toEqual([])
})

test('hidden comments stay in the list with an empty text', async () => {
  await using site = await open()
  const id = addPost(site)
  const comments = ['One', 'Two', 'Three'].map(
    (text) => control(site, 'comment', { post_id: id, text }).id,
  )
  control(site, 'remove', { kind: 'comment', id: comments[0], by: 'author' })
  control(site, 'remove', { kind: 'comment', id: comments[1], by: 'moderator' })
  const { json } = await ask(site, `/api/v3/comment/list?post_id=${id}&sort=Old`)
  const rows = json.comments.map(({ comment }: any) => [
    comment.content,
    comment.deleted,
    comment.removed,
  ])

  expect(rows.toSorted()).toEqual([
    ['', false, true],
    ['', true, false],
    ['Three', false, false],
  ])
})

test('a depth lifts the limit on the rows of a tree', async () => {
  await using site = await open()
  const id = addPost(site)
  let parent_id: number | undefined
  for (let at = 0; at < 60; at++) {
    const reply = control(site, 'comment', {
      post_id: id,
      text: `${at}`,
      ...(at % 20 === 1 && parent_id && { parent_id }),
    })
    parent_id = reply.id
  }
  const count = async (query: string) =>
    (await ask(site, `/api/v3/comment/list?post_id=${id}&${query}`)).json.comments.length

  expect(await count('max_depth=8')).toBe(60)
  expect(await count('max_depth=1')).toBe(57)
  expect(await count('limit=50')).toBe(50)
  expect((await ask(site, '/api/v3/comment/list?limit=51')).json.error).toBe('invalid_fetch_limit')
})

test.each([
  ['0.19', 'v3', 400, { error: 'rate_limit_error' }],
  ['1.0', 'v4', 429, null],
])('%s refuses a call over the limit with %s', async (version, api, status, json) => {
  await using site = await open()
  control(site, 'site', { version, limits: { message: { requests: 1, seconds: 60 } } })
  const allowed = await ask(site, `/api/${api}/post/list`)
  const refused = await ask(site, `/api/${api}/post/list`)

  expect(allowed.status).toBe(200)
  expect(allowed.headers.get('x-ratelimit-limit')).toBe(version === '1.0' ? '1' : null)
  expect([refused.status, refused.json]).toEqual([status, json])
  site.advance(60)
  expect((await ask(site, `/api/${api}/post/list`)).status).toBe(200)
})

test('a login needs password and code, and is limited to three an hour', async () => {
  await using site = await open()
  const totp_secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
  control(site, 'user', { name: 'ada', password: 'correct-horse-7', totp_secret })
  const login = (more: object) =>
    ask(site, '/api/v3/user/login', {
      body: { username_or_email: 'ada', password: 'correct-horse-7', ...more },
    })
  const wrong = await login({ password: 'x' })
  const missing = await login({})
  const right = await login({ totp_2fa_token: codeAt(totp_secret, NOON / 1000) })

  expect([wrong.status, wrong.json.error]).toEqual([401, 'incorrect_login'])
  expect([missing.status, missing.json.error]).toEqual([400, 'missing_totp_token'])
  expect(right.json.jwt.split('.')).toHaveLength(3)
  expect((await login({})).json.error).toBe('rate_limit_error')
})

test('writes are refused without an account, to a locked post, and to a banned person', async () => {
  await using site = await open()
  const id = addPost(site)
  const body = { post_id: id, content: 'Hello' }
  const write = async (headers = {}) =>
    (await ask(site, '/api/v3/comment', { headers, body })).json.error
  expect(await write()).toBe('not_logged_in')
  expect(await write({ authorization: 'Bearer x' })).toBe('incorrect_login')
  control(site, 'edit', { kind: 'post', id, locked: true })
  expect(await write(bearer(site, 'ada'))).toBe('locked')
  control(site, 'edit', { kind: 'post', id, locked: false })
  control(site, 'user', { name: 'eve', banned: true })

  expect(await write(bearer(site, 'eve'))).toBe('person_is_banned_from_site')
  expect(await write(bearer(site, 'ada'))).toBeUndefined()
})

test('a private instance answers its site alone', async () => {
  await using site = await open()
  control(site, 'site', { private_instance: true })

  expect((await ask(site, '/api/v3/post/list')).json.error).toBe('instance_is_private')
  expect((await ask(site, '/api/v3/post/list', { headers: bearer(site, 'ada') })).status).toBe(200)
  const { json } = await ask(site, '/api/v3/site')
  expect(json.site_view.local_site.private_instance).toBe(true)
})

test('search is a substring of title and text; objects resolve by address and name', async () => {
  await using site = await open()
  const id = addPost(site, { text: 'Ask about a burr' })
  const search = async (q: string) =>
    (await ask(site, `/api/v3/search?q=${q}&type_=Posts`)).json.posts.length
  const resolve = (q: string, headers = {}) =>
    ask(site, `/api/v3/resolve_object?q=${encodeURIComponent(q)}`, { headers })
  const headers = bearer(site, 'ada')

  expect([await search('uiet%20burr'), await search('burr%20quiet')]).toEqual([1, 0])
  expect((await resolve('!coffee')).json.error).toBe('not_logged_in')
  expect((await resolve('!coffee', headers)).json.community.community.name).toBe('coffee')
  expect((await resolve(`${site.url}/post/${id}`, headers)).json.post.post.id).toBe(id)
  expect((await resolve('https://elsewhere.example/post/1', headers)).status).toBe(404)
})

test('a seeded instance grows, and its newest ids are not always its newest posts', async () => {
  await using site = await openSource(LEMMY, { world: 'seeded', speed: 20 })
  const before = Math.max(...site.world.posts.keys())
  site.advance(1800)
  const ids = await listed(site, 'sort=New&type_=All&show_nsfw=true')

  expect(Math.max(...site.world.posts.keys())).toBeGreaterThan(before)
  expect(ids.slice(1)).not.toEqual(ids.slice(1).toSorted((one, other) => other - one))
})

test('faults refuse in the form of the instance', async () => {
  await using site = await open()
  addPost(site)
  site.addFault({ path: '/api/v3/', fault: 'rate_limit', times: 1 })
  expect((await ask(site, '/api/v3/post/list')).json.error).toBe('rate_limit_error')
  site.addFault({ path: '/api/v3/', fault: 'private_instance', times: 1 })
  expect((await ask(site, '/api/v3/post/list')).json.error).toBe('instance_is_private')
  site.addFault({ path: '/api/v3/', fault: 'stale', age_s: 10, times: 1 })
  expect(await listed(site)).toEqual([])
  site.addFault({ path: '/api/v3/', fault: 'lost_answer', times: 1 })
  const headers = bearer(site, 'ada')
  const lost = await ask(site, '/api/v3/comment', {
    headers,
    body: { post_id: 1, content: 'Done' },
  }).catch(() => 'lost')

  expect([lost, site.world.comments.size]).toEqual(['lost', 1])
})
