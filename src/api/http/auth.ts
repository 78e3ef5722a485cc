import { Elysia } from 'elysia'

import { ApiError } from '../../core/base/errors.ts'
import { createLru } from '../../core/base/lru.ts'
import { perMinute } from '../../core/limits/pace.ts'
import type { Clock, Log, Random } from '../../runtime/runtime.ts'
import type { Customer } from '../../store/customers/customers.ts'
import {
  findKey,
  type Key,
  type KeyHolder,
  type Scope,
  touchKey,
} from '../../store/customers/keys.ts'
import { type Db, isStorageError } from '../../store/db/connection.ts'
import type { Metrics } from '../metrics/registry.ts'
import { createBuckets, type Limits, tooFast } from './pacers.ts'

/** Recently valid tokens, by fingerprint. */
const RECENT_MAX = 10_000
const SEED_BYTES = 8
const REPORT_MS = 60_000
const ADDRESSES_MAX = 1_000

type Deps = {
  clock: Clock
  random: Pick<Random, 'bytes'>
  limits: Pick<Limits, 'failed_auth_per_minute'>
  log: Log
  metrics: Metrics
}

/**
 * Limits failed authentications. A token is hashed and looked up only while its address has
 * failures left.
 * A recently valid token is always looked up, so that another client behind the same address locks
 * no client out.
 */
export type FailedAuth = {
  /**
   * Looks up a token with `find`; null if it is absent or unknown, which counts as a failure of the
   * address. `from` names the address; a recently valid token does not need it.
   * @throws {ApiError} rate_limited, before `find`, if the address has failed too often
   */
  attempt<T>(from: () => string, token: string | null, find: (token: string) => T | null): T | null
  /**
   * Logs the failures since the last line, at most once a minute. Called at every request, so that
   * no timer is needed.
   */
  report(): void
}

/** Creates the limit, which counts failures by address and reports them to metrics and log. */
export function createFailedAuth({ clock, random, limits, log, metrics }: Deps): FailedAuth {
  const failures = createBuckets(clock, () => perMinute(limits.failed_auth_per_minute))
  const recent = createLru<bigint, true>(RECENT_MAX)
  let seed: bigint | null = null
  let reported_at = -Infinity
  let failed = 0
  let by_address = new Map<string, number>()

  // Fast rather than collision-resistant: a colliding token is still looked up, and fails there.
  function fingerprintOf(token: string): bigint {
    seed ??= Buffer.from(random.bytes(SEED_BYTES)).readBigUInt64LE()
    const hash = Bun.hash(token, seed)
    return typeof hash === 'bigint' ? hash : BigInt(hash)
  }

  function fail(from: string, reason: 'missing' | 'invalid' | 'rate_limited') {
    metrics.count('auth_failures_total', { reason })
    failed += 1
    if (by_address.has(from) || by_address.size < ADDRESSES_MAX)
      by_address.set(from, (by_address.get(from) ?? 0) + 1)
    report()
  }

  function report() {
    if (failed === 0 || clock.mono() - reported_at < REPORT_MS) return
    const [address] = [...by_address].reduce((most, it) => (it[1] > most[1] ? it : most), ['', 0])
    log('warn', 'auth.failed', { count: failed, address, addresses: by_address.size })
    reported_at = clock.mono()
    failed = 0
    by_address = new Map()
  }

  return {
    report,
    attempt(from, token, find) {
      const fingerprint = token === null ? null : fingerprintOf(token)
      const known = fingerprint !== null && recent.has(fingerprint)
      const next = known ? null : failures.peek(from())
      if (next?.wait_ms === null) {
        fail(from(), 'rate_limited')
        throw tooFast(
          `calls without a valid key from this address, at most ${limits.failed_auth_per_minute} a minute`,
          next,
        )
      }
      const found = token === null ? null : find(token)
      if (found !== null) {
        if (fingerprint !== null) recent.set(fingerprint, true)
        return found
      }
      if (fingerprint !== null) recent.delete(fingerprint)
      const address = from()
      failures.take(address)
      fail(address, token === null ? 'missing' : 'invalid')
      return null
    },
  }
}

export type Holder = { customer: Customer; key: Key; request?: Request }

/** Values of the calls in flight. Weak: an entry is freed with its request. */
type ByRequest<T> = {
  put(request: Request, value: T): void
  /** @throws {Error} if nothing was recorded */
  of(request: Request): T
  find(request: Request): T | undefined
}

function createByRequest<T>(missing: string): ByRequest<T> {
  const values = new WeakMap<Request, T>()
  return {
    put: (request, value) => void values.set(request, value),
    find: (request) => values.get(request),
    of(request) {
      const value = values.get(request)
      // A bug in the policy table, which admitted the call as open, not the caller's fault.
      if (value === undefined) throw new Error(missing)
      return value
    },
  }
}

/** Holders of the calls in flight, recorded at admission and read by the route. */
export type Holders = ByRequest<Holder>

export const createHolders = (): Holders =>
  createByRequest('a keyed route was reached without a key')

type Acting = { key: Key; address: string }

/** Operators of the calls in flight, recorded at admission and read by the routes that record actions. */
export type Operators = ByRequest<Acting>

export const createOperators = (): Operators =>
  createByRequest("an operator's route was reached without an operator")

/** Holder that an internal request acts for, and the address of the external one; absent: unknown. */
type Delegated = KeyHolder & { address?: string }

/** The holders that internal requests act for. */
export type Delegation = Omit<ByRequest<Delegated>, 'of'>

export const createDelegation = (): Delegation => createByRequest('a request is not internal')

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
 * Finds the holder of a token for a caller from the network that `from` returns.
 * @throws {ApiError} missing_token without a token, invalid_token for an unknown one, rate_limited
 * if the network has failed too often
 */
export type Authenticate = (token: string | null, from: () => string) => KeyHolder

/**
 * Creates the authentication by the keys in the database. Calls that arrive in one iteration of the
 * event loop share the look-up of their token. None of them was sent after another one of them was
 * answered, so a key that is revoked meanwhile still fails the next call.
 */
export function createAuthenticate(db: Db, clock: Clock, failed_auth: FailedAuth): Authenticate {
  const looked_up = new Map<string, KeyHolder>()

  function find(token: string, now: number): KeyHolder | null {
    const known = looked_up.get(token)
    if (known !== undefined) return known
    const found = findKey(db, token, now)
    if (found === null) return null
    if (looked_up.size === 0) setImmediate(() => looked_up.clear())
    looked_up.set(token, found)
    // At most once a minute: a write per request would cost more without being more useful.
    if (now - (found.key.last_used_at ?? 0) > TOUCH_EVERY_MS) touch(db, found.key.id, now)
    return found
  }

  return (token, from) => {
    const found = failed_auth.attempt(from, token, (it) => find(it, clock.now()))
    if (found !== null) return found
    throw token === null
      ? new ApiError('missing_token', {
          message: 'send the header Authorization: Bearer <API key>',
        })
      : new ApiError('invalid_token')
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

/** @throws {ApiError} PERMISSION_DENIED for a customer's key without the scope operator */
export function operatorOnly(holder: KeyHolder): KeyHolder {
  if (holder.customer === null || holder.key.scopes.includes('operator')) return holder
  throw new ApiError('PERMISSION_DENIED', {
    message: "this call needs an operator's key (fo_ and 43 characters), or the scope operator",
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
