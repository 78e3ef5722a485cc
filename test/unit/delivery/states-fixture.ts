import { Database } from 'bun:sqlite'

import type { RouteContext } from '../../../src/api/context.ts'
import { editMonitor } from '../../../src/api/monitors/edit.ts'
import { ok } from '../../../src/core/base/result.ts'
import { deliveryId } from '../../../src/core/delivery/envelope.ts'
import type { Attempt } from '../../../src/core/delivery/retry.ts'
import { placesOf } from '../../../src/core/filter/feeds.ts'
import { encodeFilterSpec, parseFilterSpec } from '../../../src/core/filter/parse.ts'
import type { Item } from '../../../src/core/forum/items.ts'
import { createNaming } from '../../../src/core/forum/naming.ts'
import { beginningAt } from '../../../src/core/limits/plan.ts'
import type { Send } from '../../../src/delivery/send.ts'
import { createSender } from '../../../src/delivery/sender.ts'
import { createTester } from '../../../src/delivery/test-delivery.ts'
import { createFilters } from '../../../src/monitor/match.ts'
import { createMonitoring } from '../../../src/monitor/scheduler.ts'
import { connect, migrate, transact } from '../../../src/store/db/connection.ts'
import { redeliver } from '../../../src/store/delivery/redeliver.ts'
import { deleteWebhook, updateWebhook } from '../../../src/store/delivery/webhooks.ts'
import { startMonitor } from '../../../src/store/monitoring/monitors.ts'
import { addCustomer } from '../../support/customers.ts'
import { postOf } from '../../support/items.ts'
import { realPatterns } from '../../support/patterns.ts'
import { addTarget } from '../../support/target-row.ts'
import { listingWatch, watchesOf } from '../../support/watch.ts'
import type { Filter, MonitorName, Reply, Row, Thing } from './states-model.ts'

const INSTANCE = 'instance_1'
const CUSTOMER = 'cus_1'
const TARGET = 'wh_1'
const PLACE = 'cats'
const words = createNaming({ platform: 'forum', community: 'subforum' })
const idOf = (name: MonitorName) => `mon_${name}`
const log = () => {}
const nothing = () => {}
const specOf = (filter: Filter) => ({
  subforum: [PLACE],
  ...(filter === 'cats' && { include_any: ['cat'] }),
})

const attemptOf = (reply: Reply): Attempt =>
  reply === 'timeout'
    ? { kind: 'failed', error: 'timeout' }
    : {
        kind: 'answered',
        status: reply,
        accepted: reply >= 200 && reply < 300,
        retry_after_s: null,
      }

const rowOf = ({ name, cat, created }: Thing): Item =>
  postOf({
    id: name.slice(3),
    name,
    subforum: PLACE,
    title: cat ? 'a cat' : 'a dog',
    created_utc: created / 1000,
  })

/** Creating the schema costs more than all steps of a sequence, so one database is copied. */
const EMPTY = (() => {
  const db = connect(':memory:', { create: true })
  migrate(db)
  return db.serialize()
})()

/** The production code from the platform's listing to the outcome of an attempt, on a manual clock. */
export function createStatesFixture({ start, ceiling }: { start: number; ceiling: number }) {
  const db = Database.deserialize(EMPTY, { strict: true })
  db.run('PRAGMA foreign_keys = ON')
  let now = start
  let run_count = 0
  let things: Thing[] = []
  let reply: Reply | 'nothing' = 200
  let sent: string | null = null
  const clock = {
    now: () => now,
    mono: () => now - start,
    sleep: (_: number, signal?: AbortSignal) =>
      new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve())),
  }
  const random = {
    uuid: () => `uuid_${run_count}`,
    fraction: () => 0.5,
    bytes: (n: number) => new Uint8Array(n),
  }
  const watches = watchesOf(
    listingWatch({
      page: async () => ok({ rows: things.map(rowOf).toReversed(), after: null }),
    }),
  )
  const plan = { slots: 9, sitewide_slots: 0, cadence_s: 60, daily_deliveries: ceiling }
  const send: Send = async (_, { id }) => {
    sent = id
    // The attempt is in flight when the process dies: its outcome is never known.
    if (reply === 'nothing') return new Promise(nothing)
    return {
      attempt: attemptOf(reply),
      excerpt: null,
      started_at: now,
      ended_at: now,
      duration_ms: 0,
    }
  }
  addCustomer(db, CUSTOMER, { name: 'ann', at: start })
  addTarget(db, TARGET, { customer_id: CUSTOMER, at: start })
  for (const name of ['listed', 'open'] as const) addMonitor(name)

  function addMonitor(name: MonitorName) {
    const spec = parseFilterSpec(specOf('anything'), words)
    const monitor = {
      id: idOf(name),
      customer_id: CUSTOMER,
      name: null,
      filter_spec: encodeFilterSpec(spec),
      cadence_s: 60,
      requested_cadence_s: null,
      baseline_item_id: null,
      webhook_ids: name === 'listed' ? [TARGET] : null,
      active: true,
      active_since: beginningAt(now, 0),
      created_at: now,
      updated_at: now,
      last_match_at: null,
    }
    transact(db, () => startMonitor(db, monitor, placesOf(spec)))
  }

  function startRun() {
    run_count++
    const stopping = new AbortController()
    const sender = createSender({
      db,
      run_id: `boot_${run_count}`,
      send,
      clock,
      random,
      log,
      retry_schedule: { retry_delays_s: [0, 5, 30, 120, 300, 780], jitter: 0 },
      // One at a time, so that each attempt can be identified.
      concurrency: 1,
      per_target_concurrency: 1,
      pause_after_ms: 168 * 3_600_000,
      nudge: nothing,
    })
    const monitoring = createMonitoring({
      db,
      instance_id: INSTANCE,
      words,
      watches,
      clock,
      log,
      signal: stopping.signal,
      plan_of: () => plan,
      freshness_ms: 900_000,
      filters: createFilters(db, log),
      schedule: (at) => at + 1,
      wake: nothing,
      on_pending: nothing,
    })
    return { sender, monitoring }
  }
  let run = startRun()
  const customer = {
    id: CUSTOMER,
    name: 'ann',
    plan: 'entry',
    balance_micros: 0,
    unlimited: false,
    created_at: start,
  }
  const patterns = realPatterns()
  const edit = (name: MonitorName, given: object) =>
    editMonitor(
      { words, clock } as RouteContext,
      {
        db,
        watches,
        patterns,
        plan_of: () => plan,
        model: () => null,
        feed_url: () => '',
        nudge: nothing,
      },
      customer,
      idOf(name),
      given,
    )
  const test = createTester({ db, send, clock, random, words })

  return {
    /** Range of creation times that audits have verified, from its edge of five seconds on. */
    verified() {
      const { from, until } = db
        .query<{ from: number | null; until: number | null }, []>(
          "SELECT audited_from AS 'from', audited_until AS until FROM feeds",
        )
        .get() ?? { from: null, until: null }
      return from === null || until === null
        ? { from: Infinity, until: 0 }
        : { from: from + 5000, until }
    },
    now: () => now,
    wait: (ms: number) => void (now += ms),
    idOf: (name: MonitorName, thing: string) => deliveryId(INSTANCE, idOf(name), TARGET, [thing]),
    /** Makes the place due and polls it. */
    async poll(listed: Thing[]) {
      things = listed
      now += 61_000
      run.monitoring.nudge()
      await run.monitoring.checkDue()
      await run.monitoring.idle()
      const at = now
      // Rows of one poll are a millisecond apart.
      now += 1000
      return at
    },
    /**
     * One iteration of the sender, with at most one attempt. Returns the delivery that was sent; null: none was due.
     */
    async turn(next: Reply) {
      reply = next
      sent = null
      await run.sender.turn()
      await run.sender.idle()
      return sent as string | null
    },
    /** Dies with an attempt in flight, if one is due, and starts again. Returns that delivery. */
    async crash() {
      reply = 'nothing'
      sent = null
      await run.sender.turn()
      run = startRun()
      return sent as string | null
    },
    pause: (name: MonitorName) => edit(name, { active: false }),
    resume: (name: MonitorName) => edit(name, { active: true }),
    filter: (name: MonitorName, filter: Filter) => edit(name, { filter_spec: specOf(filter) }),
    rename: (name: MonitorName) => edit(name, { name: `at ${now}` }),
    redeliver: (delivery_id: string) =>
      redeliver(db, {
        customer_id: CUSTOMER,
        which: { delivery_id },
        dry_run: false,
        rows_max: 1,
        now,
      }),
    async test(next: Reply) {
      reply = next
      await test(CUSTOMER, TARGET)
    },
    activate: () => updateWebhook(db, CUSTOMER, TARGET, { active: true }),
    deactivate: () => updateWebhook(db, CUSTOMER, TARGET, { active: false }),
    remove: () => deleteWebhook(db, CUSTOMER, TARGET, now),
    /** All deliveries. Due times are rounded down to the second. */
    rows: () =>
      new Map(
        db
          .query<Row & { id: string }, []>(
            `SELECT id, status, attempts, retry_index, round, next_attempt_at AS due, last_error AS error, reason
               FROM deliveries ORDER BY id`,
          )
          .all()
          .map(({ id, ...row }) => [id, row]),
      ),
    target: () =>
      db.query<{ paused: string | null }, []>('SELECT pause_reason AS paused FROM webhooks').get()
        ?.paused ?? null,
    [Symbol.dispose]: () => db.close(),
  }
}
