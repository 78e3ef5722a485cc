import type { Message, Messages, Sent } from '../../core/acting.ts'
import type { Acted } from '../../core/native-refusals.ts'
import { fail, ok, type Outcome } from '../../core/outcome.ts'
import type { Ask, Client } from '../client.ts'
import { dataOf } from '../items.ts'
import type { Call } from '../platform.ts'
import {
  isoOfSeconds,
  listAt,
  type Row,
  rowAt,
  secondsAt,
  textAt,
  unreadable,
  wordAt,
} from '../read.ts'
import { badCursor } from './bad-cursor.ts'
import type { Actor, Forms } from './form.ts'

const FIELDS = { to: 'to', subject: 'subject', text: 'text' }
/** How many of the newest are looked at for the one just sent. */
const RECENT = 10

/** A message to be sent. */
export type Draft = { to: string; subject: string; text: string }

/** One row of a folder: what began a conversation and what of it stands there, oldest first. */
export type MailRow = {
  /** The platform's own cursor for going on behind this row. */
  cursor: string
  thread_id: string
  messages: [Message, ...Message[]]
}

/** A page of mail, and where the next begins. */
export type MailPage = { rows: MailRow[]; after: string | null }

/** Where each folder lies. Conversations lie in one; single messages in the others. */
const PATHS = { all: 'messages', inbox: 'inbox', sent: 'sent', unread: 'unread' } as const

/** The old mail. Looking into it leaves unread what is unread. */
export function createMail({ client, forms }: { client: Client; forms: Forms }) {
  /** Who we are was told a moment ago: to be sent to the door all the same is how the mail is shut. */
  async function get(ask: Pick<Ask, 'path' | 'query'>, call: Call): Promise<Outcome<unknown>> {
    const answer = await client.get({ path_kind: 'mail', own: true, ...ask }, call)
    const shut = !answer.ok && answer.fault.kind === 'login_required'
    return shut ? fail({ kind: 'forbidden', reason: null }) : answer
  }

  async function folder(
    ask: { folder: keyof typeof PATHS; limit: number; after: string | null },
    actor: Actor,
    call: Call,
  ): Promise<Outcome<MailPage>> {
    const { limit, after } = ask
    const path = `/message/${PATHS[ask.folder]}.json`
    const query = { limit, after, mark: 'false' }
    const answer = await get({ path, query }, call)
    return answer.ok ? readFolder(answer.value, actor) : answer
  }

  /** The mail just sent: the platform says that it went, but not what it became. */
  async function find({ to, subject, text }: Draft, actor: Actor, call: Call) {
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
    async send(draft: Draft, actor: Actor, call: Call): Promise<Acted<Sent>> {
      const { to, subject, text } = draft
      const form = { to, subject, text }
      const write = { path_kind: 'compose', path: '/api/compose', form, fields: FIELDS }
      const done = await forms.write(write, actor, call)
      if (!done.ok) return done
      const mine = await find(draft, actor, call)
      return ok({ id: mine?.id ?? null, thread_id: mine?.thread_id ?? null, channel: 'mail' })
    },
    /** One conversation, newest first. `after` is the id of the last message seen. */
    async messages(
      ask: { thread_id: string; limit: number; after: string | null },
      actor: Actor,
      call: Call,
    ): Promise<Acted<Messages>> {
      const id = ask.thread_id.replace(/^t4_/, '')
      const path = `/message/messages/${encodeURIComponent(id)}.json`
      const answer = await get({ path }, call)
      if (!answer.ok) return answer
      const page = readFolder(answer.value, actor)
      if (!page.ok) return page
      const [row] = page.value.rows
      if (row === undefined) return { ok: false, fault: { kind: 'not_found', reason: 'absent' } }
      const newest = row.messages.toReversed()
      const from = newest.findIndex((it) => it.id === ask.after) + 1
      // The first page again would pass for the next one.
      if (from === 0 && ask.after !== null) return badCursor('this conversation')
      const messages = newest.slice(from, from + ask.limit)
      const more = from + ask.limit < newest.length
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
    // Answers to comments lie in the same box; they are no mail.
    const first = dataOf(child, 't4')
    const row = first && toRow(first, actor)
    if (row) rows.push(row)
  }
  return ok({ rows, after: wordAt(data, 'after') })
}

function toRow(first: Row, actor: Actor): MailRow | null {
  const replies = rowAt(rowAt(first, 'replies') ?? {}, 'data')
  const rest = replies === null ? [] : listAt(replies, 'children').map((it) => dataOf(it, 't4'))
  const [head, ...tail] = [first, ...rest]
    .flatMap((it) => (it === null ? [] : [toMessage(it, actor)]))
    .filter((it) => it !== null)
  if (head === undefined) return null
  const messages: [Message, ...Message[]] = [
    head,
    ...tail.toSorted((one, other) => Date.parse(one.created) - Date.parse(other.created)),
  ]
  return { cursor: messages.at(-1)?.id ?? head.id, thread_id: head.thread_id, messages }
}

/** Null for what lacks what makes it a message. */
function toMessage(row: Row, actor: Actor): Message | null {
  const id = wordAt(row, 'name')
  const created = secondsAt(row, 'created_utc')
  if (id === null || created === null) return null
  const place = wordAt(row, 'subreddit')
  return {
    id,
    thread_id: wordAt(row, 'first_message_name') ?? id,
    // Mail of a subforum hides who wrote it.
    from: wordAt(row, 'author') ?? (place === null ? null : `#${place}`),
    to: wordAt(row, 'dest'),
    subject: textAt(row, 'subject'),
    body: textAt(row, 'body') ?? '',
    created: isoOfSeconds(created),
    unread: row['new'] === true && wordAt(row, 'author') !== actor.name,
  }
}
