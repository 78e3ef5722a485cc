import { Elysia } from 'elysia'

import { ApiError } from '../../core/base/errors.ts'
import type { Clock } from '../../runtime/runtime.ts'
import type { Customer } from '../../store/customers/customers.ts'
import {
  findKey,
  type Key,
  type KeyHolder,
  type Scope,
  touchKey,
} from '../../store/customers/keys.ts'
import { type Db, isStorageError } from '../../store/db/connection.ts'
import type { FailedAuth } from '../pace/failed-auth.ts'

/** Customer, key and request of a call. */
export type Holder = { customer: Customer; key: Key; request?: Request }

/** Holders of the calls in flight. Weak: an entry is freed with its request. */
export type Holders = {
  put(request: Request, holder: Holder): void
  /**
   * Returns the holder.
   * @throws {Error} if none was recorded
   */
  of(request: Request): Holder
  find(request: Request): Holder | undefined
}

/** Creates the holders, recorded at admission and read by the route. */
export function createHolders(): Holders {
  const holders = new WeakMap<Request, Holder>()
  return {
    put: (request, holder) => void holders.set(request, holder),
    find: (request) => holders.get(request),
    of: (request) => {
      const holder = holders.get(request)
      // A keyed route without a holder was admitted as open: a bug in the policy table, not the
      // caller's fault.
      if (!holder) throw new Error('a keyed route was reached without a key')
      return holder
    },
  }
}

/** Plugin that adds `holder` and `customer` to a route's context. */
export const createKeyed = (holders: Holders) =>
  new Elysia({ name: 'keyed' }).derive({ as: 'scoped' }, ({ request }) => {
    const holder = holders.of(request)
    return { holder, customer: holder.customer }
  })
export type Keyed = ReturnType<typeof createKeyed>

/**
 * Token of an Authorization header; null if absent or of another scheme.
 * @see https://www.rfc-editor.org/rfc/rfc6750#section-2.1
 */
export function bearer(header: string | null): string | null {
  const [, token] = /^bearer[ \t]+(\S.*)$/i.exec(header?.trim() ?? '') ?? []
  return token ?? null
}

const TOUCH_EVERY_MS = 60_000

/**
 * Finds the holder of a token for a caller from the network `from`.
 * @throws {ApiError} missing_token without a token, invalid_token for an unknown one, rate_limited
 * if the network has failed too often
 */
export type Authenticate = (token: string | null, from: string) => KeyHolder

/** Creates the authentication by the keys in the database. */
export function createAuthenticate(db: Db, clock: Clock, failed_auth: FailedAuth): Authenticate {
  return (token, from) => {
    const now = clock.now()
    const found = failed_auth.attempt(from, token, (it) => findKey(db, it, now))
    if (found === null)
      throw token === null
        ? new ApiError('missing_token', {
            message: 'send the header Authorization: Bearer <API key>',
          })
        : new ApiError('invalid_token')
    // At most once a minute: a write per request would cost more without being more useful.
    if (now - (found.key.last_used_at ?? 0) > TOUCH_EVERY_MS) touch(db, found.key.id, now)
    return found
  }
}

/** Records the use of a key. A full disk must not prevent access for the sake of this timestamp. */
function touch(db: Db, id: string, now: number) {
  try {
    touchKey(db, id, now)
  } catch (error) {
    if (!isStorageError(error)) throw error
  }
}

/**
 * Returns the holder of an operator's key.
 * @throws {ApiError} PERMISSION_DENIED for a customer's key
 */
export function operatorOnly(holder: KeyHolder): KeyHolder {
  if (holder.customer === null) return holder
  throw new ApiError('PERMISSION_DENIED', {
    message: "this call needs an operator's key: fo_ and 43 characters",
    extra: { reason: 'operator_only' },
  })
}

/**
 * Returns the holder of a customer's key with this scope.
 * @throws {ApiError} invalid_token for an operator's key, PERMISSION_DENIED without the scope
 */
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
