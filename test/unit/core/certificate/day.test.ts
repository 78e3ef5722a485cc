import { expect, test } from 'bun:test'

import {
  bucketOf,
  type Evidence,
  judgeRange,
  percentile,
  type Span,
  worstOf,
} from '../../../../src/core/certificate/day.ts'

const MIN = 60_000
const H = 60 * MIN
const DAY = { from: 0, until: 24 * H }

const span = (fields: Partial<Span> = {}): Span => ({
  feed_id: 1,
  from: -H,
  ended: Infinity,
  until: Infinity,
  verified: [{ from: -H, until: 30 * H }],
  is_stream: false,
  partial: null,
  ...fields,
})

const judged = (evidence: Partial<Evidence> = {}) =>
  judgeRange(DAY, {
    known_from: -H,
    created: -H,
    versions: [{ at: -H, active: true }],
    spans: [span()],
    gaps: [],
    events: [],
    ...evidence,
  }).map(({ from, until, status, reason }) => [
    Math.round((from / H) * 10) / 10,
    Math.round((until / H) * 10) / 10,
    reason ?? status,
  ])

const gap = (from: number, until: number, fields = {}) => ({
  feed_id: 1,
  from,
  until,
  recorded: { from: until, until },
  ...fields,
})
const event = (
  kind: 'clock_jump' | 'process_down' | 'restore_detected',
  at: number,
  until_at: number | null,
) => ({
  kind,
  at,
  until_at,
  feed_id: null,
})

test.each<[string, Partial<Evidence>, unknown[]]>([
  ['everything was verified', {}, [[0, 24, 'complete']]],
  [
    'audits end before the day does',
    { spans: [span({ verified: [{ from: -H, until: 20 * H }] })] },
    [
      [0, 20, 'complete'],
      [20, 24, 'not_audited'],
    ],
  ],
  [
    'audits had a break',
    {
      spans: [
        span({
          verified: [
            { from: -H, until: 5 * H },
            { from: 8 * H, until: 30 * H },
          ],
        }),
      ],
    },
    [
      [0, 5, 'complete'],
      [5, 8, 'not_audited'],
      [8, 24, 'complete'],
    ],
  ],
  [
    'one of two feeds has no audit',
    { spans: [span(), span({ feed_id: 2, verified: [] })] },
    [[0, 24, 'not_audited']],
  ],
  [
    'a gap, though audits went on',
    { gaps: [gap(6 * H, 7 * H)] },
    [
      [0, 6, 'complete'],
      [6, 7, 'degraded'],
      [7, 24, 'complete'],
    ],
  ],
  ['a gap of another feed', { gaps: [gap(6 * H, 7 * H, { feed_id: 9 })] }, [[0, 24, 'complete']]],
  [
    'a gap without a known start reaches back to the start of the monitor',
    { gaps: [gap(-Infinity, 7 * H)] },
    [
      [0, 7, 'degraded'],
      [7, 24, 'complete'],
    ],
  ],
  [
    'a gap without a known start from before the monitor',
    { gaps: [gap(-Infinity, 7 * H, { recorded: { from: -9 * H, until: -9 * H } })] },
    [[0, 24, 'complete']],
  ],
  [
    'a gap that is open',
    { gaps: [gap(20 * H, Infinity)] },
    [
      [0, 20, 'complete'],
      [20, 24, 'degraded'],
    ],
  ],
  [
    'a pause',
    {
      versions: [
        { at: -H, active: true },
        { at: 4 * H, active: false },
        { at: 6 * H, active: true },
      ],
    },
    [
      [0, 4, 'complete'],
      [4, 6, 'monitor_paused'],
      [6, 24, 'complete'],
    ],
  ],
  [
    'the feed read on after the monitor left it',
    {
      versions: [
        { at: -H, active: true },
        { at: 4 * H, active: false },
      ],
      spans: [span({ ended: 4 * H, until: 3 * H })],
    },
    [
      [0, 3, 'complete'],
      [3, 4, 'not_audited'],
      [4, 24, 'monitor_paused'],
    ],
  ],
  [
    'an added feed that was never verified',
    { spans: [span(), span({ feed_id: 2, from: 10 * H, verified: [] })] },
    [
      [0, 10, 'complete'],
      [10, 24, 'not_audited'],
    ],
  ],
  [
    'a monitor created within the day',
    { created: 2 * H, known_from: 2 * H, spans: [span({ from: 2 * H })] },
    [
      [0, 2, 'before_start'],
      [2, 24, 'complete'],
    ],
  ],
  [
    'deleted history',
    { known_from: 5 * H },
    [
      [0, 5, 'no_history'],
      [5, 24, 'complete'],
    ],
  ],
  ['no feed', { spans: [] }, [[0, 24, 'no_history']]],
  [
    'a clock set by an hour',
    { events: [event('clock_jump', 5 * H, 6 * H)] },
    [
      [0, 5, 'complete'],
      [5, 6, 'loss_events_not_observed'],
      [6, 24, 'complete'],
    ],
  ],
  [
    'a clock set back by an hour',
    { events: [event('clock_jump', 6 * H, 5 * H)] },
    [
      [0, 5, 'complete'],
      [5, 6, 'loss_events_not_observed'],
      [6, 24, 'complete'],
    ],
  ],
  [
    'a stop of the daemon that polls caught up',
    { events: [event('process_down', 5 * H, 6 * H)] },
    [[0, 24, 'complete']],
  ],
  [
    'a restored backup',
    { events: [event('restore_detected', 9 * H, 3 * H)] },
    [
      [0, 3, 'complete'],
      [3, 9, 'loss_events_not_observed'],
      [9, 24, 'complete'],
    ],
  ],
  [
    'a stream whose source cannot prove it',
    { spans: [span({ is_stream: true, partial: 'narrow' })] },
    [[0, 24, 'narrow']],
  ],
  [
    'a stream with a time that it did not verify',
    { spans: [span({ is_stream: true, verified: [{ from: 3 * H, until: 30 * H }] })] },
    [
      [0, 3, 'not_verified'],
      [3, 24, 'complete'],
    ],
  ],
])('%s', (_, evidence, expected) => {
  expect(judged(evidence)).toEqual(expected as never)
})

test('a day in too many parts has its worst status', () => {
  const gaps = Array.from({ length: 60 }, (_, n) => gap(n * 20 * MIN, n * 20 * MIN + MIN))
  expect(judged({ gaps })).toEqual([[0, 24, 'many_changes']])
})

test('the worst status counts, and none is unknown', () => {
  expect(worstOf(['complete', 'partial', 'unknown'])).toBe('partial')
  expect(worstOf(['complete', 'degraded', 'partial'])).toBe('degraded')
  expect(worstOf([])).toBe('unknown')
})

test('a percentile is the delay rounded up by a tenth at most', () => {
  const delays = Array.from({ length: 1000 }, (_, n) => 10 + n * 3)
  const buckets = new Map<number, number>()
  for (const ms of delays) buckets.set(bucketOf(ms), (buckets.get(bucketOf(ms)) ?? 0) + 1)
  for (const share of [0.5, 0.99]) {
    const exact = delays[Math.ceil(share * 1000) - 1] ?? 0
    const found = percentile([...buckets], share) ?? 0
    expect(found).toBeGreaterThanOrEqual(exact)
    expect(found).toBeLessThanOrEqual(exact * 1.1)
  }
  expect(percentile([], 0.5)).toBeNull()
})
