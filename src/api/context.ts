import type { Naming } from '../core/forum/naming.ts'
import type { Clock, Log, Random } from '../runtime/runtime.ts'
import type { GroupCommit } from '../store/db/group-commit.ts'
import type { Meter } from './billing.ts'
import type { Keyed, Operators } from './http/auth.ts'
import type { ReadJson } from './http/body.ts'
import type { InternalClient } from './http/internal.ts'
import type { Pacers } from './http/pacers.ts'
import type { InFlight } from './in-flight.ts'
import type { PlatformFaults } from './platform-faults.ts'

/**
 * Dependencies of every group of routes. Authentication, permission and rate limit are settled by
 * path before a route is reached; a route passes the `holder` of its context to the meter.
 *     new Elysia({ name: 'posts' }).use(infra.keyed).get(
 *       `${infra.words.api}/posts`,
 *       ({ holder, query, set }) =>
 *         infra.meter('read', holder, set.headers, () => reads.posts(query)),
 *       { query: postsQuery, detail: { summary: 'Posts of a subforum', tags: ['Reads'] } },
 *     )
 */
export type RouteContext = {
  words: Naming
  /** Adds `holder` (customer and key) and `customer` to the context. Required in every group. */
  keyed: Keyed
  operatorOf: Operators['of']
  meter: Meter
  /** Log of answers of the platform that could not be used. The meter records those of its own calls. */
  faults: PlatformFaults
  internal: InternalClient
  document: () => Promise<unknown>
  /** Counts the further messages of one MCP request, by key id. */
  paceMessages: Pacers['mcp']
  /** Body reader for routes that read their body after admission. */
  readJson: ReadJson
  /** Accounting of the bytes that calls hold, and sender of large answers. */
  in_flight: Pick<InFlight, 'holdForRequest' | 'holdForStream' | 'send'>
  /** The network that a request without a key is counted by. */
  networkOf: (request: Request) => string
  groupCommit: GroupCommit
  clock: Clock
  random: Random
  log: Log
}
