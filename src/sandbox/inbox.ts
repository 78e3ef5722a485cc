import type { Comment, Letter, User } from './model.ts'

const MOST_LETTERS = 1_000

/** Puts something into somebody's inbox; the oldest give way. */
export function deliver(user: User, thing: Letter['thing']): void {
  if (user.inbox.length >= 2 * MOST_LETTERS) user.inbox.splice(0, MOST_LETTERS)
  user.inbox.push({ thing, unread: true })
}

/** Tells whoever is answered. */
export function announce(comment: Comment): void {
  const { author } = comment.parent ?? comment.post
  if (author !== comment.author) deliver(author, comment)
}

/** What was taken away, or written by somebody whom nobody sees, is announced to nobody. */
const inSight = ({ thing }: Letter) =>
  thing.kind === 't4' || (thing.removed === null && thing.author.standing !== 'shadowed')

/** What lies in somebody's inbox, newest first. */
export const lettersOf = ({ inbox }: User): Letter[] =>
  inbox
    .filter(inSight)
    .toReversed()
    .toSorted((one, other) => other.thing.created_s - one.thing.created_s)

/** How much of it has not been read. */
export const countUnread = ({ inbox }: User): number =>
  inbox.filter((letter) => letter.unread && inSight(letter)).length
