/**
 * The sender of forumd in its own process: the monitor's inserts of a match, and the production sender, over a
 * database file. Arguments: the plan as JSON (described in peers/plan.mjs) and a folder. Prints `ready`, then
 * the result.
 */
import { join } from 'node:path'

import * as z from 'zod'

import { createAllowed } from '../../../src/core/base/address.ts'
import { createRing } from '../../../src/core/base/secrets.ts'
import { toSecret } from '../../../src/core/delivery/signature.ts'
import { createNaming } from '../../../src/core/forum/naming.ts'
import { createSend } from '../../../src/delivery/send.ts'
import { createSender } from '../../../src/delivery/sender.ts'
import { insertDeliveries } from '../../../src/monitor/deliver.ts'
import { createGuard } from '../../../src/net/guard.ts'
import { createTransport } from '../../../src/net/transport.ts'
import { startLoop } from '../../../src/runtime/loop.ts'
import { createRuntime } from '../../../src/runtime/runtime.ts'
import { openDb, transact } from '../../../src/store/db/connection.ts'
import { pendingDeliveries } from '../../../src/store/delivery/pending.ts'
import { insertWebhook } from '../../../src/store/delivery/webhooks.ts'
import { insertMatch } from '../../../src/store/monitoring/matches.ts'
import { monotonicMs } from '../figures/monotonic.ts'
import { threadMs } from '../figures/thread-time.ts'
import { CONCURRENCY, itemOf, planOf, TARGETS } from '../peers/plan.mjs'

const plan = planOf(process.argv[2] ?? '')
const runtime = createRuntime(() => {})
const { clock, random } = runtime
const db = openDb(join(process.argv[3] ?? '', 'forumd.sqlite'), { create: true })
const ring = createRing(random.bytes(32), random.bytes)
const place = (id: string) => `webhooks.secret:${id}`

db.run(
  "INSERT INTO customers (id, name, plan, balance_micros, created_at) VALUES ('cus_1', 'ann', 'entry', 0, 0)",
)
const targets = Array.from({ length: TARGETS }, (_, n) => `wh_${n}`)
for (const id of targets) {
  const secret = ring.seal(place(id), toSecret(random.bytes(32)))
  insertWebhook(db, {
    id,
    customer_id: 'cus_1',
    kind: 'webhook',
    url: `${plan.receiver}/${id}`,
    secret,
    created_at: 0,
  })
  db.query(
    `INSERT INTO monitors (id, customer_id, filter_spec, cadence_s, active_since, created_at, updated_at)
     VALUES (?, 'cus_1', '{}', 60, 0, 0, 0)`,
  ).run(`mon_${id}`)
}

const guard = createGuard({
  ...runtime,
  allowed: createAllowed({ allow_targets: ['127.0.0.0/8'], allow_http: true }),
  timeout_ms: 10_000,
})
let nudge = () => {}
const sender = createSender({
  db,
  run_id: 'boot_1',
  send: createSend({
    transport: createTransport({ ...runtime, guard, timeout_ms: 10_000 }),
    clock,
    clock_offset_ms: () => 0,
    openSecret: (id, sealed) => ring.unseal(place(id), sealed),
    openCredentials: () => ({ username: null, token: '' }),
    publish: () => Promise.reject(new Error('no broker here')),
    display: { community: 'subforum', media_hosts: [] },
    user_agent: 'forumd/bench',
  }),
  clock,
  random,
  log: runtime.log,
  retry_schedule: { retry_delays_s: [0, 5, 30, 120, 300, 780], jitter: 0.2 },
  concurrency: CONCURRENCY,
  per_target_concurrency: CONCURRENCY / TARGETS,
  pause_after_ms: 168 * 3_600_000,
  nudge: () => nudge(),
})
const stopping = new AbortController()
const loop = startLoop(runtime, 'sender', stopping.signal, sender.turn)
nudge = loop.nudge

const words = createNaming({ platform: 'forum', community: 'subforum' })
const deps = { db, instance_id: 'bench', words, watch: { clock_offset_ms: () => 0 } }

/**
 * Commits what a poll commits: each match in the ledger and for the pull API, its delivery with its stored
 * body.
 */
function commit(numbers: readonly number[]): void {
  const at = monotonicMs()
  transact(db, () => {
    for (const n of numbers) {
      const id = targets[n % TARGETS] ?? ''
      const now = clock.now()
      insertMatch(db, {
        monitor_id: `mon_${id}`,
        item_id: `t3_${n}`,
        feed_id: 1,
        matched_at: now,
      })
      insertDeliveries(
        deps,
        {
          monitor_id: `mon_${id}`,
          customer_id: 'cus_1',
          names: [`t3_${n}`],
          rows: [itemOf(n, at)],
          suppressed: null,
          ceiling: 1_000_000_000,
          now,
        },
        [{ id, kind: 'webhook', paused: false }],
      )
    }
  })
  loop.nudge()
}

console.log('ready')
const began_ms = threadMs()
const results = await plan.run({
  commit,
  now_ms: monotonicMs,
  recorded: () => db.query(`SELECT 1 FROM ${pendingDeliveries('row')} LIMIT 1`).get() === null,
})
const thread_ms = threadMs() - began_ms
const delivered = z
  .object({ n: z.number() })
  .parse(db.query("SELECT count(*) AS n FROM deliveries WHERE status = 'delivered'").get())
console.log(JSON.stringify({ ...results, thread_ms, recorded: delivered.n }))
stopping.abort()
await loop.stopped
await sender.idle()
db.close()
