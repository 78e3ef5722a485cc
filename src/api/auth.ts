import { Elysia } from 'elysia'

import { ApiError } from '../core/errors.ts'
import type { Clock } from '../outside.ts'
import type { Customer } from '../store/customers.ts'
import { type Db, isStorageError } from '../store/db.ts'
import { findKey, type Key, type KeyHolder, type Scope, touchKey } from '../store/keys.ts'

/** Whose call it is, and by which key. */
export type Holder = { customer: Customer; key: Key }

/** Holders of the calls in flight. A request that is gone takes its entry with it. */
export type Holders = { put(request: Request, holder: Holder): void; of(request: Request): Holder }

/** Remembers who a request belongs to from its admission to the route. */
export function createHolders(): Holders {
  const holders = new WeakMap<Request, Holder>()
  return {
    put: (request, holder) => void holders.set(request, holder),
    of: (request) => {
      const holder = holders.get(request)
      // A route without a holder was let through as open: that is a hole in the policy table, not the caller's fault.
      if (!holder) throw new Error('a keyed route was reached without a key')
      return holder
    },
  }
}

/** The plugin that puts `holder` and `customer` into a route's context. */
export const createKeyed = (holders: Holders) =>
  new Elysia({ name: 'keyed' }).derive({ as: 'scoped' }, ({ request }) => {
    const holder = holders.of(request)
    return { holder, customer: holder.customer }
  })
export type Keyed = ReturnType<typeof createKeyed>

/** The token of an Authorization header; null when there is none, or it is of another scheme. */
export function bearer(header: string | null): string | null {
  const [, token] = /^bearer[ \t]+(\S.*)$/i.exec(header?.trim() ?? '') ?? []
  return token ?? null
}

const TOUCH_EVERY_MS = 60_000

/** Opens the door, or says why not. */
export type Authenticate = (token: string | null) => KeyHolder

/** Finds who a token belongs to: 401 without one, 403 for one that does not open. */
export function createAuthenticate(db: Db, clock: Clock): Authenticate {
  return (token) => {
    if (token === null)
      throw new ApiError('missing_token', {
        message: 'send the header Authorization: Bearer <API key>',
      })
    const now = clock.now()
    const found = findKey(db, token, now)
    if (found === null) throw new ApiError('invalid_token')
    // Not at every call: a write a minute tells as much as a write a request.
    if (now - (found.key.last_used_at ?? 0) > TOUCH_EVERY_MS) touch(db, found.key.id, now)
    return found
  }
}

/** A full disk must not close a door that only wanted to be noted down. */
function touch(db: Db, id: string, now: number) {
  try {
    touchKey(db, id, now)
  } catch (error) {
    if (!isStorageError(error)) throw error
  }
}

/** The holder of an operator's key; 403 for a customer's. */
export function operatorOnly(holder: KeyHolder): KeyHolder {
  if (holder.customer === null) return holder
  throw new ApiError('PERMISSION_DENIED', {
    message: "this is for an operator's key, fo_ and 43 characters",
    extra: { reason: 'operator_only' },
  })
}

/** The holder of a customer's key that may do this; 403 otherwise. */
export function holderWith({ key, customer }: KeyHolder, scope: Scope | null): Holder {
  if (customer === null)
    throw new ApiError('invalid_token', { message: "this is an operator's key, not a customer's" })
  if (scope !== null && !key.scopes.includes(scope))
    throw new ApiError('PERMISSION_DENIED', {
      message: `this key may ${key.scopes.join(', ') || 'nothing'}; the call needs the scope ${scope}`,
      extra: { reason: 'scope' },
    })
  return { customer, key }
}
