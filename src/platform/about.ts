import type { Outcome } from '../core/outcome.ts'
import { readAchievements } from './achievements.ts'
import type { Ask } from './client.ts'
import { readRules, readWiki } from './community-pages.ts'
import { type Reader, readOne, readPeople } from './listing.ts'
import { MODERATOR_NEEDS, toModerator } from './people.ts'
import type { Call, Platform } from './platform.ts'
import type { Prover } from './proof.ts'
import type { RowReaders } from './readers.ts'

type About = Pick<Platform, 'user' | 'community' | 'moderators' | 'rules' | 'wiki' | 'achievements'>

/** People and places themselves. */
export function createAbout(client: Prover, read: RowReaders): About {
  /** Asks, and reads what comes. */
  async function ask<T>(what: Ask, call: Call, reading: (value: unknown) => Outcome<T>) {
    const answer = await client.get(what, call)
    return answer.ok ? reading(answer.value) : answer
  }

  const one = <T>(what: Ask, kind: string, reader: Reader<T>, call: Call) =>
    ask(what, call, (value) => readOne(value, kind, reader))

  return {
    user(name, call) {
      const path = `/user/${encodeURIComponent(name)}/about.json`
      return one({ path_kind: 'user', path }, 't2', read.user, call)
    },
    community(name, call) {
      const path = `${placeOf(name)}/about.json`
      return one({ path_kind: 'community', path }, 't5', read.community, call)
    },
    moderators(name, call) {
      const path = `${placeOf(name)}/about/moderators.json`
      return ask({ path_kind: 'moderators', path, own: true }, call, (value) =>
        readPeople(value, { needs: MODERATOR_NEEDS, map: toModerator }),
      )
    },
    rules(name, call) {
      const path = `${placeOf(name)}/about/rules.json`
      return ask({ path_kind: 'rules', path }, call, readRules)
    },
    wiki({ subforum, page }, call) {
      // A page may lie within another, and its path keeps its slashes.
      const inner = page.split('/').map(encodeURIComponent).join('/')
      const path = `${placeOf(subforum)}/wiki/${inner}.json`
      return ask({ path_kind: 'wiki', path }, call, readWiki)
    },
    achievements(name, call) {
      const path = `/api/v1/user/${encodeURIComponent(name)}/trophies.json`
      return ask({ path_kind: 'achievements', path }, call, (value) =>
        readAchievements(client.base, value),
      )
    },
  }
}

const placeOf = (name: string): string => `/r/${encodeURIComponent(name)}`
