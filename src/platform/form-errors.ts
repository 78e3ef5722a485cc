import type { Fault } from '../core/outcome.ts'
import { listAt, numberAt, type Row } from './read.ts'

// What a form's refusal means to somebody who only reads. Codes that are not here are about something we never asked.
const MEANINGS: Readonly<Record<string, Fault>> = {
  USER_REQUIRED: { kind: 'login_required' },
  USER_DOESNT_EXIST: { kind: 'not_found', reason: 'absent' },
  SUBREDDIT_NOEXIST: { kind: 'not_found', reason: 'absent' },
  DELETED_COMMENT: { kind: 'not_found', reason: 'absent' },
  DELETED_LINK: { kind: 'not_found', reason: 'absent' },
  VERIFIED_USER_REQUIRED: { kind: 'forbidden', reason: null },
  MOD_REQUIRED: { kind: 'forbidden', reason: null },
  USER_BLOCKED: { kind: 'forbidden', reason: null },
  IN_TIMEOUT: { kind: 'forbidden', reason: null },
}

const PAUSE_S = 60

/** What the first error of a form's envelope means, or null when it has none. */
export function formRefusal(envelope: Row): Fault | null {
  const first: unknown = listAt(envelope, 'errors')[0]
  if (first === undefined) return null
  const [code, sentence]: unknown[] = Array.isArray(first) ? first : []
  if (code === 'RATELIMIT') {
    const told = numberAt(envelope, 'ratelimit') ?? secondsIn(String(sentence))
    return { kind: 'throttled', retry_after_s: Math.max(1, Math.ceil(told ?? PAUSE_S)) }
  }
  const known = typeof code === 'string' && Object.hasOwn(MEANINGS, code) ? MEANINGS[code] : null
  return known ?? { kind: 'unreadable', path: 'json.errors' }
}

/** The pause that a sentence asks for, such as "try again in 7 minutes"; null when it names none. */
export function secondsIn(sentence: string): number | null {
  const [, count, unit] = /(\d{1,3}) (millisecond|second|minute)s?/.exec(sentence) ?? []
  if (count === undefined) return null
  const seconds = { millisecond: 0.001, second: 1, minute: 60 }
  return Number(count) * (unit === 'minute' || unit === 'millisecond' ? seconds[unit] : 1)
}
