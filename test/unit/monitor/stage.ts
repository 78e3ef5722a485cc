import { placesOf } from '../../../src/core/filter-places.ts'
import { encodeFilterSpec, parseFilterSpec } from '../../../src/core/filter.ts'
import type { Plan } from '../../../src/core/gate.ts'
import type { Item, Page } from '../../../src/core/items.ts'
import { fail, type Fault, ok, type Outcome } from '../../../src/core/outcome.ts'
import { createWords } from '../../../src/core/wire.ts'
import type { PlaceVerdict, Watch } from '../../../src/gateway/watch.ts'
import { createMonitoring } from '../../../src/monitor/due.ts'
import { createFilters } from '../../../src/monitor/filters.ts'
import { createSchedule } from '../../../src/monitor/schedule.ts'
import { insertCustomer } from '../../../src/store/customers.ts'
import { type Db, openDb, transact } from '../../../src/store/db.ts'
import { findMonitor } from '../../../src/store/monitors.ts'
import { changeMonitor, startMonitor } from '../../../src/store/watching.ts'
import { insertWebhook } from '../../../src/store/webhooks.ts'
import { tempFolder } from '../../support/folder.ts'
import { postOf } from '../../support/items.ts'

export const START = Date.parse('2026-05-01T12:00:00Z')
export const CUSTOMER = 'cus_1'

/** A post by number: the number makes the id, so that later numbers are later ids. */
export function post(n: number, title: string, created_at: number, fields: Partial<Item> = {}) {
  const id = n.toString(36)
  const instant = { created: new Date(created_at).toISOString(), created_utc: created_at / 1000 }
  return postOf({ id, name: `t3_${id}`, title, ...instant, ...fields } as object)
}

/** The platform as data: what each place holds, newest first, and answers that come instead. */
function createFeed() {
  const places = new Map<string, Item[]>()
  type Shown = Outcome<Page<Item> & { partial?: boolean }>
  const instead: (Shown | ((rows: Item[]) => Shown))[] = []
  const asked: { place: string; limit: number; after: string | null }[] = []
  const verdicts = new Map<string, PlaceVerdict>()
  const closed = new Set<string>()
  let measured_ms = 0
  let before_answer: (() => void | Promise<void>) | null = null
  const rowsOf = (place: string): Item[] => {
    const names = place.split('+')
    if (names.length === 1) return places.get(place) ?? []
    const all = names.flatMap((name) => (closed.has(name) ? [] : (places.get(name) ?? [])))
    return all.toSorted((a, b) => b.created_utc - a.created_utc)
  }

  const watch: Watch = {
    async page({ place }, { limit, after }) {
      asked.push({ place, limit, after })
      await before_answer?.()
      const next = instead.shift()
      if (closed.has(place)) return fail({ kind: 'forbidden', reason: 'private' })
      if (next !== undefined) return typeof next === 'function' ? next(rowsOf(place)) : next
      const rows = rowsOf(place)
      // The platform begins anew when the cursor's row is gone.
      const from = after === null ? 0 : rows.findIndex(({ name }) => name === after) + 1
      const shown = rows.slice(from, from + limit)
      const more = from + limit < rows.length
      return ok({ rows: shown, after: more ? (shown.at(-1)?.name ?? null) : null })
    },
    async subforum(name) {
      return verdicts.get(name) ?? { kind: 'exists' }
    },
    async createdAt(fullname) {
      const found = [...places.values()].flat().find(({ name }) => name === fullname)
      return ok(found === undefined ? null : found.created_utc * 1000)
    },
    async again(fullnames) {
      const all = [...places.values()].flat()
      return ok(fullnames.flatMap((name) => all.find((it) => it.name === name) ?? []))
    },
    clock_offset_ms: () => 0,
    clock_measured_ms: () => measured_ms,
  }
  return {
    watch,
    asked,
    verdicts,
    /** The platform's clock is found to be so far ahead. */
    ahead: (ms: number) => void (measured_ms = ms),
    /** Puts items on top of a place, the last one topmost. */
    put(place: string, ...items: Item[]) {
      places.set(place, [...items.toReversed(), ...rowsOf(place)])
    },
    remove(place: string, ...names: string[]) {
      places.set(
        place,
        rowsOf(place).filter(({ name }) => !names.includes(name)),
      )
    },
    pin(place: string, item: Item) {
      places.set(place, [item, ...rowsOf(place)])
    },
    rows: rowsOf,
    /** Nobody may look at a place; among others it is left out without a word. */
    close: (place: string) => void closed.add(place),
    open: (place: string) => void closed.delete(place),
    /** What comes instead of the true answer, for as many requests as there are entries. */
    instead: (...answers: (typeof instead)[number][]) => void instead.push(...answers),
    faults: (fault: Fault, times: number) =>
      void instead.push(...Array.from({ length: times }, () => fail(fault))),
    /** Runs while a request is out. */
    meanwhile(work: () => void | Promise<void>) {
      before_answer = work
    },
    /** Keeps every request waiting from now on. */
    hold() {
      const waiting: (() => void)[] = []
      before_answer = () => new Promise<void>((resolve) => void waiting.push(resolve))
      return {
        /** Lets the oldest through. */
        one: () => waiting.shift()?.(),
        all() {
          before_answer = null
          for (const answer of waiting) answer()
        },
      }
    },
  }
}

export const PLAN: Plan = { slots: 10, sitewide_slots: 2, cadence_s: 60, daily_deliveries: 10_000 }

export type Row = {
  id: string
  monitor_id: string
  webhook_id: string
  status: string
  reason: string | null
  last_error: string | null
  body: Uint8Array
}

export type Stage = ReturnType<typeof startStage>

/** Monitoring over a database file and a scripted platform. Its clock moves when told to, and by what is slept. */
export function startStage({ plan = PLAN, community = 'subforum', schedule = '* * * * * *' } = {}) {
  const folder = tempFolder()
  const path = folder.file('forumd.sqlite')
  const feed = createFeed()
  const words = createWords({ platform: 'forum', community })
  const events: { event: string; fields: Record<string, unknown> }[] = []
  const log = (_: string, event: string, fields: Record<string, unknown> = {}) =>
    void events.push({ event, fields })
  let now = START
  let mono = 0
  const pass = (ms: number) => {
    now += ms
    mono += ms
  }
  const clock = {
    now: () => now,
    mono: () => mono,
    sleep: async (ms: number) => pass(ms),
  }
  let pendings = 0
  let wakes = 0
  let boots = 0

  function boot(db: Db) {
    const stopping = new AbortController()
    const monitoring = createMonitoring({
      db,
      instance_id: 'instance',
      boot: `boot_${++boots}`,
      words,
      watch: feed.watch,
      clock,
      log,
      signal: stopping.signal,
      plan_of: () => plan,
      freshness_ms: 900_000,
      filters: createFilters(db, log),
      schedule: createSchedule(schedule, 'UTC'),
      wake: () => void wakes++,
      on_pending: () => void pendings++,
    })
    return { db, monitoring, stopping }
  }
  let run = boot(openDb(path, { create: true }))
  insertCustomer(run.db, {
    id: CUSTOMER,
    name: 'ada',
    plan: 'entry',
    created_at: START,
    starting_credit_micros: 0,
    payment_id: 'pay_1',
  })

  const stage = {
    feed,
    events,
    clock,
    path,
    pass,
    get db() {
      return run.db
    },
    get monitoring() {
      return run.monitoring
    },
    pendings: () => pendings,
    wakes: () => wakes,
    /** Moves the wall clock alone. */
    jump: (ms: number) => void (now += ms),
    webhook(id: string, { paused = false } = {}) {
      insertWebhook(run.db, {
        id,
        customer_id: CUSTOMER,
        kind: 'webhook',
        url: 'https://hooks.example/x',
        secret: new Uint8Array(1),
        created_at: now,
      })
      if (paused)
        run.db.run('UPDATE webhooks SET paused_at = 1, pause_reason = ? WHERE id = ?', [
          'failing',
          id,
        ])
    },
    /** A monitor as the interface would make it. */
    monitor(
      id: string,
      filter_spec: Record<string, unknown>,
      fields: { webhook_ids?: string[]; cadence_s?: number; baseline?: Item } = {},
    ) {
      const spec = parseFilterSpec(filter_spec, words)
      const { baseline } = fields
      const monitor = {
        id,
        customer_id: CUSTOMER,
        name: null,
        filter_spec: encodeFilterSpec(spec),
        cadence_s: fields.cadence_s ?? 60,
        requested_cadence_s: null,
        baseline_item_id: baseline?.name ?? null,
        webhook_ids: fields.webhook_ids ?? null,
        active: true,
        active_since: baseline ? baseline.created_utc * 1000 : Math.floor(now / 1000) * 1000,
        created_at: now,
        updated_at: now,
        last_match_at: null,
      }
      transact(run.db, () => startMonitor(run.db, monitor, placesOf(spec)))
    },
    /** Pauses, resumes or edits a monitor. */
    edit(id: string, change: { active?: boolean; filter_spec?: Record<string, unknown> }) {
      const before = findMonitor(run.db, CUSTOMER, id)
      if (!before) throw new Error(`there is no monitor ${id}`)
      const spec = change.filter_spec && parseFilterSpec(change.filter_spec, words)
      const restart = change.active === true && !before.active
      const begins_at = Math.floor(now / 1000) * 1000
      const monitor = {
        ...before,
        active: change.active ?? before.active,
        active_since: restart ? begins_at : before.active_since,
        filter_spec: spec ? encodeFilterSpec(spec) : before.filter_spec,
        updated_at: Math.max(now, before.updated_at + 1),
      }
      const places = spec ? placesOf(spec) : null
      transact(run.db, () => changeMonitor(run.db, monitor, { places, restart, begins_at, now }))
    },
    /** Lets a minute pass and every stream be looked at. */
    async check() {
      pass(60_000)
      await this.look()
    },
    /** Looks at what is due now. */
    async look() {
      run.monitoring.nudge()
      await run.monitoring.checkDue()
      await run.monitoring.idle()
    },
    deliveries: (monitor_id?: string): Row[] =>
      run.db
        .query<Row, []>(
          'SELECT * FROM deliveries JOIN delivery_bodies ON delivery_row = row ORDER BY created_at',
        )
        .all()
        .filter((it) => monitor_id === undefined || it.monitor_id === monitor_id),
    /** Titles of what was delivered, in order. */
    titles(monitor_id?: string): string[] {
      return this.deliveries(monitor_id)
        .filter(({ status }) => status === 'pending')
        .map((row) => this.payload(row).items[0].title)
    },
    payload: ({ body }: Row): any => JSON.parse(new TextDecoder().decode(body)),
    /** How each check ended, oldest first. */
    cuts: () =>
      run.db
        .query<{ cut: string | null }, []>('SELECT cut_reason AS cut FROM checks ORDER BY id')
        .all()
        .map(({ cut }) => cut),
    gaps: () =>
      run.db
        .query<
          {
            reason: string
            from_at: number | null
            until_at: number | null
            missed_estimate: number | null
            healed_at: number | null
          },
          []
        >('SELECT reason, from_at, until_at, missed_estimate, healed_at FROM gaps ORDER BY id')
        .all(),
    // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows what it selects.
    one: <T = unknown>(sql: string) => run.db.query<T, []>(sql).get(),
    /** Asks to stop, as the daemon does before it closes the database. */
    stop: () => run.stopping.abort(),
    /** Dies without a word and starts again on the same file. */
    reboot() {
      run.stopping.abort()
      run.db.close()
      run = boot(openDb(path))
    },
    async [Symbol.asyncDispose]() {
      run.stopping.abort()
      await run.monitoring.idle()
      run.db.close()
      folder[Symbol.dispose]()
    },
  }
  return stage
}
