import { ok } from '../../../core/base/result.ts'
import type { Acted, WriteFault } from '../../../core/forum/native-refusals.ts'
import {
  FIRST_THREADS,
  type Folder,
  type Messages,
  readThreadsCursor,
  type SentMessage,
  type Threads,
  writeThreadsCursor,
} from '../../../core/forum/writes.ts'
import type { Call } from '../../port.ts'
import type { Chat } from './chat/rooms.ts'
import type { Actor, Forms } from './form.ts'
import { badCursor, type createMail, type MailPage, type OutgoingMail } from './mail.ts'
import { behind, mergeThreads } from './threads.ts'

type Deps = { forms: Forms; mail: ReturnType<typeof createMail>; chat: Chat }

/** Refusals of private messages after which chat is tried. */
const RATHER_CHAT = new Set(['RESTRICTED_TO_PM', 'NOT_WHITELISTED_BY_USER_MESSAGE'])
const NO_MAIL: MailPage = { rows: [], after: null }

/** Combines private messages and chat: sends through the first that is open, reads from both. */
export function createMessages({ forms, mail, chat }: Deps) {
  async function send(draft: OutgoingMail, actor: Actor, call: Call): Promise<Acted<SentMessage>> {
    const mailed = await mail.send(draft, actor, call)
    if (mailed.ok || !prefersChat(mailed.fault)) return mailed
    return (await chat.send(draft, actor, call)) ?? mailed
  }

  async function threads(
    request: { folder: Folder; limit: number; after: string | null },
    actor: Actor,
    call: Call,
  ): Promise<Acted<Threads>> {
    const { folder, limit } = request
    const since = request.after === null ? FIRST_THREADS : readThreadsCursor(request.after)
    if (since === null) return badCursor('threads')
    const page =
      since.mail === null
        ? ok(NO_MAIL)
        : await mail.folder({ folder, limit, after: since.mail || null }, actor, call)
    const rooms = await chat.rooms(folder, actor, call)
    // If only one source fails, the other's rows are returned and `missing` names the source.
    if (!page.ok && (!rooms.ok || rooms.value === null)) return page
    const merged = mergeThreads(
      page.ok ? page.value : NO_MAIL,
      behind((rooms.ok ? rooms.value : null) ?? [], since.chat),
      { actor, limit, since },
    )
    return ok({
      threads: merged.threads,
      after: merged.cursor && writeThreadsCursor(merged.cursor),
      missing: [
        ...(page.ok ? [] : (['mail'] as const)),
        ...(rooms.ok && rooms.value !== null ? [] : (['chat'] as const)),
      ],
    })
  }

  async function messages(
    request: { thread_id: string; limit: number; after: string | null },
    actor: Actor,
    call: Call,
  ): Promise<Acted<Messages>> {
    if (!request.thread_id.startsWith('!')) return mail.messages(request, actor, call)
    return (await chat.messages(request, actor, call)) ?? NO_CHAT
  }

  /** All of these calls are private: without a valid session no request is made. */
  const acting =
    <Input, T>(act: (input: Input, actor: Actor, call: Call) => Promise<Acted<T>>) =>
    async (input: Input, call: Call): Promise<Acted<T>> => {
      const actor = await forms.actor(call)
      return actor.ok ? act(input, actor.value, call) : actor
    }

  return { send: acting(send), threads: acting(threads), messages: acting(messages) }
}

const prefersChat = (fault: WriteFault): boolean =>
  fault.kind === 'refused' && RATHER_CHAT.has(fault.code)

const NO_CHAT: Acted<never> = { ok: false, fault: { kind: 'forbidden', reason: null } }
