import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import type * as z from 'zod'

import { createShapes } from '../../src/api/reads/shapes.ts'
import { createWords } from '../../src/core/wire.ts'
import { startReading } from '../support/reading.ts'
import { made_up, signedIn } from '../support/sessions.ts'

type House = Awaited<ReturnType<typeof startReading>>

const shapes = createShapes(createWords({ platform: 'forum', community: 'subforum' }))()
const misfits = (shape: z.ZodType, body: unknown) => shape.safeParse(body).error?.issues ?? []
const ago = (minutes: number) => Date.now() - minutes * 60_000

async function idsOf(house: House, path: string, headers: Record<string, string>) {
  const { body } = await house.get(path, headers)
  return [body.items.map(({ id }: { id: string }) => id), body.listing_status]
}

describe('with an account of one’s own', () => {
  let house: House
  let ann: Record<string, string> = {}
  let bob: Record<string, string> = {}
  let post = { id: '', name: '', permalink: '' }
  let secret = post
  let dull = post

  beforeAll(async () => {
    house = await startReading()
    const { sandbox } = house
    post = sandbox.post({ subforum: 'coffee', author: 'bob', title: 'Kept', created_at: ago(300) })
    const comment = sandbox.comment({ parent: post.name, author: 'bob', text: 'Kept too' })
    dull = sandbox.post({ subforum: 'tea', author: 'bob', title: 'Dull' })
    secret = sandbox.post({ subforum: 'cellar', author: 'ann', title: 'Inside', text: 'Secret' })
    sandbox.comment({ parent: secret.name, author: 'ann', text: 'A secret too' })
    sandbox.subforum({ name: 'cellar', access: 'private', members: ['ann'], moderators: ['ann'] })
    sandbox.subforum({ name: 'coffee', moderators: ['bob', 'ann'] })
    sandbox.user({ name: 'ann', subscribed: ['cellar'] })
    const { users, things } = sandbox.world
    const [kept, said] = [things.get(post.name), things.get(comment.name)]
    const bore = things.get(dull.name)
    const her = users.get('ann')
    if (!kept || !said || bore?.kind !== 't3' || !her)
      throw new Error('the world is not as it was made')
    her.saved.push(kept, said)
    her.votes.set(kept, 1)
    her.hidden.push(bore)
    ann = signedIn(sandbox, 'ann')
    bob = signedIn(sandbox, 'bob')
  })
  afterAll(() => house[Symbol.asyncDispose]())

  const places = () => [
    '/posts?subforum=cellar',
    '/sub/cellar/top',
    '/sub/cellar/comments',
    '/search?q=Inside&subforum=cellar',
    `/comments?permalink=${encodeURIComponent(secret.permalink)}`,
    `/post/${secret.id}/comments`,
    `/comments/${secret.id}`,
  ]

  test('the seven reads that take a session show what is closed to others', async () => {
    for (const path of places()) {
      const [own, others, nobodys] = [
        await house.get(path, ann),
        await house.get(path, bob),
        await house.get(path),
      ]
      expect([path, own.status, own.headers.get('x-cache')]).toEqual([path, 200, 'miss'])
      expect(JSON.stringify(own.body)).toMatch(/Inside|secret too/)
      expect([path, others.status, others.body.reason]).toEqual([path, 403, 'private'])
      expect([path, nobodys.status, nobodys.body.code]).toEqual([path, 403, 'PERMISSION_DENIED'])
    }
  })

  test('a dead session reads what is public, and is refused what is not', async () => {
    const open = await house.get('/posts?subforum=coffee', made_up)
    const closed = await house.get('/posts?subforum=cellar', made_up)

    expect([open.status, open.body.posts.length]).toEqual([200, 1])
    expect([closed.status, closed.body.code]).toEqual([403, 'PERMISSION_DENIED'])
  })

  test('a dead session is told so rather than shown an empty list', async () => {
    const dead = await house.get('/search?q=nothinglikethis', made_up)
    const alive = await house.get('/search?q=nothinglikethis', ann)

    expect([dead.status, dead.body.code]).toEqual([401, 'REAUTH_REQUIRED'])
    expect([alive.status, alive.body.posts]).toEqual([200, []])
  })

  test('the feed is of the places one has joined, and proves the session', async () => {
    const own = await house.get('/feed?sort=new', ann)
    const dead = await house.get('/feed', made_up)

    expect(misfits(shapes.posts, own.body)).toEqual([])
    expect(own.body.posts.map((row: any) => row.title)).toEqual(['Inside'])
    expect([dead.status, dead.body.code]).toEqual([401, 'REAUTH_REQUIRED'])
    expect(dead.headers.get('x-credits-remaining')).not.toBeNull()
  })

  test('saved things keep the platform’s order, posts and comments each by their kind', async () => {
    const { status, body } = await house.get('/user/ANN/saved', ann)

    expect(status).toBe(200)
    expect(misfits(shapes.items, body)).toEqual([])
    expect(body.items.map(({ kind }: { kind: string }) => kind)).toEqual(['comment', 'post'])
    expect(body).toMatchObject({ after: null, listing_status: 'complete' })
  })

  test('upvoted, hidden and gilded are the account’s own', async () => {
    expect(await idsOf(house, '/user/ann/upvoted', ann)).toEqual([[post.id], 'complete'])
    expect(await idsOf(house, '/user/ann/hidden', ann)).toEqual([[dull.id], 'complete'])
    expect(await idsOf(house, '/user/ann/gilded', ann)).toEqual([[], 'unknown'])
  })

  test('own listings are read by their cursors', async () => {
    const first = await house.get('/user/ann/saved?limit=1', ann)
    const second = await house.get(
      `/user/ann/saved?limit=1&after=${encodeURIComponent(first.body.after)}`,
      ann,
    )

    expect(first.body.items).toHaveLength(1)
    expect(second.body.items[0].id).toBe(post.id)
    expect(second.body.listing_status ?? 'more').toBe('complete')
  })

  test('own listings take the session in the query, and forward what else is there', async () => {
    const query = new URLSearchParams({
      forum_session: ann['x-forum-session'] ?? '',
      loid: ann['x-forum-loid'] ?? '',
      theme: 'dark',
    })
    const seen = house.sandbox.requests.length

    const { status } = await house.get(`/user/ann/saved?${query.toString()}`)

    expect(status).toBe(200)
    const asked = house.sandbox.requests.slice(seen)
    expect(asked.map(({ user }) => user)).toEqual(['ann', 'ann'])
    for (const { cookies } of asked)
      expect(cookies).toEqual([house.sandbox.session_cookie, 'loid', 'theme'])
  })

  test('somebody else’s listing is refused, and so is that of a suspended account', async () => {
    const others = await house.get('/user/bob/saved', ann)
    house.sandbox.user({ name: 'carl', standing: 'suspended' })
    const suspended = await house.get('/user/carl/saved', signedIn(house.sandbox, 'carl'))

    expect([others.status, others.body]).toMatchObject([
      403,
      { code: 'PERMISSION_DENIED', reason: 'other_account' },
    ])
    expect([suspended.status, suspended.body.reason]).toEqual([403, 'user_suspended'])
  })

  test('moderators are listed for members, with what each may do', async () => {
    const { status, body } = await house.get('/sub/coffee/moderators', ann)
    const dead = await house.get('/sub/coffee/moderators', made_up)

    expect(status).toBe(200)
    expect(misfits(shapes.moderators, body)).toEqual([])
    expect(body.moderators.map(({ name }: { name: string }) => name)).toEqual(['bob', 'ann'])
    expect([dead.status, dead.body.code]).toEqual([401, 'REAUTH_REQUIRED'])
  })

  test('reads through a session are neither shared nor kept', async () => {
    const path = '/posts?subforum=cellar'
    const answers = await Promise.all([house.get(path, ann), house.get(path, ann)])
    const after = await house.get(path)

    expect(answers.map(({ headers }) => headers.get('x-cache'))).toEqual(['miss', 'miss'])
    expect(after.status).toBe(403)
  })

  test('the session’s cookies reach the platform and nobody else’s request', async () => {
    const seen = house.sandbox.requests.length
    await house.get('/posts?subforum=coffee', ann)
    await house.get('/posts?subforum=coffee&limit=7')

    const [mine, public_] = house.sandbox.requests.slice(seen)
    expect(mine).toMatchObject({ user: 'ann' })
    expect(public_).toMatchObject({ user: null, cookies: [] })
  })

  test('a proxy that the guard refuses is named, and nothing is asked', async () => {
    const seen = house.sandbox.requests.length
    const { status, body } = await house.get('/posts?subforum=coffee', {
      ...ann,
      'x-forum-proxy': 'http://user:hunter2@127.0.0.1:3128',
    })

    expect([status, body.code, body.field]).toEqual([400, 'INVALID_PROXY', 'x-forum-proxy'])
    expect(JSON.stringify(body)).not.toContain('hunter2')
    expect(house.sandbox.requests).toHaveLength(seen)
  })
})

test('header, query field, code and path follow the configured words', async () => {
  await using house = await startReading({ wire: { platform: 'agora', community: 'room' } })
  const { sandbox } = house
  sandbox.post({ subforum: 'coffee', author: 'ann', title: 'Here' })
  sandbox.user({ name: 'ann', subscribed: ['coffee'] })
  const { cookies } = sandbox.session({ username: 'ann' })
  const [session = '', loid = ''] = [cookies[sandbox.session_cookie], cookies['loid']]

  const feed = await house.get('/feed', { 'x-agora-session': session, 'x-agora-loid': loid })
  const half = await house.get('/feed', { 'x-agora-session': session })
  const query = await house.get(
    `/user/ann/saved?agora_session=${encodeURIComponent(session)}&loid=${encodeURIComponent(loid)}`,
  )
  const list = await house.get('/rooms/popular')
  const { paths } = (await house.document()).body

  expect(feed.body.posts[0]).toMatchObject({ title: 'Here', room: 'coffee' })
  expect(half.body).toMatchObject({ code: 'INCOMPLETE_SESSION', field: 'x-agora-loid' })
  expect(query.status).toBe(200)
  expect(list.body.rooms).toBeArray()
  const told = paths['/api/agora/user/{name}/saved'].get.parameters.map(
    ({ name }: { name: string }) => name,
  )
  expect(told).toContain('x-agora-session')
  expect(told).toContain('agora_session')
})
