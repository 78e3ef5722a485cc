import { fail, ok, type Outcome } from '../../../core/base/result.ts'
import type { Acted } from '../../../core/forum/native-refusals.ts'
import type { DirectMessage, Messages, SentMessage } from '../../../core/forum/writes.ts'
import type { Call } from '../../port.ts'
import { textAt } from '../../values.ts'
import type { Client, NativeRequest } from '../client.ts'
import {
  isoOfSeconds,
  listAt,
  type NativeRow,
  rowAt,
  secondsAt,
  unreadable,
  wordAt,
} from '../readers/fields.ts'
import { dataOf } from '../readers/items.ts'
import type { Actor, Forms } from './form.ts'

export const badCursor = (what: string): Acted<never> => ({
  ok: false,
  fault: {
    kind: 'refused',
    code: 'BAD_CURSOR',
    message: `after must be a cursor that a page of ${what} returned`,
    field: 'after',
    retry_after_s: null,
    meaning: 'INVALID_REQUEST',
    terminal: true,
  },
})

const FIELDS = { to: 'to', subject: 'subject', text: 'text' }
/** Newest messages to search for the one just sent. */
const RECENT = 10

export type OutgoingMail = { to: string; subject: string; text: string }

/** One row of a folder: the first message of a conversation and the others in it, oldest first. */
export type MailRow = {
  /** The platform's cursor for the page after this row. */
  cursor: string
  thread_id: string
  messages: [DirectMessage, ...DirectMessage[]]
}

/** A page of mail and the start of the next; null: no further page. */
export type MailPage = { rows: MailRow[]; after: string | null }

/** Path of each folder. Conversations are in one; single messages in the others. */
const PATHS = { all: 'messages', inbox: 'inbox', sent: 'sent', unread: 'unread' } as const

/** Creates the calls for private messages. Reading leaves unread messages unread. */
export function createMail({ client, forms }: { client: Client; forms: Forms }) {
  /**
   * The session was verified a moment ago, so a redirect to the login page means that private
   * messages are disabled.
   */
  async function get(
    request: Pick<NativeRequest, 'path' | 'query'>,
    call: Call,
  ): Promise<Outcome<unknown>> {
    const answer = await client.get({ path_kind: 'mail', own: true, ...request }, call)
    const shut = !answer.ok && answer.fault.kind === 'login_required'
    return shut ? fail({ kind: 'forbidden', reason: null }) : answer
  }

  async function folder(
    request: { folder: keyof typeof PATHS; limit: number; after: string | null },
    actor: Actor,
    call: Call,
  ): Promise<Outcome<MailPage>> {
    const { limit, after } = request
    const path = `/message/${PATHS[request.folder]}.json`
    const query = { limit, after, mark: 'false' }
    const answer = await get({ path, query }, call)
    return answer.ok ? readFolder(answer.value, actor) : answer
  }

  /** Finds the message just sent: the platform confirms it without its id. */
  async function find({ to, subject, text }: OutgoingMail, actor: Actor, call: Call) {
    const sent = await folder({ folder: 'sent', limit: RECENT, after: null }, actor, call)
    if (!sent.ok) return undefined
    return sent.value.rows
      .map(({ messages }) => messages[0])
      .find(
        (it) =>
          it.to?.toLowerCase() === to.toLowerCase() &&
          it.subject?.trim() === subject.trim() &&
          plain(it.body) === plain(text),
      )
  }

  return {
    folder,
    async send(draft: OutgoingMail, actor: Actor, call: Call): Promise<Acted<SentMessage>> {
      const { to, subject, text } = draft
      const form = { to, subject, text }
      const write = { path_kind: 'compose', path: '/api/compose', form, fields: FIELDS }
      const done = await forms.write(write, actor, call)
      if (!done.ok) return done
      const mine = await find(draft, actor, call)
      return ok({ id: mine?.id ?? null, thread_id: mine?.thread_id ?? null, channel: 'mail' })
    },
    /** One conversation, newest first. `after` is the id of the last message received. */
    async messages(
      request: { thread_id: string; limit: number; after: string | null },
      actor: Actor,
      call: Call,
    ): Promise<Acted<Messages>> {
      const id = request.thread_id.replace(/^t4_/, '')
      const path = `/message/messages/${encodeURIComponent(id)}.json`
      const answer = await get({ path }, call)
      if (!answer.ok) return answer
      const page = readFolder(answer.value, actor)
      if (!page.ok) return page
      const [row] = page.value.rows
      if (row === undefined) return { ok: false, fault: { kind: 'not_found', reason: 'absent' } }
      const newest = row.messages.toReversed()
      const from = newest.findIndex((it) => it.id === request.after) + 1
      // An unknown cursor must not return the first page again.
      if (from === 0 && request.after !== null) return badCursor('this conversation')
      const messages = newest.slice(from, from + request.limit)
      const more = from + request.limit < newest.length
      return ok({ messages, after: more ? (messages.at(-1)?.id ?? null) : null })
    },
  }
}

const plain = (text: string): string => text.replace(/\r\n?/g, '\n').trim()

function readFolder(value: unknown, actor: Actor): Outcome<MailPage> {
  const data = dataOf(value, 'Listing')
  if (data === null || !Array.isArray(data['children'])) return unreadable('data.children')
  const rows: MailRow[] = []
  for (const child of listAt(data, 'children')) {
    // The same folder contains replies to comments, which are not messages.
    const first = dataOf(child, 't4')
    const row = first && toRow(first, actor)
    if (row) rows.push(row)
  }
  return ok({ rows, after: wordAt(data, 'after') })
}

function toRow(first: NativeRow, actor: Actor): MailRow | null {
  const replies = rowAt(rowAt(first, 'replies') ?? {}, 'data')
  const rest = replies === null ? [] : listAt(replies, 'children').map((it) => dataOf(it, 't4'))
  const [head, ...tail] = [first, ...rest]
    .flatMap((it) => (it === null ? [] : [toMessage(it, actor)]))
    .filter((it) => it !== null)
  if (head === undefined) return null
  const messages: [DirectMessage, ...DirectMessage[]] = [
    head,
    ...tail.toSorted((one, other) => Date.parse(one.created) - Date.parse(other.created)),
  ]
  return { cursor: messages.at(-1)?.id ?? head.id, thread_id: head.thread_id, messages }
}

/** Null for a row that lacks a required field of a message. */
function toMessage(row: NativeRow, actor: Actor): DirectMessage | null {
  const id = wordAt(row, 'name')
  const created = secondsAt(row, 'created_utc')
  if (id === null || created === null) return null
  const place = wordAt(row, 'subreddit')
  return {
    id,
    thread_id: wordAt(row, 'first_message_name') ?? id,
    // Mail of a subforum hides its author.
    from: wordAt(row, 'author') ?? (place === null ? null : `#${place}`),
    to: wordAt(row, 'dest'),
    subject: textAt(row, 'subject'),
    body: textAt(row, 'body') ?? '',
    created: isoOfSeconds(created),
    unread: row['new'] === true && wordAt(row, 'author') !== actor.name,
  }
}
