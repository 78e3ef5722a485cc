import type { Config } from '../../src/config/schema.ts'
import { startTestDaemon } from './test-daemon.ts'

const MINUTE = 60_000

export type Delivered = { headers: Headers; body: Uint8Array; text: string; secret: string }
type TestDaemon = Awaited<ReturnType<typeof startTestDaemon>>

/**
 * A house that may deliver to the loopback over plain http, as an operator with receivers on the same machine would have
 * it. Its clock shows approximately the real time, since third-party receivers check timestamps.
 */
export const startLoopbackDaemon = (change?: (config: Config) => void): Promise<TestDaemon> =>
  startTestDaemon({
    start_at: Date.now() - 2 * MINUTE,
    change: (config) => {
      config.guard.allow_targets = ['127.0.0.1']
      config.guard.allow_http = true
      change?.(config)
    },
  })

/** Monitors coffee for grinders; earlier items are not delivered. */
export async function watchCoffee(daemon: TestDaemon): Promise<string> {
  daemon.sandbox.post({ subforum: 'coffee', title: 'An old one' })
  const filter_spec = { subforum: 'coffee', kind: 'both', include_any: ['grinder'] }
  const { status, body } = await daemon.send('/forum/monitor/add', { filter_spec })
  if (status !== 200) throw new Error(`no monitor: ${JSON.stringify(body)}`)
  await daemon.clock.advance(MINUTE)
  return body.id
}

/** Lets a post appear that matches, and time pass until it is delivered. */
export async function postGrinder(daemon: TestDaemon, title: string): Promise<void> {
  daemon.sandbox.post({ subforum: 'coffee', title, text: 'My old one wakes the house.' })
  await daemon.clock.advance(MINUTE)
}

/** One delivery as it comes to a receiver. */
export async function realDelivery(title: string): Promise<Delivered> {
  await using daemon = await startLoopbackDaemon()
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
  const { body: webhook } = await daemon.send('/forum/monitor/webhook/create', { url })
  await watchCoffee(daemon)
  await postGrinder(daemon, title)
  const [first] = got
  if (!first) throw new Error('nothing was delivered')
  return { ...first, secret: webhook.secret }
}
