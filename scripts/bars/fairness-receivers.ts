/**
 * The receivers of the bar of fairness, in a process of their own: one that answers at once and notes when each delivery
 * first came, one that takes nine seconds, one that takes the connection and never says a word. Writes where they
 * listen as one line of JSON; `control` tells what came since it was asked last.
 */
import { certificate } from '../../test/support/certificate.ts'

const SLOW_MS = 9000
const { key, cert } = await certificate()
/** When each delivery first came since `control` was asked last. */
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
