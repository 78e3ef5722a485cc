import type { ErrorCode } from '../base/errors.ts'
import type { Fault } from '../base/result.ts'
import { boundedWait } from '../base/wait.ts'

export type RefusalMeaning = Extract<
  ErrorCode,
  | 'INVALID_REQUEST'
  | 'REAUTH_REQUIRED'
  | 'PERMISSION_DENIED'
  | 'BANNED_FROM_SUBFORUM'
  | 'NOT_FOUND'
  | 'THREAD_LOCKED'
  | 'ARCHIVED'
  | 'FORUM_REJECTED'
  | 'FORUM_RATELIMIT'
>

/** Refusal of a write by the platform: no action was taken. */
export type NativeRefusal = {
  kind: 'refused'
  /**
   * The platform's own code, or `HTTP_` and the status if it gave none. Returned as
   * `upstream_code`.
   */
  code: string
  /** The platform's own message; null if it gave none. */
  message: string | null
  /** Public field that the refusal concerns, such as `text`, `to` or `post_url`; null: none. */
  field: string | null
  /** Seconds; null if the platform names no delay. */
  retry_after_s: number | null
  /** Error code of the API. */
  meaning: RefusalMeaning
  /** True if a retry of the same write would be refused again. */
  terminal: boolean
}

/**
 * Failures of a write. A fault: no action was taken. A refusal: the platform declined. `unknown`:
 * the request was sent without a verdict, so the action may or may not have happened.
 */
export type WriteFault = Fault | NativeRefusal | { kind: 'unknown' }

export type Acted<T> = { ok: true; value: T } | { ok: false; fault: WriteFault }

/** Meaning of a refusal, and whether a retry may end differently. */
export type Meaning = { meaning: RefusalMeaning; terminal: boolean }

export const final = (meaning: RefusalMeaning): Meaning => ({ meaning, terminal: true })
export const passing = (meaning: RefusalMeaning): Meaning => ({ meaning, terminal: false })

/** A code without an entry: passed on as the platform's own, not worth a retry. */
export const REJECTED: Meaning = final('FORUM_REJECTED')

const PAUSE_S = 60
const UNITS = { millisecond: 0.001, second: 1, minute: 60, hour: 3600 } as const

/**
 * Delay of a throttle in whole seconds, at least 1: the stated number, else the one in the message
 * ("Take a break for 51 seconds", "try again in 7 minutes"), else one minute.
 */
export function pauseOf(stated_s: number | null, sentence: string): number {
  return Math.max(1, boundedWait(stated_s) ?? secondsIn(sentence) ?? PAUSE_S)
}

/** Delay named in a message, in whole seconds; null if it names none. */
export function secondsIn(sentence: string): number | null {
  const [, count, unit] =
    /\b(\d{1,9}) (millisecond|second|minute|hour)s?\b/i
      .exec(sentence)
      ?.map((it) => it.toLowerCase()) ?? []
  if (count === undefined || !isUnit(unit)) return null
  return boundedWait(Number(count) * UNITS[unit])
}

const isUnit = (word: string | undefined): word is keyof typeof UNITS =>
  word !== undefined && Object.hasOwn(UNITS, word)
