import { expect, test } from 'bun:test'

import {
  groupGaps,
  isCollecting,
  monitorStatus,
  stretchesOf,
} from '../../../../src/page/lib/monitor-status.ts'
import type { Coverage, Gap, Health } from '../../../../src/page/lib/types.ts'

const NOW = Date.parse('2026-03-02T12:00:00Z')
const HOUR_MS = 3_600_000
const ago = (hours: number) => new Date(NOW - hours * HOUR_MS).toISOString()

const gap = (more: Partial<Gap> = {}): Gap => ({
  stream: 's1',
  reason: 'error',
  at: ago(1),
  from: ago(2),
  until: ago(1),
  missed_estimate: 2,
  from_id: null,
  to_id: null,
  healed_at: null,
  ...more,
})

const coverage = (more: Partial<Coverage> = {}): Coverage => ({
  status: 'complete',
  reason: null,
  proof: ['time_listing'],
  since: ago(48),
  gaps: [],
  audited_until: null,
  audit_interval_s: 60,
  gaps_returned: 0,
  gaps_truncated: false,
  gap_events_24h: 0,
  gaps_open: 0,
  posts_in_window_at_least: 10,
  posts_missed_estimate: 0,
  observed_events: [],
  unobserved_events: [],
  ...more,
})

const health = (more: Partial<Health> = {}): Health => ({
  id: 'mon_1',
  active: true,
  pause_reason: null,
  alarms: [],
  daily_delivery_ceiling: 10_000,
  delivered_24h: 0,
  failed_24h: 0,
  rejected_24h: 0,
  suppressed_24h: 0,
  suppressed_breakdown: {
    ceiling: 0,
    stale: 0,
    low_relevance: 0,
    irrelevant: 0,
    unknown: 0,
    sampled: 0,
    sample_truncated: false,
    resolved: true,
    unresolved_reason: null,
  },
  ceiling_reached: false,
  last_match_at: null,
  coverage_24h: coverage(),
  stream_liveness: { status: 'live', reason: null, streams: [] },
  cadence: {
    promised_cadence_s: 60,
    requested_cadence_s: null,
    meets_entitlement: true,
    last_checked_s_ago: 10,
    freshness_ratio: 0.2,
    within_margin: true,
    slowest_stream: null,
    unknown_reason: null,
  },
  ...more,
})

const degraded = (gaps: Gap[], more: Partial<Coverage> = {}) =>
  health({
    coverage_24h: coverage({
      status: 'degraded',
      gaps,
      gap_events_24h: gaps.length,
      gaps_open: gaps.filter(({ healed_at }) => healed_at === null).length,
      ...more,
    }),
  })

test.each<[string, Health]>([
  ['Stopped', health({ active: false, pause_reason: 'filter_too_slow' })],
  ['Complete', health()],
  ['Paused', health({ active: false })],
  ['Gaps', degraded([gap()], { posts_missed_estimate: 2 })],
  ['Gaps', degraded([gap(), gap({ healed_at: ago(0) })])],
  ['Caught up', degraded([gap({ healed_at: ago(0) })])],
  // More than are listed.
  ['Gaps', degraded([gap({ healed_at: ago(0) })], { gaps_truncated: true, gaps_open: 1 })],
  ['Caught up', degraded([gap({ healed_at: ago(0) })], { gaps_truncated: true, gaps_open: 0 })],
  [
    'Partial',
    health({ coverage_24h: coverage({ status: 'partial', reason: 'streams_not_polling' }) }),
  ],
  [
    'Unknown',
    health({ coverage_24h: coverage({ status: 'unknown', reason: 'poll_log_unreadable' }) }),
  ],
  [
    'Collecting',
    health({
      coverage_24h: coverage({ status: 'partial', reason: 'stream_liveness_unknown' }),
      stream_liveness: { status: 'unknown', reason: 'streams_awaiting_first_poll', streams: [] },
    }),
  ],
])('the status word is %p', (word, it) => {
  expect(monitorStatus(it).word).toBe(word)
})

test('an unknown number of missed items is not shown as zero', () => {
  const { detail } = monitorStatus(degraded([gap()], { posts_missed_estimate: null }))

  expect(detail).toBe(
    '1 check was truncated in 24 hours; the number of missed items cannot be estimated.',
  )
})

test('the strip shows observed periods below gaps', () => {
  const drawn = stretchesOf(
    coverage({
      since: ago(12),
      gaps: [
        gap({ from: ago(6), until: ago(3) }),
        gap({ from: ago(2), until: ago(1), healed_at: ago(0) }),
      ],
      unobserved_events: [{ kind: 'clock_jump', at: ago(9), until: ago(8), stream: null }],
    }),
    NOW,
  )

  expect(drawn.map(({ kind, from, until }) => [kind, from, until])).toEqual([
    ['seen', 0.5, 1],
    ['blind', 15 / 24, 16 / 24],
    ['gap', 18 / 24, 21 / 24],
    ['healed', 22 / 24, 23 / 24],
  ])
})

test('the strip clips periods to the day and draws a gap without a start', () => {
  const drawn = stretchesOf(
    coverage({
      gaps: [gap({ from: ago(30), until: ago(20) }), gap({ from: null, until: ago(1) })],
    }),
    NOW,
  )

  expect(drawn[0]).toMatchObject({ kind: 'seen', from: 0, until: 1 })
  expect(drawn[1]).toMatchObject({ from: 0, until: 4 / 24 })
  expect((drawn[2]?.until ?? 0) - (drawn[2]?.from ?? 0)).toBeCloseTo(3 / (24 * 60))
})

test('groups truncated checks with the same feed, reason and start', () => {
  const cuts = groupGaps([
    gap({ at: ago(1), missed_estimate: 1 }),
    gap({ at: ago(1.5), missed_estimate: 2 }),
    gap({ at: ago(1.2), stream: 's2', missed_estimate: null }),
  ])

  expect(cuts).toMatchObject([
    { stream: 's1', checks: 2, at: ago(1.5), missed_estimate: 3 },
    { stream: 's2', checks: 1, missed_estimate: null },
  ])
})

test.each<[string, Partial<Health>, boolean]>([
  ['a quarter of an hour old', { coverage_24h: coverage({ since: ago(0.25) }) }, false],
  ['a minute old', { coverage_24h: coverage({ since: ago(1 / 60) }) }, true],
  ['paused', { active: false, coverage_24h: coverage({ since: ago(1 / 60) }) }, false],
  ['new with a gap', { coverage_24h: coverage({ since: ago(1 / 60), gaps: [gap()] }) }, false],
])('a monitor that is %s is collecting: %#', (_, more, expected) => {
  expect(isCollecting(health(more), NOW)).toBe(expected)
})
