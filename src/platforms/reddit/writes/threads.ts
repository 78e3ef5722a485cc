import type { DirectMessage, Thread, ThreadsCursor } from '../../../core/forum/writes.ts'
import type { Actor } from './form.ts'
import type { MailPage, MailRow } from './mail.ts'

/** A chat room with the time of its last message, epoch ms; 0 if unknown. */
export type ChatRoom = { thread: Thread; at: number }

/** True if one room sorts before another: latest message first. */
const before = (one: { at: number; id: string }, other: { at: number; id: string }): boolean =>
  one.at > other.at || (one.at === other.at && one.id < other.id)

const keyOf = ({ thread, at }: ChatRoom) => ({ at, id: thread.id })

/** Rooms newest first, only those after a cursor. */
export const behind = (rooms: readonly ChatRoom[], cursor: ThreadsCursor['chat']): ChatRoom[] =>
  rooms
    .filter((room) => cursor === null || before(cursor, keyOf(room)))
    .toSorted((one, other) => (before(keyOf(one), keyOf(other)) ? -1 : 1))

/**
 * Merges a page of mail and all chat rooms into one page of conversations, latest message first.
 * Rows of mail that belong together become one. If the page ends inside either source, the cursor
 * states the position.
 */
export function mergeThreads(
  mail: MailPage,
  rooms: readonly ChatRoom[],
  { actor, limit, since }: { actor: Actor; limit: number; since: ThreadsCursor },
): { threads: Thread[]; cursor: ThreadsCursor | null } {
  const threads = new Map<string, Thread>()
  let [row_at, room_at] = [0, 0]
  for (;;) {
    const row = mail.rows[row_at]
    const room = rooms[room_at]
    if (row !== undefined && (room === undefined || spokenAt(row) >= room.at)) {
      const existing = threads.get(row.thread_id)
      if (existing === undefined && threads.size >= limit) break
      threads.set(row.thread_id, existing ? joined(existing, row) : toThread(row, actor))
      row_at += 1
    } else if (room !== undefined) {
      if (threads.size >= limit) break
      threads.set(room.thread.id, room.thread)
      room_at += 1
    } else break
  }

  const last_room = rooms[room_at - 1]
  const chat = last_room === undefined ? since.chat : keyOf(last_room)
  const rest = row_at < mail.rows.length
  const next = rest ? (mail.rows[row_at - 1]?.cursor ?? since.mail) : mail.after
  const over = !rest && mail.after === null && room_at >= rooms.length
  return { threads: [...threads.values()], cursor: over ? null : { mail: next, chat } }
}

const newestOf = ({ messages }: MailRow): DirectMessage => messages.at(-1) ?? messages[0]
const spokenAt = (row: MailRow): number => Date.parse(newestOf(row).created)

function toThread(row: MailRow, actor: Actor): Thread {
  const [first] = row.messages
  const last = newestOf(row)
  return {
    id: row.thread_id,
    with: first.from === actor.name ? first.to : first.from,
    subject: first.subject,
    unread: row.messages.some(({ unread }) => unread),
    message_count: row.messages.length,
    last_message_at: last.created,
    last_message: last.body,
    channel: 'mail',
  }
}

/** Adds a further, older row to a listed conversation. */
const joined = (thread: Thread, row: MailRow): Thread => ({
  ...thread,
  unread: thread.unread || row.messages.some(({ unread }) => unread),
  message_count: thread.message_count + row.messages.length,
})
