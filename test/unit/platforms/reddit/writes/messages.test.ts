import { describe, expect, test } from 'bun:test'

import type { FaultRuleInput } from '../../../../../sandbox/faults/rules.ts'
import { createForumFixture } from '../fixture.ts'
import { acting } from './fixture.ts'

type Fixture = Awaited<ReturnType<typeof acting>>

const draft = { to: 'ben', subject: 'Cats', text: 'Do you like them?' }
const everything = { folder: 'all', limit: 25, after: null } as const
const firstPage = { limit: 25, after: null }

/** A chat message from one account to another. */
async function chatted(it: Fixture, text = 'Do you like them?', from = 'ann', to = 'ben') {
  it.sandbox.user({ name: to, mail: 'chat' })
  const done = await it.acts.send({ to, subject: '', text }, it.as(from))
  if (!done.ok || done.value.thread_id === null) throw new Error(JSON.stringify(done))
  return done.value.thread_id
}

describe('a message', () => {
  test('goes into the existing room', async () => {
    await using it = await acting()
    const room_id = await chatted(it, 'First')

    expect(await chatted(it, 'Second')).toBe(room_id)
    expect(it.sandbox.world.rooms.size).toBe(1)
  })

  test('joins a room that the account was invited to', async () => {
    await using it = await acting()
    const room_id = await chatted(it, 'Come in', 'ann', 'ben')

    const answered = await chatted(it, 'Here I am', 'ben', 'ann')

    const { members } = it.sandbox.world.rooms.get(room_id) ?? { members: new Map() }
    expect(answered).toBe(room_id)
    expect([...members.values()]).toEqual(['join', 'join'])
  })

  test('goes into the room that the chat names', async () => {
    await using it = await acting()
    it.sandbox.user({ name: 'ben', mail: 'chat' })
    it.sandbox.addFault({ path: '/_matrix/client/v3/createRoom', fault: 'chat_existing_room' })

    expect(await it.acts.send(draft, it.as('ann'))).toMatchObject({ value: { channel: 'chat' } })
  })

  test('is sent to the chat with a bearer token and no cookies', async () => {
    await using it = await acting()
    await chatted(it)

    const chat = it.sandbox.requests.filter(({ face }) => face === 'chat')
    expect(chat.length).toBeGreaterThan(2)
    expect(chat.flatMap(({ cookies }) => cookies)).toEqual([])
    expect(new Set(chat.map(({ user }) => user))).toEqual(new Set(['ann']))
  })

  test.each<[string, FaultRuleInput['fault'], string, object]>([
    [
      'a user without chats',
      'chat_forbidden',
      'createRoom',
      { code: 'M_FORBIDDEN', meaning: 'PERMISSION_DENIED' },
    ],
    [
      'too many chats',
      'chat_rate',
      'createRoom',
      { meaning: 'FORUM_RATELIMIT', retry_after_s: 60 },
    ],
    [
      'a flagged account',
      'chat_forbidden',
      'rooms/*/send',
      { message: 'User is flagged for spam' },
    ],
    ['too fast', 'chat_rate', 'rooms/*/send', { code: 'M_LIMIT_EXCEEDED', retry_after_s: 12 }],
  ])('is refused by the chat: %s', async (_what, fault, path, refusal) => {
    await using it = await acting()
    it.sandbox.user({ name: 'ben', mail: 'chat' })
    it.sandbox.addFault({ path: `/_matrix/client/v3/${path}*`, fault })

    const done = await it.acts.send(draft, it.as('ann'))

    expect(done).toMatchObject({ ok: false, fault: { kind: 'refused', ...refusal } })
  })

  test('with a lost answer from the chat is sent once, and its result is unknown', async () => {
    await using it = await acting()
    it.sandbox.user({ name: 'ben', mail: 'chat' })
    it.sandbox.addFault({ path: '/_matrix/client/v3/rooms/*/send/*', fault: 'lost_answer' })

    const done = await it.acts.send(draft, it.as('ann'))

    const room_events = [...it.sandbox.world.rooms.values()].flatMap(({ events }) => events)
    expect(done).toEqual({ ok: false, fault: { kind: 'unknown' } })
    expect(room_events.filter(({ type }) => type === 'm.room.message')).toHaveLength(1)
  })

  test('with a lost answer before it was sent has a known result', async () => {
    await using it = await acting()
    it.sandbox.user({ name: 'ben', mail: 'chat' })
    it.sandbox.addFault({ path: '/_matrix/client/v3/createRoom', fault: 'lost_answer' })

    const done = await it.acts.send(draft, it.as('ann'))

    expect(done).toMatchObject({ ok: false, fault: { kind: 'unavailable' } })
  })

  test('to a user without private messages is refused if there is no chat', async () => {
    await using it = await acting({ options: { chat_url: '' } })
    it.sandbox.user({ name: 'ben', mail: 'chat' })

    const done = await it.acts.send(draft, it.as('ann'))

    expect(done).toMatchObject({
      ok: false,
      fault: { code: 'RESTRICTED_TO_PM', meaning: 'PERMISSION_DENIED', field: 'to' },
    })
  })
})

/** Ann's cookies, except the named ones. */
const without = (it: Fixture, ...names: string[]) => {
  const call = it.as('ann')
  const cookie = (call.identity.cookie ?? '')
    .split('; ')
    .filter((pair) => !names.some((name) => pair.startsWith(`${name}=`)))
    .join('; ')
  return { ...call, identity: { ...call.identity, cookie } }
}

describe('the token of the chat', () => {
  test.each([
    ['requested if the session has none', ['token_v2'], 'POST /svc/shreddit/token'],
    ['read from a page if the call needs more', ['token_v2', 'csrf_token'], 'GET /chat/'],
  ] as const)('is %s', async (_what, names, endpoints) => {
    await using it = await acting()
    it.sandbox.user({ name: 'ben', mail: 'chat' })
    const recorded = it.listen()

    const done = await it.acts.send(draft, without(it, ...names))

    expect(done).toMatchObject({ ok: true, value: { channel: 'chat' } })
    expect(recorded()).toContain(endpoints)
  })

  test('for another account among the cookies is not used', async () => {
    await using it = await acting()
    it.sandbox.user({ name: 'ben', mail: 'chat' })
    const call = without(it, 'token_v2')
    const other = it.sandbox.session({ username: 'ben' }).cookies['token_v2']
    const identity = { ...call.identity, cookie: `${call.identity.cookie}; token_v2=${other}` }

    const done = await it.acts.send(draft, { ...call, identity })

    expect(done).toEqual({ ok: false, fault: { kind: 'login_required' } })
    expect(it.sandbox.world.rooms.size).toBe(0)
  })
})

describe('conversations', () => {
  test('from mail and chat are listed together, latest message first', async () => {
    await using it = await acting()
    await it.acts.send({ to: 'ben', subject: 'Old', text: 'By mail' }, it.as('ann'))
    it.sandbox.advance(60)
    const room_id = await chatted(it, 'By chat', 'ann', 'cem')
    it.sandbox.advance(60)
    await it.acts.send({ to: 'ann', subject: 'New', text: 'An answer' }, it.as('ben'))

    const done = await it.acts.threads(everything, it.as('ann'))

    expect(done).toMatchObject({
      ok: true,
      value: {
        threads: [
          { with: 'ben', subject: 'New', unread: true, last_message: 'An answer', channel: 'mail' },
          {
            id: room_id,
            with: 'cem',
            subject: null,
            unread: false,
            last_message: 'By chat',
            channel: 'chat',
          },
          { with: 'ben', subject: 'Old', unread: false, message_count: 1, channel: 'mail' },
        ],
        after: null,
        missing: [],
      },
    })
  })

  test('are paged without gaps and repeats', async () => {
    await using it = await acting()
    for (const [index, to] of ['ben', 'cem', 'dora', 'edi'].entries()) {
      it.sandbox.user({ name: to })
      it.sandbox.advance(60)
      if (index % 2 === 0) await it.acts.send({ ...draft, to }, it.as('ann'))
      else await chatted(it, 'Hello', 'ann', to)
    }

    const names: (string | null)[] = []
    let after: string | null = null
    for (let page = 0; page < 10; page++) {
      const done = await it.acts.threads({ folder: 'all', limit: 1, after }, it.as('ann'))
      if (!done.ok) throw new Error(JSON.stringify(done.fault))
      names.push(...done.value.threads.map((thread) => thread.with))
      after = done.value.after
      if (after === null) break
    }

    expect(names).toEqual(['edi', 'dora', 'cem', 'ben'])
    expect(after).toBeNull()
  })

  test.each([
    ['inbox', ['dora', 'cem']],
    ['sent', ['edi', 'ben']],
    ['unread', ['dora', 'cem']],
  ] as const)('in the folder %s come from both sources', async (folder, people) => {
    await using it = await acting()
    for (const name of ['cem', 'dora', 'edi']) it.sandbox.user({ name })
    await it.acts.send({ ...draft, to: 'ben' }, it.as('ann'))
    it.sandbox.advance(60)
    await it.acts.send({ ...draft, to: 'ann' }, it.as('cem'))
    it.sandbox.advance(60)
    await chatted(it, 'Let me in', 'dora', 'ann')
    it.sandbox.advance(60)
    await chatted(it, 'Hello', 'ann', 'edi')

    const done = await it.acts.threads({ folder, limit: 25, after: null }, it.as('ann'))

    const participants = done.ok ? done.value.threads.map((thread) => thread.with) : done
    expect(participants).toEqual([...people])
  })

  test('from one source are returned if the other fails, which is named', async () => {
    await using it = await acting()
    await it.acts.send(draft, it.as('ann'))
    it.sandbox.addFault({ path: '/_matrix', fault: '5xx' })

    const done = await it.acts.threads(everything, it.as('ann'))

    expect(done).toMatchObject({
      ok: true,
      value: { threads: [{ with: 'ben' }], missing: ['chat'] },
    })
  })

  test('are a fault if both sources fail', async () => {
    await using it = await acting()
    it.sandbox.addFault({ path: '/_matrix', fault: '5xx' })
    it.sandbox.addFault({ path: '/message', fault: '5xx' })

    const done = await it.acts.threads(everything, it.as('ann'))

    expect(done).toMatchObject({ ok: false, fault: { kind: 'unavailable', status: 503 } })
  })

  test.each([
    ['a folder', (it: Fixture) => it.acts.threads(everything, it.as('ann'))],
    [
      'a conversation',
      (it: Fixture) =>
        it.acts.messages({ thread_id: 't4_abc', limit: 25, after: null }, it.as('ann')),
    ],
  ] as const)(
    'in %s that redirects a live session to the login page are disabled, and the session stays valid',
    async (_what, request) => {
      await using it = await acting({ options: { chat_url: '' } })
      const headers = { location: `${it.sandbox.url}/login/` }
      it.sandbox.addFault({ path: '/message', fault: 'answer', status: 302, headers })

      expect(await request(it)).toEqual({ ok: false, fault: { kind: 'forbidden', reason: null } })
    },
  )

  test('continue from a returned cursor only', async () => {
    await using it = await acting()

    const done = await it.acts.threads({ ...everything, after: 't4_abc' }, it.as('ann'))

    expect(done).toMatchObject({ ok: false, fault: { meaning: 'INVALID_REQUEST', field: 'after' } })
  })

  test('stay unread', async () => {
    await using it = await acting()
    await it.acts.send({ ...draft, to: 'ann' }, it.as('ben'))

    await it.acts.threads({ ...everything, folder: 'inbox' }, it.as('ann'))

    expect(it.sandbox.world.users.get('ann')?.inbox.map(({ unread }) => unread)).toEqual([true])
  })

  test('do not include replies to comments, which share the inbox', async () => {
    const me = Response.json({ kind: 't2', data: { name: 'ann', id: 'a1', modhash: 'm' } })
    const rows = [
      { kind: 't1', data: { name: 't1_a', was_comment: true, created_utc: 2, author: 'cem' } },
      {
        kind: 't4',
        data: {
          name: 't4_b',
          author: null,
          subreddit: 'cats',
          dest: 'ann',
          subject: 'Hi',
          body: 'Welcome',
          created_utc: 1,
          new: true,
          first_message: null,
          replies: '',
        },
      },
    ]
    const box = Response.json({ kind: 'Listing', data: { children: rows, after: null } })
    await using it = createForumFixture([me, box])

    const done = await it.forum.acts.threads({ folder: 'inbox', limit: 25, after: null }, it.as())

    expect(done).toMatchObject({
      ok: true,
      value: { threads: [{ id: 't4_b', with: '#cats', unread: true }], missing: ['chat'] },
    })
  })
})

describe('the messages', () => {
  test('in a conversation by mail are returned newest first, page by page', async () => {
    await using it = await acting()
    await it.acts.send(draft, it.as('ann'))
    const [first] = it.sandbox.world.users.get('ann')?.sent ?? []
    const thread_id = first?.name ?? ''
    it.sandbox.advance(60)
    await it.acts.comment({ parent: thread_id, text: 'I do.' }, it.as('ben'))

    const one = await it.acts.messages({ thread_id, limit: 1, after: null }, it.as('ann'))
    const after = one.ok ? one.value.after : null
    const two = await it.acts.messages({ thread_id, limit: 1, after }, it.as('ann'))

    expect(one).toMatchObject({
      value: { messages: [{ from: 'ben', to: 'ann', body: 'I do.', thread_id, unread: true }] },
    })
    expect(two).toMatchObject({
      value: {
        messages: [{ id: thread_id, from: 'ann', to: 'ben', subject: 'Cats' }],
        after: null,
      },
    })
  })

  test('in a conversation by mail do not start again for a cursor of another', async () => {
    await using it = await acting()
    await it.acts.send(draft, it.as('ann'))
    const thread_id = it.sandbox.world.users.get('ann')?.sent[0]?.name ?? ''

    const done = await it.acts.messages({ thread_id, limit: 1, after: 't4_zzzz' }, it.as('ann'))

    expect(done).toMatchObject({ ok: false, fault: { meaning: 'INVALID_REQUEST', field: 'after' } })
  })

  test('in a room have their sender and recipient', async () => {
    await using it = await acting()
    const thread_id = await chatted(it, 'One')
    await chatted(it, 'Two', 'ben', 'ann')

    const done = await it.acts.messages({ thread_id, ...firstPage }, it.as('ann'))

    expect(done).toMatchObject({
      ok: true,
      value: {
        messages: [
          { from: 'ben', to: 'ann', body: 'Two', subject: null, thread_id },
          { from: 'ann', to: 'ben', body: 'One' },
        ],
        after: null,
      },
    })
  })

  test('with a time outside the range of Date are left out, and the others stay', async () => {
    await using it = await acting()
    const thread_id = await chatted(it, 'One')
    await chatted(it, 'Two')
    const last_event = [...it.sandbox.world.rooms.values()][0]?.events.at(-1)
    Object.assign(last_event ?? {}, { at: 1e300 })

    const thread = await it.acts.messages({ thread_id, ...firstPage }, it.as('ann'))
    const threads = await it.acts.threads(everything, it.as('ann'))

    expect(thread).toMatchObject({ ok: true, value: { messages: [{ body: 'One' }] } })
    expect(threads).toMatchObject({ ok: true, value: { threads: [{ last_message: 'One' }] } })
  })

  test('in a long room continue after the previous page', async () => {
    await using it = await acting()
    const thread_id = await chatted(it, '0')
    for (let count = 1; count < 8; count++) await chatted(it, String(count))

    const bodies: string[] = []
    let after: string | null = null
    for (let page = 0; page < 10; page++) {
      const done = await it.acts.messages({ thread_id, limit: 5, after }, it.as('ann'))
      if (!done.ok) throw new Error(JSON.stringify(done.fault))
      bodies.push(...done.value.messages.map(({ body }) => body))
      after = done.value.after
      if (after === null) break
    }

    expect(bodies).toEqual(['7', '6', '5', '4', '3', '2', '1', '0'])
  })

  test.each([
    ['mail of others', { kind: 'forbidden' }],
    ['mail that is not there', { kind: 'not_found' }],
    ['a room that is not there', { kind: 'not_found' }],
    ['a room of others', { kind: 'forbidden' }],
  ])('in %s are refused', async (what, fault) => {
    await using it = await acting()
    await it.acts.send(draft, it.as('ann'))
    const ids: Record<string, string> = {
      'mail of others': it.sandbox.world.users.get('ann')?.sent[0]?.name ?? '',
      'mail that is not there': 't4_nosuch',
      'a room that is not there': '!nosuch:reddit.com',
      'a room of others': await chatted(it),
    }

    const done = await it.acts.messages({ thread_id: ids[what] ?? '', ...firstPage }, it.as('cem'))

    expect(done).toMatchObject({ ok: false, fault })
  })
})
