import { ok, type Outcome } from '../core/outcome.ts'
import type { Ask, Client } from './client.ts'
import { dataOf } from './items.ts'
import { type Reader, readPeople } from './listing.ts'
import { MODERATOR_NEEDS, toModerator } from './people.ts'
import type { Call, Platform } from './platform.ts'
import { lacking, unreadable } from './read.ts'
import type { RowReaders } from './readers.ts'

/** People and places themselves. */
export function createAbout(
  client: Client,
  read: RowReaders,
): Pick<Platform, 'user' | 'community' | 'moderators'> {
  async function one<T>(
    ask: Ask,
    kind: string,
    { needs, map }: Reader<T>,
    call: Call,
  ): Promise<Outcome<T>> {
    const answer = await client.get(ask, call)
    if (!answer.ok) return answer
    const row = dataOf(answer.value, kind)
    if (!row) return unreadable('kind')
    const missing = lacking(row, needs)
    return missing === null ? ok(map(row)) : unreadable(`data.${missing}`)
  }

  return {
    user(name, call) {
      const path = `/user/${encodeURIComponent(name)}/about.json`
      return one({ path_kind: 'user', path }, 't2', read.user, call)
    },
    community(name, call) {
      const path = `/r/${encodeURIComponent(name)}/about.json`
      return one({ path_kind: 'community', path }, 't5', read.community, call)
    },
    async moderators(name, call) {
      const path = `/r/${encodeURIComponent(name)}/about/moderators.json`
      const answer = await client.get({ path_kind: 'moderators', path }, call)
      if (!answer.ok) return answer
      return readPeople(answer.value, { needs: MODERATOR_NEEDS, map: toModerator })
    },
  }
}
