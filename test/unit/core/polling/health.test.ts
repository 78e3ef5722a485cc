import { describe, expect, test } from 'bun:test'

import { joinVerified } from '../../../../src/core/polling/audit.ts'
import {
  type Coverage,
  ENTRIES_MAX,
  type FeedFacts,
  feedFacts,
  type FeedLiveness,
  type Gap,
  judgeAudits,
  judgeCoverage,
  judgeLiveness,
  type PollEvent,
  type PollLog,
  windowSince,
} from '../../../../src/core/polling/coverage.ts'
import {
  countersOf,
  type DeliveryCounts,
  judgeCadence,
} from '../../../../src/core/polling/health.ts'

const NOW = Date.parse('2026-06-01T12:00:00Z')
const S = 1000
const H = 3_600_000

const stream = (fields: Partial<FeedFacts> = {}): FeedFacts => ({
  id: 'posts:cats',
  interval_s: 60,
  registered: true,
  created_at: NOW - 10 * H,
  attached_at: NOW - 10 * H,
  last_check_at: NOW - 30 * S,
  audit_interval_s: 600,
  audited_at: NOW - 300 * S,
  audited_from: 0,
  audited_until: NOW - 350 * S,
  active_since: NOW - 10 * H,
  ids: null,
  ...fields,
})
const gap = (fields: Partial<Gap> = {}): Gap => ({
  stream: 'posts:cats',
  reason: 'poll_overflow',
  recorded_at: NOW - H,
  from_at: NOW - 2 * H,
  until_at: NOW - H,
  missed_estimate: 40,
  closed_at: null,
  from_id: null,
  to_id: null,
  ...fields,
})
const event = (kind: PollEvent['kind'], fields: Partial<PollEvent> = {}): PollEvent => ({
  kind,
  at: NOW - H,
  until_at: NOW - H,
  stream: null,
  ...fields,
})

const LIVE = [stream()]
const STALLED = [stream({ last_check_at: NOW - 181 * S })]
const AWAITING = [
  stream({ last_check_at: null, created_at: NOW - 5 * S, attached_at: NOW - 5 * S }),
]
const CLEAN: PollLog = { gaps: [], events: [], seen: 12 }
const since_at = NOW - 24 * H

/** Coverage of a monitor with these feeds and this log. */
function coverage(streams: FeedFacts[] | null, log: PollLog | null, active = true) {
  const liveness = judgeLiveness(streams, { active, now: NOW })
  const audits = judgeAudits(streams ?? [], { now: NOW, since_at, offset_ms: 0 })
  return judgeCoverage(log, liveness, { active, since_at, audits })
}

test.each([
  ['ahead', 60 * S],
  ['behind', -60 * S],
])(
  'with a clock of the platform %s, audits cover the window from its start by that clock',
  (_, offset_ms) => {
    const isCurrent = (audited_from: number) =>
      judgeAudits([stream({ audited_from, active_since: 0 })], { now: NOW, since_at, offset_ms })
        .is_current
    const start = since_at + offset_ms

    expect([isCurrent(start), isCurrent(start + 1)]).toEqual([true, false])
  },
)

test('verified times are joined only where they meet, and what lies between is a hole', () => {
  const before = { audited_from: 100, audited_until: 200 }

  expect(joinVerified(before, { from: 200, until: 300 })).toEqual({
    audited_from: 100,
    audited_until: 300,
    hole: null,
  })
  expect(joinVerified(before, { from: 201, until: 300 })).toEqual({
    audited_from: 201,
    audited_until: 300,
    hole: { from: 200, until: 201 },
  })
})

type State = { streams?: FeedFacts[] | null; log?: null; active?: false } & Partial<PollLog>
type Case = [title: string, state: State, expected: [string, string | null, number | null]]
const jump = (ms: number) => event('clock_jump', { until_at: NOW - H + ms })
const LOST: Case[2] = ['degraded', null, null]
const WHOLE: Case[2] = ['complete', null, 0]
const FAILED = [event('poll_log_failed')]
const NOT_POLLING: Case[2] = ['partial', 'streams_not_polling', null]
const NOT_OBSERVED: Case[2] = ['partial', 'loss_events_not_observed', null]
const PAUSED: Case[2] = ['unknown', 'monitor_paused', null]
const UNREADABLE: Case[2] = ['unknown', 'poll_log_unreadable', null]
const healed = gap({ missed_estimate: null, closed_at: NOW })

test.each<Case>([
  ['live and never truncated', {}, WHOLE],
  ['paused', { active: false }, PAUSED],
  ['paused, with gaps', { gaps: [gap()], active: false }, PAUSED],
  ['a log that cannot be read', { log: null }, UNREADABLE],
  ['feeds that cannot be read', { streams: null }, UNREADABLE],
  ['one truncated poll', { gaps: [gap()] }, ['degraded', null, 40]],
  ['two truncated polls', { gaps: [gap(), gap({ missed_estimate: 2 })] }, ['degraded', null, 42]],
  ['a truncated poll, healed', { gaps: [gap({ closed_at: NOW })] }, ['degraded', null, 0]],
  ['a gap of unknown size', { gaps: [gap(), gap({ missed_estimate: null })] }, LOST],
  ['a healed gap of unknown size', { gaps: [healed] }, ['degraded', null, 0]],
  ['a gap on a feed that has stalled since', { streams: STALLED, gaps: [gap()] }, LOST],
  ['a gap beside a failed poll log', { gaps: [gap()], events: FAILED }, LOST],
  ['stalled', { streams: STALLED }, NOT_POLLING],
  ['one of two stalled', { streams: [...LIVE, ...STALLED] }, NOT_POLLING],
  ['no feed is scheduled', { streams: [stream({ registered: false })] }, NOT_POLLING],
  ['no feed at all', { streams: [] }, NOT_POLLING],
  ['created a moment ago', { streams: AWAITING }, ['partial', 'stream_liveness_unknown', null]],
  [
    'created a moment ago, first check failed',
    { streams: AWAITING, gaps: [gap({ reason: 'error' })] },
    LOST,
  ],
  ['a check that could not be stored', { events: FAILED }, NOT_OBSERVED],
  ['a backup was restored', { events: [event('restore_detected')] }, NOT_OBSERVED],
  ['the log was pruned', { events: [event('log_pruned')] }, NOT_OBSERVED],
  ['the feed was replaced', { events: [event('feed_replaced')] }, NOT_OBSERVED],
  ['the clock jumped two minutes forward', { events: [jump(120 * S)] }, NOT_OBSERVED],
  ['the clock jumped two minutes back', { events: [jump(-120 * S)] }, NOT_OBSERVED],
  ['the clock jumped by exactly a minute', { events: [jump(60 * S)] }, WHOLE],
  ['the process was down and missed nothing', { events: [event('process_down')] }, WHOLE],
  [
    'stalled and an unobserved period: stalled takes precedence',
    { streams: STALLED, events: FAILED },
    NOT_POLLING,
  ],
])('coverage: %s', (_, { streams = LIVE, log, active = true, ...more }, expected) => {
  const found = coverage(streams, log === null ? null : { ...CLEAN, ...more }, active)

  expect([found.status, found.reason, found.posts_missed_estimate]).toEqual(expected)
  if (found.status === 'unknown')
    expect([found.posts_in_window_at_least, found.gap_events_24h]).toEqual([null, null])
  else expect(found.posts_in_window_at_least).toBe(12)
})

describe('coverage in detail', () => {
  test('the newest gaps are listed, all are counted', () => {
    const gaps = Array.from({ length: ENTRIES_MAX + 3 }, () => gap({ missed_estimate: 1 }))
    const found = coverage(LIVE, { ...CLEAN, gaps })

    expect(found).toMatchObject({
      gaps_returned: ENTRIES_MAX,
      gaps_truncated: true,
      gap_events_24h: ENTRIES_MAX + 3,
      gaps_open: ENTRIES_MAX + 3,
      posts_missed_estimate: ENTRIES_MAX + 3,
    })
    expect(found.gaps).toHaveLength(ENTRIES_MAX)
    const listed = { ...CLEAN, gaps: gaps.slice(0, ENTRIES_MAX) }
    expect(coverage(LIVE, listed).gaps_truncated).toBe(false)
  })

  test('events are listed newest first, truncated polls included', () => {
    const events = [event('process_down', { at: NOW - 1 * H })]
    const gaps = [gap({ recorded_at: NOW - 2 * H })]
    const found = coverage(LIVE, { ...CLEAN, gaps, events })

    expect(found.observed_events.map(({ at }) => at)).toEqual([NOW - 1 * H, NOW - 2 * H])
  })

  test('a clock jump of unknown size may hide items', () => {
    const events = [event('clock_jump', { until_at: null })]

    expect(coverage(LIVE, { ...CLEAN, events }).status).toBe('partial')
  })

  test('a truncated poll and a pause of the process are listed, and add no unobserved event', () => {
    const events = [event('process_down', { at: NOW - 3 * H, until_at: NOW - 2 * H })]
    const found = coverage(LIVE, { ...CLEAN, gaps: [gap()], events })

    expect(found.observed_events.map(({ kind }) => kind)).toEqual(['poll_overflow', 'process_down'])
    expect(found.unobserved_events).toEqual([])
  })

  test('the window begins with the monitor if that is younger than a day', () => {
    expect(windowSince(NOW, NOW - H)).toBe(NOW - H)
    expect(windowSince(NOW, NOW - 48 * H)).toBe(NOW - 24 * H)
  })
})

describe('a stored feed', () => {
  const stored = {
    key: 'posts:cats',
    interval_s: 60,
    created_at: NOW - 10 * H,
    last_check_at: null,
    next_check_at: NOW,
    active_since: NOW - 2 * H,
    audit_interval_s: 600,
    audited_at: null,
    audited_from: null,
    audited_until: null,
    kind: 'posts',
    last_fault: null,
    proof: null,
    verified_from: null,
    verified_until: null,
    proven_from: null,
    proven_to: null,
    behind_from: null,
    behind_to: null,
    partial: null,
    changes: null,
    reread_since: null,
    reread_done_at: null,
  }

  test('covers a monitor from its start on the platform clock, converted to ours', () => {
    expect(feedFacts(stored, 0, 300 * S).attached_at).toBe(NOW - 2 * H - 300 * S)
  })

  test('does not cover a monitor before its creation', () => {
    expect(feedFacts(stored, NOW - H, 0).attached_at).toBe(NOW - H)
  })

  test('that is never due is not polled', () => {
    expect(feedFacts(stored, 0, 0).registered).toBe(true)
    expect(feedFacts({ ...stored, next_check_at: null }, 0, 0).registered).toBe(false)
  })
})

const unchecked = (fields: Partial<FeedFacts> = {}) => [stream({ last_check_at: null, ...fields })]
type Liveness = [status: FeedLiveness['status'], reason: string | null, failures: string[]]
const ALIVE: Liveness = ['live', null, []]
const AWAITED: Liveness = ['unknown', 'streams_awaiting_first_poll', []]
const failing = (reason: string): Liveness => ['degraded', null, [reason]]

test.each<[string, FeedFacts[], Liveness]>([
  ['checked half an interval ago', LIVE, ALIVE],
  ['checked exactly three intervals ago', [stream({ last_check_at: NOW - 180 * S })], ALIVE],
  ['checked longer ago than that', STALLED, failing('stalled')],
  [
    'an hourly feed, two hours ago',
    [stream({ interval_s: 3600, last_check_at: NOW - 2 * H })],
    ALIVE,
  ],
  ['never checked in ten hours', unchecked(), failing('never_polled')],
  ['never checked in three minutes', unchecked({ attached_at: NOW - 180 * S }), AWAITED],
  [
    'never checked in three minutes and a second',
    unchecked({ attached_at: NOW - 181 * S }),
    failing('never_polled'),
  ],
  [
    'never checked since its restart a minute ago',
    unchecked({ created_at: NOW - 60 * S }),
    AWAITED,
  ],
  [
    'an hourly feed, awaiting for two hours',
    unchecked({ interval_s: 3600, attached_at: NOW - 2 * H }),
    AWAITED,
  ],
  ['a feed added a moment ago beside a live one', [...LIVE, ...AWAITING], AWAITED],
  ['a failing one outweighs an awaiting one', [...STALLED, ...AWAITING], failing('stalled')],
  ['idle with an active monitor', [stream({ registered: false })], failing('unregistered')],
  ['a clock that was put back', [stream({ last_check_at: NOW + H })], ALIVE],
])('liveness: %s', (_, facts, expected) => {
  const { status, reason, streams } = judgeLiveness(facts, { active: true, now: NOW })

  const found: unknown[] = [status, reason, streams.map((it) => it.reason)]
  expect(found).toEqual(expected)
})

const NONE: DeliveryCounts = {
  delivered: 0,
  dead: 0,
  failed: 0,
  ceiling: 0,
  stale: 0,
  low_relevance: 0,
  irrelevant: 0,
  unknown: 0,
}

test.each<[string, Partial<DeliveryCounts> & { capped?: true }, number, boolean, object]>([
  ['nothing', {}, 0, false, { resolved: true, sampled: 0 }],
  [
    'stale ones do not count toward the ceiling',
    { stale: 3 },
    3,
    false,
    { resolved: true, stale: 3 },
  ],
  ['one at the ceiling', { ceiling: 1 }, 1, true, { resolved: true, unresolved_reason: null }],
  [
    'more than can be stored',
    { ceiling: 500, capped: true },
    500,
    true,
    { resolved: false, sample_truncated: true, unresolved_reason: 'ceiling_records_capped' },
  ],
  [
    'an unknown reason',
    { unknown: 1, stale: 1 },
    2,
    true,
    { resolved: false, unresolved_reason: 'reason_unknown' },
  ],
  [
    'low relevance and irrelevant are counted separately',
    { low_relevance: 5, irrelevant: 1 },
    0,
    false,
    { resolved: true, low_relevance: 5, irrelevant: 1, sampled: 6 },
  ],
  ['dead is failed, refused is rejected', { dead: 2, failed: 3, delivered: 4 }, 0, false, {}],
])('counters: %s', (_, { capped = false, ...counts }, suppressed_24h, ceiling_reached, parts) => {
  const found = countersOf({ ...NONE, ...counts }, capped)

  const { delivered = 0, dead = 0, failed = 0 } = counts
  const ends = { delivered_24h: delivered, failed_24h: dead, rejected_24h: failed }
  expect(found).toMatchObject({ suppressed_24h, ceiling_reached, ...ends })
  expect(found.suppressed_breakdown).toMatchObject(parts)
})

describe('cadence', () => {
  const promise = { active: true, cadence_s: 60, requested_cadence_s: 10, now: NOW }

  test('is measured at the feed with the oldest poll', () => {
    const streams = [stream(), stream({ id: 'posts:dogs', last_check_at: NOW - 90 * S })]

    expect(judgeCadence(streams, promise)).toEqual({
      promised_cadence_s: 60,
      requested_cadence_s: 10,
      meets_entitlement: true,
      last_checked_s_ago: 90,
      freshness_ratio: 1.5,
      within_margin: true,
      slowest_stream: 'posts:dogs',
      unknown_reason: null,
    })
  })

  test('a feed slower than promised does not meet the entitlement', () => {
    expect(judgeCadence([stream({ interval_s: 61 })], promise).meets_entitlement).toBe(false)
  })

  test('a feed with the promised interval that is not kept does not meet it either', () => {
    const found = [60, 90, 91, 3600].map((age_s) => {
      const dogs = stream({ id: 'posts:dogs', last_check_at: NOW - age_s * S })
      const { meets_entitlement, within_margin } = judgeCadence([stream(), dogs], promise)
      return [meets_entitlement, within_margin]
    })

    expect(found).toEqual([
      [true, true],
      [true, true],
      [false, false],
      [false, false],
    ])
  })

  test.each([
    ['paused', LIVE, { ...promise, active: false }, 'monitor_paused'],
    ['not polled yet', AWAITING, promise, 'streams_awaiting_first_poll'],
    ['unreadable', null, promise, 'poll_log_unreadable'],
  ] as const)('is unknown when %s', (_, streams, is_queried, reason) => {
    expect(judgeCadence(streams, is_queried)).toMatchObject({
      last_checked_s_ago: null,
      freshness_ratio: null,
      meets_entitlement: null,
      unknown_reason: reason,
    })
  })
})

describe('feeds by ids', () => {
  const facts = (fields: Partial<NonNullable<FeedFacts['ids']>> = {}): FeedFacts =>
    stream({
      id: 'all:hn',
      audited_at: null,
      audited_from: null,
      audited_until: null,
      ids: {
        proof: 'dense',
        verified_from: NOW - 5 * H,
        verified_until: NOW - 20 * S,
        proven: { from_id: 5, to_id: 90 },
        behind: null,
        partial: null,
        fault: null,
        interval_s: 60,
        changes: null,
        reread: null,
        ...fields,
      },
    })
  const judge = (streams: FeedFacts[], gaps: Gap[] = []) => {
    const begins_at = NOW - 10 * H
    const audits = judgeAudits(streams, { now: NOW, since_at: begins_at, offset_ms: 0 })
    const liveness = judgeLiveness(streams, { active: true, now: NOW })
    return judgeCoverage({ gaps, events: [], seen: 3 }, liveness, {
      active: true,
      since_at: begins_at,
      audits,
    })
  }

  test('ids without an item are listed, and leave the status; ids that were passed do not', () => {
    const ids = { from_id: 7, to_id: 9, missed_estimate: 3 }
    const unanswered = gap({ ...ids, reason: 'unanswered' })
    expect(judge([facts()], [unanswered])).toMatchObject({
      status: 'complete',
      gaps: [unanswered],
      gap_events_24h: 0,
      gaps_open: 0,
      posts_missed_estimate: 0,
    })
    expect(judge([facts()], [unanswered, gap({ ...ids, reason: 'skipped' })])).toMatchObject({
      status: 'degraded',
      gap_events_24h: 1,
      gaps_open: 1,
      posts_missed_estimate: 3,
    })
  })

  const change = (waiting: number, age_s: number | null, dropped_24h = 0) => ({
    changes: { waiting, oldest_at: age_s === null ? null : NOW - age_s * S, dropped_24h },
  })
  const behind = facts({ behind: { from_id: 91, to_id: 99 } })
  const before = facts({ verified_from: null, verified_until: null, proof: null })
  const unaudited = stream({ audited_at: null })

  test.each<[string, FeedFacts[], Coverage['status'], string | null]>([
    ['caught up', [facts()], 'complete', null],
    ['with a change that waits for two minutes', [facts(change(1, 120))], 'complete', null],
    ['with a change that waits longer', [facts(change(1, 121))], 'partial', 'changes_behind'],
    [
      'with a change that waits for less than two intervals',
      [facts({ interval_s: 300, ...change(1, 600) })],
      'complete',
      null,
    ],
    ['with a change that was dropped', [facts(change(0, null, 1))], 'partial', 'changes_behind'],
    ['with ids to read', [behind], 'partial', 'catching_up'],
    ['that lists in another order', [facts({ partial: 'no_paging' })], 'partial', 'no_paging'],
    ['out of reach', [facts({ fault: 'timeout' })], 'degraded', 'source_unreachable'],
    ['before its first step', [before], 'unknown', 'streams_awaiting_first_poll'],
    [
      'not read for long',
      [{ ...facts(), last_check_at: NOW - H }],
      'partial',
      'streams_not_polling',
    ],
    ['beside a feed that is not audited', [facts(), unaudited], 'partial', 'not_audited'],
    ['beside an audited feed', [facts(), stream()], 'complete', null],
    ['one of two behind', [facts(), behind], 'partial', 'catching_up'],
  ])('%s', (_, streams, status, reason) => {
    const { status: found, reason: why } = judge(streams)
    expect([found, why]).toEqual([status, reason])
  })

  test('the verified time is that of the least verified feed, from the first step on', () => {
    const later = facts({ verified_until: NOW - 200 * S, verified_from: NOW - H, proof: 'keyset' })
    expect(judge([facts(), later])).toMatchObject({
      audited_until_at: NOW - 200 * S,
      since_at: NOW - H,
      audit_interval_s: 60,
      proof: ['dense', 'keyset'],
    })
    expect(judge([later, stream()])).toMatchObject({
      audited_until_at: NOW - 350 * S,
      since_at: NOW - 10 * H,
      audit_interval_s: 600,
      proof: ['time_listing', 'keyset'],
    })
  })
})
