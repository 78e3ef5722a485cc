import { describe, expect, test } from 'bun:test'

import type { Sandbox } from '../../../src/sandbox/sandbox.ts'
import { open } from './visit.ts'

const CLIENT = '/_matrix/client/v3'

/** A sandbox with a chat, and somebody who speaks there. */
async function chatting() {
  const sandbox = await open({ chat_port: 0 })
  sandbox.user({ name: 'ben' })
  const as = (name: string) => speaker(sandbox, name)
  return { sandbox, ann: as('ann'), ben: as('ben') }
}

function speaker(sandbox: Sandbox, username: string) {
  const token = sandbox.session({ username }).cookies['token_v2'] ?? ''
  const user = sandbox.world.users.get(username)
  const ask = async (method: string, path: string, body?: object, bearer = token) => {
    const response = await fetch(`${sandbox.chat_url}${CLIENT}${path}`, {
      method,
      headers: { authorization: `Bearer ${bearer}` },
      ...(body && { body: JSON.stringify(body) }),
    })
    const json: any = await response.json()
    return { status: response.status, json }
  }
  return { token, id: `@t2_${user?.id}:reddit.com`, ask }
}

test('the chat knows somebody by the bearer cookie, and nobody without', async () => {
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

/** Ann's room with ben, and what was said in it. */
async function room(text: string) {
  const { sandbox, ann, ben } = await chatting()
  const made = await ann.ask('POST', '/createRoom', { preset: 'reddit_dm', invite: [ben.id] })
  const path = `/rooms/${encodeURIComponent(made.json.room_id)}`
  const say = (txn: string, body = text) =>
    ann.ask('PUT', `${path}/send/m.room.message/${txn}`, { msgtype: 'm.text', body })
  await say('first')
  return { sandbox, ann, ben, path, say, id: made.json.room_id }
}
const texts = ({ json }: { json: any }) =>
  json.chunk.flatMap(({ content }: any) => content.body ?? [])

describe('a room', () => {
  test('is an invitation until it is entered', async () => {
    const { sandbox, ben, path, id } = await room('Hello')
    await using _ = sandbox

    expect(Object.keys((await ben.ask('GET', '/sync')).json.rooms.invite)).toEqual([id])
    expect((await ben.ask('GET', `${path}/messages`)).status).toBe(403)
    await ben.ask('POST', `${path}/join`, {})
    expect(Object.keys((await ben.ask('GET', '/sync')).json.rooms.join)).toEqual([id])
    expect(texts(await ben.ask('GET', `${path}/messages?dir=b&limit=50`))).toEqual(['Hello'])
  })

  test('takes the same sending once', async () => {
    const { sandbox, ann, path, say } = await room('Hello')
    await using _ = sandbox

    const [one, two] = [await say('second', 'Again'), await say('second', 'Again')]

    expect(one.json.event_id).toBe(two.json.event_id)
    expect(texts(await ann.ask('GET', `${path}/messages?limit=50`))).toEqual(['Again', 'Hello'])
  })

  test('is found by who is in it, and opened once', async () => {
    const { sandbox, ann, ben, id } = await room('Hello')
    await using _ = sandbox

    const found = await ann.ask('GET', `/rooms?seq=y&with_user=${encodeURIComponent(ben.id)}`)
    const again = await ann.ask('POST', '/createRoom', { invite: [ben.id] })

    expect(found.json.rooms[0].room_id).toBe(id)
    expect(again).toMatchObject({ status: 409, json: { 'com.reddit.existing_room_id': id } })
  })

  test('counts what somebody has not seen', async () => {
    const { sandbox, ann, ben, path, id, say } = await room('Hello')
    await using _ = sandbox
    await ben.ask('POST', `${path}/join`, {})

    await say('second', 'Are you there?')

    const count = async (who: typeof ann) =>
      (await who.ask('GET', '/sync')).json.rooms.join[id].unread_notifications.notification_count
    expect([await count(ben), await count(ann)]).toEqual([1, 0])
  })
})

test('who takes no chats is asked into none', async () => {
  const { sandbox, ann, ben } = await chatting()
  await using _ = sandbox
  sandbox.user({ name: 'ben', chats: 'closed' })

  expect(await ann.ask('POST', '/createRoom', { invite: [ben.id] })).toMatchObject({
    status: 403,
    json: { errcode: 'M_FORBIDDEN' },
  })
})
