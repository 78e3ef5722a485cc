import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

import { certificate } from '../support/certificate.ts'

/** One request recorded by a receiver. */
type Seen = {
  at: number
  delivery_id: string
  items: string[]
  digest: string
  accepted: boolean
  signed: boolean
}

export type RecordingReceiver = {
  url: string
  seen: Seen[]
  /** The secret that must sign the deliveries. */
  expect(secret: string): void
  [Symbol.asyncDispose](): Promise<void>
}

/** A TLS receiver that records all requests. `mood` selects those that get a 503 or no answer. */
export async function startRecordingReceiver(
  mood: () => 'accepts' | 'refuses' | 'hangs',
): Promise<RecordingReceiver> {
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

/** The logs of receivers in figures, each fault summed over all logs. */
export type Judged = {
  matches: number
  lost: number
  invented: number
  under_two_ids: number
  unstable_bodies: number
  badly_signed: number
}

/** Compares the logs of receivers with the platform's posts. */
export function judge(
  receivers: readonly RecordingReceiver[],
  posts: readonly { name: string }[],
): Judged {
  const truth = posts.map(({ name }) => name)
  const faults = receivers.map((it) => faultsOf(it, truth))
  const sum = (key: keyof (typeof faults)[number]) =>
    faults.reduce((total, it) => total + it[key], 0)
  return {
    matches: truth.length,
    lost: sum('lost'),
    invented: sum('invented'),
    under_two_ids: sum('under_two_ids'),
    unstable_bodies: sum('unstable_bodies'),
    badly_signed: sum('badly_signed'),
  }
}

/** Faults in a receiver's log; all zero if there are none. */
function faultsOf({ seen }: RecordingReceiver, truth: readonly string[]) {
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
  const truth_ids = new Set(truth)
  return {
    lost: truth.filter((item) => !accepted.has(item)).length,
    invented: [...ids_of.keys()].filter((item) => !truth_ids.has(item)).length,
    under_two_ids: [...ids_of.values()].filter(({ size }) => size > 1).length,
    unstable_bodies: [...digests_of.values()].filter(({ size }) => size > 1).length,
    badly_signed: seen.filter(({ signed }) => !signed).length,
  }
}

/** Share of deliveries that were accepted more than once. */
export function duplicates({ seen }: RecordingReceiver): number {
  const accepted = seen.filter((request) => request.accepted)
  return accepted.length / new Set(accepted.map(({ delivery_id }) => delivery_id)).size - 1
}
