import type { Direction, Folder, Messages, Posted, Sent, Threads } from '../core/acting.ts'
import type { Comment } from '../core/items.ts'
import type { Acted } from '../core/native-refusals.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Place } from '../core/permalink.ts'
import type { Transport } from '../net/transport.ts'
import type { Clock, Random } from '../outside.ts'
import { createBearers } from './acts/bearer.ts'
import { createChatLines } from './acts/chat-line.ts'
import { createChat } from './acts/chat.ts'
import { createComments } from './acts/comment.ts'
import { createForms } from './acts/form.ts'
import { createMail } from './acts/mail.ts'
import { createMessages } from './acts/messages.ts'
import { createPictures, type PictureAsked } from './acts/picture.ts'
import { createProfile, type ProfileChange } from './acts/profile.ts'
import { createShares } from './acts/share.ts'
import { createVote } from './acts/vote.ts'
import type { Client } from './client.ts'
import type { Call, Platform } from './platform.ts'

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
  profile(ask: ProfileChange, call: Call): Promise<Acted<null>>
  /** Answers the picture's address. */
  picture(ask: PictureAsked, call: Call): Promise<Acted<{ url: string }>>
  /** A comment as the account itself sees it; null when it is not there. `id` without prefix. */
  readBack(id: string, call: Call): Promise<Outcome<Comment | null>>
  /** Where a share link leads; null when it leads to no post. `path` is that of core/post-url.ts. */
  resolveShare(path: string, call: Call): Promise<Outcome<Place | null>>
}

type Deps = {
  client: Client
  platform: Pick<Platform, 'nodesById' | 'commentOf' | 'user'>
  clock: Clock
  random: Random
  /** Where the chat is; empty: there is none. */
  chat_url: string
  /** Carries pictures to where the platform names; without it there is only the way that needs none. */
  store?: Transport | undefined
  /** Hosts of the platform's links beside its own. */
  link_hosts: readonly string[]
}

/** Acting at the platform over plain HTTP, by the calls of the old pages wherever those do it. */
export function createActs(deps: Deps): Acts {
  const { client, platform, clock, random, chat_url, store, link_hosts } = deps
  const forms = createForms({ client, clock })
  const open = createChatLines({
    client,
    bearers: createBearers({ client, clock }),
    clock,
    chat_url,
  })
  return {
    ...createComments({ client, forms, platform }),
    vote: createVote(forms),
    ...createMessages({
      forms,
      mail: createMail({ client, forms }),
      chat: createChat({ open, platform, random }),
    }),
    ...createProfile({ client, forms }),
    ...createPictures({ client, forms, random, store }),
    resolveShare: createShares({ client, clock, hosts: link_hosts }),
  }
}
