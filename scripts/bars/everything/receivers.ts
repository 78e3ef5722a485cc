import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

import * as z from 'zod'

import type { SeededRandom } from '../../../sandbox/world/random.ts'
import { certificate } from '../../../test/support/certificate.ts'
import type { Arrival } from './judge.ts'

/** A receiver: its address, and the secret that signs what it gets. */
export type Receiver = { url: string; expect(secret: string): void }

type Mood = 'accepts' | 'refuses' | 'hangs'

/** Down for a minute of every five. */
const OUTAGE_MS = 60_000
const OUTAGE_EVERY_MS = 300_000
const REFUSED_SHARE = 0.25
const HANGING_SHARE = 0.05

const delivered = z.object({
  delivery_id: z.string(),
  monitor_id: z.string(),
  // Items of [platform] name no source.
  items: z.array(z.object({ name: z.string(), source: z.string().default('main') })),
})

/**
 * Four TLS receivers with one log: one accepts all, one refuses a quarter, one never answers a twentieth, one is down for a
 * minute of every five. Once `calm()` is called all of them accept.
 */
export async function startReceivers(random: SeededRandom) {
  await using stack = new AsyncDisposableStack()
  const { key, cert } = await certificate()
  const arrivals: Arrival[] = []
  let is_calm = false
  const moods: (() => Mood)[] = [
    () => 'accepts',
    () => (random.odds(REFUSED_SHARE) ? 'refuses' : 'accepts'),
    () => (random.odds(HANGING_SHARE) ? 'hangs' : 'accepts'),
    () => (performance.now() % OUTAGE_EVERY_MS < OUTAGE_MS ? 'refuses' : 'accepts'),
  ]
  const receivers = moods.map((mood): Receiver => {
    let secret = ''
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      idleTimeout: 0,
      tls: { key, cert },
      async fetch(request) {
        const at = Date.now()
        const text = await request.text()
        const { delivery_id, monitor_id, items } = delivered.parse(JSON.parse(text))
        const will = is_calm ? 'accepts' : mood()
        arrivals.push({
          at,
          delivery_id,
          pairs: items.map(({ source, name }) => `${monitor_id} ${source}/${name}`),
          digest: createHash('sha256').update(text).digest('base64').slice(0, 16),
          epoch: Number(request.headers.get('x-service-epoch') ?? NaN),
          accepted: will === 'accepts',
          signed: isSigned(text, request.headers.get('x-service-signature') ?? '', secret),
        })
        if (will === 'hangs')
          await new Promise((gone) => request.signal.addEventListener('abort', gone))
        return new Response('', { status: will === 'accepts' ? 204 : 503 })
      },
    })
    stack.defer(() => server.stop(true))
    return { url: `https://127.0.0.1:${server.port}/hook`, expect: (text) => (secret = text) }
  })
  const owned = stack.move()
  return {
    receivers,
    arrivals,
    calm: () => void (is_calm = true),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function isSigned(text: string, header: string, secret: string): boolean {
  const [, timestamp = '', mac = ''] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header) ?? []
  const expected = createHmac('sha256', secret).update(`${timestamp}.${text}`).digest()
  const given = Buffer.from(mac, 'hex')
  return given.length === expected.length && timingSafeEqual(given, expected)
}
