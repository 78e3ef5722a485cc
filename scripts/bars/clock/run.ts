import { createSeededRandom } from '../../../sandbox/world/random.ts'
import { ok } from '../../../src/core/base/result.ts'
import { placesOf } from '../../../src/core/filter/feeds.ts'
import { encodeFilterSpec, parseFilterSpec } from '../../../src/core/filter/parse.ts'
import { createNaming } from '../../../src/core/forum/naming.ts'
import { beginningAt, utcDay } from '../../../src/core/limits/plan.ts'
import { createSend } from '../../../src/delivery/send.ts'
import { createSender } from '../../../src/delivery/sender.ts'
import { createUpkeep } from '../../../src/monitor/maintenance.ts'
import { createFilters } from '../../../src/monitor/match.ts'
import { createMonitoring, createSchedule } from '../../../src/monitor/scheduler.ts'
import type { TransportResponse } from '../../../src/net/transport.ts'
import { createClockOffset } from '../../../src/platforms/clock-offset.ts'
import { startLoop } from '../../../src/runtime/loop.ts'
import { insertCustomer } from '../../../src/store/customers/customers.ts'
import { type Db, openDb, transact } from '../../../src/store/db/connection.ts'
import { insertWebhook } from '../../../src/store/delivery/webhooks.ts'
import { removeMonitorOf, startMonitor } from '../../../src/store/monitoring/monitors.ts'
import { fakeClock } from '../../../test/support/clock.ts'
import { type Breach, findBreaches } from '../../../test/support/invariants.ts'
import { postOf } from '../../../test/support/items.ts'
import { listingWatch, watchesOf } from '../../../test/support/watch.ts'
import type { Scenario } from './scenarios.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const WEEK = 7 * DAY
export const RETRY_DELAYS_S = [0, 5, 30, 120, 300, 780]
/** Responses of the platform until its clock is known. */
const ANSWERS_NEEDED = 3
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const CUSTOMER = 'cus_1'
const words = createNaming({ platform: 'forum', community: 'subforum' })
const nothing = () => {}

/** Size of a run. The busy subforum has `DAY / busy_every_ms` posts a day, the calm one fewer. */
export type Size = {
  seed: number
  /** True days; the busy subforum is watched during the first `busy_days`. */
  days: number
  ceiling: number
  busy_every_ms: number
  busy_days: number
  calm_every_ms: number
  cadence_s: number
}

/**
 * An attempt as its receiver saw it: true time, the timestamp header in seconds, and whether the true time was
 * known.
 */
type Attempt = { target: string; at: number; sent_s: number; clock_known: boolean }

export type Run = Awaited<ReturnType<typeof run>>

/** Runs the daemon's own monitoring, sender and upkeep for some virtual days while their clock is changed. */
export async function run(scenario: Scenario, start_at: string, size: Size) {
  const start = Date.parse(start_at)
  const chance = createSeededRandom(size.seed)
  using db = openDb(':memory:', { create: true })
  let settle: () => Promise<void> = quiet
  const clock = fakeClock(() => settle(), start)
  clock.jump(scenario.skew_ms)
  const trueNow = () => start + clock.mono()
  const platform = createPlatform(clock, trueNow, start, size)

  const attempts = new Map<string, Attempt[]>()
  let sent = 0
  const send = createSend({
    transport: async ({ url, headers }) => {
      const id = headers['x-service-delivery-id'] ?? ''
      const target = new URL(url).pathname.slice(1)
      const sent_s = Number(headers['x-service-timestamp'])
      const attempt = { target, at: trueNow(), sent_s, clock_known: platform.clockKnown() }
      attempts.set(id, [...(attempts.get(id) ?? []), attempt])
      sent += 1
      return answered(ANSWERS[target]?.(chance.fraction()) ?? 200)
    },
    clock,
    clock_offset_ms: platform.watch.ahead_ms,
    openSecret: (_, sealed) => new TextDecoder().decode(sealed),
    openCredentials: () => ({ username: null, token: '' }),
    publish: () => Promise.reject(new Error('no broker here')),
    display: { community: 'subforum', media_hosts: [] },
    user_agent: 'forumd/bar',
  })
  const paused_at = new Map<string, number>()
  const log = (_: string, event: string, fields: Record<string, unknown> = {}) => {
    if (event === 'webhook.paused') paused_at.set(String(fields['webhook_id']), trueNow())
  }
  fill(db, clock.now(), size)

  const stopping = new AbortController()
  const { signal } = stopping
  let wakeSender = nothing
  let wakeMonitor = nothing
  const sender = createSender({
    db,
    run_id: 'boot_1',
    send,
    clock,
    random: { uuid: () => '', fraction: () => chance.fraction(), bytes: (n) => new Uint8Array(n) },
    log,
    retry_schedule: { retry_delays_s: RETRY_DELAYS_S, jitter: 0.2 },
    concurrency: 64,
    per_target_concurrency: 4,
    pause_after_ms: WEEK,
    nudge: () => wakeSender(),
  })
  const committed = new Map<string, number>()
  const monitoring = createMonitoring({
    db,
    instance_id: 'instance_1',
    words,
    watches: watchesOf(platform.watch),
    clock,
    log,
    signal,
    plan_of: () => planOf(size),
    freshness_ms: 15 * MINUTE,
    filters: createFilters(db, log),
    schedule: createSchedule('* * * * * *', 'UTC'),
    wake: () => wakeMonitor(),
    on_pending: () => {
      for (const { id } of waitingFirst(db)) if (!committed.has(id)) committed.set(id, trueNow())
      wakeSender()
    },
  })
  const runtime = { clock, log }
  wakeSender = startLoop(runtime, 'sender', signal, sender.turn, { failed: fail }).nudge
  wakeMonitor = startLoop(runtime, 'monitor', signal, monitoring.checkDue, { failed: fail }).nudge
  startLoop(runtime, 'upkeep', signal, createUpkeep({ db, clock, signal }), { failed: fail })
  // Time may advance once everything due is sent and recorded.
  settle = async () => {
    for (let before = -1; before !== sent;) {
      before = sent
      await quiet()
      await monitoring.idle()
      await sender.idle()
      await quiet()
    }
  }

  const created = new Map<string, { day: number; status: string; reason: string | null }>()
  const breaches: Breach[] = []
  let last_row = 0
  const steps = [...scenario.steps]
  const until = size.days * DAY
  while (clock.mono() < until) {
    const at = clock.mono()
    const next_step_at = steps[0]?.at_ms ?? Infinity
    const to = Math.min((Math.floor(at / MINUTE) + 1) * MINUTE, Math.max(at, next_step_at))
    await clock.advance(to - at)
    if (clock.mono() >= next_step_at) {
      clock.jump(steps.shift()?.by_ms ?? 0)
      platform.stepped()
    }
    // Rows written since the previous read belong to the day that ends now, or to a continuing day.
    for (const { n, id, monitor_id, status, reason } of rowsAfter(db, last_row)) {
      last_row = n
      if (monitor_id === 'mon_busy') created.set(id, { day: utcDay(start + at), status, reason })
    }
    if (clock.mono() % (6 * HOUR) === 0)
      breaches.push(...findBreaches(db, auditOf(clock.now(), sender.isInFlight)))
    if (clock.mono() === size.busy_days * DAY)
      removeMonitorOf(db, CUSTOMER, 'mon_busy', clock.now())
  }
  stopping.abort()
  const one = (sql: string) => db.query<{ n: number }, []>(sql).get()?.n ?? 0
  const withheld = one(
    "SELECT sum(ceiling_suppressed) AS n FROM monitor_days WHERE monitor_id = 'mon_busy'",
  )
  const matches = one("SELECT count(*) AS n FROM matches WHERE monitor_id = 'mon_busy'")
  const ended_at = trueNow()
  return {
    start,
    ended_at,
    attempts,
    committed,
    created,
    paused_at,
    breaches,
    withheld,
    matches,
  }
}

function fail(error: unknown): never {
  throw error
}

const quiet = async () => {
  for (let n = 0; n < 3; n++) await new Promise<void>((resolve) => void setImmediate(resolve))
}

/** Response of each receiver; `fraction` is random in [0, 1). */
const ANSWERS: Record<string, (fraction: number) => number> = {
  wh_good: () => 200,
  wh_dead: (fraction) => (fraction < 0.5 ? 500 : 503),
  wh_refusing: () => 404,
  wh_flaky: (fraction) => (fraction < 0.5 ? 503 : 204),
}

const answered = (status: number): TransportResponse => ({
  kind: 'answered',
  status,
  headers: new Headers(),
  body: new Uint8Array(),
})

const planOf = ({ ceiling, cadence_s }: Size) => ({
  slots: 9,
  sitewide_slots: 0,
  cadence_s,
  daily_deliveries: ceiling,
})

function fill(db: Db, now: number, { cadence_s }: Size): void {
  insertCustomer(db, {
    id: CUSTOMER,
    name: 'ann',
    plan: 'entry',
    created_at: now,
    starting_credit_micros: 0,
    payment_id: 'pay_1',
  })
  const secret = new TextEncoder().encode(SECRET)
  for (const id of Object.keys(ANSWERS)) {
    const url = `https://hooks.example.com/${id}`
    const webhook = { id, customer_id: CUSTOMER, url, secret, created_at: now }
    insertWebhook(db, { ...webhook, kind: 'webhook' })
  }
  for (const [place, webhook_ids] of [
    ['busy', ['wh_good']],
    ['calm', ['wh_dead', 'wh_refusing', 'wh_flaky']],
  ] as const) {
    const spec = parseFilterSpec({ subforum: [place] }, words)
    const monitor = {
      id: `mon_${place}`,
      customer_id: CUSTOMER,
      name: null,
      filter_spec: encodeFilterSpec(spec),
      cadence_s,
      requested_cadence_s: null,
      baseline_item_id: null,
      webhook_ids: [...webhook_ids],
      active: true,
      active_since: beginningAt(now, 0),
      created_at: now,
      updated_at: now,
      last_match_at: null,
    }
    transact(db, () => startMonitor(db, monitor, placesOf(spec)))
  }
}

const waitingFirst = (db: Db) =>
  db
    .query<{ id: string }, []>(
      "SELECT id FROM deliveries WHERE status = 'pending' AND attempts = 0",
    )
    .all()

type Written = { n: number; id: string; monitor_id: string; status: string; reason: string | null }
const rowsAfter = (db: Db, n: number) =>
  db
    .query<Written, [number]>(
      'SELECT rowid AS n, id, monitor_id, status, reason FROM deliveries WHERE rowid > ? ORDER BY rowid',
    )
    .all(n)

const auditOf = (now: number, may_be_in_flight: (id: string) => boolean) => ({
  now,
  since_at: now - DAY,
  instance_id: 'instance_1',
  attempts_max: RETRY_DELAYS_S.length,
  may_be_in_flight,
})

/** A platform of two subforums with posts at fixed intervals; its responses carry the true time. */
function createPlatform(
  clock: { now(): number; mono(): number },
  trueNow: () => number,
  start: number,
  { busy_every_ms, calm_every_ms }: Size,
) {
  const offset = createClockOffset(clock)
  let answers = 0
  let synced_since_step = true
  const every: Record<string, number> = { busy: busy_every_ms, calm: calm_every_ms }
  const EARLIER = 200

  /** The newest posts of a subforum, newest first. */
  function newest(place: string, limit: number) {
    const each = every[place] ?? DAY
    const last = Math.floor((trueNow() - start) / each) + EARLIER
    return Array.from({ length: Math.min(limit, last) }, (_, n) => {
      const serial = last - n
      const created_at = start + (serial - EARLIER) * each
      const id = `${place === 'busy' ? 'b' : 'c'}${(serial + 46_656).toString(36)}`
      const created_utc = Math.floor(created_at / 1000)
      return postOf({ id, name: `t3_${id}`, subforum: place, created_utc })
    })
  }

  const watch = listingWatch({
    page: async ({ place }, { limit }) => {
      offset.observe(new Headers({ date: new Date(trueNow()).toUTCString() }))
      answers += 1
      synced_since_step = true
      const rows = place
        .split('+')
        .flatMap((it) => newest(it, limit))
        .toSorted((a, b) => b.created_utc - a.created_utc)
        .slice(0, limit)
      return ok({ rows, after: null })
    },
    measured_ms: offset.measured_ms,
  })
  return {
    watch,
    /** Call when forumd's clock was set. */
    stepped: () => void (synced_since_step = false),
    clockKnown: () => answers >= ANSWERS_NEEDED && synced_since_step,
  }
}
