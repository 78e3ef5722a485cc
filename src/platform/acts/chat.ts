import type { Folder, Messages, Sent } from '../../core/acting.ts'
import type { Acted } from '../../core/native-refusals.ts'
import { ok, type Outcome } from '../../core/outcome.ts'
import type { Random } from '../../outside.ts'
import type { Call, Platform } from '../platform.ts'
import { wordAt } from '../read.ts'
import { eventsOf, namesIn, peerIn, saidIn, standingIn, toMessage } from './chat-events.ts'
import type { Line, OpenLine } from './chat-line.ts'
import { belongs, type FoundRoom, roomsIn, stateOf } from './chat-rooms.ts'
import type { Actor } from './form.ts'
import type { Draft } from './mail.ts'
import type { Room } from './threads.ts'

/** Of how many people at most the chat is asked what they are called, for one page. */
const NAMES_MAX = 10
const SYNC_FILTER = JSON.stringify({
  room: { timeline: { limit: 20, lazy_load_members: true }, state: { lazy_load_members: true } },
})

type Deps = { open: OpenLine; platform: Pick<Platform, 'user'>; random: Random }

/** The chat, behind the same shapes as the mail. Looking into it accepts nothing and marks nothing. */
export function createChat({ open, platform, random }: Deps) {
  return {
    /** Null where there is no chat for this account. */
    async send(draft: Draft, actor: Actor, call: Call): Promise<Acted<Sent> | null> {
      const line = await open(actor, call)
      if (!line.ok || line.value === null) return line.ok ? null : line
      const peer = await platform.user(draft.to, call)
      if (!peer.ok) return peer
      const { id } = peer.value
      if (id === null) return { ok: false, fault: { kind: 'forbidden', reason: 'user_suspended' } }
      const room = await roomWith(line.value, line.value.idOf(id))
      return room.ok ? say(line.value, room.value, textOf(draft), random) : room
    },

    /** All rooms that belong into a folder; null where there is no chat for this account. */
    async rooms(folder: Folder, actor: Actor, call: Call): Promise<Outcome<Room[] | null>> {
      const line = await open(actor, call)
      if (!line.ok || line.value === null) return line.ok ? ok(null) : line
      const { me } = line.value
      const query = { timeout: 0, set_presence: 'offline', filter: SYNC_FILTER }
      const answer = await line.value.get({ path: '/sync', query })
      if (!answer.ok) return answer
      const wanted = roomsIn(answer.value, me).filter((it) => belongs(it, folder))
      return ok(await named(line.value, wanted))
    },

    /** What was said in one room, newest first; null where there is no chat for this account. */
    async messages(
      { thread_id, limit, after }: { thread_id: string; limit: number; after: string | null },
      actor: Actor,
      call: Call,
    ): Promise<Acted<Messages> | null> {
      const line = await open(actor, call)
      if (!line.ok || line.value === null) return line.ok ? null : line
      const { me } = line.value
      const path = `/rooms/${encodeURIComponent(thread_id)}/messages`
      const answer = await line.value.get({ path, query: { dir: 'b', limit, from: after } })
      if (!answer.ok) return answer
      const chunk = eventsOf(answer.value, 'chunk')
      const people = [...eventsOf(answer.value, 'state'), ...chunk]
      const names = namesIn(people).set(me, actor.name)
      const said = saidIn(chunk)
      const peer = said.find(({ sender }) => sender !== me)?.sender ?? peerIn(people, me)
      const other = peer === null ? null : (names.get(peer) ?? (await nameOf(line.value, peer)))
      const end = wordAt(answer.value, 'end')
      return ok({
        messages: said.map((it) => {
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

/** A chat has no subjects: what one says goes first. */
const textOf = ({ subject, text }: Draft): string =>
  subject.trim() === '' ? text : `${subject.trim()}\n\n${text}`

/** The room with somebody: the one there is, entered where we were asked in, or a new one. */
async function roomWith(line: Line, peer: string): Promise<Acted<string>> {
  const query = { seq: 'y', with_user: peer, type: 'direct', include: 'state,timeline' }
  const found = await line.get({ path: '/rooms', query })
  if (!found.ok) return found
  const [room] = eventsOf(found.value, 'rooms')
  const id = room && wordAt(room, 'room_id')
  if (!room || !id) return newRoom(line, peer)
  const asked_in = standingIn(stateOf(room), line.me) === 'invite'
  if (!asked_in) return ok(id)
  const joined = await line.write('POST', `/rooms/${encodeURIComponent(id)}/join`, {})
  return joined.ok ? ok(id) : unsaid(joined)
}

async function newRoom(line: Line, peer: string): Promise<Acted<string>> {
  const made = await line.write('POST', '/createRoom', { preset: 'reddit_dm', invite: [peer] })
  const id = wordAt(made.ok ? made.value : made.said, 'room_id')
  const existing = made.ok ? null : wordAt(made.said, 'com.reddit.existing_room_id')
  if (id ?? existing) return ok(id ?? existing ?? '')
  return made.ok ? { ok: false, fault: { kind: 'unknown' } } : unsaid(made)
}

/** Nothing has been said yet: a room that may or may not be there is found again next time. */
const unsaid = ({ fault }: Acted<never> & { ok: false }): Acted<never> => ({
  ok: false,
  fault:
    fault.kind === 'unknown' ? { kind: 'unavailable', status: null, retry_after_s: null } : fault,
})

async function say(line: Line, room: string, body: string, random: Random): Promise<Acted<Sent>> {
  const path = `/rooms/${encodeURIComponent(room)}/send/m.room.message/${random.uuid()}`
  const done = await line.write('PUT', path, { msgtype: 'm.text', body })
  if (!done.ok) return { ok: false, fault: done.fault }
  return ok({ id: wordAt(done.value, 'event_id'), thread_id: room, channel: 'chat' })
}

/** Asks what those are called of whom the rooms say nothing, the newest first and not without end. */
async function named(line: Line, rooms: FoundRoom[]): Promise<Room[]> {
  const nameless = rooms
    .filter(({ thread, peer }) => thread.with === null && peer !== null)
    .toSorted((one, other) => other.at - one.at)
    .slice(0, NAMES_MAX)
  for (const { thread, peer } of nameless) thread.with = await nameOf(line, peer ?? '')
  return rooms
}

async function nameOf(line: Line, id: string): Promise<string | null> {
  const profile = await line.get({ path: `/profile/${encodeURIComponent(id)}` })
  return profile.ok ? wordAt(profile.value, 'displayname') : null
}
