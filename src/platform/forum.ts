import type { Transport } from '../net/transport.ts'
import { createAbout } from './about.ts'
import { type Acts, createActs } from './acts.ts'
import { createById } from './by-id.ts'
import { type ClientOptions, createClient } from './client.ts'
import { toComment } from './items.ts'
import { createListings } from './listings.ts'
import type { EyesBudget, Headroom } from './pacer.ts'
import type { Platform, Use } from './platform.ts'
import { createProver } from './proof.ts'
import { createReaders } from './readers.ts'

export type ForumOptions = ClientOptions & {
  /** Where the chat is. Without it there is none. */
  chat_url?: string | undefined
  /** Carries pictures to the addresses that the platform names. Without it only small ones can be sent. */
  store?: Transport | undefined
  /** Hosts of the platform's links beside its own. */
  link_hosts?: readonly string[] | undefined
}

/** The platform, what can be done there, and how much may be asked of it. */
export type Forum = Platform & {
  acts: Acts
  /** How many requests a use (a read, unless told) may make through these eyes now, and when again if that is none. */
  headroom(eyes_id: string, use?: Use): Headroom
  /** How much may be asked through these eyes, for people; null as long as nothing was. */
  budget(eyes_id: string): EyesBudget | null
}

/** The platform over cookies, by a bearer's token, or as nobody. */
export function createForum(options: ForumOptions): Forum {
  const client = createClient(options)
  const prover = createProver(client, options.clock)
  const read = createReaders(client.base)
  const by_id = createById(prover, read, options.clock)
  const about = createAbout(prover, read)
  const commentOf: Platform['commentOf'] = ({ data }) => toComment(client.base, data)
  const { clock, random, chat_url = '', store, link_hosts = [] } = options
  return {
    ...createListings(prover, read),
    ...by_id,
    ...about,
    me: client.me,
    acts: createActs({
      client,
      platform: { nodesById: by_id.nodesById, user: about.user, commentOf },
      clock,
      random,
      chat_url,
      store,
      link_hosts,
    }),
    headroom: client.headroom,
    budget: client.budget,
    commentOf,
    clock_offset_ms: client.clock_offset_ms,
    clock_measured_ms: client.clock_measured_ms,
  }
}
