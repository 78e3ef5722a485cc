import { createAbout } from './about.ts'
import { createById } from './by-id.ts'
import { type ClientOptions, createClient } from './client.ts'
import { toComment } from './items.ts'
import { createListings } from './listings.ts'
import type { Platform } from './platform.ts'
import { createReaders } from './readers.ts'

export type { ClientOptions as ForumOptions, RequestEvent } from './client.ts'

/** The platform over cookies, or as nobody. */
export function createForum(options: ClientOptions): Platform {
  const client = createClient(options)
  const read = createReaders(client.base)
  return {
    ...createListings(client, read),
    ...createById(client, read, options.clock),
    ...createAbout(client, read),
    commentOf: ({ data }) => toComment(client.base, data),
    clock_offset_ms: client.clock_offset_ms,
  }
}
