/**
 * Receivers of the fairness test, in their own process: one that answers at once and records the first arrival
 * of each delivery, one that takes nine seconds, one that accepts the connection and never answers. Prints
 * their ports as one line of JSON; `control` returns the arrivals since its previous call.
 */
import { certificate } from '../../../test/support/certificate.ts'

const SLOW_MS = 9000
const { key, cert } = await certificate()
/** First arrival of each delivery since the previous call of `control`. */
const came = new Map<string, number>()
const shared = { hostname: '127.0.0.1', port: 0, idleTimeout: 0 }

const good = Bun.serve({
  ...shared,
  tls: { key, cert },
  fetch({ headers }) {
    const id = headers.get('x-service-delivery-id') ?? ''
    if (!came.has(id)) came.set(id, Date.now())
    return new Response('')
  },
})
const slow = Bun.serve({
  ...shared,
  tls: { key, cert },
  async fetch() {
    await Bun.sleep(SLOW_MS)
    return new Response('')
  },
})
const dead = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
const control = Bun.serve({
  ...shared,
  fetch() {
    const response = Response.json(Object.fromEntries(came))
    came.clear()
    return response
  },
})
console.log(
  JSON.stringify({
    good: good.port,
    slow: slow.port,
    dead: dead.port,
    control: control.port,
    ca: cert,
  }),
)
