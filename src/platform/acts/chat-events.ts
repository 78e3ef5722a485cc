import type { Message } from '../../core/acting.ts'
import { iso } from '../../core/instant.ts'
import { isObject } from '../../core/object.ts'
import { instantAt, listAt, type Row, rowAt, textAt, wordAt } from '../read.ts'

const MESSAGE = 'm.room.message'
const MEMBER = 'm.room.member'

/** Something that was said in a room, as the room has it now. */
export type Said = { id: string; sender: string; body: string; at: number }

/** Rows of a list, those that are objects. */
export const eventsOf = (value: Row | null, field: string): Row[] =>
  value === null ? [] : listAt(value, field).filter(isObject)

/**
 * What was said, newest first: later wordings stand for earlier ones, what was taken back is left out. Events may come
 * in either order.
 */
export function saidIn(events: readonly Row[]): Said[] {
  const corrected = new Map<string, { body: string; at: number }>()
  const said: Said[] = []
  for (const event of events) {
    if (event['type'] !== MESSAGE) continue
    const content = rowAt(event, 'content') ?? {}
    const id = wordAt(event, 'event_id')
    const sender = wordAt(event, 'sender')
    const at = instantAt(event, 'origin_server_ts')
    const body = textAt(content, 'body')
    // Taken back: an event without its content, or one that says so.
    if (id === null || sender === null || at === null || body === null) continue
    if (rowAt(rowAt(event, 'unsigned') ?? {}, 'redacted_because')) continue
    const relation = rowAt(content, 'm.relates_to')
    if (relation?.['rel_type'] !== 'm.replace') {
      said.push({ id, sender, body, at })
      continue
    }
    const original = wordAt(relation, 'event_id')
    const wording = textAt(rowAt(content, 'm.new_content') ?? {}, 'body') ?? body
    const known = original === null ? undefined : corrected.get(original)
    if (original !== null && (known === undefined || known.at < at))
      corrected.set(original, { body: wording, at })
  }
  return said
    .map((it) => ({ ...it, body: corrected.get(it.id)?.body ?? it.body }))
    .toSorted((one, other) => other.at - one.at)
}

/** What people in a room are called, by their ids, as far as the events tell. */
export function namesIn(events: readonly Row[]): Map<string, string> {
  const names = new Map<string, string>()
  for (const event of events) {
    if (event['type'] !== MEMBER) continue
    const id = wordAt(event, 'state_key')
    const name = id === null ? null : nameIn(event)
    if (id !== null && name !== null) names.set(id, name)
  }
  return names
}

function nameIn(event: Row): string | null {
  const relations = rowAt(rowAt(event, 'unsigned') ?? {}, 'm.relations')
  const profile = relations && rowAt(relations, 'com.reddit.profile')
  return (
    (profile && wordAt(profile, 'username')) ?? wordAt(rowAt(event, 'content') ?? {}, 'displayname')
  )
}

/** Whoever else belongs to a room, by their member events; null where nobody does. */
export function peerIn(events: readonly Row[], me: string): string | null {
  const members = events.flatMap((event) =>
    event['type'] === MEMBER ? [wordAt(event, 'state_key')] : [],
  )
  return members.find((id) => id !== null && id !== me) ?? null
}

/** Our own standing in a room: `join`, `invite`, …; null where the events do not tell. */
export function standingIn(events: readonly Row[], me: string): string | null {
  const mine = events.findLast(
    (event) => event['type'] === MEMBER && wordAt(event, 'state_key') === me,
  )
  return mine === undefined ? null : wordAt(rowAt(mine, 'content') ?? {}, 'membership')
}

/** Epoch ms of the newest of some events; 0 where none tells. */
export const newestAt = (events: readonly Row[]): number =>
  Math.max(0, ...events.map((event) => instantAt(event, 'origin_server_ts') ?? 0))

/** Something said, as a message of ours. */
export const toMessage = (
  { id, body, at }: Said,
  room: string,
  people: { from: string | null; to: string | null },
): Message => ({
  id,
  thread_id: room,
  ...people,
  subject: null,
  body,
  created: iso(at),
  // A room has one mark for all that was said in it, which stands with the conversation.
  unread: false,
})
