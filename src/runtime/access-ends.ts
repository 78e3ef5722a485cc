import type { Clock, Log } from './runtime.ts'

/** Ways in which access to a platform ends although it still answers. */
export type AccessEnd = 'login_wall' | 'placeholder' | 'profile_hidden' | 'emptied'

/** Logs each kind of end once, with the first subject, and once when its last subject is back. */
export type AccessEnds = {
  /** Records that `subject` is refused, such as a place or an account. */
  ended(reason: AccessEnd, subject: string): void
  /** Records that `subject` was answered: its ends of this kind are over. */
  restored(reason: AccessEnd, subject: string): void
}

/** Subjects of one kind; a platform that closes refuses every place at once. */
const SUBJECTS_MAX = 1000
/** A subject that is not read any more never recovers, so its end is forgotten. */
const FORGET_MS = 24 * 3_600_000

type Ended = { first: string; since: number; subjects: Map<string, number> }

/** One kind is one event however many subjects it has: a thousand refused places have one cause. */
export function createAccessEnds({ clock, log }: { clock: Clock; log: Log }): AccessEnds {
  const ends = new Map<AccessEnd, Ended>()

  function settle(reason: AccessEnd, it: Ended): void {
    const now = clock.mono()
    for (const [subject, at] of it.subjects) if (now - at > FORGET_MS) it.subjects.delete(subject)
    if (it.subjects.size > 0) return
    ends.delete(reason)
    const duration_ms = Math.round(now - it.since)
    log('info', 'access.restored', { reason, subject: it.first, duration_ms })
  }

  return {
    ended(reason, subject) {
      const now = clock.mono()
      const before = ends.get(reason)
      if (before !== undefined) settle(reason, before)
      const open = ends.get(reason)
      if (open === undefined) {
        ends.set(reason, { first: subject, since: now, subjects: new Map([[subject, now]]) })
        log('warn', 'access.ended', { reason, subject })
      } else if (open.subjects.has(subject) || open.subjects.size < SUBJECTS_MAX)
        open.subjects.set(subject, now)
    },
    restored(reason, subject) {
      const it = ends.get(reason)
      if (it?.subjects.delete(subject) === true) settle(reason, it)
    },
  }
}
