import { createHash } from 'node:crypto'

import { placesOf } from '../../../src/core/filter/feeds.ts'
import { encodeFilterSpec } from '../../../src/core/filter/parse.ts'
import { type Db, transact } from '../../../src/store/db/connection.ts'
import { startMonitor, type WrittenMonitor } from '../../../src/store/monitoring/monitors.ts'
import { createWorld } from '../matching/match-world.ts'
import { CUSTOMER } from './fixture.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** Rows per day. The number of rows sets the age of a table; its last day is always the same. */
const ROWS_A_DAY = 10_000
const PLACES = 400
const USAGE_DAYS = 30

const BODY = new TextEncoder().encode(
  JSON.stringify({
    delivery_id: 'dlv_bench',
    monitor_id: 'mon_0',
    count: 1,
    grouped: false,
    items: [
      { id: 'p1', name: 't3_p1', title: 'Where do you buy your bread?', text: 'bread '.repeat(40) },
    ],
  }),
)

/** Inserts monitors of twenty terms each, spread over 400 subforums. */
export function fillMonitors(db: Db, count: number, now: number): void {
  const world = createWorld(1)
  transact(db, () => {
    for (let n = 0; n < count; n++) {
      const spec = { ...world.spec(n), subforum: [`place${n % PLACES}`] }
      const monitor: WrittenMonitor = {
        id: `mon_${n}`,
        customer_id: CUSTOMER,
        name: null,
        filter_spec: encodeFilterSpec(spec),
        cadence_s: 60,
        requested_cadence_s: null,
        baseline_item_id: null,
        webhook_ids: null,
        active: true,
        active_since: now,
        created_at: now,
        updated_at: now,
        last_match_at: null,
      }
      startMonitor(db, monitor, placesOf(spec))
    }
  })
}

/**
 * Inserts deliveries of these monitors at 10,000 a day: nearly all delivered with one attempt each, one in a
 * hundred dead, failed or suppressed; and as many rows of usage of other customers.
 */
export function fillDeliveries(
  db: Db,
  { rows, monitors, now }: { rows: number; monitors: number; now: number },
): void {
  db.run('PRAGMA synchronous = OFF')
  transact(db, () => {
    db.run(
      `INSERT INTO webhooks (id, customer_id, kind, url, secret, created_at)
       VALUES ('wh_bench', '${CUSTOMER}', 'webhook', 'https://receiver.example/', x'00', ${now})`,
    )
    const digest = createHash('sha256').update(BODY).digest()
    db.query(
      `WITH RECURSIVE row (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM row WHERE n < $rows),
         one AS (SELECT n, $now - ($rows - n) * ${DAY_MS / ROWS_A_DAY} AS at,
           CASE n % 100 WHEN 0 THEN 'dead' WHEN 1 THEN 'failed' WHEN 2 THEN 'suppressed' ELSE 'delivered' END AS status FROM row)
       INSERT INTO deliveries (row, id, customer_id, monitor_id, webhook_id, status, reason, attempts, retry_index,
         last_error, created_at, delivered_at)
       SELECT n * 1000, printf('dlv_%018d', n), '${CUSTOMER}', 'mon_' || (n % $monitors), 'wh_bench', status,
         iif(status = 'suppressed', 'stale_item', NULL), iif(status = 'suppressed', 0, 1), iif(status = 'suppressed', 0, 1),
         CASE status WHEN 'dead' THEN 'timeout' WHEN 'failed' THEN 'http_404' END, at,
         iif(status = 'delivered', at, NULL) FROM one`,
    ).run({ rows, now, monitors })
    db.query(
      `INSERT INTO messages (row, monitor_id, body, digest, matched_at)
       SELECT row / 1000, monitor_id, $body, $digest, created_at FROM deliveries`,
    ).run({ body: BODY, digest })
    db.run(
      `INSERT INTO attempts (delivery_row, n, started_at, ended_at, http_status)
       SELECT row, 1, created_at, created_at + 5, 200 FROM deliveries WHERE status <> 'suppressed'`,
    )
    // Otherwise old bodies would be packed during the measurement.
    db.run('UPDATE instance SET packed_to = (SELECT max(row) FROM messages)')
    fillUsage(db, rows, now)
  })
  db.run('PRAGMA optimize')
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
}

/** A month of hourly usage of this customer, and of as many others as the number of rows needs. */
function fillUsage(db: Db, rows: number, now: number): void {
  const hours = USAGE_DAYS * 24
  db.query(
    `WITH RECURSIVE other (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM other WHERE n < $others)
     INSERT INTO customers (id, name, plan, balance_micros, created_at)
     SELECT 'cus_' || n, 'other ' || n, 'entry', 0, 0 FROM other`,
  ).run({ others: Math.ceil(rows / hours) })
  db.query(
    `WITH RECURSIVE hour (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM hour WHERE n < ${hours - 1})
     INSERT INTO usage_hours SELECT c.id, ($hour - n) * ${HOUR_MS}, 'read', 1, 0, 0, 0 FROM customers c, hour`,
  ).run({ hour: Math.floor(now / HOUR_MS) })
}
