import { Database } from 'bun:sqlite'

import type { Infra } from '../../../src/api/infra.ts'
import { editMonitor } from '../../../src/api/monitor-edits.ts'
import { deliveryId } from '../../../src/core/delivery-id.ts'
import { placesOf } from '../../../src/core/filter-places.ts'
import { encodeFilterSpec, parseFilterSpec } from '../../../src/core/filter.ts'
import { beginningAt } from '../../../src/core/gate.ts'
import type { Item } from '../../../src/core/items.ts'
import type { Attempt } from '../../../src/core/ladder.ts'
import { ok } from '../../../src/core/outcome.ts'
import { createWords } from '../../../src/core/wire.ts'
import type { Send } from '../../../src/delivery/send.ts'
import { createSender } from '../../../src/delivery/sender.ts'
import { createTester } from '../../../src/delivery/tester.ts'
import type { Watch } from '../../../src/gateway/watch.ts'
import { createMonitoring } from '../../../src/monitor/due.ts'
import { createFilters } from '../../../src/monitor/filters.ts'
import { insertCustomer } from '../../../src/store/customers.ts'
import { connect, migrate, transact } from '../../../src/store/db.ts'
import { redeliver } from '../../../src/store/redeliver.ts'
import { startMonitor } from '../../../src/store/watching.ts'
import { deleteWebhook, insertWebhook, updateWebhook } from '../../../src/store/webhooks.ts'
import { postOf } from '../../support/items.ts'
import type { Filter, MonitorName, Reply, Row, Thing } from './states-model.ts'

const INSTANCE = 'instance_1'
const CUSTOMER = 'cus_1'
const TARGET = 'wh_1'
const PLACE = 'cats'
const words = createWords({ platform: 'forum', community: 'subforum' })
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

/** A schema costs more than all steps of a sequence: it is made once, and copied. */
const EMPTY = (() => {
  const db = connect(':memory:', { create: true })
  migrate(db)
  return db.serialize()
})()

/** The production code from the platform's listing to the attempt's outcome, on a clock that is held. */
export function createStage({ start, ceiling }: { start: number; ceiling: number }) {
  const db = Database.deserialize(EMPTY, { strict: true })
  db.run('PRAGMA foreign_keys = ON')
  let now = start
  let boots = 0
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
    uuid: () => `uuid_${boots}`,
    fraction: () => 0.5,
    bytes: (n: number) => new Uint8Array(n),
  }
  const watch: Watch = {
    page: async () => ok({ rows: things.map(rowOf).toReversed(), after: null }),
    subforum: async () => ({ kind: 'exists' }),
    createdAt: async () => ok(null),
    again: async () => ok([]),
    clock_offset_ms: () => 0,
    clock_measured_ms: () => 0,
  }
  const plan = { slots: 9, sitewide_slots: 0, cadence_s: 60, daily_deliveries: ceiling }
  const send: Send = async (_, { id }) => {
    sent = id
    // It is on its way when the process dies: nobody hears how it ended.
    if (reply === 'nothing') return new Promise(nothing)
    return {
      attempt: attemptOf(reply),
      told: null,
      started_at: now,
      ended_at: now,
      duration_ms: 0,
    }
  }
  insertCustomer(db, {
    id: CUSTOMER,
    name: 'ann',
    plan: 'entry',
    created_at: start,
    starting_credit_micros: 0,
    payment_id: 'pay_1',
  })
  insertWebhook(db, {
    id: TARGET,
    customer_id: CUSTOMER,
    kind: 'webhook',
    url: 'https://hooks.example.com/',
    secret: new Uint8Array(1),
    created_at: start,
  })
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

  function boot() {
    boots++
    const stopping = new AbortController()
    const sender = createSender({
      db,
      boot: `boot_${boots}`,
      send,
      clock,
      random,
      log,
      ladder: { retry_delays_s: [0, 5, 30, 120, 300, 780], jitter: 0 },
      // One at a time, so that it is known which.
      concurrency: 1,
      per_target_concurrency: 1,
      pause_after_ms: 168 * 3_600_000,
      nudge: nothing,
    })
    const monitoring = createMonitoring({
      db,
      instance_id: INSTANCE,
      boot: `boot_${boots}`,
      words,
      watch,
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
  let run = boot()
  const customer = {
    id: CUSTOMER,
    name: 'ann',
    plan: 'entry',
    balance_micros: 0,
    unlimited: false,
    created_at: start,
  }
  const edit = (name: MonitorName, given: object) =>
    editMonitor(
      { words, clock } as Infra,
      { db, watch, plan_of: () => plan, feed_url: () => '', nudge: nothing },
      customer,
      idOf(name),
      given,
    )
  const test = createTester({ db, send, clock, random, words })

  return {
    now: () => now,
    wait: (ms: number) => void (now += ms),
    idOf: (name: MonitorName, thing: string) => deliveryId(INSTANCE, idOf(name), TARGET, [thing]),
    /** Lets a look at the place come due, and makes it. */
    async poll(shown: Thing[]) {
      things = shown
      now += 61_000
      run.monitoring.nudge()
      await run.monitoring.checkDue()
      await run.monitoring.idle()
      const at = now
      // Rows of one moment are a millisecond apart.
      now += 1000
      return at
    },
    /** One turn of the sender, with one attempt at most. Returns the delivery that was sent; null: nothing was due. */
    async turn(next: Reply) {
      reply = next
      sent = null
      await run.sender.turn()
      await run.sender.idle()
      return sent as string | null
    },
    /** Dies with an attempt on its way, if one is due, and starts again. Returns that delivery. */
    async crash() {
      reply = 'nothing'
      sent = null
      await run.sender.turn()
      run = boot()
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
    turnOn: () => updateWebhook(db, CUSTOMER, TARGET, { active: true }),
    turnOff: () => updateWebhook(db, CUSTOMER, TARGET, { active: false }),
    remove: () => deleteWebhook(db, CUSTOMER, TARGET, now),
    /** The deliveries as they stand. Due is cut to the second. */
    rows: () =>
      new Map(
        db
          .query<Row & { id: string }, []>(
            `SELECT id, status, attempts, rung, round, next_attempt_at AS due, last_error AS error, reason
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
