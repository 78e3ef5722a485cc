import { expect, test } from 'bun:test'

import { readProblems, toProblemReport } from '../../../../src/api/account/problems.ts'
import { judgeMonitor } from '../../../../src/core/polling/coverage.ts'
import type { Db } from '../../../../src/store/db/connection.ts'
import { countHour, countPending } from '../../../../src/store/maintenance/counts.ts'
import {
  lastHidden,
  listMonitorCoverage,
} from '../../../../src/store/maintenance/metric-queries.ts'
import { memoryDb } from '../../../support/memory-db.ts'
import { putTarget } from '../../../support/target-row.ts'

const NOW = Date.parse('2026-01-01T12:00:00Z')
const MINUTE = 60_000

function open(): Db {
  const db = memoryDb()
  putTarget(db)
  return db
}

const PROVEN = { verified_from: 0, verified_until: NOW, proof: 'dense' }

/** A feed of mon_1, polled a minute ago, with these columns. */
function putFeed(
  db: Db,
  {
    id = 1,
    kind = 'posts',
    place = 'coffee',
    fault = null,
    checked_at = NOW - MINUTE,
    state = PROVEN,
  }: {
    id?: number
    kind?: string
    place?: string
    fault?: string | null
    checked_at?: number
    state?: object
  } = {},
): void {
  db.run(
    `INSERT INTO feeds (id, key, source, kind, place, requested_interval_s, interval_s, next_check_at, last_check_at, last_fault, created_at,
                        audited_at, audited_from, audited_until, state)
     VALUES (?, ?, ?, ?, ?, 60, 60, ?, ?, ?, 0, ?, 0, ?, ?)`,
    [
      id,
      `${kind}:${place}`,
      kind === 'all' ? place : '~',
      kind,
      place,
      NOW,
      checked_at,
      fault,
      NOW,
      NOW,
      JSON.stringify(state),
    ],
  )
  db.run("INSERT INTO monitor_feeds VALUES ('mon_1', ?, 0, 0)", [id])
}

function putGaps(db: Db, closings: readonly (number | null)[]): void {
  for (const closed_at of closings)
    db.run(
      "INSERT INTO gaps (feed_id, reason, recorded_at, closed_at) VALUES (1, 'skipped', ?, ?)",
      [NOW - MINUTE, closed_at],
    )
}

function putDelivery(
  db: Db,
  it: {
    id: string
    status: 'pending' | 'dead' | 'delivered'
    retry_index?: number
    created_at?: number
    delivered_at?: number
  },
): void {
  const { id, status, retry_index = 0, created_at = NOW - MINUTE } = it
  db.run(
    `INSERT INTO deliveries (id, customer_id, monitor_id, webhook_id, status, retry_index, attempts, next_attempt_at,
                             last_error, created_at, delivered_at)
     VALUES (?, 'cus_1', 'mon_1', 'wh_1', ?, ?, ?, ?, ?, ?, ?)`,
    [
      id,
      status,
      retry_index,
      retry_index,
      status === 'pending' ? NOW + MINUTE : null,
      retry_index > 0 ? 'http_503' : null,
      created_at,
      it.delivered_at ?? null,
    ],
  )
}

const reportOf = (db: Db, customer_id: string | null = 'cus_1') =>
  toProblemReport(readProblems(db, customer_id, { home: 'forum', now: NOW }))

test('an account in which everything works has no problem', () => {
  using db = open()
  putFeed(db)
  putDelivery(db, { id: 'd1', status: 'pending' })

  expect(reportOf(db)).toEqual({ status: 'ok', problems: [], truncated: false })
})

test.each([
  ['UPDATE webhooks SET failing_since = 5', 'error', 'webhook_failing'],
  ["UPDATE webhooks SET paused_at = 5, pause_reason = 'gone'", 'error', 'webhook_paused'],
  [
    "UPDATE webhooks SET failing_since = 4, paused_at = 5, pause_reason = 'failing'",
    'error',
    'webhook_paused',
  ],
  ['UPDATE webhooks SET awaits_confirmation = 1', 'warning', 'webhook_unconfirmed'],
  ['UPDATE webhooks SET active = 0', 'ok', 'webhook_off'],
  ["UPDATE monitors SET active = 0, pause_reason = 'filter_too_slow'", 'error', 'monitor_stopped'],
  ['UPDATE monitors SET active = 0', 'ok', 'monitors_paused'],
  [
    `INSERT INTO monitor_days (monitor_id, day, deliveries, ceiling_suppressed) VALUES ('mon_1', ${Math.floor(NOW / 86_400_000)}, 9, 1)`,
    'warning',
    'daily_ceiling',
  ],
])('after %s the status is %s, by one problem %s', (sql, status, kind) => {
  using db = open()
  putFeed(db)
  db.run(sql)
  const { status: judged, problems } = reportOf(db)

  expect({ status: judged, kinds: problems.map((it): string => it.kind).join() }).toEqual({
    status: expect.stringMatching(status),
    kinds: kind,
  })
})

test('a target with retrying deliveries is a warning with their number, their error and the oldest', () => {
  using db = open()
  putFeed(db)
  putDelivery(db, { id: 'd1', status: 'pending', retry_index: 1, created_at: NOW - 2 * MINUTE })
  putDelivery(db, { id: 'd2', status: 'pending', retry_index: 2 })
  putDelivery(db, { id: 'd3', status: 'pending' })

  expect(reportOf(db)).toEqual({
    status: 'warning',
    problems: [
      {
        kind: 'webhook_retrying',
        severity: 'warning',
        subject: { id: 'wh_1', name: 'hooks.example.com' },
        since: '2026-01-01T11:58:00.000Z',
        message: 'Webhook hooks.example.com is failing: 2 deliveries are tried again (http_503)',
        fix: 'Repair the receiver and test the webhook',
      },
    ],
    truncated: false,
  })
  expect(countPending(db, 'cus_1', 100)).toEqual({ waiting: 1, retrying: 2 })
  expect(countPending(db, null, 1)).toEqual({ waiting: 1, retrying: 1 })
})

test('the operator reads of whom a webhook is; another customer reads nothing of it', () => {
  using db = open()
  putFeed(db)
  db.run("INSERT INTO customers VALUES ('cus_2', 'bob', 'entry', 0, 0, 0, NULL)")
  db.run("UPDATE webhooks SET failing_since = 5, url = 'https://h.example/secret'")
  const of_all = reportOf(db, null)

  expect(of_all.problems).toMatchObject([
    { subject: { id: 'wh_1', name: 'h.example' }, customer: { id: 'cus_1', name: 'ann' } },
  ])
  expect(JSON.stringify(of_all)).not.toContain('secret')
  expect(reportOf(db, 'cus_2').problems).toEqual([])
})

test.each([
  ['unavailable:503', NOW - MINUTE, 'warning'],
  ['unavailable:503', NOW - 3 * MINUTE, 'error'],
  ['timeout', NOW - 3 * MINUTE, 'error'],
  ['poll_overflow', NOW - MINUTE, null],
])(
  'a fault %s of the only feed, last read at %i, is a problem: %j',
  (fault, checked_at, severity) => {
    using db = open()
    putFeed(db, { fault, checked_at })

    expect(reportOf(db).problems.map((it) => [it.kind, it.severity, it.since])).toEqual(
      severity === null
        ? []
        : [['source_unreachable', severity, new Date(checked_at).toISOString()]],
    )
  },
)

test('a source of which one feed can be read is a warning; each source is one problem', () => {
  using db = open()
  const checked_at = NOW - 5 * MINUTE
  putFeed(db, { id: 1, place: 'coffee', fault: 'not_found', checked_at })
  putFeed(db, { id: 2, place: 'tea' })
  putFeed(db, { id: 3, kind: 'all', place: 'hn', fault: 'blocked', checked_at })

  expect(reportOf(db).problems.map((it) => [it.severity, it.subject, it.message])).toEqual([
    [
      'error',
      { id: 'hn', name: 'hn' },
      'Source hn cannot be read: it shows a block page or a CAPTCHA in place of its API',
    ],
    [
      'warning',
      { id: 'forum', name: 'forum' },
      'Source forum cannot be read, for 1 feed of 1 monitor: there is no such site or place at this address',
    ],
  ])
})

test('a feed without a poll for three intervals is late', () => {
  using db = open()
  putFeed(db, { checked_at: NOW - 3 * MINUTE })
  expect(reportOf(db).problems).toEqual([])
  db.run('UPDATE feeds SET last_check_at = last_check_at - 1')

  expect(reportOf(db).problems).toMatchObject([
    { kind: 'feed_behind', severity: 'warning', since: '2026-01-01T11:56:59.999Z' },
  ])
})

test('a stream with unread items older than a quarter of an hour is behind', () => {
  using db = open()
  putFeed(db, { kind: 'all', place: 'hn' })
  db.run(
    `UPDATE feeds SET state = json_object('behind', json('{"from_id":5,"to_id":9}'), 'verified_until', ?)`,
    [NOW - 15 * MINUTE],
  )
  expect(reportOf(db)).toMatchObject({ status: 'ok', problems: [{ kind: 'monitor_incomplete' }] })
  db.run(
    "UPDATE feeds SET state = json_set(state, '$.verified_until', state ->> '$.verified_until' - 1)",
  )

  expect(reportOf(db).problems).toMatchObject([
    { kind: 'feed_behind', message: 'Source hn has items that were not read yet' },
  ])
})

const STATES = {
  complete: PROVEN,
  behind: { ...PROVEN, behind: { from_id: 5, to_id: 9 } },
  partial: { ...PROVEN, partial: 'no_paging' },
  late_changes: { ...PROVEN, changes: { waiting: 1, oldest_at: 5, dropped_24h: 0 } },
  unread: {},
}
const GAPS = { none: [], open: [null], healed: [NOW], both: [NOW, null] }
const FAULTS = [null, 'poll_overflow', 'timeout']

test('a report is without problems only if every monitor is complete', () => {
  const seen = new Map<string, string>()
  for (const [state, json] of Object.entries(STATES))
    for (const [gap, closings] of Object.entries(GAPS))
      for (const fault of FAULTS)
        for (const checked_at of [NOW - MINUTE, NOW - 10 * MINUTE]) {
          using db = open()
          putFeed(db, { kind: 'all', place: 'hn', fault, checked_at, state: json })
          putGaps(db, closings)
          const [monitor] = listMonitorCoverage(db, lastHidden(db, NOW), {
            after_id: '',
            limit: 1,
            now: NOW,
            offset_ms: 0,
          })
          if (monitor === undefined) throw new Error('there is no monitor')
          const { status } = judgeMonitor(monitor, NOW, 0)
          const { problems } = reportOf(db)
          seen.set(`${state} ${gap} ${fault} ${checked_at}`, `${status} ${problems.length > 0}`)
        }

  expect([...new Set(seen.values())].toSorted()).toEqual([
    'complete false',
    'degraded true',
    'partial true',
    'unknown true',
  ])
})

test.each([
  [PROVEN, [null], 'warning'],
  [PROVEN, [NOW], 'info'],
  [STATES.partial, [], 'info'],
  [STATES.late_changes, [], 'warning'],
])(
  'a monitor in state %j with gaps that close at %j is of severity %s',
  (state, gaps, severity) => {
    using db = open()
    putFeed(db, { kind: 'all', place: 'hn', state })
    putGaps(db, gaps)

    expect(reportOf(db).problems.map((it) => [it.kind, it.severity, it.subject?.id])).toEqual([
      ['monitor_incomplete', severity, 'mon_1'],
    ])
  },
)

test('a place of which its source proves nothing is a note', () => {
  using db = open()
  putFeed(db, { kind: 'all', place: 'hn' })
  const view = { ahead_ms: () => 0, partialFor: () => 'places_not_read' }

  expect(readProblems(db, 'cus_1', { home: 'forum', now: NOW, view })).toMatchObject([
    { kind: 'monitor_incomplete', severity: 'info', fix: 'Check the spelling of its places' },
  ])
})

test('at most a hundred problems are returned, the worst first', () => {
  const problem = { kind: 'storage', subject: null, since: null, message: '', fix: '' } as const
  const many = Array.from({ length: 100 }, () => ({ ...problem, severity: 'info' as const }))
  const { status, problems, truncated } = toProblemReport([
    ...many,
    { ...problem, severity: 'warning' },
  ])

  expect([status, problems.length, problems[0]?.severity, truncated]).toEqual([
    'warning',
    100,
    'warning',
    true,
  ])
})

test('an hour counts its matches, what arrived in it, and what failed of it', () => {
  using db = open()
  const at = NOW - 60 * MINUTE
  for (const [item, matched_at] of [
    ['t3_a', at],
    ['t3_b', NOW - 1],
    ['t3_c', at - 1],
    ['t3_d', NOW],
  ] as const)
    db.run(
      "INSERT INTO matches (monitor_id, item_id, feed_id, matched_at) VALUES ('mon_1', ?, 1, ?)",
      [item, matched_at],
    )
  putDelivery(db, { id: 'd1', status: 'delivered', created_at: at - 9, delivered_at: at })
  putDelivery(db, { id: 'd2', status: 'delivered', created_at: at, delivered_at: NOW })
  putDelivery(db, { id: 'd3', status: 'dead', created_at: NOW - 1 })

  const counted = { at, matches: 2, delivered: 1, failed: 1 }
  expect(countHour(db, 'cus_1', at)).toEqual(counted)
  expect(countHour(db, null, at)).toEqual(counted)
  expect(countHour(db, 'cus_2', at)).toEqual({ at, matches: 0, delivered: 0, failed: 0 })
})

/** SQLite's steps for all queries of `work`. */
function plansOf(work: (db: Db) => void): string[] {
  using db = memoryDb()
  const statements = new Set<string>()
  const query = db.query.bind(db)
  Object.assign(db, { query: (sql: string) => (statements.add(sql), query(sql)) })
  work(db)
  return [...statements].flatMap((sql) =>
    query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => detail),
  )
}

test.each(['cus_1', null])('no query for %j scans deliveries or matches', (customer_id) => {
  const plans = plansOf((db) => {
    readProblems(db, customer_id, { home: 'forum', now: NOW })
    countHour(db, customer_id, NOW)
    countPending(db, customer_id, 10)
  })
  // The index of retrying deliveries has only what fails now.
  const scans = plans.filter(
    (it) =>
      /^SCAN (?:deliveries|d|matches)\b/.test(it) &&
      !/INDEX deliveries_(?:retrying|due|leased)/.test(it),
  )

  expect(plans.some((it) => it.includes('deliveries_retrying'))).toBe(true)
  expect(scans).toEqual([])
})
