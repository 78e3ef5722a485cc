/**
 * Whether the ladder is climbed as promised and every signature holds: so many deliveries to receivers that fail, on a
 * clock that is held; Stripe's and a plain Standard Webhooks check on every request; every checked request with one bit
 * changed must be refused. Prints the figures, and exits 0 only when they are as they must be.
 *
 *     bun scripts/bars/ladder.ts [--deliveries 10000] [--seed N]
 */
import { createHmac } from 'node:crypto'
import { parseArgs } from 'node:util'

import { Stripe } from 'stripe'

import { envelope } from '../../src/core/envelope.ts'
import { createSend } from '../../src/delivery/send.ts'
import { createSender } from '../../src/delivery/sender.ts'
import type { Answer } from '../../src/net/transport.ts'
import { createChance } from '../../src/sandbox/chance.ts'
import { openDb } from '../../src/store/db.ts'
import { insertDelivery } from '../../src/store/deliveries.ts'
import { insertWebhook } from '../../src/store/webhooks.ts'

const { values } = parseArgs({
  options: {
    deliveries: { type: 'string', default: '10000' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
  },
})
const COUNT = Number(values.deliveries)
const RUNGS_S = [5, 30, 120, 300, 780]
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const START = 1_767_225_600_000
/** Of every so many, one is refused for good. */
const REFUSED_EACH = 20

type Request = { at: number; headers: Record<string, string>; body: Uint8Array }

const chance = createChance(Number(values.seed))
const requests = new Map<string, Request[]>()
let now = START
let nudged = false

const db = openDb(':memory:', { create: true })
db.run("INSERT INTO customers VALUES ('cus_1', 'ann', 'entry', 0, 0, 0, NULL)")
db.run(`INSERT INTO monitors (id, customer_id, filter_spec, cadence_s, active_since, created_at, updated_at)
        VALUES ('mon_1', 'cus_1', '{}', 60, 0, 0, 0)`)
for (const [id, path] of [
  ['wh_failing', 'failing'],
  ['wh_refusing', 'refusing'],
])
  insertWebhook(db, {
    id: id ?? '',
    customer_id: 'cus_1',
    kind: 'webhook',
    url: `https://hooks.example.com/${path}`,
    secret: new TextEncoder().encode(SECRET),
    created_at: START,
  })
const idOf = (n: number) => `dlv_${String(n).padStart(6, '0')}`
const isRefused = (n: number) => n % REFUSED_EACH === 0
db.transaction(() => {
  for (let n = 0; n < COUNT; n++)
    insertDelivery(db, {
      id: idOf(n),
      customer_id: 'cus_1',
      monitor_id: 'mon_1',
      webhook_id: isRefused(n) ? 'wh_refusing' : 'wh_failing',
      status: 'pending',
      body: envelope({
        delivery_id: idOf(n),
        monitor_id: 'mon_1',
        items: [{ id: `item${n}`, title: 'grüße' }],
        grouped: false,
      }),
      now: START,
    })
})()

const clock = {
  now: () => now,
  mono: () => now - START,
  sleep: () => Promise.resolve(),
}
const FAILURES: Answer[] = [
  { kind: 'failed', error: 'timeout' },
  ...[500, 503, 429, 302].map((status): Answer => ({
    kind: 'answered',
    status,
    headers: new Headers(),
    body: new Uint8Array(),
  })),
]
const REFUSAL: Answer = {
  kind: 'answered',
  status: 404,
  headers: new Headers(),
  body: new Uint8Array(),
}
const send = createSend({
  transport: ({ url, headers, body }) => {
    const id = headers['x-service-delivery-id'] ?? ''
    requests.set(id, [...(requests.get(id) ?? []), { at: now, headers, body }])
    const failure = FAILURES[chance.whole(0, FAILURES.length - 1)] ?? REFUSAL
    return Promise.resolve(url.endsWith('refusing') ? REFUSAL : failure)
  },
  clock,
  clock_offset_ms: () => 0,
  openSecret: (_, sealed) => new TextDecoder().decode(sealed),
  showing: { community: 'subforum', media_hosts: [] },
  user_agent: 'forumd/bar',
})
const sender = createSender({
  db,
  boot: 'boot_1',
  send,
  clock,
  random: { uuid: () => '', fraction: () => chance.fraction(), bytes: (n) => new Uint8Array(n) },
  log: () => {},
  ladder: { retry_delays_s: [0, ...RUNGS_S], jitter: 0.2 },
  concurrency: COUNT,
  per_target_concurrency: COUNT,
  pause_after_ms: 168 * 3_600_000,
  nudge: () => {
    nudged = true
  },
})
const LAST_AT = START + 2 * 1235 * 1000
while (now < LAST_AT) {
  const next_at = await sender.turn()
  await sender.idle()
  // What has landed may have made something due.
  if (nudged) {
    nudged = false
    continue
  }
  now = Math.max(now + 1, Math.min(next_at, LAST_AT))
}

const stripe = new Stripe('sk_test_none')
const stripeTakes = (headers: Record<string, string>, body: Uint8Array, at: number) =>
  stripe.webhooks
    .constructEventAsync(
      Buffer.from(body),
      headers['x-service-signature'] ?? '',
      SECRET,
      300,
      undefined,
      at,
    )
    .then(() => true)
    .catch(() => false)

/** The check as the Standard Webhooks specification words it. */
function standardTakes(headers: Record<string, string>, body: Uint8Array): boolean {
  const key = Buffer.from(SECRET.slice('whsec_'.length), 'base64')
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.`
  const mac = createHmac('sha256', key).update(signed).update(body).digest('base64')
  return (headers['webhook-signature'] ?? '').split(' ').includes(`v1,${mac}`)
}

const figures = {
  attempts_wrong: 0,
  delays_wrong: 0,
  totals_wrong: 0,
  bodies_unstable: 0,
  times_repeated: 0,
  refused_by_stripe: 0,
  refused_by_standard: 0,
  tampering_taken: 0,
  ended_wrong: 0,
}
const totals_s: number[] = []
const waits_of = RUNGS_S.map((): number[] => [])
for (let n = 0; n < COUNT; n++) {
  const seen = requests.get(idOf(n)) ?? []
  if (seen.length !== (isRefused(n) ? 1 : RUNGS_S.length + 1)) figures.attempts_wrong++
  for (const [rung, rung_s] of RUNGS_S.entries()) {
    const [a, b] = [seen[rung], seen[rung + 1]]
    if (!a || !b) continue
    const wait_s = (b.at - a.at) / 1000
    waits_of[rung]?.push(wait_s)
    if (wait_s < rung_s * 0.8 - 0.001 || wait_s > rung_s * 1.2 + 0.1) figures.delays_wrong++
    if (a.headers['x-service-timestamp'] === b.headers['x-service-timestamp'])
      figures.times_repeated++
  }
  const [first, last] = [seen[0], seen.at(-1)]
  if (!first || !last) continue
  const total_s = (last.at - first.at) / 1000
  if (!isRefused(n)) totals_s.push(total_s)
  if (new Set(seen.map(({ body }) => Buffer.from(body).toString('base64'))).size !== 1)
    figures.bodies_unstable++
  for (const { headers, body, at } of [first]) {
    if (!(await stripeTakes(headers, body, at))) figures.refused_by_stripe++
    if (!standardTakes(headers, body)) figures.refused_by_standard++
    const bent = Uint8Array.from(body)
    const bit = chance.whole(0, bent.length * 8 - 1)
    bent[bit >> 3] = (bent[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    if ((await stripeTakes(headers, bent, at)) || standardTakes(headers, bent))
      figures.tampering_taken++
  }
}
const ended = db
  .query<{ status: string; n: number }, []>(
    'SELECT status, count(*) AS n FROM deliveries GROUP BY status',
  )
  .all()
const count = (status: string) => ended.find((row) => row.status === status)?.n ?? 0
const refused = Math.ceil(COUNT / REFUSED_EACH)
figures.ended_wrong =
  Math.abs(count('failed') - refused) + Math.abs(count('dead') - (COUNT - refused))

/** Standard deviation over mean: whether the waits are spread at all. */
function spread(waits: readonly number[]): number {
  const mean = waits.reduce((sum, it) => sum + it, 0) / waits.length
  const variance = waits.reduce((sum, it) => sum + (it - mean) ** 2, 0) / waits.length
  return Math.sqrt(variance) / mean
}
const spreads = waits_of.map(spread)
const total_s = totals_s.reduce((sum, it) => sum + it, 0) / totals_s.length
if (Math.abs(total_s - 1235) > 1235 * 0.15) figures.totals_wrong++
console.log(`${COUNT} deliveries, seed ${values.seed}`)
console.table(figures)
console.log(`from first to last attempt: ${total_s.toFixed(0)} s on average`)
console.log(`spread of the waits: ${spreads.map((it) => `${(100 * it).toFixed(1)} %`).join(', ')}`)
const good = Object.values(figures).every((it) => it === 0) && spreads.every((it) => it >= 0.02)
process.exit(good ? 0 : 1)
