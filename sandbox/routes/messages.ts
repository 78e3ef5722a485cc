import { isUnread, renderMessage, renderNotice } from '../render/messages.ts'
import type { SandboxRequest } from '../server/request.ts'
import { json, redirect, refusal, type SandboxResponse, unregistered } from '../server/response.ts'
import { visibleInbox } from '../world/inbox.ts'
import { isParticipant } from '../world/mail.ts'
import type { InboxItem, SandboxMessage, SandboxUser } from '../world/model.ts'
import { directory, listingEnvelope } from './listing.ts'

/** `/message/<folder>` and `/message/messages/<id>`: the viewer's mail and notices. */
export function mailFolder(
  request: SandboxRequest,
  folder = 'inbox',
  id: string | undefined,
): SandboxResponse {
  const { user } = request.viewer
  if (user === null)
    return request.host === 'www' ? redirect(`${request.origin}/login/`) : refusal(403)
  if (folder === 'messages' && id !== undefined) return thread(request, user, id)
  if (folder === 'messages') return threads(request, user)
  if (folder === 'sent')
    return json(
      directory(
        request,
        user.sent.toReversed(),
        ({ name }) => name,
        (message) => renderMessage(request, message),
      ),
    )
  const inFolder = FOLDERS[folder]
  if (inFolder === undefined || id !== undefined) return unregistered
  const items = visibleInbox(user).filter(inFolder)
  const answer = json(
    directory(
      request,
      items,
      ({ thing }) => thing.name,
      (item) => renderLetter(request, user, item),
    ),
  )
  // API reads leave messages unread; only pages for people mark them.
  if (request.query.get('mark') === 'true') for (const item of items) item.unread = false
  return answer
}

const FOLDERS: Record<string, (item: InboxItem) => boolean> = {
  inbox: () => true,
  unread: ({ unread }) => unread,
  comments: ({ thing }) => thing.kind === 't1' && thing.parent !== null,
  selfreply: ({ thing }) => thing.kind === 't1' && thing.parent === null,
  mentions: () => false,
}

const renderLetter = (request: SandboxRequest, user: SandboxUser, { thing, unread }: InboxItem) =>
  thing.kind === 't4'
    ? renderMessage(request, thing, { unread })
    : renderNotice(thing, user, unread)

/** Threads by their latest message, whose name is also the cursor. */
function threads(request: SandboxRequest, user: SandboxUser): SandboxResponse {
  const own_messages = [...user.sent, ...user.inbox.map(({ thing }) => thing)].filter(
    (thing): thing is SandboxMessage => thing.kind === 't4',
  )
  const roots = [...new Set(own_messages.map((message) => message.first ?? message))]
  const rows = roots
    .map((root) => ({ root, last: root.replies.at(-1) ?? root }))
    .toSorted((one, other) => other.last.serial - one.last.serial)
  return json(
    directory(
      request,
      rows,
      ({ last }) => last.name,
      ({ root }) => renderMessage(request, root, { thread: true, unread: isUnread(user, root) }),
    ),
  )
}

function thread(request: SandboxRequest, user: SandboxUser, id: string): SandboxResponse {
  const message = request.world.messages.get(`t4_${id}`)
  if (message === undefined) return refusal(404)
  if (!isParticipant(message, user)) return refusal(403)
  const root = message.first ?? message
  const row = renderMessage(request, root, { thread: true, unread: isUnread(user, root) })
  return json(listingEnvelope(request, [row], { after: null, before: null, dist: null }))
}
