import {
  type Allowed,
  judgeAddresses,
  parseTarget,
  type Refusal,
  type Target,
} from '../core/address.ts'
import type { Clock, Resolve } from '../outside.ts'
import { createAsk } from './ask.ts'

type Guarded =
  /** The only addresses this target may be dialled at, in the resolver's order. */
  { ok: true; target: Target; addresses: [string, ...string[]] } | { ok: false; refusal: Refusal }

/** Resolves an address that a stranger named to where it may be dialled, or refuses it. */
export type Guard = (text: string) => Promise<Guarded>

/**
 * One resolution, every answer checked. Whoever dials must dial the addresses given here: asking again by
 * name is how a rebinding name gets in. A resolver that takes longer than `timeout_ms` counts as no answer.
 */
export function createGuard({
  allowed,
  ...names
}: {
  resolve: Resolve
  clock: Clock
  allowed: Allowed
  timeout_ms: number
}): Guard {
  const ask = createAsk(names)
  return async (text) => {
    const parsed = parseTarget(text, allowed)
    if (!parsed.ok) return parsed
    const { target } = parsed
    const [first, ...rest] = target.literal === null ? await ask(target.host) : [target.literal]
    if (first === undefined) return { ok: false, refusal: 'unresolved' }
    const refusal = judgeAddresses(target, [first, ...rest], allowed)
    return refusal ? { ok: false, refusal } : { ok: true, target, addresses: [first, ...rest] }
  }
}

/** The question alone, without its addresses: null when a target may be dialled. */
export const createCheck =
  (guard: Guard) =>
  async (text: string): Promise<Refusal | null> => {
    const guarded = await guard(text)
    return guarded.ok ? null : guarded.refusal
  }
