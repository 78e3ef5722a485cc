/**
 * forumd in its own process, from the answer of a poll to the record of each attempt: matching, ledger, ceiling, kept items,
 * inbox, archive and pull API, and the production sender. Arguments: the plan as JSON (described in peers/plan.mjs) and
 * a folder. Prints `ready`, then the result.
 */
import { join } from 'node:path'

import * as z from 'zod'

import { createArchive } from '../../../src/archive/archive.ts'
import { createAllowed } from '../../../src/core/base/address.ts'
import { createRing } from '../../../src/core/base/secrets.ts'
import { toSecret } from '../../../src/core/delivery/signature.ts'
import { placesOf } from '../../../src/core/filter/feeds.ts'
import { encodeFilterSpec, parseFilterSpec } from '../../../src/core/filter/parse.ts'
import type { Item } from '../../../src/core/forum/items.ts'
import { createNaming } from '../../../src/core/forum/naming.ts'
import { PLAIN_STEP } from '../../../src/core/polling/step.ts'
import { createSend } from '../../../src/delivery/send.ts'
import { createSender } from '../../../src/delivery/sender.ts'
import { createFilters } from '../../../src/monitor/match.ts'
import { createProjector } from '../../../src/monitor/projections.ts'
import { record } from '../../../src/monitor/record.ts'
import { createGuard } from '../../../src/net/guard.ts'
import { createTransport } from '../../../src/net/transport.ts'
import { startLoop } from '../../../src/runtime/loop.ts'
import { createRuntime } from '../../../src/runtime/runtime.ts'
import { openDb, transact } from '../../../src/store/db/connection.ts'
import { pendingDeliveries } from '../../../src/store/delivery/pending.ts'
import { insertWebhook } from '../../../src/store/delivery/webhooks.ts'
import { findFeedByKey } from '../../../src/store/monitoring/feeds.ts'
import { startMonitor } from '../../../src/store/monitoring/monitors.ts'
import { postOf } from '../../../test/support/items.ts'
import { monotonicMs } from '../figures/monotonic.ts'
import { threadMs } from '../figures/thread-time.ts'
import { CONCURRENCY, itemOf, planOf, TARGETS } from '../peers/plan.mjs'

const CUSTOMER = 'cus_1'
const plan = planOf(process.argv[2] ?? '')
const dir = process.argv[3] ?? ''
const runtime = createRuntime(() => {})
const { clock, random, log } = runtime
const db = openDb(join(dir, 'forumd.sqlite'), { create: true })
const ring = createRing(random.bytes(32), random.bytes)
const secretOf = (id: string) => `webhooks.secret:${id}`
const words = createNaming({ platform: 'forum', community: 'subforum' })
const stopping = new AbortController()
const start_at = Math.floor(clock.now() / 1000) * 1000

db.run(
  `INSERT INTO customers (id, name, plan, balance_micros, created_at) VALUES ('${CUSTOMER}', 'ann', 'entry', 0, 0)`,
)
for (let n = 0; n < TARGETS; n++) {
  const id = `wh_${n}`
  insertWebhook(db, {
    id,
    customer_id: CUSTOMER,
    kind: 'webhook',
    url: `${plan.receiver}/${id}`,
    secret: ring.seal(secretOf(id), toSecret(random.bytes(32))),
    created_at: 0,
  })
  const spec = parseFilterSpec({ subforum: 'cats', include_all: ['bread', `shop${n}`] }, words)
  const monitor = {
    id: `mon_${n}`,
    customer_id: CUSTOMER,
    name: null,
    filter_spec: encodeFilterSpec(spec),
    cadence_s: 60,
    requested_cadence_s: null,
    baseline_item_id: null,
    webhook_ids: [id],
    active: true,
    active_since: start_at,
    created_at: start_at,
    updated_at: start_at,
    last_match_at: null,
  }
  transact(db, () => startMonitor(db, monitor, placesOf(spec)))
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
    openSecret: (id, sealed) => ring.unseal(secretOf(id), sealed),
    openCredentials: () => ({ username: null, token: '' }),
    publish: () => Promise.reject(new Error('no broker here')),
    display: { community: 'subforum', media_hosts: [] },
    user_agent: 'forumd/bench',
  }),
  clock,
  random,
  log,
  retry_schedule: { retry_delays_s: [0, 5, 30, 120, 300, 780], jitter: 0.2 },
  concurrency: CONCURRENCY,
  per_target_concurrency: CONCURRENCY / TARGETS,
  pause_after_ms: 168 * 3_600_000,
  nudge: () => nudge(),
})
const loop = startLoop(runtime, 'sender', stopping.signal, sender.turn)
nudge = loop.nudge

const archive = createArchive({
  db,
  dir,
  clock,
  log,
  words: { platform: 'forum', community: 'subforum', default_source: 'forum', home: 'forum' },
  settings: { keep: 'matches', days: 365, max_size_mb: 5000 },
  clock_offset_ms: () => 0,
  signal: stopping.signal,
})
const archive_loop = startLoop(runtime, 'archive', stopping.signal, archive.turn)

const projector = createProjector({
  db,
  clock,
  words,
  clock_offset_ms: () => 0,
  on_read: () => archive_loop.nudge(),
})
const projections = startLoop(runtime, 'projections', stopping.signal, projector)

const deps = {
  db,
  log,
  instance_id: 'bench',
  words,
  watches: new Map(),
  filters: createFilters(db, log),
  freshness_ms: 900_000,
  plan_of: () => ({ slots: 1, sitewide_slots: 1, cadence_s: 60, daily_deliveries: 1_000_000_000 }),
  archive: { keep: 'matches' as const, on_queued: () => archive_loop.nudge() },
  claim: sender.claimWithin,
  on_pending: () => loop.nudge(),
  on_messages: () => projections.nudge(),
}

/** A post that one of the monitors matches, with the time at which its poll was answered. */
function postNumber(n: number, at: number): Item {
  const { id, name, title, text, bench_id, bench_at } = itemOf(n, at)
  const created_utc = Math.floor(clock.now() / 1000)
  const post = postOf({
    id,
    name,
    title,
    text: `${text} shop${n % TARGETS}`,
    subforum: 'cats',
    created: new Date(created_utc * 1000).toISOString(),
    created_utc,
  })
  return Object.assign(post, { bench_id, bench_at })
}

/** Commits what a poll commits that was answered with these posts. */
function commit(numbers: readonly number[]): void {
  const at = monotonicMs()
  const feed = findFeedByKey(db, 'posts:cats')
  if (feed === null) throw new Error('the feed is not there')
  const posts = numbers.map((n) => postNumber(n, at))
  const rows = posts.map(({ name, created_utc }) => ({
    id: name,
    created_at: created_utc * 1000,
    sticky: false,
  }))
  const now = clock.now()
  const listing = { is_audit: false, is_alone: true, reads_back: false, rows, gap: null }
  const times = { started_at: now, ended_at: now, seen_at: now }
  const step = { ...PLAIN_STEP, ...times, feed, items: posts, requests: 1, listing }
  record(deps, { steps: [{ ...step, state: feed.state, closes: true }], batch: null })
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
await Promise.all([loop.stopped, archive_loop.stopped, projections.stopped])
await sender.idle()
await archive.stop()
db.close()
