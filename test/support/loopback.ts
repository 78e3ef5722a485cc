import type { Config } from '../../src/config/schema.ts'
import { startHouse } from './house.ts'

const MINUTE = 60_000

export type Delivered = { headers: Headers; body: Uint8Array; text: string; secret: string }
type House = Awaited<ReturnType<typeof startHouse>>

/**
 * A house that may deliver to the loopback over plain http, as an operator with receivers on the same machine would have
 * it. Its clock tells about the real time, since receivers of other makes look at that.
 */
export const startLoopbackHouse = (change?: (config: Config) => void): Promise<House> =>
  startHouse({
    start_at: Date.now() - 2 * MINUTE,
    change: (config) => {
      config.guard.allow_targets = ['127.0.0.1']
      config.guard.allow_http = true
      change?.(config)
    },
  })

/** Watches coffee for grinders; what was there before is not told. */
export async function watchCoffee(house: House): Promise<string> {
  house.sandbox.post({ subforum: 'coffee', title: 'An old one' })
  const filter_spec = { subforum: 'coffee', kind: 'both', include_any: ['grinder'] }
  const { status, body } = await house.send('/forum/monitor/add', { filter_spec })
  if (status !== 200) throw new Error(`no monitor: ${JSON.stringify(body)}`)
  await house.clock.advance(MINUTE)
  return body.id
}

/** Lets a post appear that matches, and time pass until it is delivered. */
export async function postGrinder(house: House, title: string): Promise<void> {
  house.sandbox.post({ subforum: 'coffee', title, text: 'My old one wakes the house.' })
  await house.clock.advance(MINUTE)
}

/** One delivery as it comes to a receiver. */
export async function realDelivery(title: string): Promise<Delivered> {
  await using house = await startLoopbackHouse()
  const got: Omit<Delivered, 'secret'>[] = []
  using receiver = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const body = await request.bytes()
      got.push({ headers: request.headers, body, text: new TextDecoder().decode(body) })
      return new Response(null, { status: 204 })
    },
  })
  const url = `http://127.0.0.1:${receiver.port}/`
  const { body: webhook } = await house.send('/forum/monitor/webhook/create', { url })
  await watchCoffee(house)
  await postGrinder(house, title)
  const [first] = got
  if (!first) throw new Error('nothing was delivered')
  return { ...first, secret: webhook.secret }
}
