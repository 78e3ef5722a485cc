import { type SeededRandom } from '../../../sandbox/world/random.ts'
import { envelope } from '../../../src/core/delivery/envelope.ts'
import { createSend } from '../../../src/delivery/send.ts'
import { createSender } from '../../../src/delivery/sender.ts'
import type { TransportResponse } from '../../../src/net/transport.ts'
import { type Db, openDb } from '../../../src/store/db/connection.ts'
import { insertDelivery } from '../../../src/store/delivery/deliveries.ts'
import { insertWebhook, rotateSecret } from '../../../src/store/delivery/webhooks.ts'
import type { Signed } from '../../../test/support/verifiers.ts'

/** Seconds before the second to the sixth attempt. */
export const RETRY_DELAYS_S = [5, 30, 120, 300, 780]
const ALL_S = RETRY_DELAYS_S.reduce((sum, it) => sum + it, 0)
const START = 1_767_225_600_000
/** One delivery in so many is refused permanently, and one goes to a target with a rotated secret. */
const REFUSED_EACH = 20
const ROTATED_EACH = 3

const secretOf = (byte: number) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`
/** `old` is the secret before the rotation; it signs until `overlap_until`. */
export const SECRET = { now: secretOf(7), old: secretOf(8), overlap_until: START + 100_000 }

export const idOf = (n: number): string => `dlv_${String(n).padStart(6, '0')}`
export const isRefused = (n: number): boolean => n % REFUSED_EACH === 0
/** True if both secrets sign its first attempts. */
export const isRotated = (n: number): boolean => !isRefused(n) && n % ROTATED_EACH === 0
const targetOf = (n: number) =>
  isRefused(n) ? 'wh_refusing' : isRotated(n) ? 'wh_rotated' : 'wh_failing'

const answered = (status: number): TransportResponse => ({
  kind: 'answered',
  status,
  headers: new Headers(),
  body: new Uint8Array(),
})
const FAILURES: TransportResponse[] = [
  { kind: 'failed', error: 'timeout' },
  ...[500, 503, 429].map(answered),
]
const REFUSALS = [302, 400, 401, 403, 404, 408].map(answered)

const sealed = (secret: string) => new TextEncoder().encode(secret)

function fill(db: Db, count: number): void {
  db.run(
    "INSERT INTO customers (id, name, plan, balance_micros, created_at) VALUES ('cus_1', 'ann', 'entry', 0, 0)",
  )
  db.run(`INSERT INTO monitors (id, customer_id, filter_spec, cadence_s, active_since, created_at, updated_at)
          VALUES ('mon_1', 'cus_1', '{}', 60, 0, 0, 0)`)
  for (const id of ['wh_failing', 'wh_refusing', 'wh_rotated']) {
    const secret = sealed(id === 'wh_rotated' ? SECRET.old : SECRET.now)
    const url = `https://hooks.example.com/${id}`
    const webhook = { id, customer_id: 'cus_1', url, secret, created_at: START }
    insertWebhook(db, { ...webhook, kind: 'webhook' })
  }
  const { now, overlap_until: until } = SECRET
  rotateSecret(db, 'cus_1', { id: 'wh_rotated', secret: sealed(now), until, now: START })
  db.transaction(() => {
    for (let n = 0; n < count; n++) {
      const items = [{ id: `item${n}`, title: 'grüße' }]
      const content = { delivery_id: idOf(n), monitor_id: 'mon_1', items, grouped: false }
      insertDelivery(db, {
        id: idOf(n),
        customer_id: 'cus_1',
        monitor_id: 'mon_1',
        webhook_id: targetOf(n),
        status: 'pending',
        body: envelope(content),
        now: START,
      })
    }
  })()
}

/**
 * Sends so many deliveries to receivers that always fail, on a paused clock, until no attempt is left. Returns
 * every request of each delivery, oldest first, and the number of deliveries per final status.
 */
export async function climb(count: number, chance: SeededRandom) {
  using db = openDb(':memory:', { create: true })
  fill(db, count)
  const requests = new Map<string, Signed[]>()
  let now = START
  let nudged = false
  const clock = { now: () => now, mono: () => now - START, sleep: () => Promise.resolve() }
  const send = createSend({
    transport: ({ url, headers, body }) => {
      const id = headers['x-service-delivery-id'] ?? ''
      requests.set(id, [...(requests.get(id) ?? []), { at: now, headers, body }])
      return Promise.resolve(chance.pick(url.endsWith('wh_refusing') ? REFUSALS : FAILURES))
    },
    clock,
    clock_offset_ms: () => 0,
    openSecret: (_, secret) => new TextDecoder().decode(secret),
    openCredentials: () => ({ username: null, token: '' }),
    publish: () => Promise.reject(new Error('no broker here')),
    display: { community: 'subforum', media_hosts: [] },
    user_agent: 'forumd/bar',
  })
  const sender = createSender({
    db,
    run_id: 'boot_1',
    send,
    clock,
    random: { uuid: () => '', fraction: () => chance.fraction(), bytes: (n) => new Uint8Array(n) },
    log: () => {},
    retry_schedule: { retry_delays_s: [0, ...RETRY_DELAYS_S], jitter: 0.2 },
    concurrency: count,
    per_target_concurrency: count,
    pause_after_ms: 168 * 3_600_000,
    nudge: () => {
      nudged = true
    },
  })
  const last_at = START + 2 * ALL_S * 1000
  while (now < last_at) {
    const next_at = await sender.turn()
    await sender.idle()
    // A recorded outcome may have made another delivery due.
    if (nudged) {
      nudged = false
      continue
    }
    now = Math.max(now + 1, Math.min(next_at, last_at))
  }
  const statuses = new Map(
    db
      .query<{ status: string; n: number }, []>(
        'SELECT status, count(*) AS n FROM deliveries GROUP BY status',
      )
      .all()
      .map(({ status, n }) => [status, n]),
  )
  return { requests, statuses }
}
