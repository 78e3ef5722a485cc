import { fail, type Fault, ok, type Outcome } from '../../../src/core/base/result.ts'
import { attentionSchema, encodeAttention } from '../../../src/core/delivery/attention.ts'
import { placesOf } from '../../../src/core/filter/feeds.ts'
import { encodeFilterSpec, parseFilterSpec } from '../../../src/core/filter/parse.ts'
import type { Item, ItemState, Page } from '../../../src/core/forum/items.ts'
import { createNaming } from '../../../src/core/forum/naming.ts'
import type { Plan } from '../../../src/core/limits/plan.ts'
import type { PlaceVerdict } from '../../../src/core/polling/listing.ts'
import { encodeRelevance, relevanceSchema } from '../../../src/core/relevance/rules.ts'
import { coverageContext, type ListingWatch, type Watch } from '../../../src/gateway/watch.ts'
import { createFilters } from '../../../src/monitor/match.ts'
import { createMonitoring, createSchedule } from '../../../src/monitor/scheduler.ts'
import { type Db, openDb, transact } from '../../../src/store/db/connection.ts'
import {
  BODY_COLUMNS,
  messageOf,
  renderBody,
  type StoredBody,
} from '../../../src/store/delivery/messages.ts'
import { catchUp } from '../../../src/store/delivery/projections.ts'
import { insertWebhook } from '../../../src/store/delivery/webhooks.ts'
import { changeMonitor, findMonitor, startMonitor } from '../../../src/store/monitoring/monitors.ts'
import { addCustomer } from '../../support/customers.ts'
import { tempFolder } from '../../support/folder.ts'
import { postOf } from '../../support/items.ts'
import { listingWatch } from '../../support/watch.ts'

export const START = Date.parse('2026-05-01T12:00:00Z')
export const CUSTOMER = 'cus_1'

/** A post by number: later numbers are later ids. */
export function post(n: number, title: string, created_at: number, fields: Partial<Item> = {}) {
  const id = n.toString(36)
  const instant = { created: new Date(created_at).toISOString(), created_utc: created_at / 1000 }
  return postOf({ id, name: `t3_${id}`, title, ...instant, ...fields } as object)
}

/** A scripted platform: the rows of each place, newest first, and injected responses. */
function createFeed(per_minute: number) {
  const places = new Map<string, Item[]>()
  type PageResult = Outcome<Page<Item> & { partial?: boolean }>
  const instead: (PageResult | ((rows: Item[]) => PageResult))[] = []
  const page_requests: { place: string; limit: number; after: string | null }[] = []
  const verdicts = new Map<string, PlaceVerdict>()
  const closed = new Set<string>()
  let measured_ms = 0
  let copy_ms = 0
  const shown = new Map<string, ItemState | 'unclear'>()
  const state_requests: string[][] = []
  let states_fault: Fault | null = null
  let before_answer: (() => void | Promise<void>) | null = null
  const rowsOf = (place: string): Item[] => {
    const names = place.split('+')
    if (names.length === 1) return places.get(place) ?? []
    const all = names.flatMap((name) => (closed.has(name) ? [] : (places.get(name) ?? [])))
    return all.toSorted((a, b) => b.created_utc - a.created_utc)
  }

  const byId = (fullnames: readonly string[]): Item[] => {
    const all = [...places.values()].flat()
    return fullnames.flatMap((name) => all.find((it) => it.name === name) ?? [])
  }
  const states: NonNullable<ListingWatch['recheck']>['states'] = async (fullnames) => {
    state_requests.push([...fullnames])
    if (states_fault !== null) return fail(states_fault)
    const found = fullnames.flatMap((name): [string, ItemState][] => {
      const [item] = byId([name])
      const state = shown.get(name) ?? (item && { state: 'live', item, author_gone: false })
      return state === undefined || state === 'unclear' ? [] : [[name, state]]
    })
    return ok(new Map(found))
  }

  const watch = listingWatch({
    async page({ place }, { limit, after }) {
      page_requests.push({ place, limit, after })
      await before_answer?.()
      const next = instead.shift()
      if (closed.has(place)) return fail({ kind: 'forbidden', reason: 'private' })
      if (next !== undefined) return typeof next === 'function' ? next(rowsOf(place)) : next
      const rows = rowsOf(place)
      // The platform restarts a listing when the cursor's row is gone.
      const from = after === null ? 0 : rows.findIndex(({ name }) => name === after) + 1
      const page_rows = rows.slice(from, from + limit)
      const more = from + limit < rows.length
      return ok({ rows: page_rows, after: more ? (page_rows.at(-1)?.name ?? null) : null })
    },
    async place(name) {
      return verdicts.get(name) ?? { kind: 'exists' }
    },
    async createdAt(fullname) {
      const found = [...places.values()].flat().find(({ name }) => name === fullname)
      return ok(found === undefined ? null : found.created_utc * 1000)
    },
    byId: async (fullnames) => ok(byId(fullnames)),
    async refetch(fullnames) {
      const read = await states(fullnames)
      if (!read.ok) return { tried: fullnames, found: [], fault: read.fault }
      const found = [...read.value.values()].flatMap((it) => (it.state === 'live' ? it.item : []))
      return { tried: fullnames, found, fault: null }
    },
    recheck: { items_max: 100, cost: () => 1, states },
    async present(fullnames) {
      const names = new Set([...places.values()].flat().map(({ name }) => name))
      return ok(fullnames.filter((it) => names.has(it)))
    },
    per_minute: () => per_minute,
    measured_ms: () => measured_ms,
    copy_ms: () => copy_ms,
  })
  return {
    watch,
    page_requests,
    verdicts,
    /** States of items by id that differ from live. */
    shown,
    /** Items of each request for states. */
    state_requests,
    /** Fails requests for states; null: answers again. */
    failStates: (fault: Fault | null) => void (states_fault = fault),
    /** Sets the highest age of the last answers in caches, ms. */
    aged: (ms: number) => void (copy_ms = ms),
    /** Sets the measured lead of the platform's Date headers, ms. */
    ahead: (ms: number) => void (measured_ms = ms),
    /** Adds items on top of a place, the last one topmost. */
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
    /** Closes a place; merged listings leave it out without a sign. */
    close: (place: string) => void closed.add(place),
    open: (place: string) => void closed.delete(place),
    /** Injected responses for as many requests as there are entries. */
    instead: (...answers: (typeof instead)[number][]) => void instead.push(...answers),
    faults: (fault: Fault, times: number) =>
      void instead.push(...Array.from({ length: times }, () => fail(fault))),
    /** Runs while a request is in flight. */
    meanwhile(work: () => void | Promise<void>) {
      before_answer = work
    },
    /** Blocks every request from now on. */
    hold() {
      const waiting: (() => void)[] = []
      before_answer = () => new Promise<void>((resolve) => void waiting.push(resolve))
      return {
        /** Releases the oldest request. */
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

export type MonitorFixture = ReturnType<typeof startMonitorFixture>

/** Monitoring over a database file and a scripted platform. Its clock advances by explicit calls and by sleeps. */
export function startMonitorFixture({
  plan = PLAN,
  community = 'subforum',
  schedule = '* * * * * *',
  /** No audits after the first, except in tests about them. */
  audit_interval_s = 86_400,
  requests_per_minute = Infinity,
  /** Checks of stored items; 0: none. */
  recheck_share = 0,
  /** Items that are queued for the archive; null: none. */
  archive = null as 'matches' | 'feeds' | null,
  /** A caller may change it. */
  watches = new Map<string, Watch>(),
  source_bytes_per_day = Infinity,
} = {}) {
  const folder = tempFolder()
  const path = folder.file('forumd.sqlite')
  const words = createNaming({ platform: 'forum', community })
  const events: { level: string; event: string; fields: Record<string, unknown> }[] = []
  const log = (level: string, event: string, fields: Record<string, unknown> = {}) =>
    void events.push({ level, event, fields })
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
  const feed = createFeed(requests_per_minute)
  const further = [...watches]
  watches.clear()
  for (const [name, watch] of [[feed.watch.name, feed.watch] as const, ...further])
    watches.set(name, watch)
  let pendings = 0
  let wakes = 0

  function startRun(db: Db) {
    const stopping = new AbortController()
    const monitoring = createMonitoring({
      db,
      instance_id: 'instance',
      words,
      watches,
      source_bytes_per_day: () => source_bytes_per_day,
      clock,
      log,
      signal: stopping.signal,
      plan_of: () => plan,
      freshness_ms: 900_000,
      filters: createFilters(db, log),
      schedule: createSchedule(schedule, 'UTC'),
      audit_interval_s,
      recheck_share,
      archive: archive === null ? undefined : { keep: archive, on_queued() {} },
      wake: () => void wakes++,
      on_pending: () => void pendings++,
    })
    return { db, monitoring, stopping }
  }
  let run = startRun(openDb(path, { create: true }))
  addCustomer(run.db, CUSTOMER, { name: 'ada', at: START })

  const fixture = {
    feed,
    watches,
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
    /** A further customer. */
    customer: (id: string) => addCustomer(run.db, id, { at: now }),
    webhook(
      id: string,
      { paused = false, events: chosen = ['match'], customer_id = CUSTOMER } = {},
    ) {
      insertWebhook(run.db, {
        id,
        customer_id,
        kind: 'webhook',
        url: 'https://hooks.example/x',
        secret: new Uint8Array(1),
        created_at: now,
        events: chosen,
      })
      if (paused)
        run.db.run('UPDATE webhooks SET paused_at = 1, pause_reason = ? WHERE id = ?', [
          'failing',
          id,
        ])
    },
    /** Creates a monitor as the API would. */
    monitor(
      id: string,
      filter_spec: Record<string, unknown>,
      fields: {
        webhook_ids?: string[]
        cadence_s?: number
        baseline?: Item
        attention?: object
        relevance?: object
        customer_id?: string
      } = {},
    ) {
      const spec = parseFilterSpec(filter_spec, words)
      const { baseline } = fields
      const monitor = {
        id,
        customer_id: fields.customer_id ?? CUSTOMER,
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
        attention:
          fields.attention === undefined
            ? null
            : encodeAttention(attentionSchema().parse(fields.attention)),
        relevance:
          fields.relevance === undefined
            ? null
            : encodeRelevance(relevanceSchema().parse(fields.relevance)),
      }
      transact(run.db, () => startMonitor(run.db, monitor, placesOf(spec, watches)))
    },
    /** Pauses, resumes or edits a monitor. */
    edit(
      id: string,
      change: {
        active?: boolean
        filter_spec?: Record<string, unknown>
        attention?: object | null
        relevance?: object | null
      },
    ) {
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
        attention:
          change.attention === undefined
            ? before.attention
            : encodeAttention(change.attention && attentionSchema().parse(change.attention)),
        relevance:
          change.relevance === undefined
            ? before.relevance
            : encodeRelevance(change.relevance && relevanceSchema().parse(change.relevance)),
      }
      const places = spec ? placesOf(spec, watches) : null
      const coverage = coverageContext(watches)
      const fields = { places, restart, begins_at, now }
      transact(run.db, () => changeMonitor(run.db, monitor, fields, coverage))
    },
    /** Advances a minute and polls every feed. */
    async check() {
      pass(60_000)
      await this.pollDue()
    },
    /** Polls the feeds that are due. */
    async pollDue() {
      run.monitoring.nudge()
      await run.monitoring.checkDue()
      await run.monitoring.idle()
      catchUp({ db: run.db, words, clock_offset_ms: feed.watch.ahead_ms })
    },
    deliveries: (monitor_id?: string): Row[] =>
      run.db
        .query<Row & StoredBody, []>(
          `SELECT d.*, g.event, ${BODY_COLUMNS} FROM deliveries d JOIN messages g ON g.row = ${messageOf('d.row')}
            ORDER BY d.created_at`,
        )
        .all()
        .map((it) => ({ ...it, body: renderBody(it) }))
        .filter((it) => monitor_id === undefined || it.monitor_id === monitor_id),
    /** Titles of the delivered items, in order. */
    titles(monitor_id?: string): string[] {
      return this.deliveries(monitor_id)
        .filter(({ status }) => status === 'pending')
        .map((row) => this.payload(row).items[0].title)
    },
    payload: ({ body }: Row): any => JSON.parse(new TextDecoder().decode(body)),
    /** Results of the checks, oldest first. */
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
            closed_at: number | null
          },
          []
        >('SELECT reason, from_at, until_at, missed_estimate, closed_at FROM gaps ORDER BY id')
        .all(),
    // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows the selected type.
    one: <T = unknown>(sql: string) => run.db.query<T, []>(sql).get(),
    /** Aborts, as the daemon does before it closes the database. */
    stop: () => run.stopping.abort(),
    /** Crashes and starts again on the same file. */
    reboot() {
      run.stopping.abort()
      run.db.close()
      run = startRun(openDb(path))
    },
    async [Symbol.asyncDispose]() {
      run.stopping.abort()
      await run.monitoring.idle()
      run.db.close()
      folder[Symbol.dispose]()
    },
  }
  return fixture
}
