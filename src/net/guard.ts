/** Guards requests to addresses that customers name, against server-side request forgery and DNS rebinding. */
import {
  type AddressRefusal,
  type AddressTarget,
  type Allowed,
  judgeAddresses,
  parseTarget,
} from '../core/base/address.ts'
import type { Proxy } from '../core/forum/proxy.ts'
import type { Clock, Resolve } from '../runtime/runtime.ts'

/** Creates a resolver. No answer, an error, or none within `timeout_ms` are all an empty list. */
export function createResolver({
  resolve,
  clock,
  timeout_ms,
}: {
  resolve: Resolve
  clock: Clock
  timeout_ms: number
}): (host: string) => Promise<string[]> {
  return async (host) => {
    const done = new AbortController()
    const timeout = clock.sleep(timeout_ms, done.signal).then((): string[] => [])
    // A name that does not resolve rejects; here that is an empty answer.
    const answer = resolve(host).catch((): string[] => [])
    const addresses = await Promise.race([answer, timeout])
    done.abort()
    return addresses
  }
}

type Guarded =
  /** The only addresses at which this target may be dialled, in the resolver's order. */
  | { ok: true; target: AddressTarget; addresses: [string, ...string[]] }
  | { ok: false; refusal: AddressRefusal }

/**
 * Resolves an address that an external party named to addresses that may be dialled, or refuses it.
 */
export type Guard = (text: string) => Promise<Guarded>

/**
 * Creates a guard that resolves once and checks every answer. Callers must dial the returned
 * addresses: a second resolution would let DNS rebinding through. A resolver that takes longer than
 * `timeout_ms` counts as no answer.
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
  const resolveHost = createResolver(names)
  return async (text) => {
    const parsed = parseTarget(text, allowed)
    if (!parsed.ok) return parsed
    const { target } = parsed
    const [first, ...rest] =
      target.literal === null ? await resolveHost(target.host) : [target.literal]
    if (first === undefined) return { ok: false, refusal: 'unresolved' }
    const refusal = judgeAddresses(target, [first, ...rest], allowed)
    return refusal ? { ok: false, refusal } : { ok: true, target, addresses: [first, ...rest] }
  }
}

/** Creates the check without the addresses: null if a target may be dialled. */
export const createCheck =
  (guard: Guard) =>
  async (text: string): Promise<AddressRefusal | null> => {
    const guarded = await guard(text)
    return guarded.ok ? null : guarded.refusal
  }

/** The proxy with its checked address; null if it must not be dialled. */
export type ProxyGuard = (proxy: Proxy) => Promise<Proxy | null>

/**
 * Creates a guard that resolves a caller's proxy once for all its requests. From then on the
 * checked address is used, so that a later DNS change has no effect. An https proxy keeps its name,
 * because its certificate is checked against it. So does a host that the operator allows by name.
 * Both must be guarded again before each connection.
 */
export const createProxyGuard =
  (guard: Guard): ProxyGuard =>
  async (proxy) => {
    const host = proxy.host.includes(':') ? `[${proxy.host}]` : proxy.host
    const guarded = await guard(`https://${host}:${proxy.port}/`)
    if (!guarded.ok) return null
    const by_name = proxy.scheme === 'https' || guarded.target.named
    return by_name ? proxy : { ...proxy, host: guarded.addresses[0] }
  }
