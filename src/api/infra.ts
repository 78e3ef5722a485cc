import type { Words } from '../core/wire.ts'
import type { Clock, Log, Random } from '../outside.ts'
import type { Together } from '../store/together.ts'
import type { Keyed } from './auth.ts'
import type { ReadJson } from './body.ts'
import type { Inside } from './inside.ts'
import type { Meter } from './meter.ts'

/**
 * What every group of routes is built on. Who calls, whether they may, and how fast, is settled by path before a
 * route is reached; a route takes `holder` out of its context and hands it to the meter.
 *
 *     new Elysia({ name: 'posts' }).use(infra.keyed).get(
 *       `${infra.words.api}/posts`,
 *       ({ holder, query, set }) =>
 *         infra.meter('read', holder, set.headers, () => reads.posts(query)),
 *       { query: postsQuery, detail: { summary: 'Posts of a subforum', tags: ['Reads'] } },
 *     )
 */
export type Infra = {
  words: Words
  /** Puts `holder` (customer and key) and `customer` into the context. Use it in every group. */
  keyed: Keyed
  meter: Meter
  /** Asks the service itself. */
  inside: Inside
  /** For routes whose bodies are read late. */
  readJson: ReadJson
  /** Writes to the database, many in one commit. */
  together: Together
  clock: Clock
  random: Random
  log: Log
}
