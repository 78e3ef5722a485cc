import { ok, type Outcome } from '../../core/outcome.ts'
import { parsePermalink, type Place } from '../../core/permalink.ts'
import type { Clock } from '../../outside.ts'
import { classify } from '../classify.ts'
import type { Client } from '../client.ts'
import type { Call } from '../platform.ts'

/**
 * Where a share link leads, found with one request to the platform itself, whatever host the link named; null when it
 * leads to no post. Nothing is followed: only the ids in its answer are looked at, so it cannot lead anywhere else.
 */
export const createShares =
  ({ client, clock, hosts }: { client: Client; clock: Clock; hosts: readonly string[] }) =>
  async (path: string, call: Call): Promise<Outcome<Place | null>> => {
    const headers = { accept: 'text/html' }
    const done = await client.once({ path_kind: 'share', method: 'GET', path, headers }, call)
    if (!done.ok) return done
    const location = URL.parse(done.value.headers.get('location') ?? '', `${client.base}/`)
    if (done.value.status < 300 || done.value.status >= 400 || location === null) {
      const read = classify(done.value, { now: clock.now() })
      return read.ok ? ok(null) : read
    }
    const link = [new URL(client.base).host, ...hosts]
    const place = parsePermalink(location.href, { link, short: [] })
    if (place !== null) return ok(place)
    const read = classify(done.value, { now: clock.now() })
    return !read.ok && read.fault.kind !== 'unreadable' ? read : ok(null)
  }
