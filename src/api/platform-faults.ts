import type { Fault } from '../core/base/result.ts'
import type { Tier } from '../core/limits/price.ts'
import { createOutages } from '../runtime/outages.ts'
import type { Clock, Log } from '../runtime/runtime.ts'

/** Logs answers that could not be used: the first of each kind, and their end. */
export type PlatformFaults = {
  /** Records the fault of a call; faults that are answers of the platform are ignored. */
  failed(tier: Tier, fault: Fault): void
  /** Records a call that was answered: the faults of its tier have ended. */
  succeeded(tier: Tier): void
}

/** Kinds of one tier that are failing; each has a place in an answer or a status, of which there are few. */
const KINDS_MAX = 100

/** A platform that changes an answer fails every call that reads it, and one line says so. */
export function createPlatformFaults({ clock, log }: { clock: Clock; log: Log }): PlatformFaults {
  const outages = createOutages(clock)
  const failing = new Map<Tier, Map<string, Fault>>()

  return {
    failed(tier, fault) {
      if (fault.kind !== 'rejected' && fault.kind !== 'unreadable') return
      const detail = fault.kind === 'rejected' ? fault.status : fault.path
      const subject = `${tier} ${fault.kind} ${detail}`
      const kinds = failing.get(tier) ?? new Map<string, Fault>()
      if (kinds.size < KINDS_MAX) failing.set(tier, kinds.set(subject, fault))
      const count = outages.failed(subject)
      if (count !== null)
        log('warn', 'platform.fault', { tier, ...fault, ...(count > 0 && { count }) })
    },
    succeeded(tier) {
      const kinds = failing.get(tier)
      if (kinds === undefined) return
      failing.delete(tier)
      for (const [subject, fault] of kinds) {
        const ended = outages.recovered(subject)
        if (ended !== null) log('info', 'platform.fault_ended', { tier, ...fault, ...ended })
      }
    },
  }
}
