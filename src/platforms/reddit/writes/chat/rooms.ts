import { isObject } from '../../../../core/base/object.ts'
import { ok, type Outcome } from '../../../../core/base/result.ts'
import { iso } from '../../../../core/base/time.ts'
import type { Acted } from '../../../../core/forum/native-refusals.ts'
import type {
  DirectMessage,
  Folder,
  Messages,
  SentMessage,
  Thread,
} from '../../../../core/forum/writes.ts'
import type { Random } from '../../../../runtime/runtime.ts'
import type { Call, SourceReads } from '../../../port.ts'
import { numberAt, textAt } from '../../../values.ts'
import { instantAt, listAt, type NativeRow, rowAt, wordAt } from '../../readers/fields.ts'
import type { Actor } from '../form.ts'
import type { OutgoingMail } from '../mail.ts'
import type { ChatRoom } from '../threads.ts'
import type { ChatConnection, OpenChat } from './connection.ts'

const MESSAGE_EVENT = 'm.room.message'
const MEMBER_EVENT = 'm.room.member'

/** A message in a room, in its latest version. `at` is epoch ms. */
export type ChatLine = { id: string; sender: string; body: string; at: number }

/** Objects of a list; other rows are left out. */
const eventsOf = (value: NativeRow | null, field: string): NativeRow[] =>
  value === null ? [] : listAt(value, field).filter(isObject)

/**
 * Messages, newest first: edits replace earlier versions, redacted messages are left out. Events
 * may be in either order.
 * @see https://spec.matrix.org/latest/client-server-api/#redactions
 */
function chatLinesIn(events: readonly NativeRow[]): ChatLine[] {
  const corrected = new Map<string, { body: string; at: number }>()
  const lines: ChatLine[] = []
  for (const event of events) {
    if (event['type'] !== MESSAGE_EVENT) continue
    const content = rowAt(event, 'content') ?? {}
    const id = wordAt(event, 'event_id')
    const sender = wordAt(event, 'sender')
    const at = instantAt(event, 'origin_server_ts')
    const body = textAt(content, 'body')
    // Redacted: an event without its content, or one that is marked so.
    if (id === null || sender === null || at === null || body === null) continue
    if (rowAt(rowAt(event, 'unsigned') ?? {}, 'redacted_because')) continue
    const relation = rowAt(content, 'm.relates_to')
    if (relation?.['rel_type'] !== 'm.replace') {
      lines.push({ id, sender, body, at })
      continue
    }
    const original = wordAt(relation, 'event_id')
    const wording = textAt(rowAt(content, 'm.new_content') ?? {}, 'body') ?? body
    const correction = original === null ? undefined : corrected.get(original)
    if (original !== null && (correction === undefined || correction.at < at))
      corrected.set(original, { body: wording, at })
  }
  return lines
    .map((it) => ({ ...it, body: corrected.get(it.id)?.body ?? it.body }))
    .toSorted((one, other) => other.at - one.at)
}

/** Display names of a room's members by their ids, as far as the events state them. */
function namesIn(events: readonly NativeRow[]): Map<string, string> {
  const names = new Map<string, string>()
  for (const event of events) {
    if (event['type'] !== MEMBER_EVENT) continue
    const id = wordAt(event, 'state_key')
    const name = id === null ? null : nameIn(event)
    if (id !== null && name !== null) names.set(id, name)
  }
  return names
}

function nameIn(event: NativeRow): string | null {
  const relations = rowAt(rowAt(event, 'unsigned') ?? {}, 'm.relations')
  const profile = relations && rowAt(relations, 'com.reddit.profile')
  return (
    (profile && wordAt(profile, 'username')) ?? wordAt(rowAt(event, 'content') ?? {}, 'displayname')
  )
}

/** The other member of a room, from its member events; null if there is none. */
function peerIn(events: readonly NativeRow[], me: string): string | null {
  const user_ids = events.flatMap((event) =>
    event['type'] === MEMBER_EVENT ? [wordAt(event, 'state_key')] : [],
  )
  return user_ids.find((id) => id !== null && id !== me) ?? null
}

/** Our own membership of a room: `join`, `invite`, …; null if the events do not state it. */
function membershipIn(events: readonly NativeRow[], me: string): string | null {
  const mine = events.findLast(
    (event) => event['type'] === MEMBER_EVENT && wordAt(event, 'state_key') === me,
  )
  return mine === undefined ? null : wordAt(rowAt(mine, 'content') ?? {}, 'membership')
}

/** Epoch ms of the newest of some events; 0 if none states a time. */
const newestAt = (events: readonly NativeRow[]): number =>
  Math.max(0, ...events.map((event) => instantAt(event, 'origin_server_ts') ?? 0))

/** Converts a chat message to a message of the port. */
const toMessage = (
  { id, body, at }: ChatLine,
  room: string,
  people: { from: string | null; to: string | null },
): DirectMessage => ({
  id,
  thread_id: room,
  ...people,
  subject: null,
  body,
  created: iso(at),
  // A room has one read marker for all its messages, which is part of the conversation.
  unread: false,
})

/** A room with its other member; `mine`: the latest message is our own. */
export type FoundRoom = ChatRoom & { peer: string | null; mine: boolean }

const entries = (rooms: NativeRow | null): [string, NativeRow][] =>
  Object.entries(rooms ?? {}).flatMap(([id, room]) => (isObject(room) ? [[id, room]] : []))

/** The state of a room, in either of its two shapes. */
const stateOf = (room: NativeRow): NativeRow[] => {
  const state = rowAt(room, 'state')
  return state === null ? eventsOf(room, 'state') : eventsOf(state, 'events')
}

/** Rooms of one sync: those that we joined and those that we were invited to. */
function roomsIn(answer: NativeRow, me: string): FoundRoom[] {
  const rooms = rowAt(answer, 'rooms') ?? {}
  return [
    ...entries(rowAt(rooms, 'join')).map(([id, room]) => toJoined(id, room, me)),
    ...entries(rowAt(rooms, 'invite')).map(([id, room]) => toInvited(id, room, me)),
  ]
}

function toJoined(id: string, room: NativeRow, me: string): FoundRoom {
  const timeline = eventsOf(rowAt(room, 'timeline'), 'events')
  const events = [...stateOf(room), ...timeline]
  const lines = chatLinesIn(timeline)
  const count = numberAt(rowAt(room, 'unread_notifications') ?? {}, 'notification_count') ?? 0
  const [last] = lines
  return toRoom(id, events, me, {
    at: last?.at ?? newestAt(events),
    unread: count > 0,
    message_count: lines.length,
    last_message: last?.body ?? '',
    mine: last?.sender === me,
  })
}

function toInvited(id: string, room: NativeRow, me: string): FoundRoom {
  const events = eventsOf(rowAt(room, 'invite_state'), 'events')
  const [last] = chatLinesIn(events)
  return toRoom(id, events, me, {
    at: newestAt(events),
    unread: true,
    message_count: last === undefined ? 0 : 1,
    last_message: last?.body ?? '',
    mine: false,
  })
}

function toRoom(
  id: string,
  events: readonly NativeRow[],
  me: string,
  {
    at,
    mine,
    ...rest
  }: Pick<Thread, 'unread' | 'message_count' | 'last_message'> & { at: number; mine: boolean },
): FoundRoom {
  const sender = events
    .map((event) => wordAt(event, 'sender'))
    .find((it) => it !== null && it !== me)
  const peer = peerIn(events, me) ?? sender ?? null
  const thread: Thread = {
    id,
    with: peer === null ? null : (namesIn(events).get(peer) ?? null),
    subject: null,
    ...rest,
    last_message_at: at > 0 ? iso(at) : null,
    channel: 'chat',
  }
  return { thread, at, peer, mine }
}

function belongs({ mine, thread }: FoundRoom, folder: Folder): boolean {
  switch (folder) {
    case 'all':
      return true
    case 'inbox':
      return !mine
    case 'sent':
      return mine
    case 'unread':
      return thread.unread
  }
}

/** Maximum number of display names to look up for one page. */
const NAMES_MAX = 10
const SYNC_FILTER = JSON.stringify({
  room: { timeline: { limit: 20, lazy_load_members: true }, state: { lazy_load_members: true } },
})

type Deps = { open: OpenChat; platform: Pick<SourceReads, 'user'>; random: Random }

/**
 * Creates the calls for the chat, with the same shapes as mail. Reading accepts no invitation and
 * changes no read marker.
 */
export function createChat({ open, platform, random }: Deps) {
  return {
    /** Null if the account has no chat. */
    async send(draft: OutgoingMail, actor: Actor, call: Call): Promise<Acted<SentMessage> | null> {
      const connection = await open(actor, call)
      if (!connection.ok || connection.value === null) return connection.ok ? null : connection
      const peer = await platform.user(draft.to, call)
      if (!peer.ok) return peer
      const { id } = peer.value
      if (id === null) return { ok: false, fault: { kind: 'forbidden', reason: 'user_suspended' } }
      const room = await roomWith(connection.value, connection.value.idOf(id))
      return room.ok ? sendText(connection.value, room.value, textOf(draft), random) : room
    },

    /** All rooms of a folder; null if the account has no chat. */
    async rooms(folder: Folder, actor: Actor, call: Call): Promise<Outcome<ChatRoom[] | null>> {
      const connection = await open(actor, call)
      if (!connection.ok || connection.value === null) return connection.ok ? ok(null) : connection
      const { me } = connection.value
      const query = { timeout: 0, set_presence: 'offline', filter: SYNC_FILTER }
      const answer = await connection.value.get({ path: '/sync', query })
      if (!answer.ok) return answer
      const wanted = roomsIn(answer.value, me).filter((it) => belongs(it, folder))
      return ok(await named(connection.value, wanted))
    },

    /** Messages of one room, newest first; null if the account has no chat. */
    async messages(
      { thread_id, limit, after }: { thread_id: string; limit: number; after: string | null },
      actor: Actor,
      call: Call,
    ): Promise<Acted<Messages> | null> {
      const connection = await open(actor, call)
      if (!connection.ok || connection.value === null) return connection.ok ? null : connection
      const { me } = connection.value
      const path = `/rooms/${encodeURIComponent(thread_id)}/messages`
      const answer = await connection.value.get({ path, query: { dir: 'b', limit, from: after } })
      if (!answer.ok) return answer
      const chunk = eventsOf(answer.value, 'chunk')
      const people = [...eventsOf(answer.value, 'state'), ...chunk]
      const names = namesIn(people).set(me, actor.name)
      const lines = chatLinesIn(chunk)
      const peer = lines.find(({ sender }) => sender !== me)?.sender ?? peerIn(people, me)
      const other =
        peer === null ? null : (names.get(peer) ?? (await nameOf(connection.value, peer)))
      const end = wordAt(answer.value, 'end')
      return ok({
        messages: lines.map((it) => {
          const mine = it.sender === me
          const from = mine ? actor.name : (names.get(it.sender) ?? other)
          return toMessage(it, thread_id, { from, to: mine ? other : actor.name })
        }),
        after: chunk.length > 0 && end !== wordAt(answer.value, 'start') ? end : null,
      })
    },
  }
}

export type Chat = ReturnType<typeof createChat>

/** The chat has no subjects, so the subject precedes the text. */
const textOf = ({ subject, text }: OutgoingMail): string =>
  subject.trim() === '' ? text : `${subject.trim()}\n\n${text}`

/** The direct room with a user: the present one, joined if we were invited, or a new one. */
async function roomWith(connection: ChatConnection, peer: string): Promise<Acted<string>> {
  const query = { seq: 'y', with_user: peer, type: 'direct', include: 'state,timeline' }
  const found = await connection.get({ path: '/rooms', query })
  if (!found.ok) return found
  const [room] = eventsOf(found.value, 'rooms')
  const id = room && wordAt(room, 'room_id')
  if (!room || !id) return newRoom(connection, peer)
  const is_invited = membershipIn(stateOf(room), connection.me) === 'invite'
  if (!is_invited) return ok(id)
  const joined = await connection.write('POST', `/rooms/${encodeURIComponent(id)}/join`, {})
  return joined.ok ? ok(id) : unsaid(joined)
}

async function newRoom(connection: ChatConnection, peer: string): Promise<Acted<string>> {
  const response = await connection.write('POST', '/createRoom', {
    preset: 'reddit_dm',
    invite: [peer],
  })
  const id = wordAt(response.ok ? response.value : response.payload, 'room_id')
  const existing = response.ok ? null : wordAt(response.payload, 'com.reddit.existing_room_id')
  if (id ?? existing) return ok(id ?? existing ?? '')
  return response.ok ? { ok: false, fault: { kind: 'unknown' } } : unsaid(response)
}

/** The message was not sent. A room that may have been created is found again next time. */
const unsaid = ({ fault }: Acted<never> & { ok: false }): Acted<never> => ({
  ok: false,
  fault:
    fault.kind === 'unknown' ? { kind: 'unavailable', status: null, retry_after_s: null } : fault,
})

async function sendText(
  connection: ChatConnection,
  room: string,
  body: string,
  random: Random,
): Promise<Acted<SentMessage>> {
  const path = `/rooms/${encodeURIComponent(room)}/send/m.room.message/${random.uuid()}`
  const done = await connection.write('PUT', path, { msgtype: 'm.text', body })
  if (!done.ok) return { ok: false, fault: done.fault }
  return ok({ id: wordAt(done.value, 'event_id'), thread_id: room, channel: 'chat' })
}

/** Looks up display names missing from the room state, newest rooms first, up to a limit. */
async function named(connection: ChatConnection, rooms: FoundRoom[]): Promise<ChatRoom[]> {
  const nameless = rooms
    .filter(({ thread, peer }) => thread.with === null && peer !== null)
    .toSorted((one, other) => other.at - one.at)
    .slice(0, NAMES_MAX)
  for (const { thread, peer } of nameless) thread.with = await nameOf(connection, peer ?? '')
  return rooms
}

async function nameOf(connection: ChatConnection, id: string): Promise<string | null> {
  const profile = await connection.get({ path: `/profile/${encodeURIComponent(id)}` })
  return profile.ok ? wordAt(profile.value, 'displayname') : null
}
