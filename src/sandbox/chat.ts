import type { Answer } from './answer.ts'
import type { Ask } from './ask.ts'
import {
  chatId,
  enter,
  happen,
  nativeEvent,
  openRoom,
  roomOf,
  unseen,
  userOf,
} from './chat-rooms.ts'
import { fieldsOf } from './json.ts'
import type { Room, RoomEvent, User } from './model.ts'
import { findBearer } from './sessions.ts'

const LATEST = 20
const MOST_EVENTS = 100
const LONGEST_TEXT = 10_000

const told = (value: object, status = 200): Answer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
})

const refused = (status: number, errcode: string, error: string, more: object = {}): Answer =>
  told({ errcode, error, ...more }, status)

const NOBODY = refused(401, 'M_UNKNOWN_TOKEN', 'Invalid access token passed.')
const NOT_FOUND = refused(404, 'M_NOT_FOUND', 'Room not found')
const FORBIDDEN = refused(403, 'M_FORBIDDEN', 'You are not allowed to do that')
const UNHEARD_OF = refused(404, 'M_UNRECOGNIZED', 'Unrecognized request')

/** The chat's host: the Matrix client API under a bearer, as far as a conversation of two needs it. */
export function chat(ask: Ask, let_in: boolean): Answer {
  const { path, method } = ask
  const [root, client, version, first, second, ...rest] = path
  if (root !== '_matrix' || client !== 'client' || version !== 'v3' || first === undefined)
    return UNHEARD_OF
  if (method === 'POST' && first === 'login' && second === undefined) return introduce(ask)
  const { user } = ask.viewer
  if (!let_in || user === null) return NOBODY
  if (method === 'GET' && first === 'account' && second === 'whoami')
    return told({ user_id: chatId(user), device_id: 'SANDBOX', is_guest: false })
  if (method === 'GET' && first === 'sync') return sync(ask, user)
  if (method === 'GET' && first === 'profile') return profile(ask, second ?? '')
  if (method === 'POST' && first === 'createRoom') return create(ask, user)
  if (first !== 'rooms') return UNHEARD_OF
  return second === undefined ? find(ask, user) : inRoom(ask, user, second, rest)
}

/** `login` with the platform's own token: the same token opens everything else. */
function introduce({ world, body }: Ask): Answer {
  const { type, token } = fieldsOf(body)
  if (type !== 'com.reddit.token' || typeof token !== 'string')
    return refused(400, 'M_UNKNOWN', 'Unknown login type')
  const user = findBearer(world, token)
  if (!user) return refused(403, 'M_FORBIDDEN', 'Invalid login')
  return told({ access_token: token, user_id: chatId(user), device_id: 'SANDBOX' })
}

function sync({ world }: Ask, user: User): Answer {
  const mine = [...world.rooms.values()].filter(({ members }) => members.has(user))
  const join: Record<string, object> = {}
  const invite: Record<string, object> = {}
  for (const room of mine)
    if (room.members.get(user) === 'join') join[room.id] = joined(room, user, world.now())
    else invite[room.id] = { invite_state: { events: stripped(room) } }
  return told({
    next_batch: `s${world.now()}`,
    rooms: { join, invite, leave: {} },
    account_data: { events: [] },
    'com.reddit.invites_counter': Object.keys(invite).length,
  })
}

function joined(room: Room, user: User, now: number) {
  const latest = room.events.slice(-LATEST)
  const native = (events: readonly RoomEvent[]) =>
    events.map((event) => nativeEvent(room, event, now))
  return {
    timeline: {
      events: native(latest),
      limited: room.events.length > latest.length,
      prev_batch: `t${room.events.length - latest.length}`,
    },
    state: { events: native(room.events.slice(0, -LATEST).filter(({ about }) => about !== null)) },
    unread_notifications: { notification_count: unseen(room, user), highlight_count: 0 },
    summary: { 'm.joined_member_count': room.members.size },
  }
}

/** Who is asked in is told who is there, and when they were asked. */
const stripped = (room: Room) =>
  room.events
    .filter(({ about }) => about !== null)
    .map((event) => {
      const { type, state_key, sender, content, origin_server_ts } = nativeEvent(room, event, 0)
      return { type, state_key, sender, content, origin_server_ts }
    })

function profile({ world }: Ask, id: string): Answer {
  const user = userOf(world, id)
  if (user === undefined || user.standing === 'deleted') return NOT_FOUND
  return told({ displayname: user.name, avatar_url: null })
}

/** `rooms?with_user=`: the room with somebody, where there is one. */
function find({ world, query, method }: Ask, user: User): Answer {
  if (method !== 'GET') return UNHEARD_OF
  const peer = userOf(world, query.get('with_user') ?? '')
  const room = peer && roomOf(world, user, peer)
  if (!room) return told({ rooms: null })
  const state = room.events
    .filter(({ about }) => about !== null)
    .map((event) => nativeEvent(room, event, world.now()))
  return told({ rooms: [{ room_id: room.id, state }] })
}

function create(ask: Ask, user: User): Answer {
  const { world, twist } = ask
  const [invited] = listOf(fieldsOf(ask.body)['invite'])
  const peer = typeof invited === 'string' ? userOf(world, invited) : undefined
  if (peer === undefined || peer === user) return refused(400, 'M_BAD_JSON', 'nobody to invite')
  if (twist.chat === 'rate')
    return refused(403, 'M_FORBIDDEN', 'room creation is limited', {
      'com.reddit.error.code': 'rate.score_room_creation_limit',
    })
  if (twist.chat === 'forbidden' || peer.chats === 'closed' || peer.blocked.has(user))
    return refused(403, 'M_FORBIDDEN', 'This user does not accept chats')
  const existing = roomOf(world, user, peer)
  if (existing !== undefined || twist.chat === 'existing_room') {
    const room = existing ?? openRoom(ask, user, peer)
    return refused(409, 'M_UNKNOWN', 'existing room', { 'com.reddit.existing_room_id': room.id })
  }
  return told({ room_id: openRoom(ask, user, peer).id })
}

function inRoom(ask: Ask, user: User, id: string, [what, ...rest]: string[]): Answer {
  const room = ask.world.rooms.get(id)
  const standing = room?.members.get(user)
  if (room === undefined || standing === undefined) return room ? FORBIDDEN : NOT_FOUND
  if (ask.method === 'POST' && what === 'join') {
    if (standing === 'invite') enter(ask, room, user)
    return told({ room_id: room.id })
  }
  if (standing !== 'join') return FORBIDDEN
  if (ask.method === 'GET' && what === 'messages') return messages(ask, room)
  if (ask.method === 'PUT' && what === 'send' && rest[0] === 'm.room.message')
    return say(ask, room, user, rest[1] ?? '')
  return UNHEARD_OF
}

/** What is sent again under the same name is what was sent before. */
function say(ask: Ask, room: Room, sender: User, txn: string): Answer {
  const { twist } = ask
  if (twist.chat === 'forbidden') return refused(403, 'M_FORBIDDEN', 'User is flagged for spam')
  if (twist.chat === 'rate')
    return refused(429, 'M_LIMIT_EXCEEDED', 'Too Many Requests', { retry_after_ms: 12_000 })
  const content = fieldsOf(ask.body)
  const { body } = content
  if (typeof body !== 'string') return refused(400, 'M_BAD_JSON', 'no body')
  if (body.length > LONGEST_TEXT) return refused(413, 'M_TOO_LARGE', 'event too large')
  const key = `${sender.id} ${txn}`
  const event = room.sent.get(key) ?? happen(ask, room, sender, { type: 'm.room.message', content })
  room.sent.set(key, event)
  return told({ event_id: event.id })
}

/** Backwards from the end, or from where the last page stopped. */
function messages({ world, query }: Ask, room: Room): Answer {
  const limit = Math.min(MOST_EVENTS, Math.max(1, Number(query.get('limit') ?? 10) || 10))
  const from = /^t(\d+)$/.exec(query.get('from') ?? '')?.[1]
  const end = Math.min(room.events.length, from === undefined ? Infinity : Number(from))
  const start = Math.max(0, end - limit)
  const chunk = room.events.slice(start, end).toReversed()
  return told({
    chunk: chunk.map((event) => nativeEvent(room, event, world.now())),
    start: `t${end}`,
    ...(start > 0 && { end: `t${start}` }),
  })
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
