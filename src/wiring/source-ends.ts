import type { Config } from '../config/schema.ts'
import { daysUntil, endWarning, type SourceEnd } from '../core/limits/ends-at.ts'
import type { Clock, Log } from '../runtime/runtime.ts'

/** The sources whose configuration names a day on which their way in ends, in their order. */
export const sourceEnds = ({ source }: Pick<Config, 'source'>): SourceEnd[] =>
  source.flatMap(({ name, ends_at }) => (ends_at === '' ? [] : [{ source: name, ends_at }]))

/** Sources that end within the time of the first warning, and those that have ended. */
export const endingSoon = (ends: readonly SourceEnd[], now: number): SourceEnd[] =>
  ends.filter(({ ends_at }) => endWarning(ends_at, now) !== null)

/** Day on which the way in to a source has ended; null: it has not. */
export const endOf = (ends: readonly SourceEnd[], source: string, now: number): string | null =>
  ends.find((it) => it.source === source && endWarning(it.ends_at, now) === 'over')?.ends_at ?? null

/** Creates the check for a loop: it logs all ends at first, and later each warning once. */
export function createSourceEndWatch(
  ends: readonly SourceEnd[],
  { clock, log }: { clock: Clock; log: Log },
): () => void {
  const logged = new Map<string, number | 'over' | null>()

  return () => {
    const now = clock.now()
    for (const { source, ends_at } of ends) {
      const warning = endWarning(ends_at, now)
      if (logged.has(source) && logged.get(source) === warning) continue
      logged.set(source, warning)
      const fields = { source, ends_at, days: daysUntil(ends_at, now) }
      if (warning === null) log('info', 'source.ends', fields)
      else if (warning === 'over') log('warn', 'source.ended', { source, ends_at })
      // The days of the warning, not of today, name it: a restart repeats none.
      else log('warn', 'source.ending', { ...fields, warning })
    }
  }
}
