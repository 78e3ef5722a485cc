import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

import { certificate } from '../support/certificate.ts'

/** One request as a receiver saw it. */
type Seen = {
  at: number
  delivery_id: string
  items: string[]
  digest: string
  accepted: boolean
  signed: boolean
}

export type Witness = {
  url: string
  seen: Seen[]
  /** The secret under which deliveries must be signed. */
  expect(secret: string): void
  [Symbol.asyncDispose](): Promise<void>
}

/** A receiver over TLS that writes down all it is sent. `mood` says which requests get a 503, and which no answer. */
export async function startWitness(mood: () => 'accepts' | 'refuses' | 'hangs'): Promise<Witness> {
  const { key, cert } = await certificate()
  const seen: Seen[] = []
  let secret = ''
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    tls: { key, cert },
    async fetch(request) {
      const at = performance.now()
      const text = await request.text()
      const [, timestamp = '', mac = ''] =
        /^t=(\d+),v1=([0-9a-f]{64})$/.exec(request.headers.get('x-service-signature') ?? '') ?? []
      const expected = createHmac('sha256', secret).update(`${timestamp}.${text}`).digest()
      const given = Buffer.from(mac, 'hex')
      const { delivery_id, items } = JSON.parse(text)
      const will = mood()
      const accepted = will === 'accepts'
      seen.push({
        at,
        delivery_id,
        items: items.map(({ name }: { name: string }) => name),
        digest: createHash('sha256').update(text).digest('hex'),
        accepted,
        signed:
          given.length === expected.length &&
          timingSafeEqual(given, expected) &&
          request.headers.get('x-service-delivery-id') === delivery_id,
      })
      if (will === 'hangs')
        await new Promise((gone) => request.signal.addEventListener('abort', gone))
      return new Response('', { status: accepted ? 204 : 503 })
    },
  })
  return {
    url: `https://127.0.0.1:${server.port}/hook`,
    seen,
    expect(text) {
      secret = text
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

/** What is wrong with a receiver's log, given what the platform had; all zero when nothing is. */
export function judge({ seen }: Witness, truth: readonly string[]) {
  const ids_of = new Map<string, Set<string>>()
  const digests_of = new Map<string, Set<string>>()
  const accepted = new Set<string>()
  for (const { delivery_id, items, digest, ...request } of seen) {
    for (const item of items) {
      ids_of.set(item, (ids_of.get(item) ?? new Set()).add(delivery_id))
      if (request.accepted) accepted.add(item)
    }
    digests_of.set(delivery_id, (digests_of.get(delivery_id) ?? new Set()).add(digest))
  }
  const known = new Set(truth)
  return {
    lost: truth.filter((item) => !accepted.has(item)).length,
    invented: [...ids_of.keys()].filter((item) => !known.has(item)).length,
    under_two_ids: [...ids_of.values()].filter(({ size }) => size > 1).length,
    unstable_bodies: [...digests_of.values()].filter(({ size }) => size > 1).length,
    badly_signed: seen.filter(({ signed }) => !signed).length,
  }
}

/** Deliveries that were accepted more than once, as a share of all. */
export function duplicates({ seen }: Witness): number {
  const accepted = seen.filter((request) => request.accepted)
  return accepted.length / new Set(accepted.map(({ delivery_id }) => delivery_id)).size - 1
}
