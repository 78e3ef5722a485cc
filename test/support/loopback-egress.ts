import { createAllowed } from '../../src/core/base/address.ts'
import { createEgress } from '../../src/net/egress.ts'
import { createGuard } from '../../src/net/guard.ts'
import { realClock } from '../../src/runtime/runtime.ts'

const resolve = () => Promise.reject(new Error('no resolver'))

/** Requests of an adapter to a server of its test: they need neither a resolver nor a proxy. */
export function createLoopbackEgress({
  ca,
  allowed = [],
}: { ca?: string; allowed?: string[] } = {}) {
  return createEgress({
    fetch: (url, init) => fetch(url, ca === undefined ? init : { ...init, tls: { ca } }),
    clock: realClock,
    resolve,
    guard: createGuard({
      resolve,
      clock: realClock,
      timeout_ms: 1000,
      allowed: createAllowed({ allow_targets: allowed, allow_http: true }),
    }),
  })
}
