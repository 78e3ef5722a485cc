import type { Ask } from './ask.ts'
import type { Room, RoomEvent, User, World } from './model.ts'

/** The server that all of the chat's ids end with. */
const SERVER = 'reddit.com'

/** What somebody is called in the chat. */
export const chatId = ({ id }: User): string => `@t2_${id}:${SERVER}`

/** The user behind a chat id. */
export function userOf({ users }: World, chat_id: string): User | undefined {
  const id = /^@t2_([a-z0-9]+):/.exec(chat_id)?.[1]
  return [...users.values()].find((user) => user.id === id)
}

/** The room of two people; there is never more than one. */
export const roomOf = ({ rooms }: World, one: User, other: User): Room | undefined =>
  [...rooms.values()].find(({ members }) => members.has(one) && members.has(other))

/** Opens a room: whoever opens it is in, the other is asked. */
export function openRoom(ask: Ask, by: User, peer: User): Room {
  const { world, noise } = ask
  const room: Room = {
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
  happen(ask, room, by, { type: 'm.room.create', content: {} })
  happen(ask, room, by, { type: 'com.reddit.chat.type', content: { type: 'direct' } })
  happen(ask, room, by, member(by, 'join'))
  happen(ask, room, by, member(peer, 'invite'))
  return room
}

type What = Pick<RoomEvent, 'type' | 'content'> & { about?: User }

const member = (about: User, membership: 'join' | 'invite'): What => ({
  type: 'm.room.member',
  about,
  content: { membership, displayname: about.name },
})

/** Lets somebody in who was asked. */
export function enter(ask: Ask, room: Room, user: User): void {
  room.members.set(user, 'join')
  happen(ask, room, user, member(user, 'join'))
}

/** Writes down what happens in a room. Whoever did it has seen it. */
export function happen(ask: Ask, room: Room, sender: User, { about, ...what }: What): RoomEvent {
  const { world, noise } = ask
  const event: RoomEvent = {
    id: `$${noise.text(43)}`,
    ...what,
    sender,
    about: about ?? null,
    at: world.now(),
  }
  room.events.push(event)
  room.seen.set(sender, room.events.length)
  return event
}

/** What was said that somebody has not seen. */
export const unseen = ({ events, seen }: Room, user: User): number =>
  events
    .slice(seen.get(user) ?? 0)
    .filter(({ type, sender }) => type === 'm.room.message' && sender !== user).length

/** An event as the chat writes it. */
export function nativeEvent(room: Room, event: RoomEvent, now: number) {
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
