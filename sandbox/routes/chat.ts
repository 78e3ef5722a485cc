import type { SandboxRequest } from '../server/request.ts'
import { parseJsonFields, type SandboxResponse } from '../server/response.ts'
import { findBearer } from '../server/sessions.ts'
import type { ChatRoomEvent, SandboxChatRoom, SandboxUser, World } from '../world/model.ts'

/** Server name in all ids of the chat. */
const SERVER = 'reddit.com'

/** Chat id of a user. */
const chatId = ({ id }: SandboxUser): string => `@t2_${id}:${SERVER}`

/** User with a chat id. */
function userOf({ users }: World, chat_id: string): SandboxUser | undefined {
  const id = /^@t2_([a-z0-9]+):/.exec(chat_id)?.[1]
  return [...users.values()].find((user) => user.id === id)
}

/** Room of two users; at most one exists. */
const roomBetween = (
  { rooms }: World,
  one: SandboxUser,
  other: SandboxUser,
): SandboxChatRoom | undefined =>
  [...rooms.values()].find(({ members }) => members.has(one) && members.has(other))

/** Opens a room: its creator joins, the peer is invited. */
function createRoom(request: SandboxRequest, by: SandboxUser, peer: SandboxUser): SandboxChatRoom {
  const { world, noise } = request
  const room: SandboxChatRoom = {
    id: `!${noise.text(18)}:${SERVER}`,
    members: new Map([
      [by, 'join'],
      [peer, 'invite'],
    ]),
    events: [],
    sent: new Map(),
    seen: new Map(),
  }
  world.rooms.set(room.id, room)
  appendEvent(request, room, by, { type: 'm.room.create', content: {} })
  appendEvent(request, room, by, { type: 'com.reddit.chat.type', content: { type: 'direct' } })
  appendEvent(request, room, by, membershipEvent(by, 'join'))
  appendEvent(request, room, by, membershipEvent(peer, 'invite'))
  return room
}

type EventDraft = Pick<ChatRoomEvent, 'type' | 'content'> & { about?: SandboxUser }

const membershipEvent = (about: SandboxUser, membership: 'join' | 'invite'): EventDraft => ({
  type: 'm.room.member',
  about,
  content: { membership, displayname: about.name },
})

/** Accepts an invitation. */
function joinRoom(request: SandboxRequest, room: SandboxChatRoom, user: SandboxUser): void {
  room.members.set(user, 'join')
  appendEvent(request, room, user, membershipEvent(user, 'join'))
}

/** Appends an event to a room. Its sender has seen it. */
function appendEvent(
  request: SandboxRequest,
  room: SandboxChatRoom,
  sender: SandboxUser,
  { about, ...event_fields }: EventDraft,
): ChatRoomEvent {
  const { world, noise } = request
  const event: ChatRoomEvent = {
    id: `$${noise.text(43)}`,
    ...event_fields,
    sender,
    about: about ?? null,
    at: world.now(),
  }
  room.events.push(event)
  room.seen.set(sender, room.events.length)
  return event
}

/** Number of messages that a user has not seen. */
const countUnreadEvents = ({ events, seen }: SandboxChatRoom, user: SandboxUser): number =>
  events
    .slice(seen.get(user) ?? 0)
    .filter(({ type, sender }) => type === 'm.room.message' && sender !== user).length

/** Event in the format of the chat. */
function nativeEvent(room: SandboxChatRoom, event: ChatRoomEvent, now: number) {
  const { id, type, sender, about, at, content } = event
  return {
    type,
    room_id: room.id,
    sender: chatId(sender),
    content,
    ...(about !== null && { state_key: chatId(about) }),
    ...(about === null && type !== 'm.room.message' && { state_key: '' }),
    origin_server_ts: at,
    unsigned: {
      age: Math.max(0, now - at),
      ...(about !== null && {
        'm.relations': { 'com.reddit.profile': { username: about.name } },
      }),
    },
    event_id: id,
  }
}

const TIMELINE_LIMIT = 20
const MOST_EVENTS = 100
const LONGEST_TEXT = 10_000

const chatResponse = (value: object, status = 200): SandboxResponse => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
})

const chatError = (
  status: number,
  errcode: string,
  error: string,
  more: object = {},
): SandboxResponse => chatResponse({ errcode, error, ...more }, status)

const UNKNOWN_TOKEN = chatError(401, 'M_UNKNOWN_TOKEN', 'Invalid access token passed.')
const NOT_FOUND = chatError(404, 'M_NOT_FOUND', 'Room not found')
const FORBIDDEN = chatError(403, 'M_FORBIDDEN', 'You are not allowed to do that')
const UNRECOGNIZED = chatError(404, 'M_UNRECOGNIZED', 'Unrecognized request')

/**
 * Host of the chat: the Matrix client API with a bearer, limited to conversations of two.
 * @see https://spec.matrix.org/latest/client-server-api/
 */
export function chatCall(request: SandboxRequest, authorized: boolean): SandboxResponse {
  const { path, method } = request
  const [root, client, version, first, second, ...rest] = path
  if (root !== '_matrix' || client !== 'client' || version !== 'v3' || first === undefined)
    return UNRECOGNIZED
  if (method === 'POST' && first === 'login' && second === undefined) return tokenLogin(request)
  const { user } = request.viewer
  if (!authorized || user === null) return UNKNOWN_TOKEN
  if (method === 'GET' && first === 'account' && second === 'whoami')
    return chatResponse({ user_id: chatId(user), device_id: 'SANDBOX', is_guest: false })
  if (method === 'GET' && first === 'sync') return sync(request, user)
  if (method === 'GET' && first === 'profile') return profile(request, second ?? '')
  if (method === 'POST' && first === 'createRoom') return createDirectRoom(request, user)
  if (first !== 'rooms') return UNRECOGNIZED
  return second === undefined
    ? findDirectRoom(request, user)
    : roomCall(request, user, second, rest)
}

/** `login` with the platform's own token, which also authorises all other calls. */
function tokenLogin({ world, body }: SandboxRequest): SandboxResponse {
  const { type, token } = parseJsonFields(body)
  if (type !== 'com.reddit.token' || typeof token !== 'string')
    return chatError(400, 'M_UNKNOWN', 'Unknown login type')
  const user = findBearer(world, token)
  if (!user) return chatError(403, 'M_FORBIDDEN', 'Invalid login')
  return chatResponse({ access_token: token, user_id: chatId(user), device_id: 'SANDBOX' })
}

function sync({ world }: SandboxRequest, user: SandboxUser): SandboxResponse {
  const own_rooms = [...world.rooms.values()].filter(({ members }) => members.has(user))
  const join: Record<string, object> = {}
  const invite: Record<string, object> = {}
  for (const room of own_rooms)
    if (room.members.get(user) === 'join') join[room.id] = joinedRoom(room, user, world.now())
    else invite[room.id] = { invite_state: { events: strippedState(room) } }
  return chatResponse({
    next_batch: `s${world.now()}`,
    rooms: { join, invite, leave: {} },
    account_data: { events: [] },
    'com.reddit.invites_counter': Object.keys(invite).length,
  })
}

function joinedRoom(room: SandboxChatRoom, user: SandboxUser, now: number) {
  const latest = room.events.slice(-TIMELINE_LIMIT)
  const native = (events: readonly ChatRoomEvent[]) =>
    events.map((event) => nativeEvent(room, event, now))
  return {
    timeline: {
      events: native(latest),
      limited: room.events.length > latest.length,
      prev_batch: `t${room.events.length - latest.length}`,
    },
    state: {
      events: native(room.events.slice(0, -TIMELINE_LIMIT).filter(({ about }) => about !== null)),
    },
    unread_notifications: { notification_count: countUnreadEvents(room, user), highlight_count: 0 },
    summary: { 'm.joined_member_count': room.members.size },
  }
}

/** State of a room for an invited user: its members and the time of the invitation. */
const strippedState = (room: SandboxChatRoom) =>
  room.events
    .filter(({ about }) => about !== null)
    .map((event) => {
      const { type, state_key, sender, content, origin_server_ts } = nativeEvent(room, event, 0)
      return { type, state_key, sender, content, origin_server_ts }
    })

function profile({ world }: SandboxRequest, id: string): SandboxResponse {
  const user = userOf(world, id)
  if (user === undefined || user.standing === 'deleted') return NOT_FOUND
  return chatResponse({ displayname: user.name, avatar_url: null })
}

/** `rooms?with_user=`: the room with a user, if there is one. */
function findDirectRoom(
  { world, query, method }: SandboxRequest,
  user: SandboxUser,
): SandboxResponse {
  if (method !== 'GET') return UNRECOGNIZED
  const peer = userOf(world, query.get('with_user') ?? '')
  const room = peer && roomBetween(world, user, peer)
  if (!room) return chatResponse({ rooms: null })
  const state = room.events
    .filter(({ about }) => about !== null)
    .map((event) => nativeEvent(room, event, world.now()))
  return chatResponse({ rooms: [{ room_id: room.id, state }] })
}

function createDirectRoom(request: SandboxRequest, user: SandboxUser): SandboxResponse {
  const { world, patch } = request
  const [invited] = listOf(parseJsonFields(request.body)['invite'])
  const peer = typeof invited === 'string' ? userOf(world, invited) : undefined
  if (peer === undefined || peer === user) return chatError(400, 'M_BAD_JSON', 'no user to invite')
  if (patch.chat === 'rate')
    return chatError(403, 'M_FORBIDDEN', 'room creation is limited', {
      'com.reddit.error.code': 'rate.score_room_creation_limit',
    })
  if (patch.chat === 'forbidden' || peer.chats === 'closed' || peer.blocked.has(user))
    return chatError(403, 'M_FORBIDDEN', 'This user does not accept chats')
  const existing = roomBetween(world, user, peer)
  if (existing !== undefined || patch.chat === 'existing_room') {
    const room = existing ?? createRoom(request, user, peer)
    return chatError(409, 'M_UNKNOWN', 'existing room', { 'com.reddit.existing_room_id': room.id })
  }
  return chatResponse({ room_id: createRoom(request, user, peer).id })
}

function roomCall(
  request: SandboxRequest,
  user: SandboxUser,
  id: string,
  [action, ...rest]: string[],
): SandboxResponse {
  const room = request.world.rooms.get(id)
  const membership = room?.members.get(user)
  if (room === undefined || membership === undefined) return room ? FORBIDDEN : NOT_FOUND
  if (request.method === 'POST' && action === 'join') {
    if (membership === 'invite') joinRoom(request, room, user)
    return chatResponse({ room_id: room.id })
  }
  if (membership !== 'join') return FORBIDDEN
  if (request.method === 'GET' && action === 'messages') return listMessages(request, room)
  if (request.method === 'PUT' && action === 'send' && rest[0] === 'm.room.message')
    return sendEvent(request, room, user, rest[1] ?? '')
  return UNRECOGNIZED
}

/** A repeated transaction id returns the first event. */
function sendEvent(
  request: SandboxRequest,
  room: SandboxChatRoom,
  sender: SandboxUser,
  txn: string,
): SandboxResponse {
  const { patch } = request
  if (patch.chat === 'forbidden') return chatError(403, 'M_FORBIDDEN', 'User is flagged for spam')
  if (patch.chat === 'rate')
    return chatError(429, 'M_LIMIT_EXCEEDED', 'Too Many Requests', { retry_after_ms: 12_000 })
  const content = parseJsonFields(request.body)
  const { body } = content
  if (typeof body !== 'string') return chatError(400, 'M_BAD_JSON', 'no body')
  if (body.length > LONGEST_TEXT) return chatError(413, 'M_TOO_LARGE', 'event too large')
  const key = `${sender.id} ${txn}`
  const event =
    room.sent.get(key) ?? appendEvent(request, room, sender, { type: 'm.room.message', content })
  room.sent.set(key, event)
  return chatResponse({ event_id: event.id })
}

/** Backwards from the end, or from the end of the previous page. */
function listMessages({ world, query }: SandboxRequest, room: SandboxChatRoom): SandboxResponse {
  const limit = Math.min(MOST_EVENTS, Math.max(1, Number(query.get('limit') ?? 10) || 10))
  const from = /^t(\d+)$/.exec(query.get('from') ?? '')?.[1]
  const end = Math.min(room.events.length, from === undefined ? Infinity : Number(from))
  const start = Math.max(0, end - limit)
  const chunk = room.events.slice(start, end).toReversed()
  return chatResponse({
    chunk: chunk.map((event) => nativeEvent(room, event, world.now())),
    start: `t${end}`,
    ...(start > 0 && { end: `t${start}` }),
  })
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
