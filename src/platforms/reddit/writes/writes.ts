import type { Transport } from '../../../net/transport.ts'
import type { Clock, Random } from '../../../runtime/runtime.ts'
import type { Acts, SourceReads } from '../../port.ts'
import type { Client } from '../client.ts'
import { createBearers } from './bearer.ts'
import { createOpenChat } from './chat/connection.ts'
import { createChat } from './chat/rooms.ts'
import { createComments } from './comment.ts'
import { createForms } from './form.ts'
import { createMail } from './mail.ts'
import { createMessages } from './messages.ts'
import { createPictures } from './picture.ts'
import { createProfile } from './profile.ts'
import { createShares, createVote } from './votes.ts'

type Deps = {
  client: Client
  platform: Pick<SourceReads, 'nodesById' | 'commentOf' | 'user'>
  clock: Clock
  random: Random
  /** Address of the chat; empty: no chat. */
  chat_url: string
  /**
   * Uploads pictures to addresses that the platform names; without it only the upload in one
   * request is available.
   */
  store?: Transport | undefined
  link_hosts: readonly string[]
}

/** Creates the actions over plain HTTP, with the calls of the old pages where those suffice. */
export function createActs(deps: Deps): Acts {
  const { client, platform, clock, random, chat_url, store, link_hosts } = deps
  const forms = createForms({ client, clock })
  const open = createOpenChat({
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
