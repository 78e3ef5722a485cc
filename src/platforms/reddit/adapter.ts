import type { Transport } from '../../net/transport.ts'
import type { Acts, Platform, Use } from '../port.ts'
import { createClient } from './client.ts'
import { createListings } from './listings.ts'
import { createAbout, createById } from './lookups.ts'
import type { Headroom, IdentityBudget } from './pacer.ts'
import { toComment } from './readers/items.ts'
import { createReaders } from './readers/listing.ts'
import type { ClientOptions } from './request.ts'
import { createSessionCheck } from './session-check.ts'
import { createActs } from './writes/writes.ts'

export type ForumOptions = ClientOptions & {
  /** Address of the chat; absent: no chat. */
  chat_url?: string | undefined
  /**
   * Sends pictures to the addresses that the platform names. Without it only small pictures can be
   * sent.
   */
  store?: Transport | undefined
  /** Further hosts of the platform's links. */
  link_hosts?: readonly string[] | undefined
}

/** The platform with its actions and its rate budgets. */
export type Forum = Platform & {
  acts: Acts
  /**
   * Requests that a use (default `read`) may make now with this identity; if none, the wait until
   * the next one.
   */
  headroom(identity_id: string, use?: Use): Headroom
  /** Rate budget of an identity for display; null before its first request. */
  budget(identity_id: string): IdentityBudget | null
  /** True while the platform is unreachable. */
  isDown(): boolean
  /** True after three answers with a date: the clock's offset is known. */
  isClockKnown(): boolean
}

/**
 * Creates the platform adapter. It makes requests with cookies, with a bearer token or anonymously.
 */
export function createForum(options: ForumOptions): Forum {
  const client = createClient(options)
  const session_check = createSessionCheck(client, options.clock)
  const read = createReaders(client.base)
  const by_id = createById(session_check, read, options.clock)
  const about = createAbout(session_check, read)
  const commentOf: Platform['commentOf'] = ({ data }) => toComment(client.base, data)
  const { clock, random, chat_url = '', store, link_hosts = [] } = options
  return {
    ...createListings(session_check, read),
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
    isDown: client.isDown,
    isClockKnown: client.isClockKnown,
    commentOf,
    clock_offset_ms: client.clock_offset_ms,
    clock_measured_ms: client.clock_measured_ms,
  }
}
