import { type Answer, json, redirect, refusal, unregistered } from './answer.ts'
import type { Ask } from './ask.ts'
import { lettersOf } from './inbox.ts'
import { directory, envelope } from './listing.ts'
import { concerns } from './mail.ts'
import type { Letter, Message, User } from './model.ts'
import { isUnread, renderMessage, renderNotice } from './native-message.ts'

/** `/message/<folder>` and `/message/messages/<id>`: one's own mail, and who has answered. */
export function messages(ask: Ask, folder = 'inbox', id: string | undefined): Answer {
  const { user } = ask.viewer
  if (user === null) return ask.face === 'www' ? redirect(`${ask.origin}/login/`) : refusal(403)
  if (folder === 'messages' && id !== undefined) return thread(ask, user, id)
  if (folder === 'messages') return threads(ask, user)
  if (folder === 'sent')
    return json(
      directory(
        ask,
        user.sent.toReversed(),
        ({ name }) => name,
        (message) => renderMessage(ask, message),
      ),
    )
  const choose = FOLDERS[folder]
  if (choose === undefined || id !== undefined) return unregistered
  const letters = lettersOf(user).filter(choose)
  const answer = json(
    directory(
      ask,
      letters,
      ({ thing }) => thing.name,
      (letter) => renderLetter(ask, user, letter),
    ),
  )
  // A program that only looks leaves things as they are; a page for people would not.
  if (ask.query.get('mark') === 'true') for (const letter of letters) letter.unread = false
  return answer
}

const FOLDERS: Record<string, (letter: Letter) => boolean> = {
  inbox: () => true,
  unread: ({ unread }) => unread,
  comments: ({ thing }) => thing.kind === 't1' && thing.parent !== null,
  selfreply: ({ thing }) => thing.kind === 't1' && thing.parent === null,
  mentions: () => false,
}

const renderLetter = (ask: Ask, user: User, { thing, unread }: Letter) =>
  thing.kind === 't4' ? renderMessage(ask, thing, { unread }) : renderNotice(thing, user, unread)

/** Threads by what was said last, which is also how one goes on: not by the name of what began it. */
function threads(ask: Ask, user: User): Answer {
  const mine = [...user.sent, ...user.inbox.map(({ thing }) => thing)].filter(
    (thing): thing is Message => thing.kind === 't4',
  )
  const roots = [...new Set(mine.map((message) => message.first ?? message))]
  const rows = roots
    .map((root) => ({ root, last: root.replies.at(-1) ?? root }))
    .toSorted((one, other) => other.last.serial - one.last.serial)
  return json(
    directory(
      ask,
      rows,
      ({ last }) => last.name,
      ({ root }) => renderMessage(ask, root, { thread: true, unread: isUnread(user, root) }),
    ),
  )
}

function thread(ask: Ask, user: User, id: string): Answer {
  const message = ask.world.messages.get(`t4_${id}`)
  if (message === undefined) return refusal(404)
  if (!concerns(message, user)) return refusal(403)
  const root = message.first ?? message
  const row = renderMessage(ask, root, { thread: true, unread: isUnread(user, root) })
  return json(envelope(ask, [row], { after: null, before: null, dist: null }))
}
