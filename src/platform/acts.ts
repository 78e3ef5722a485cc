import type { Direction, Folder, Messages, Posted, Sent, Threads } from '../core/acting.ts'
import type { ImageKind } from '../core/image-kind.ts'
import type { Comment } from '../core/items.ts'
import type { Acted } from '../core/native-refusals.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Place } from '../core/permalink.ts'
import type { Call } from './platform.ts'

/** A picture that was looked at: its kind is what its bytes say. */
export type Picture = { bytes: Uint8Array; kind: ImageKind }

/**
 * What can be done at the platform in the name of one account, over plain HTTP. Every call is made through the eyes
 * of a session; nobody's are `login_required`. No write is ever sent twice, but for one that was refused because its
 * write token had been replaced. Ids, names and lengths are checked by the caller.
 */
export type Acts = {
  /** Answers a post or a comment; `text` is markdown. */
  comment(ask: { parent: string; text: string }, call: Call): Promise<Acted<Posted>>
  /** `id` is a fullname. */
  vote(ask: { id: string; direction: Direction }, call: Call): Promise<Acted<null>>
  /** By mail, and where the recipient takes none of it, by chat. */
  send(ask: { to: string; subject: string; text: string }, call: Call): Promise<Acted<Sent>>
  threads(
    ask: { folder: Folder; limit: number; after: string | null },
    call: Call,
  ): Promise<Acted<Threads>>
  messages(
    ask: { thread_id: string; limit: number; after: string | null },
    call: Call,
  ): Promise<Acted<Messages>>
  /** Changes what is named and nothing else. */
  profile(ask: { description?: string; display_name?: string }, call: Call): Promise<Acted<null>>
  /** Answers the picture's address. */
  picture(
    ask: { place: 'avatar' | 'banner'; picture: Picture },
    call: Call,
  ): Promise<Acted<{ url: string }>>
  /** A comment as the account itself sees it; null when it is not there. `id` without prefix. */
  readBack(id: string, call: Call): Promise<Outcome<Comment | null>>
  /** Where a share link leads; null when it leads to no post. `path` is that of core/post-url.ts. */
  resolveShare(path: string, call: Call): Promise<Outcome<Place | null>>
}
