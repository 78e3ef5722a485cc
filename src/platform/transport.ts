import type { Fault } from '../core/outcome.ts'
import type { Carried, Egress, Errand } from '../net/egress.ts'
import type { Answer } from './classify.ts'
import type { Eyes } from './platform.ts'

/** One request through somebody's eyes, but for the way out, which is theirs. */
export type Asking = Omit<Errand, 'way'> & { eyes: Pick<Eyes, 'proxy' | 'whose' | 'lent'> }

/** What came of one request. Of one that is made once `left` says whether anything may have reached the platform. */
export type Transported = { ok: true; value: Answer } | { ok: false; fault: Fault; left?: boolean }

/** One request and its whole answer, or what went wrong in our own terms. */
export const createSend =
  (egress: Egress) =>
  async ({ eyes, ...errand }: Asking): Promise<Transported> => {
    const callers = eyes.whose === 'caller' && eyes.lent === undefined
    const carried = await egress.send({ ...errand, way: { proxy: eyes.proxy, guarded: callers } })
    if (carried.ok) return { ok: true, value: carried.answer }
    const { why, left } = carried
    const fault = faultOf(why, callers)
    return left === undefined ? { ok: false, fault } : { ok: false, fault, left }
  }

/** A caller answers for the proxy that was named; for ours there may be another way out. */
function faultOf(why: (Carried & { ok: false })['why'], callers: boolean): Fault {
  if (why === 'timeout') return { kind: 'timeout' }
  if (why === 'too_large') return { kind: 'unreadable', path: 'body' }
  const lost = { kind: 'unavailable', status: null, retry_after_s: null } as const
  if (why === 'unreached') return lost
  return callers ? { kind: 'proxy', trouble: why } : { ...lost, trouble: why }
}
