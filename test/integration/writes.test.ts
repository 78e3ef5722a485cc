import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import type * as z from 'zod'

import { createWriteShapes } from '../../src/api/writes/shapes.ts'
import { createNaming } from '../../src/core/forum/naming.ts'
import { PNG, startWriting, type Writing } from '../support/writes-fixture.ts'

const shapes = createWriteShapes(createNaming({ platform: 'forum', community: 'subforum' }))()
const misfits = (shape: z.ZodType, body: unknown) => shape.safeParse(body).error?.issues ?? []

const BAD_SESSIONS: Record<string, [session: object, code: string, field: string | null]> = {
  'no session': [{}, 'SESSION_REQUIRED', null],
  'half a session': [{ loid: 'l' }, 'INCOMPLETE_SESSION', 'forum_session'],
  'a field like a proxy': [
    { forum_session: 's', loid: 'l', socks5: 'a.test:1' },
    'INVALID_FIELD',
    'socks5',
  ],
  'a value that is no cookie': [
    { forum_session: 's; a=b', loid: 'l' },
    'INVALID_FIELD',
    'forum_session',
  ],
  'a proxy that is none': [
    { forum_session: 's', loid: 'l', proxy: { server: 7 } },
    'INVALID_PROXY',
    'proxy',
  ],
}

let it: Writing
beforeAll(async () => {
  it = await startWriting()
})
afterAll(() => it[Symbol.asyncDispose]())

describe('writes of an account', () => {
  test('a comment is created, read back, and billed as a write', async () => {
    const { status, body, headers } = await it.act('v2/comment', it.WRITES['v2/comment'])

    expect(status).toBe(200)
    expect(misfits(shapes.comment, body)).toEqual([])
    expect(body).toMatchObject({
      success: true,
      transport: 'http',
      comment: { author: 'ann', body: 'Hello', subforum: 'cats', post_id: it.post.id },
    })
    expect(body.comment_id).toBe(`t1_${body.comment.id}`)
    expect(body.permalink).toBe(body.comment.url)
    expect(headers.get('x-credits-remaining')).not.toBeNull()
    expect(it.comments()).toEqual(['Hello'])
  })

  test('a link to a comment creates a reply to it', async () => {
    const parent = it.sandbox.comment({ parent: it.post.name, author: 'ben', text: 'Says ben' })
    const { body } = await it.act('v2/comment', { post_url: parent.permalink, text: 'So it does' })

    expect(body.comment.parent_id).toBe(parent.name)
  })

  test('a vote by id, by link and by number', async () => {
    const votes = [
      { id: it.post.name, direction: 'up' },
      { url: `http://www.forum.test${it.post.permalink}`, direction: -1 },
      { id: it.post.name, direction: '0' },
      { post_id: it.post.id, direction: 'up' },
      { post_id: it.post.name, direction: 'down' },
    ]
    const thing = it.sandbox.world.things.get(it.post.name)
    const answers = []
    const counted = []
    for (const vote of votes) {
      answers.push(await it.act('vote', vote))
      counted.push(thing && it.sandbox.world.users.get('ann')?.votes.get(thing))
    }

    expect(counted).toEqual([1, -1, undefined, 1, -1])
    expect(answers.map(({ body }) => misfits(shapes.vote, body))).toEqual([[], [], [], [], []])
    expect(answers.map(({ body }) => [body.id, body.direction])).toEqual([
      [it.post.name, 'up'],
      [it.post.name, 'down'],
      [it.post.name, 'none'],
      [it.post.name, 'up'],
      [it.post.name, 'down'],
    ])
  })

  test.each(['u/ben', '/u/ben/', '@ben', 'https://www.forum.test/user/ben'])(
    'a message to %s is for the user of that name',
    async (to) => {
      const { status, body } = await it.act('dm', { to, subject: 'Beans', text: 'They came.' })
      const read = await it.act('dm/messages', { thread_id: body.thread_id })

      expect([status, read.body.messages[0].to]).toEqual([200, 'ben'])
    },
  )

  test('a message is listed in the threads of both users, and readable', async () => {
    const sent = await it.act('dm', { to: 'u/ben', subject: 'Beans', text: 'They came.' })
    const threads = await it.act('dm/threads', { folder: 'sent', limit: 5 })
    const his = await it.send('dm/threads', { ...it.sessionOf('ben'), folder: 'unread' })
    const read = await it.act('dm/messages', { thread_id: sent.body.thread_id })

    expect(misfits(shapes.sent, sent.body)).toEqual([])
    expect(sent.body).toMatchObject({ success: true, channel: 'mail' })
    expect(misfits(shapes.threads, threads.body)).toEqual([])
    expect(threads.body.threads[0]).toMatchObject({ id: sent.body.thread_id, with: 'ben' })
    expect(his.body.threads[0]).toMatchObject({ with: 'ann', subject: 'Beans', unread: true })
    expect(misfits(shapes.messages, read.body)).toEqual([])
    expect(read.body.messages[0]).toMatchObject({ from: 'ann', to: 'ben', body: 'They came.' })
  })

  test.each(['chat', 'trusted'] as const)(
    'a message to a user whose mail is %s is sent by chat, with its subject first',
    async (mail) => {
      it.sandbox.user({ name: mail, mail })
      const { status, body } = await it.act('dm', { to: mail, subject: 'Beans', text: 'Hello' })
      const read = await it.act('dm/messages', { thread_id: body.thread_id })

      expect([status, body.channel]).toEqual([200, 'chat'])
      const message = { body: 'Beans\n\nHello', from: 'ann', subject: null }
      expect(read.body.messages[0]).toMatchObject(message)
      expect(it.sandbox.world.users.get(mail)?.inbox).toEqual([])
    },
  )

  test('each field of a profile can be set', async () => {
    const profile = await it.act('profile/description', { description: 'Mostly beans.' })
    const named = await it.act('profile/display-name', { display_name: 'Ann 🫘' })
    const emptied = await it.act('profile/description', { description: '' })
    const { body } = await it.house.call('/api/forum/user/ann')

    expect(profile.body).toEqual({ success: true, description: 'Mostly beans.' })
    expect(named.body).toEqual({ success: true, display_name: 'Ann 🫘' })
    expect(emptied.body).toEqual({ success: true, description: '' })
    expect(body).toMatchObject({ display_name: 'Ann 🫘', description: '' })
  })

  test.each(['avatar', 'banner'])('an image becomes the %s', async (place) => {
    const { status, body } = await it.act(`profile/${place}`, {
      image_base64: PNG.toString('base64'),
    })

    expect([status, misfits(shapes.picture, body)]).toEqual([200, []])
    expect(body.url).toMatch(/^https?:\/\/.+\.png$/)
  })
})

describe('an invalid write', () => {
  const BAD: [path: string, body: object, field: string][] = [
    ['v2/comment', { text: 'Hello' }, 'post_url'],
    ['v2/comment', { post_url: 'https://elsewhere.test/r/cats/comments/1', text: 'x' }, 'post_url'],
    ['v2/comment', { post_url: '/r/cats/comments/1', text: '  ' }, 'text'],
    ['v2/comment', { post_url: '/r/cats/comments/1', text: 'x'.repeat(10_001) }, 'text'],
    ['v2/comment', { post_url: '/r/cats/comments/1', text: 'x', locale: 'en' }, 'locale'],
    ['v2/comment', { post_url: '/r/cats/comments/1', text: 'x', timezone: 'UTC' }, 'timezone'],
    ['comment', { post_url: '/r/cats/comments/1', text: 'x', locale: 'not a tag' }, 'locale'],
    ['comment', { post_url: '/r/cats/comments/1', text: 'x', timezone: '+05:30' }, 'timezone'],
    ['vote', { direction: 'up' }, 'id'],
    ['vote', { id: 't5_abc', direction: 'up' }, 'id'],
    ['vote', { id: 't3_abc', url: '/comments/abc', direction: 'up' }, 'url'],
    ['vote', { id: 't3_abc', post_id: 'abc', direction: 'up' }, 'post_id'],
    ['vote', { post_id: 't1_abc', direction: 'up' }, 'post_id'],
    ['vote', { id: 't3_abc' }, 'direction'],
    ['vote', { id: 't3_abc', direction: 2 }, 'direction'],
    ['vote', { id: 't3_abc', direction: 'constructor' }, 'direction'],
    ['vote', { id: 't3_abc', direction: '__proto__' }, 'direction'],
    ['vote', { id: 't3_abc', direction: 'up', locale: 'en' }, 'locale'],
    ['dm', { subject: 'a', text: 'b' }, 'to'],
    ['dm', { to: 'two words', subject: 'a', text: 'b' }, 'to'],
    ['dm', { to: 'ben', text: 'b' }, 'subject'],
    ['dm', { to: 'ben', subject: 'x'.repeat(101), text: 'b' }, 'subject'],
    ['dm', { to: 'ben', subject: 'a', text: '' }, 'text'],
    ['dm/threads', { folder: 'spam' }, 'folder'],
    ['dm/threads', { limit: 101 }, 'limit'],
    ['dm/threads', { limit: '5' }, 'limit'],
    ['dm/threads', { after: 'made-up' }, 'after'],
    ['dm/messages', {}, 'thread_id'],
    ['dm/messages', { thread_id: 't1_abc' }, 'thread_id'],
    ['dm/messages', { thread_id: 't4_abc', after: 'a b' }, 'after'],
    ['profile/description', {}, 'description'],
    ['profile/description', { description: 'x'.repeat(201) }, 'description'],
    ['profile/display-name', { display_name: 'x'.repeat(31) }, 'display_name'],
    ['profile/avatar', {}, 'image_url'],
    ['profile/avatar', { image_base64: 'AAA' }, 'image_base64'],
    ['profile/avatar', { image_base64: btoa('just some text here') }, 'image_base64'],
    ['profile/banner', { image_url: 'http://127.0.0.1:1/', image_base64: 'AAAA' }, 'image_base64'],
  ]

  test.each(BAD)('%s %j is refused by field', async (path, body, field) => {
    const answer = await it.act(path, body)

    expect([answer.status, answer.body.field]).toEqual([400, field])
    expect(answer.body.error).toContain(field)
    expect(answer.headers.get('x-credits-remaining')).toBeNull()
  })

  test.each(Object.keys(BAD_SESSIONS))(
    '%s names the invalid field, on every write',
    async (name) => {
      const [session, code, field] = BAD_SESSIONS[name] ?? []
      const seen = it.sandbox.requests.length

      for (const [path, body] of Object.entries({
        ...it.WRITES,
        comment: it.WRITES['v2/comment'],
      })) {
        const answer = await it.send(path, { ...body, ...session })
        expect([path, answer.status, answer.body.code]).toEqual([path, 400, code])
        expect([path, answer.body.field ?? null]).toEqual([path, field])
      }
      expect(it.sandbox.requests).toHaveLength(seen)
    },
  )

  test('an image body may have eight megabytes, others one', async () => {
    const large = 'x'.repeat(1_100_000)
    const [picture, text] = [
      await it.act('profile/avatar', { image_base64: large }),
      await it.act('v2/comment', { ...it.WRITES['v2/comment'], text: large }),
    ]

    expect([picture.status, picture.body.field]).toEqual([400, 'image_base64'])
    expect([text.status, text.body.code]).toEqual([413, 'BODY_TOO_LARGE'])
  })
})

test('a field that no write has is refused by name on every write, unless it is a cookie', async () => {
  const seen = it.sandbox.requests.length
  const login = { username: 'ann', password: 'x' }
  const bodies = {
    ...it.WRITES,
    'dm/messages': { thread_id: 't4_abc1' },
    comment: it.WRITES['v2/comment'],
    login,
  }

  for (const [path, body] of Object.entries(bodies))
    for (const extra of [1, null, true, ['dark'], { theme: 'dark' }, 'dark']) {
      // The comment endpoint sends text as a cookie.
      if (path === 'comment' && extra === 'dark') continue
      const send = path === 'login' ? it.send : it.act
      const { status, body: refusal } = await send(path, { ...body, extra })
      expect([path, extra, status, refusal.code, refusal.field]).toEqual([
        path,
        extra,
        400,
        'INVALID_REQUEST',
        'extra',
      ])
      expect(refusal.error).toStartWith('extra is not a known field; allowed: ')
    }
  expect(it.sandbox.requests).toHaveLength(seen)
})

test('an empty proxy, and one in the header of reads, are errors on every write', async () => {
  const seen = it.sandbox.requests.length
  const login = { username: 'ann', password: 'x' }
  const bodies = { ...it.WRITES, comment: it.WRITES['v2/comment'], login }

  for (const [path, body] of Object.entries(bodies)) {
    const send = path === 'login' ? it.send : it.act
    const empty = await send(path, { ...body, proxy: '' })
    expect([path, empty.status, empty.body.code]).toEqual([path, 400, 'INVALID_PROXY'])
    const misplaced = await send(path, body, { 'x-forum-proxy': 'proxy.test:3128' })
    const { status, body: refusal } = misplaced
    expect([path, status, refusal.code]).toEqual([path, 400, 'INVALID_FIELD'])
    expect(refusal.field).toBe('x-forum-proxy')
  }
  expect(it.sandbox.requests).toHaveLength(seen)
})

test('a proxy that the guard refuses is named, without a connection', async () => {
  const seen = it.sandbox.requests.length
  const bodies = { ...it.WRITES, comment: it.WRITES['v2/comment'] }

  for (const [path, body] of Object.entries(bodies)) {
    const proxy = { server: 'http://10.0.0.1:3128', username: 'user', password: 'hunter2' }
    const answer = await it.act(path, { ...body, proxy })
    expect([path, answer.status, answer.body.code]).toEqual([path, 400, 'INVALID_PROXY'])
    expect(JSON.stringify(answer.body)).not.toContain('hunter2')
  }
  expect(it.sandbox.requests).toHaveLength(seen)
})

test.each([
  ['socks4://proxy.test:1080', 400],
  ['socks5h://proxy.test:1080', 400],
])('a browser rejects %s before any name lookup', async (proxy, status) => {
  const [comment, login] = [
    await it.act('comment', { ...it.WRITES['v2/comment'], proxy }),
    await it.send('login', { username: 'ann', password: 'x', method: 'browser', proxy }),
  ]

  for (const { status: got, body } of [comment, login]) {
    expect([got, body.code, body.field]).toEqual([status, 'INVALID_PROXY', 'proxy'])
    expect(body.message).toContain('http://, https://, socks5://')
  }
})

test('a disabled write is FEATURE_DISABLED for a key that may write, and for no other', async () => {
  await using closed = await startWriting({
    change: (config) => {
      config.features = { login: false, comment: false, vote: false, dm: false, profile: false }
    },
  })
  const paths = [...Object.keys(closed.WRITES), 'comment', 'login']

  for (const path of paths) {
    const { status, body } = await closed.send(path, {})
    expect([path, status, body.code]).toEqual([path, 403, 'FEATURE_DISABLED'])
    const unauthorized = await closed.send(path, {}, { authorization: 'Bearer fk_nobody' })
    expect([path, unauthorized.status, unauthorized.body.code]).toEqual([
      path,
      403,
      'invalid_token',
    ])
  }
  expect((await closed.house.call('/api/forum/posts?subforum=cats')).status).toBe(200)
})

test('fields, codes, cookies and paths use the configured words', async () => {
  await using agora = await startWriting({
    change: (config) => {
      config.wire = { platform: 'agora', community: 'room' }
    },
  })
  const { forum_session, loid } = agora.ann
  const call = (path: string, body: object) =>
    agora.house.send(`/api/agora/${path}`, { agora_session: forum_session, loid, ...body })

  const comment = await call('v2/comment', agora.WRITES['v2/comment'])
  const half = await agora.house.send('/api/agora/vote', { loid, direction: 'up' })
  const login = await agora.house.send('/api/agora/login', {
    username: 'ann',
    password: 'open-sesame',
  })
  agora.sandbox.addFault({ path: '/api/vote', fault: 'form_error', code: 'INVALID_OPTION' })
  const refused = await call('vote', agora.WRITES.vote)

  expect(comment.body.comment).toMatchObject({ room: 'cats' })
  expect(half.body).toMatchObject({ code: 'INCOMPLETE_SESSION', field: 'agora_session' })
  expect(Object.keys(login.body.cookies)).toContain('agora_session')
  expect(refused.body).toMatchObject({ error: 'AGORA_REJECTED', code: 'AGORA_REJECTED' })
})
