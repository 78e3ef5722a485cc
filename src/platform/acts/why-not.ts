import { final, type WriteFault } from '../../core/native-refusals.ts'
import { isObject } from '../../core/object.ts'
import type { Client } from '../client.ts'
import { refusedBy } from '../native-refusals.ts'
import type { Call } from '../platform.ts'
import { listAt, rowAt, wordAt } from '../read.ts'
import type { Actor } from './form.ts'

/** Finds out what a refusal without a reason is about. Nothing is written, and what stays unclear stays as it was. */
export type WhyNot = (
  fault: WriteFault,
  parent: string,
  actor: Actor,
  call: Call,
) => Promise<WriteFault>

/**
 * The platform says no in the same three words to the suspended, to the banned, and to whoever answers what is not
 * there: who it is and where tells them apart.
 */
export function createWhyNot(client: Client): WhyNot {
  /** Where a thing stands; null when it is not there, undefined when nobody said. */
  async function placeOf(fullname: string, call: Call): Promise<string | null | undefined> {
    const path = '/api/info.json'
    const answer = await client.get({ path_kind: 'info', path, query: { id: fullname } }, call)
    const data = answer.ok && isObject(answer.value) ? rowAt(answer.value, 'data') : null
    if (data === null || !Array.isArray(data['children'])) return undefined
    const [child] = listAt(data, 'children')
    const row = isObject(child) ? rowAt(child, 'data') : null
    return row === null ? null : (wordAt(row, 'subreddit') ?? undefined)
  }

  /** What hides a thing that is not shown by its id: a closed place refuses its posts in so many words. */
  async function hiddenBy(fullname: string, call: Call): Promise<WriteFault | null> {
    const absent = { kind: 'not_found', reason: 'absent' } as const
    if (!fullname.startsWith('t3_')) return absent
    const path = `/comments/${encodeURIComponent(fullname.slice(3))}.json`
    const answer = await client.get({ path_kind: 'tree', path, query: { limit: 1 } }, call)
    if (answer.ok) return null
    const { fault } = answer
    return fault.kind === 'forbidden' || fault.kind === 'not_found' ? fault : null
  }

  async function isBanned(place: string, call: Call): Promise<boolean> {
    const path = `/r/${encodeURIComponent(place)}/about.json`
    const answer = await client.get({ path_kind: 'community', path }, call)
    const data = answer.ok && isObject(answer.value) ? rowAt(answer.value, 'data') : null
    return data?.['user_is_banned'] === true
  }

  return async (fault, parent, actor, call) => {
    if (fault.kind !== 'forbidden' || fault.reason !== null) return fault
    if (actor.is_suspended) return { kind: 'forbidden', reason: 'user_suspended' }
    const place = await placeOf(parent, call)
    if (place === null) return (await hiddenBy(parent, call)) ?? fault
    if (place === undefined || !(await isBanned(place, call))) return fault
    return refusedBy(403, final('BANNED_FROM_SUBFORUM'))
  }
}
