import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import type * as z from 'zod'

import { createShapes } from '../../src/api/reads/shapes.ts'
import { createNaming } from '../../src/core/forum/naming.ts'
import { startReading } from '../support/reads-fixture.ts'
import { fake_session, signedIn } from '../support/sessions.ts'

type TestDaemon = Awaited<ReturnType<typeof startReading>>

const shapes = createShapes(createNaming({ platform: 'forum', community: 'subforum' }))()
const misfits = (shape: z.ZodType, body: unknown) => shape.safeParse(body).error?.issues ?? []
const ago = (minutes: number) => Date.now() - minutes * 60_000

async function idsOf(daemon: TestDaemon, path: string, headers: Record<string, string>) {
  const { body } = await daemon.get(path, headers)
  return [body.items.map(({ id }: { id: string }) => id), body.listing_status]
}

describe("with the caller's own account", () => {
  let daemon: TestDaemon
  let ann: Record<string, string> = {}
  let bob: Record<string, string> = {}
  let post = { id: '', name: '', permalink: '' }
  let secret = post
  let dull = post

  beforeAll(async () => {
    daemon = await startReading()
    const { sandbox } = daemon
    post = sandbox.post({ subforum: 'coffee', author: 'bob', title: 'Kept', created_at: ago(300) })
    const comment = sandbox.comment({ parent: post.name, author: 'bob', text: 'Kept too' })
    dull = sandbox.post({ subforum: 'tea', author: 'bob', title: 'Dull' })
    secret = sandbox.post({ subforum: 'cellar', author: 'ann', title: 'Inside', text: 'Secret' })
    sandbox.comment({ parent: secret.name, author: 'ann', text: 'A secret too' })
    sandbox.subforum({ name: 'cellar', access: 'private', members: ['ann'], moderators: ['ann'] })
    sandbox.subforum({ name: 'coffee', moderators: ['bob', 'ann'] })
    sandbox.user({ name: 'ann', subscribed: ['cellar'] })
    const { users, things } = sandbox.world
    const [saved_post, saved_comment] = [things.get(post.name), things.get(comment.name)]
    const bore = things.get(dull.name)
    const her = users.get('ann')
    if (!saved_post || !saved_comment || bore?.kind !== 't3' || !her)
      throw new Error('the world is not as it was made')
    her.saved.push(saved_post, saved_comment)
    her.votes.set(saved_post, 1)
    her.hidden.push(bore)
    ann = signedIn(sandbox, 'ann')
    bob = signedIn(sandbox, 'bob')
  })
  afterAll(() => daemon[Symbol.asyncDispose]())

  const places = () => [
    '/posts?subforum=cellar',
    '/sub/cellar/top',
    '/sub/cellar/comments',
    '/search?q=Inside&subforum=cellar',
    `/comments?permalink=${encodeURIComponent(secret.permalink)}`,
    `/post/${secret.id}/comments`,
    `/comments/${secret.id}`,
  ]

  test('the seven reads with a session return private content', async () => {
    for (const path of places()) {
      const [own, others, anonymous] = [
        await daemon.get(path, ann),
        await daemon.get(path, bob),
        await daemon.get(path),
      ]
      expect([path, own.status, own.headers.get('x-cache')]).toEqual([path, 200, 'miss'])
      expect(JSON.stringify(own.body)).toMatch(/Inside|secret too/)
      expect([path, others.status, others.body.reason]).toEqual([path, 403, 'private'])
      expect([path, anonymous.status, anonymous.body.code]).toEqual([
        path,
        403,
        'PERMISSION_DENIED',
      ])
    }
  })

  test('an ended session reads public content, and is refused private content', async () => {
    const open = await daemon.get('/posts?subforum=coffee', fake_session)
    const closed = await daemon.get('/posts?subforum=cellar', fake_session)

    expect([open.status, open.body.posts.length]).toEqual([200, 1])
    expect([closed.status, closed.body.code]).toEqual([401, 'REAUTH_REQUIRED'])
    expect(closed.headers.get('www-authenticate')).toBe('Session realm="platform"')
  })

  test('a live session without access to a private place gets 403', async () => {
    const { status, body } = await daemon.get(
      '/posts?subforum=cellar',
      signedIn(daemon.sandbox, 'stranger'),
    )

    expect([status, body.code, body.reason]).toEqual([403, 'PERMISSION_DENIED', 'private'])
  })

  test('an ended session gets an error rather than an empty list', async () => {
    const dead = await daemon.get('/search?q=nothinglikethis', fake_session)
    const alive = await daemon.get('/search?q=nothinglikethis', ann)

    expect([dead.status, dead.body.code]).toEqual([401, 'REAUTH_REQUIRED'])
    expect([alive.status, alive.body.posts]).toEqual([200, []])
  })

  test('the feed contains the joined places, and proves the session', async () => {
    const own = await daemon.get('/feed?sort=new', ann)
    const dead = await daemon.get('/feed', fake_session)

    expect(misfits(shapes.posts, own.body)).toEqual([])
    expect(own.body.posts.map((row: any) => row.title)).toEqual(['Inside'])
    expect([dead.status, dead.body.code]).toEqual([401, 'REAUTH_REQUIRED'])
    expect(dead.headers.get('x-credits-remaining')).not.toBeNull()
  })

  test('saved items keep the platform’s order, posts and comments each by their kind', async () => {
    const { status, body } = await daemon.get('/user/ANN/saved', ann)

    expect(status).toBe(200)
    expect(misfits(shapes.items, body)).toEqual([])
    expect(body.items.map(({ kind }: { kind: string }) => kind)).toEqual(['comment', 'post'])
    expect(body).toMatchObject({ after: null, listing_status: 'complete' })
  })

  test('upvoted, hidden and gilded are the account’s own', async () => {
    expect(await idsOf(daemon, '/user/ann/upvoted', ann)).toEqual([[post.id], 'complete'])
    expect(await idsOf(daemon, '/user/ann/hidden', ann)).toEqual([[dull.id], 'complete'])
    expect(await idsOf(daemon, '/user/ann/gilded', ann)).toEqual([[], 'unknown'])
  })

  test('own listings are read by their cursors', async () => {
    const first = await daemon.get('/user/ann/saved?limit=1', ann)
    const second = await daemon.get(
      `/user/ann/saved?limit=1&after=${encodeURIComponent(first.body.after)}`,
      ann,
    )

    expect(first.body.items).toHaveLength(1)
    expect(second.body.items[0].id).toBe(post.id)
    expect(second.body.listing_status ?? 'more').toBe('complete')
  })

  test('own listings take the session in the query, and forward the other fields', async () => {
    const query = new URLSearchParams({
      forum_session: ann['x-forum-session'] ?? '',
      loid: ann['x-forum-loid'] ?? '',
      theme: 'dark',
    })
    const seen = daemon.sandbox.requests.length

    const { status } = await daemon.get(`/user/ann/saved?${query.toString()}`)

    expect(status).toBe(200)
    const requests = daemon.sandbox.requests.slice(seen)
    expect(requests.map(({ user }) => user)).toEqual(['ann', 'ann'])
    for (const { cookies } of requests)
      expect(cookies).toEqual([daemon.sandbox.session_cookie, 'loid', 'theme'])
  })

  test('listings of another user and of a suspended account are refused', async () => {
    const others = await daemon.get('/user/bob/saved', ann)
    daemon.sandbox.user({ name: 'carl', standing: 'suspended' })
    const suspended = await daemon.get('/user/carl/saved', signedIn(daemon.sandbox, 'carl'))

    expect([others.status, others.body]).toMatchObject([
      403,
      { code: 'PERMISSION_DENIED', reason: 'other_account' },
    ])
    expect([suspended.status, suspended.body.reason]).toEqual([403, 'user_suspended'])
  })

  test('the listing of a user that does not exist is 404', async () => {
    const { status, body } = await daemon.get('/user/nobody_here/saved', ann)

    expect([status, body.code]).toEqual([404, 'NOT_FOUND'])
  })

  test('moderators are listed for members, with their permissions', async () => {
    const { status, body } = await daemon.get('/sub/coffee/moderators', ann)
    const dead = await daemon.get('/sub/coffee/moderators', fake_session)

    expect(status).toBe(200)
    expect(misfits(shapes.moderators, body)).toEqual([])
    expect(body.moderators.map(({ name }: { name: string }) => name)).toEqual(['bob', 'ann'])
    expect([dead.status, dead.body.code]).toEqual([401, 'REAUTH_REQUIRED'])
  })

  test('reads through a session are neither shared nor cached', async () => {
    const path = '/posts?subforum=cellar'
    const answers = await Promise.all([daemon.get(path, ann), daemon.get(path, ann)])
    const after = await daemon.get(path)

    expect(answers.map(({ headers }) => headers.get('x-cache'))).toEqual(['miss', 'miss'])
    expect(after.status).toBe(403)
  })

  test('the session’s cookies are sent with no other request', async () => {
    const seen = daemon.sandbox.requests.length
    await daemon.get('/posts?subforum=coffee', ann)
    await daemon.get('/posts?subforum=coffee&limit=7')

    const [mine, public_] = daemon.sandbox.requests.slice(seen)
    expect(mine).toMatchObject({ user: 'ann' })
    expect(public_).toMatchObject({ user: null, cookies: [] })
  })

  test('a proxy that the guard refuses is named, without a request', async () => {
    const seen = daemon.sandbox.requests.length
    const { status, body } = await daemon.get('/posts?subforum=coffee', {
      ...ann,
      'x-forum-proxy': 'http://user:hunter2@127.0.0.1:3128',
    })

    expect([status, body.code, body.field]).toEqual([400, 'INVALID_PROXY', 'x-forum-proxy'])
    expect(JSON.stringify(body)).not.toContain('hunter2')
    expect(daemon.sandbox.requests).toHaveLength(seen)
  })
})

test('header, query field, code and path use the configured words', async () => {
  await using daemon = await startReading({ wire: { platform: 'agora', community: 'room' } })
  const { sandbox } = daemon
  sandbox.post({ subforum: 'coffee', author: 'ann', title: 'Here' })
  sandbox.user({ name: 'ann', subscribed: ['coffee'] })
  const { cookies } = sandbox.session({ username: 'ann' })
  const [session = '', loid = ''] = [cookies[sandbox.session_cookie], cookies['loid']]

  const feed = await daemon.get('/feed', { 'x-agora-session': session, 'x-agora-loid': loid })
  const half = await daemon.get('/feed', { 'x-agora-session': session })
  const query = await daemon.get(
    `/user/ann/saved?agora_session=${encodeURIComponent(session)}&loid=${encodeURIComponent(loid)}`,
  )
  const list = await daemon.get('/rooms/popular')
  const { paths } = (await daemon.document()).body

  expect(feed.body.posts[0]).toMatchObject({ title: 'Here', room: 'coffee' })
  expect(half.body).toMatchObject({ code: 'INCOMPLETE_SESSION', field: 'x-agora-loid' })
  expect(query.status).toBe(200)
  expect(list.body.rooms).toBeArray()
  const parameters = paths['/api/agora/user/{name}/saved'].get.parameters.map(
    ({ name }: { name: string }) => name,
  )
  expect(parameters).toContain('x-agora-session')
  expect(parameters).toContain('agora_session')
})
