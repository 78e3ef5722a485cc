import type { Code } from './errors.ts'
import type { Fault } from './outcome.ts'

/** What the platform's refusals of a write mean to whoever asked for it (contract 6). */
export type RefusalMeaning = Extract<
  Code,
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

/** The platform said no, in so many words: nothing was done. */
export type Refusal = {
  kind: 'refused'
  /** The platform's own code, or `HTTP_` and the status where it gave none. For `upstream_code`. */
  code: string
  /** The platform's own sentence; null where it gave none. */
  message: string | null
  /** The field of ours that is meant, such as `text`, `to` or `post_url`; null where none is. */
  field: string | null
  /** Seconds; null where the platform names no pause. */
  retry_after_s: number | null
  /** With which error of ours it is answered. */
  meaning: RefusalMeaning
  /** Whether the same write would be refused again. */
  terminal: boolean
}

/**
 * What can become of a write besides success. A fault means that nothing was done, a refusal that the platform would
 * not; `unknown` that the bytes have left and no verdict came back: it may or may not have been done.
 */
export type WriteFault = Fault | Refusal | { kind: 'unknown' }

/** What came of a write, or why nothing did. */
export type Acted<T> = { ok: true; value: T } | { ok: false; fault: WriteFault }

/** What a refusal means, and whether trying again could end otherwise. */
export type Meaning = { meaning: RefusalMeaning; terminal: boolean }

/** A refusal that every caller should take for final. */
export const final = (meaning: RefusalMeaning): Meaning => ({ meaning, terminal: true })
/** A refusal that time may mend. */
export const passing = (meaning: RefusalMeaning): Meaning => ({ meaning, terminal: false })

/** A code that no table knows: passed on as the platform's own, and not worth trying again. */
export const REJECTED: Meaning = final('FORUM_REJECTED')

const PAUSE_S = 60
const UNITS = { millisecond: 0.001, second: 1, minute: 60, hour: 3600 } as const

/**
 * Whole seconds that a throttle asks to wait, at least one: from its number where there is one, otherwise from its
 * sentence ("Take a break for 51 seconds", "try again in 7 minutes"); a minute when neither says.
 */
export function pauseOf(told_s: number | null, sentence: string): number {
  return Math.max(1, Math.ceil(told_s ?? secondsIn(sentence) ?? PAUSE_S))
}

/** The pause that a sentence names, in seconds; null when it names none. */
export function secondsIn(sentence: string): number | null {
  const [, count, unit] =
    /\b(\d{1,3}) (millisecond|second|minute|hour)s?\b/i
      .exec(sentence)
      ?.map((it) => it.toLowerCase()) ?? []
  if (count === undefined || !isUnit(unit)) return null
  return Number(count) * UNITS[unit]
}

const isUnit = (word: string | undefined): word is keyof typeof UNITS =>
  word !== undefined && Object.hasOwn(UNITS, word)
