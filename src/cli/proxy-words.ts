import type { Outcome } from '../core/outcome.ts'

/** Why the platform was not reached through a way out, in a word; null when it was, whatever it said. */
export function troubleOf(outcome: Outcome<unknown>): string | null {
  if (outcome.ok) return null
  const { fault } = outcome
  if (fault.kind === 'proxy') return fault.trouble ?? 'failed'
  if (fault.kind === 'timeout') return 'timeout'
  if (fault.kind !== 'unavailable' || fault.status !== null) return null
  return fault.trouble ?? 'unreachable'
}
