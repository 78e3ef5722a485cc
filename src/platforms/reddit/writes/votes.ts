import { ok, type Outcome } from '../../../core/base/result.ts'
import { peerUrl } from '../../../core/base/url.ts'
import { type Acted, final } from '../../../core/forum/native-refusals.ts'
import { parsePermalink, type PermalinkTarget } from '../../../core/forum/permalink.ts'
import type { Direction } from '../../../core/forum/writes.ts'
import type { Clock } from '../../../runtime/runtime.ts'
import type { Call } from '../../port.ts'
import type { Client } from '../client.ts'
import { classify } from '../response.ts'
import type { Forms } from './form.ts'

const DIR: Readonly<Record<Direction, string>> = { up: '1', down: '-1', none: '0' }

/** Creates the vote call. It is sent once; an accepted vote has an empty answer. */
export const createVote =
  (forms: Forms) =>
  async (request: { id: string; direction: Direction }, call: Call): Promise<Acted<null>> => {
    const actor = await forms.actor(call)
    if (!actor.ok) return actor
    const write = {
      path_kind: 'vote',
      path: '/api/vote',
      form: { id: request.id, dir: DIR[request.direction] },
      fields: { id: 'id', dir: 'direction' },
      // The only cause of a refused vote with valid fields is its item.
      statuses: { 400: final('ARCHIVED') },
    }
    const done = await forms.write(write, actor.value, call)
    return done.ok ? { ok: true, value: null } : done
  }

/**
 * Target of a share link, from one request to the platform itself, independent of the link's host;
 * null if it leads to no post. No redirect is followed: only the ids in the answer are used.
 */
export const createShares =
  ({ client, clock, hosts }: { client: Client; clock: Clock; hosts: readonly string[] }) =>
  async (path: string, call: Call): Promise<Outcome<PermalinkTarget | null>> => {
    const headers = { accept: 'text/html' }
    const done = await client.once({ path_kind: 'share', method: 'GET', path, headers }, call)
    if (!done.ok) return done
    const location = peerUrl(done.value.headers.get('location') ?? '', `${client.base}/`)
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
