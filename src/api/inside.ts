import type { Session } from '../core/session.ts'
import type { KeyHolder } from '../store/keys.ts'
import type { Lent } from './dashboard.ts'

/** How a call of the house's own is made, beside what it says itself. */
export type Manner = {
  /** A write that is only to be checked: it ends with `{}` where the platform would be asked. */
  rehearsed?: boolean
  /** The account that a write is made as, in place of what its body names. */
  session?: Session
}

/** Asks the service itself, as somebody it knows: through the front door, with the limits and prices of any other call. */
export type Inside = {
  ask(request: Request, holder: KeyHolder, manner?: Manner): Promise<Response>
  /** How a request is made; nothing for one that came in from outside. */
  mannerOf(request: Request): Manner
}

/** Remembers how a request is made until it is gone. `handle` answers it as if it had come in from outside. */
export function createInside(lent: Lent, handle: (request: Request) => Promise<Response>): Inside {
  const manners = new WeakMap<Request, Manner>()
  return {
    ask(request, holder, manner = {}) {
      lent.put(request, holder)
      manners.set(request, manner)
      return handle(request)
    },
    mannerOf: (request) => manners.get(request) ?? {},
  }
}
