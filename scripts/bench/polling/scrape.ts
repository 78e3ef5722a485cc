/**
 * Measures the cost of a /metrics scrape for a daemon with many monitors: the duration of a scrape, and the
 * longest delay of the event loop during it. `bun run bench:scrape [MONITORS]`.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { parseConfig } from '../../../src/config/load.ts'
import { deliveryId } from '../../../src/core/delivery/envelope.ts'
import { startDaemon } from '../../../src/daemon.ts'
import { createRuntime, realClock } from '../../../src/runtime/runtime.ts'
import { insertCustomer } from '../../../src/store/customers/customers.ts'
import { transact } from '../../../src/store/db/connection.ts'
import { insertDelivery } from '../../../src/store/delivery/deliveries.ts'
import { insertWebhook } from '../../../src/store/delivery/webhooks.ts'
import { type Instance, openInstance } from '../../../src/store/maintenance/instance.ts'
import { startMonitor } from '../../../src/store/monitoring/monitors.ts'

const MONITORS = Number(process.argv[2] ?? 10_000)
const PENDING = MONITORS * 3
const CUSTOMERS = 100
const SCRAPES = 20

const dir = mkdtempSync(join(tmpdir(), 'forumd-scrape-'))
const runtime = createRuntime(() => {})
const { clock, random } = runtime
const config = parseConfig(
  'source = [{ name = "forum", kind = "reddit", base_url = "http://127.0.0.1:9", session_cookie = "s" }]',
)
config.server.port = 0
config.storage.dir = dir

/** Monitors with a subforum each, a gap in every tenth, and deliveries that are due tomorrow. */
function fill({ db, instance_id }: Pick<Instance, 'db' | 'instance_id'>) {
  const now = clock.now()
  transact(db, () => {
    for (let n = 0; n < CUSTOMERS; n++) {
      insertCustomer(db, {
        id: `cus_${n}`,
        name: `customer ${n}`,
        plan: config.billing.default_plan,
        created_at: now,
        starting_credit_micros: 1_000_000,
        payment_id: `pay_${n}`,
      })
      const url = `https://receiver.example/${n}`
      const id = `whk_${n}`
      const secret = new Uint8Array(32)
      insertWebhook(db, {
        id,
        customer_id: `cus_${n}`,
        kind: 'webhook',
        url,
        secret,
        created_at: now,
      })
    }
    for (let n = 0; n < MONITORS; n++)
      startMonitor(
        db,
        {
          id: `mon_${String(n).padStart(8, '0')}`,
          customer_id: `cus_${n % CUSTOMERS}`,
          name: null,
          filter_spec: '{"keywords":["cat"]}',
          cadence_s: 300,
          requested_cadence_s: null,
          baseline_item_id: null,
          webhook_ids: null,
          active: true,
          active_since: now - 3_600_000,
          created_at: now - 3_600_000,
          updated_at: now,
          last_match_at: null,
        },
        [{ kind: 'posts', place: `place${n}` }],
      )
    // All feeds were just polled, so that only the scrape has work to do.
    db.run(`UPDATE feeds SET last_check_at = ${now}, next_check_at = ${now + 86_400_000}`)
    db.run(
      `INSERT INTO checks (feed_id, started_at, ended_at, cut_reason, new_items, pages)
       SELECT id, ${now}, ${now}, 'page_limit', 0, 1 FROM feeds WHERE id % 10 = 0`,
    )
    db.run(
      `INSERT INTO gaps (feed_id, reason, recorded_at) SELECT feed_id, 'page_limit', ended_at FROM checks`,
    )
    const body = new Uint8Array(2000).fill(32)
    for (let n = 0; n < PENDING; n++) {
      const monitor_id = `mon_${String(n % MONITORS).padStart(8, '0')}`
      const webhook_id = `whk_${(n % MONITORS) % CUSTOMERS}`
      const id = deliveryId(instance_id, monitor_id, webhook_id, [`t3_${n}`])
      const row = { id, monitor_id, webhook_id, customer_id: `cus_${(n % MONITORS) % CUSTOMERS}` }
      insertDelivery(db, { ...row, status: 'pending', body, now, due_at: now + 86_400_000 })
    }
  })
}

const ms = (value: number) => `${value.toFixed(1)} ms`
const median = (all: readonly number[]) => all.toSorted((a, b) => a - b)[all.length >> 1] ?? 0

try {
  await using daemon = await startDaemon(config, runtime)
  // Inserted while it runs: a start would limit how long deliveries wait.
  const instance = openInstance({ ...config.storage, clock, random }, { mode: 'beside' })
  fill(instance)
  instance.close()
  await clock.sleep(3000)
  const took: number[] = []
  const lateness_ms: number[] = []
  let bytes = 0
  for (let n = 0; n < SCRAPES; n++) {
    const watching = new AbortController()
    let worst = 0
    runtime.lateness?.((late_ms) => (worst = Math.max(worst, late_ms)), watching.signal)
    await clock.sleep(50)
    worst = 0
    const began = realClock.mono()
    bytes = (await (await fetch(`${daemon.url}/metrics`)).text()).length
    took.push(realClock.mono() - began)
    await clock.sleep(50)
    watching.abort()
    lateness_ms.push(worst)
  }
  console.log(`${MONITORS} monitors, ${PENDING} deliveries waiting, ${bytes} bytes`)
  console.log(
    `first scrape, with coverage: ${ms(took[0] ?? 0)}, the loop late by ${ms(lateness_ms[0] ?? 0)}`,
  )
  console.log(
    `those after it: median ${ms(median(took.slice(1)))}, worst ${ms(Math.max(...took.slice(1)))}`,
  )
  console.log(
    `the loop was late by: median ${ms(median(lateness_ms.slice(1)))}, worst ${ms(Math.max(...lateness_ms.slice(1)))}`,
  )
} finally {
  rmSync(dir, { recursive: true, force: true })
}
