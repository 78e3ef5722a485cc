/**
 * The move of a customer with many deliveries, all on file databases in a temporary folder: size and time of its export,
 * import and deletion. `bun scripts/bench/matching/move.ts
 * [monitors] [deliveries]`, default 500 and 100,000.
 */
import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createRing } from '../../../src/core/base/secrets.ts'
import { insertCustomer } from '../../../src/store/customers/customers.ts'
import { type Db, openDb, transact } from '../../../src/store/db/connection.ts'
import { insertDelivery } from '../../../src/store/delivery/deliveries.ts'
import { insertInbox } from '../../../src/store/inbox/items.ts'
import { insertMatch, insertMatchBody } from '../../../src/store/monitoring/matches.ts'
import { exportCustomer } from '../../../src/store/moving/export.ts'
import { forgetCustomer } from '../../../src/store/moving/forget.ts'
import { freezeCustomer, recordExport } from '../../../src/store/moving/freeze.ts'
import { importCustomer } from '../../../src/store/moving/import.ts'
import { openMoveFile } from '../../../src/store/moving/reader.ts'

const MONITORS = Number(process.argv[2] ?? 500)
const DELIVERIES = Number(process.argv[3] ?? 100_000)
const BATCH = 1000
const START = Date.parse('2026-11-01T00:00:00Z')
const WORDS =
  'the old mill wakes a house before five and we do not mind it much when coffee is good'
const ID = 'cus_1'

const dir = mkdtempSync(join(tmpdir(), 'forumd-move-'))
const ring = createRing(new Uint8Array(32), (count) =>
  crypto.getRandomValues(new Uint8Array(count)),
)
const open = (name: string): Db => {
  const db = openDb(join(dir, name), { create: true })
  db.query('INSERT INTO instance (one, id) VALUES (1, ?)').run(name)
  return db
}
const here = open('here')
const there = open('there')

let seed = 1
const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647
const words = WORDS.split(' ')
/** A text of ordinary words: random bytes would not compress, repeated ones too well. */
const text = (length: number) =>
  Array.from({ length: length / 5 }, () => words[Math.floor(random() * words.length)]).join(' ')

function fill(): void {
  insertCustomer(here, {
    id: ID,
    name: 'ann',
    plan: 'entry',
    created_at: START,
    starting_credit_micros: 5_000_000,
    payment_id: 'pay_1',
  })
  here
    .query(
      `INSERT INTO webhooks (id, customer_id, kind, url, secret, created_at) VALUES ('wh_1', '${ID}', 'webhook', 'https://receiver.example/', ?, 1)`,
    )
    .run(ring.seal('webhooks.secret:wh_1', 'whsec_x'))
  transact(here, () => {
    for (let n = 0; n < MONITORS; n++) {
      here.run(`INSERT INTO monitors (id, customer_id, name, filter_spec, cadence_s, active_since, created_at, updated_at)
          VALUES ('mon_${n}', '${ID}', 'monitor ${n}', '{"subforum":["place${n}"],"include_any":["mill"]}', 60, ${START}, ${START}, ${START})`)
      here.run(`INSERT INTO feeds (id, key, kind, place, requested_interval_s, interval_s, next_check_at, last_check_at, last_seen_at, next_seq, created_at)
          VALUES (${n + 1}, 'posts:place${n}', 'posts', 'place${n}', 60, 60, ${START}, ${START}, ${START}, 201, ${START})`)
      here.run(`INSERT INTO monitor_feeds VALUES ('mon_${n}', ${n + 1}, ${START}, 1)`)
      here.run(`WITH RECURSIVE i (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 200)
          INSERT INTO feed_items SELECT ${n + 1}, 't3_f${n}x' || n, n, ${START} + n, ${START} + n, 'poll', NULL FROM i`)
    }
  })
  for (let from = 0; from < DELIVERIES; from += BATCH)
    transact(here, () => {
      for (let n = from; n < Math.min(DELIVERIES, from + BATCH); n++) fillOne(n)
    })
}

function fillOne(n: number): void {
  const monitor_id = `mon_${n % MONITORS}`
  const item_id = `t3_${n.toString(36)}`
  const now = START + n * 20
  const item = {
    name: item_id,
    subforum: `place${n % MONITORS}`,
    author: `writer${n % 5000}`,
    title: text(60),
    text: text(800),
    permalink: `https://forum.example/r/place${n % MONITORS}/comments/${n.toString(36)}/`,
  }
  const body = new TextEncoder().encode(
    JSON.stringify({ delivery_id: `dlv_${n}`, monitor_id, count: 1, items: [item] }),
  )
  insertMatch(here, { monitor_id, item_id, feed_id: (n % MONITORS) + 1, matched_at: now })
  const match_row = insertMatchBody(here, {
    monitor_id,
    body,
    matched_at: now,
    item_ids: [item_id],
  })
  insertInbox(here, {
    customer_id: ID,
    monitor_id,
    match_row,
    found_at: now,
    items: [
      {
        item_id,
        source: 'main',
        place: item.subforum,
        author: item.author,
      },
    ],
  })
  insertDelivery(here, {
    id: `dlv_${n}`,
    customer_id: ID,
    monitor_id,
    webhook_id: 'wh_1',
    status: 'pending',
    body,
    now,
    item_ids: [item_id],
  })
  if (n % 100 === 0) return
  here.run(
    `UPDATE deliveries SET status = 'delivered', next_attempt_at = NULL, delivered_at = ${now + 50}, attempts = 1 WHERE id = 'dlv_${n}'`,
  )
  here.run(
    `INSERT INTO attempts (delivery_row, n, started_at, ended_at, http_status) SELECT row, 1, ${now}, ${now + 50}, 204 FROM deliveries WHERE id = 'dlv_${n}'`,
  )
  here.run(
    `INSERT INTO kept_items (item_id, source, author, digest, first_kept_at, last_kept_at, next_check_at)
     VALUES ('${item_id}', 'main', '${item.author}', 'd', ${now}, ${now}, ${now})`,
  )
}

/** Seconds of wall clock and of processor time of some work. */
function timed<T>(what: string, work: () => T): T {
  const wall = performance.now()
  const cpu = process.cpuUsage()
  const result = work()
  const { user, system } = process.cpuUsage(cpu)
  console.log(
    `${what}: ${((performance.now() - wall) / 1000).toFixed(2)} s, processor ${((user + system) / 1e6).toFixed(2)} s`,
  )
  return result
}

timed('fill', fill)
const size = (name: string) => {
  const db = name === 'here' ? here : there
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  return (statSync(join(dir, name)).size / 2 ** 20).toFixed(1)
}
console.log(`database before: ${size('here')} MiB`)
const key = crypto.getRandomValues(new Uint8Array(32))
const path = join(dir, 'file')
timed('freeze', () => freezeCustomer(here, { customer_id: ID, receipt: 'r', now: START }))
const exported = timed('export', () => {
  const fd = openSync(path, 'w')
  const done = exportCustomer(here, {
    customer_id: ID,
    ring,
    key,
    now: START,
    write: (bytes) => void writeSync(fd, bytes),
  })
  closeSync(fd)
  recordExport(here, ID, START)
  return done
})
console.log(`file: ${(exported.bytes / 2 ** 20).toFixed(1)} MiB, ${exported.rows} rows`)
using file = openMoveFile(path)
timed('import, one transaction', () =>
  importCustomer(
    there,
    file,
    { ring, now: START },
    { key, name: undefined, plan: undefined, plans: ['entry'], sources: [] },
  ),
)
console.log(`database there: ${size('there')} MiB`)
const rows = timed('deletion', () => forgetCustomer(here, ID, START))
console.log(`deleted: ${rows} rows`)
console.log(`peak memory: ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MiB`)
rmSync(dir, { recursive: true })
