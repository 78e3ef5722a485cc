import { createAbout } from './about.ts'
import { createById } from './by-id.ts'
import { type ClientOptions, createClient } from './client.ts'
import { toComment } from './items.ts'
import { createListings } from './listings.ts'
import type { Headroom } from './pacer.ts'
import type { Platform, Use } from './platform.ts'
import { createProver } from './proof.ts'
import { createReaders } from './readers.ts'

export type { ClientOptions as ForumOptions, RequestEvent } from './client.ts'
export type { Headroom } from './pacer.ts'

/** The platform, and how much may be asked of it. */
export type Forum = Platform & {
  /** How many requests a use (a read, unless told) may make through these eyes now, and when again if that is none. */
  headroom(eyes_id: string, use?: Use): Headroom
}

/** The platform over cookies, by a bearer's token, or as nobody. */
export function createForum(options: ClientOptions): Forum {
  const client = createClient(options)
  const prover = createProver(client, options.clock)
  const read = createReaders(client.base)
  return {
    ...createListings(prover, read),
    ...createById(prover, read, options.clock),
    ...createAbout(prover, read),
    me: client.me,
    headroom: client.headroom,
    commentOf: ({ data }) => toComment(client.base, data),
    clock_offset_ms: client.clock_offset_ms,
  }
}
