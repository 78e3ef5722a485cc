import type { Proxy } from '../core/proxy.ts'
import type { Guard } from './guard.ts'

/** The proxy as it may be dialled, or null when it may not be. */
export type ProxyGuard = (proxy: Proxy) => Promise<Proxy | null>

/**
 * Resolves a proxy that a caller named once for all its requests: from here on it goes by the address that was
 * checked, so that a name which means another place a moment later changes nothing. Only an https proxy keeps its
 * name, which its certificate is checked against, and so does a host that the operator allows by name; whoever dials
 * them has to guard them again.
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
