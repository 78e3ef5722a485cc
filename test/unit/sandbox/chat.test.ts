import { describe, expect, test } from 'bun:test'

import type { Sandbox } from '../../../sandbox/server/sandbox.ts'
import { open } from './fetch-path.ts'

const CLIENT = '/_matrix/client/v3'

/** Sandbox with a chat, and calls of one user. */
async function chatting() {
  const sandbox = await open({ chat_port: 0 })
  sandbox.user({ name: 'ben' })
  const as = (name: string) => speaker(sandbox, name)
  return { sandbox, ann: as('ann'), ben: as('ben') }
}

function speaker(sandbox: Sandbox, username: string) {
  const token = sandbox.session({ username }).cookies['token_v2'] ?? ''
  const user = sandbox.world.users.get(username)
  const callChat = async (method: string, path: string, body?: object, bearer = token) => {
    const response = await fetch(`${sandbox.chat_url}${CLIENT}${path}`, {
      method,
      headers: { authorization: `Bearer ${bearer}` },
      ...(body && { body: JSON.stringify(body) }),
    })
    const json: any = await response.json()
    return { status: response.status, json }
  }
  return { token, id: `@t2_${user?.id}:reddit.com`, ask: callChat }
}

test('the chat accepts the bearer cookie of a user, and refuses anonymous calls', async () => {
  const { sandbox, ann } = await chatting()
  await using _ = sandbox

  expect((await ann.ask('GET', '/account/whoami')).json.user_id).toBe(ann.id)
  expect(await ann.ask('GET', '/account/whoami', undefined, 'guessed')).toMatchObject({
    status: 401,
    json: { errcode: 'M_UNKNOWN_TOKEN' },
  })
})

test("the platform's token is exchanged for one of the chat, and no other is", async () => {
  const { sandbox, ann } = await chatting()
  await using _ = sandbox
  const login = (token: string) => ann.ask('POST', '/login', { type: 'com.reddit.token', token })

  expect((await login(ann.token)).json).toMatchObject({ user_id: ann.id })
  expect((await login('guessed')).status).toBe(403)
})

/** Ann's room with ben, and its message. */
async function createRoom(text: string) {
  const { sandbox, ann, ben } = await chatting()
  const created = await ann.ask('POST', '/createRoom', { preset: 'reddit_dm', invite: [ben.id] })
  const path = `/rooms/${encodeURIComponent(created.json.room_id)}`
  const sendMessage = (txn: string, body = text) =>
    ann.ask('PUT', `${path}/send/m.room.message/${txn}`, { msgtype: 'm.text', body })
  await sendMessage('first')
  return { sandbox, ann, ben, path, say: sendMessage, id: created.json.room_id }
}
const texts = ({ json }: { json: any }) =>
  json.chunk.flatMap(({ content }: any) => content.body ?? [])

describe('a room', () => {
  test('is an invitation until the peer joins', async () => {
    const { sandbox, ben, path, id } = await createRoom('Hello')
    await using _ = sandbox

    expect(Object.keys((await ben.ask('GET', '/sync')).json.rooms.invite)).toEqual([id])
    expect((await ben.ask('GET', `${path}/messages`)).status).toBe(403)
    await ben.ask('POST', `${path}/join`, {})
    expect(Object.keys((await ben.ask('GET', '/sync')).json.rooms.join)).toEqual([id])
    expect(texts(await ben.ask('GET', `${path}/messages?dir=b&limit=50`))).toEqual(['Hello'])
  })

  test('accepts a repeated transaction once', async () => {
    const { sandbox, ann, path, say: sendMessage } = await createRoom('Hello')
    await using _ = sandbox

    const [one, two] = [await sendMessage('second', 'Again'), await sendMessage('second', 'Again')]

    expect(one.json.event_id).toBe(two.json.event_id)
    expect(texts(await ann.ask('GET', `${path}/messages?limit=50`))).toEqual(['Again', 'Hello'])
  })

  test('is found by its members, and opened once', async () => {
    const { sandbox, ann, ben, id } = await createRoom('Hello')
    await using _ = sandbox

    const found = await ann.ask('GET', `/rooms?seq=y&with_user=${encodeURIComponent(ben.id)}`)
    const again = await ann.ask('POST', '/createRoom', { invite: [ben.id] })

    expect(found.json.rooms[0].room_id).toBe(id)
    expect(again).toMatchObject({ status: 409, json: { 'com.reddit.existing_room_id': id } })
  })

  test('counts unseen messages', async () => {
    const { sandbox, ann, ben, path, id, say: sendMessage } = await createRoom('Hello')
    await using _ = sandbox
    await ben.ask('POST', `${path}/join`, {})

    await sendMessage('second', 'Are you there?')

    const count = async (who: typeof ann) =>
      (await who.ask('GET', '/sync')).json.rooms.join[id].unread_notifications.notification_count
    expect([await count(ben), await count(ann)]).toEqual([1, 0])
  })
})

test('an invitation of a user who accepts no chats is refused', async () => {
  const { sandbox, ann, ben } = await chatting()
  await using _ = sandbox
  sandbox.user({ name: 'ben', chats: 'closed' })

  expect(await ann.ask('POST', '/createRoom', { invite: [ben.id] })).toMatchObject({
    status: 403,
    json: { errcode: 'M_FORBIDDEN' },
  })
})
