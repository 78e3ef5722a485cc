import type { Folder, Thread } from '../../core/acting.ts'
import { iso } from '../../core/instant.ts'
import { isObject } from '../../core/object.ts'
import { numberAt, type Row, rowAt, wordAt } from '../read.ts'
import { eventsOf, namesIn, newestAt, peerIn, saidIn } from './chat-events.ts'
import type { Room } from './threads.ts'

/** A room, who else is in it, and whether it was we who spoke last. */
export type FoundRoom = Room & { peer: string | null; mine: boolean }

const entries = (rooms: Row | null): [string, Row][] =>
  Object.entries(rooms ?? {}).flatMap(([id, room]) => (isObject(room) ? [[id, room]] : []))

/** The state of a room, in whichever of its two shapes. */
export const stateOf = (room: Row): Row[] => {
  const state = rowAt(room, 'state')
  return state === null ? eventsOf(room, 'state') : eventsOf(state, 'events')
}

/** The rooms of one look at everything: those we are in, and those we were asked into. */
export function roomsIn(answer: Row, me: string): FoundRoom[] {
  const rooms = rowAt(answer, 'rooms') ?? {}
  return [
    ...entries(rowAt(rooms, 'join')).map(([id, room]) => toJoined(id, room, me)),
    ...entries(rowAt(rooms, 'invite')).map(([id, room]) => toInvited(id, room, me)),
  ]
}

function toJoined(id: string, room: Row, me: string): FoundRoom {
  const timeline = eventsOf(rowAt(room, 'timeline'), 'events')
  const events = [...stateOf(room), ...timeline]
  const said = saidIn(timeline)
  const count = numberAt(rowAt(room, 'unread_notifications') ?? {}, 'notification_count') ?? 0
  const [last] = said
  return toRoom(id, events, me, {
    at: last?.at ?? newestAt(events),
    unread: count > 0,
    message_count: said.length,
    last_message: last?.body ?? '',
    mine: last?.sender === me,
  })
}

function toInvited(id: string, room: Row, me: string): FoundRoom {
  const events = eventsOf(rowAt(room, 'invite_state'), 'events')
  const [last] = saidIn(events)
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
  events: readonly Row[],
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

/** Whether a room lies in a folder. */
export function belongs({ mine, thread }: FoundRoom, folder: Folder): boolean {
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
