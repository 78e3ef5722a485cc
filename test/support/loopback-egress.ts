import { createEgress } from '../../src/net/egress.ts'
import { realClock } from '../../src/runtime/runtime.ts'

/** Requests of an adapter to a server of its test: they need neither a resolver nor a proxy. */
export const createLoopbackEgress = () =>
  createEgress({
    fetch,
    clock: realClock,
    resolve: () => Promise.reject(new Error('no resolver')),
    guard: () => Promise.resolve({ ok: false, refusal: 'not_public' }),
  })
