import type { Folder, Messages, Sent, Threads } from '../../core/acting.ts'
import type { Acted, WriteFault } from '../../core/native-refusals.ts'
import { ok } from '../../core/outcome.ts'
import { FIRST_THREADS, readThreadsCursor, writeThreadsCursor } from '../../core/threads-cursor.ts'
import type { Call } from '../platform.ts'
import { badCursor } from './bad-cursor.ts'
import type { Chat } from './chat.ts'
import type { Actor, Forms } from './form.ts'
import type { createMail, Draft, MailPage } from './mail.ts'
import { behind, mergeThreads } from './threads.ts'

type Deps = { forms: Forms; mail: ReturnType<typeof createMail>; chat: Chat }

/** Who takes no mail may take a chat. */
const RATHER_CHAT = new Set(['RESTRICTED_TO_PM', 'NOT_WHITELISTED_BY_USER_MESSAGE'])
const NO_MAIL: MailPage = { rows: [], after: null }

/** Mail and chat as one: what is sent takes the first way that is open, what is read comes from both. */
export function createMessages({ forms, mail, chat }: Deps) {
  async function send(draft: Draft, actor: Actor, call: Call): Promise<Acted<Sent>> {
    const mailed = await mail.send(draft, actor, call)
    if (mailed.ok || !prefersChat(mailed.fault)) return mailed
    return (await chat.send(draft, actor, call)) ?? mailed
  }

  async function threads(
    ask: { folder: Folder; limit: number; after: string | null },
    actor: Actor,
    call: Call,
  ): Promise<Acted<Threads>> {
    const { folder, limit } = ask
    const since = ask.after === null ? FIRST_THREADS : readThreadsCursor(ask.after)
    if (since === null) return badCursor('threads')
    const page =
      since.mail === null
        ? ok(NO_MAIL)
        : await mail.folder({ folder, limit, after: since.mail || null }, actor, call)
    const rooms = await chat.rooms(folder, actor, call)
    // What only one of the two can tell is told, and said to be only that.
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
    ask: { thread_id: string; limit: number; after: string | null },
    actor: Actor,
    call: Call,
  ): Promise<Acted<Messages>> {
    if (!ask.thread_id.startsWith('!')) return mail.messages(ask, actor, call)
    return (await chat.messages(ask, actor, call)) ?? NO_CHAT
  }

  /** Everything here is somebody's own: without a living session nothing is asked. */
  const acting =
    <Asked, T>(act: (ask: Asked, actor: Actor, call: Call) => Promise<Acted<T>>) =>
    async (ask: Asked, call: Call): Promise<Acted<T>> => {
      const actor = await forms.actor(call)
      return actor.ok ? act(ask, actor.value, call) : actor
    }

  return { send: acting(send), threads: acting(threads), messages: acting(messages) }
}

const prefersChat = (fault: WriteFault): boolean =>
  fault.kind === 'refused' && RATHER_CHAT.has(fault.code)

const NO_CHAT: Acted<never> = { ok: false, fault: { kind: 'forbidden', reason: null } }
