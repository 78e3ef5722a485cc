import type { InboxItem, SandboxComment, SandboxUser } from './model.ts'

const MAX_INBOX_ITEMS = 1_000

/** Adds an item to a user's inbox; drops the oldest beyond the limit. */
export function deliverToInbox(user: SandboxUser, thing: InboxItem['thing']): void {
  if (user.inbox.length >= 2 * MAX_INBOX_ITEMS) user.inbox.splice(0, MAX_INBOX_ITEMS)
  user.inbox.push({ thing, unread: true })
}

/** Notifies the author of the parent of a comment. */
export function notifyAuthor(comment: SandboxComment): void {
  const { author } = comment.parent ?? comment.post
  if (author !== comment.author) deliverToInbox(author, comment)
}

/** Removed items and those of shadowed accounts are not shown. */
const isVisibleItem = ({ thing }: InboxItem) =>
  thing.kind === 't4' || (thing.removed === null && thing.author.standing !== 'shadowed')

/** Visible items of a user's inbox, newest first. */
export const visibleInbox = ({ inbox }: SandboxUser): InboxItem[] =>
  inbox
    .filter(isVisibleItem)
    .toReversed()
    .toSorted((one, other) => other.thing.created_s - one.thing.created_s)

/** Number of unread items. */
export const countUnread = ({ inbox }: SandboxUser): number =>
  inbox.filter((item) => item.unread && isVisibleItem(item)).length
