import type { Ask, Client } from './client.ts'
import { type Reader, readOne, readPeople } from './listing.ts'
import { MODERATOR_NEEDS, toModerator } from './people.ts'
import type { Call, Platform } from './platform.ts'
import type { RowReaders } from './readers.ts'

/** People and places themselves. */
export function createAbout(
  client: Client,
  read: RowReaders,
): Pick<Platform, 'user' | 'community' | 'moderators'> {
  async function one<T>(ask: Ask, kind: string, reader: Reader<T>, call: Call) {
    const answer = await client.get(ask, call)
    return answer.ok ? readOne(answer.value, kind, reader) : answer
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
