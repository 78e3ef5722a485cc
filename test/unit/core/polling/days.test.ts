import { expect, test } from 'bun:test'

import {
  type CoverageFacts,
  DAY_MS,
  type DayGap,
  GAPS_MAX,
  gapsIn,
  joinGaps,
  secondsOf,
  type WatchedFeed,
} from '../../../../src/core/polling/days.ts'

const MIN = 60_000
const H = 60 * MIN
const DAY = { from: 0, until: 24 * H }

const feed = (fields: Partial<WatchedFeed> = {}): WatchedFeed => ({
  feed_id: 1,
  from: -H,
  proven: [{ from: -H, until: 30 * H }],
  limit: null,
  unproven: 'not_verified',
  ...fields,
})

const hours = (ms: number) => Math.round((ms / H) * 10) / 10

/** The gaps of the day, as hours with reasons. */
const found = (facts: Partial<CoverageFacts> = {}) =>
  gapsIn(DAY, { active: true, feeds: [feed()], cuts: [], events: [], ...facts })
    .map(({ from, until, reason }) => `${hours(from)}-${hours(until)} ${reason}`)
    .join(', ')

const cut = (from: number, until: number, fields = {}) => ({
  feed_id: 1,
  reason: 'error',
  from,
  until,
  recorded: { from: until, until },
  ...fields,
})
const happened = (
  kind: 'clock_jump' | 'process_down' | 'restore_detected',
  from_hour: number,
  until_hour: number,
) => ({ events: [{ kind, at: from_hour * H, until_at: until_hour * H, feed_id: null }] })

const UNTIL_5_FROM_8 = [
  { from: -H, until: 5 * H },
  { from: 8 * H, until: 30 * H },
]

test.each<[string, Partial<CoverageFacts>, string]>([
  ['everything was verified', {}, ''],
  [
    'audits end before the day does',
    { feeds: [feed({ proven: [{ from: -H, until: 20 * H }] })] },
    '20-24 not_verified',
  ],
  ['audits had a break', { feeds: [feed({ proven: UNTIL_5_FROM_8 })] }, '5-8 not_verified'],
  [
    'the daemon was down in a part of the break',
    { feeds: [feed({ proven: UNTIL_5_FROM_8 })], ...happened('process_down', 5, 7) },
    '5-7 process_down, 7-8 not_verified',
  ],
  ['a stop of the daemon that polls caught up', happened('process_down', 5, 6), ''],
  [
    'one of two feeds has no audit',
    { feeds: [feed(), feed({ feed_id: 2, proven: [] })] },
    '0-24 not_verified',
  ],
  ['a cut, though audits went on', { cuts: [cut(6 * H, 7 * H)] }, '6-7 error'],
  ['a cut of another feed', { cuts: [cut(6 * H, 7 * H, { feed_id: 9 })] }, ''],
  [
    'a cut of one feed over what another has not verified',
    { feeds: [feed(), feed({ feed_id: 2, proven: UNTIL_5_FROM_8 })], cuts: [cut(6 * H, 7 * H)] },
    '5-6 not_verified, 6-7 error, 7-8 not_verified',
  ],
  [
    'a cut without a known start reaches back to the start of the monitor',
    { feeds: [feed({ from: 2 * H })], cuts: [cut(-Infinity, 7 * H)] },
    '0-2 not_watched, 2-7 error',
  ],
  [
    'a cut without a known start from before the monitor',
    { cuts: [cut(-Infinity, 7 * H, { recorded: { from: -9 * H, until: -9 * H } })] },
    '',
  ],
  ['a cut that is open', { cuts: [cut(20 * H, Infinity)] }, '20-24 error'],
  ['a pause', { active: false }, '0-24 monitor_paused'],
  [
    'an added feed that was never verified',
    { feeds: [feed(), feed({ feed_id: 2, from: 10 * H, proven: [] })] },
    '10-24 not_verified',
  ],
  ['no feed', { feeds: [] }, '0-24 not_watched'],
  ['a clock set by an hour', happened('clock_jump', 5, 6), '5-6 loss_events_not_observed'],
  ['a clock set back by an hour', happened('clock_jump', 6, 5), '5-6 loss_events_not_observed'],
  ['a restored backup', happened('restore_detected', 9, 3), '3-9 loss_events_not_observed'],
  [
    'a source that cannot prove anything of the place',
    { feeds: [feed({ limit: 'copy_of_remote' })] },
    '0-24 copy_of_remote',
  ],
  [
    'a source that could not prove anything for a while',
    { feeds: [feed({ proven: UNTIL_5_FROM_8, unproven: 'no_paging' })] },
    '5-8 no_paging',
  ],
])('%s', (_, facts, expected) => {
  expect(found(facts)).toBe(expected)
})

const gap = (from: number, until: number, fields: Partial<DayGap> = {}): DayGap => ({
  from,
  until,
  status: 'partial',
  reason: 'not_verified',
  ...fields,
})

test('adjacent gaps of one reason are one', () => {
  const degraded = gap(2 * H, 3 * H, { status: 'degraded', reason: 'error' })
  expect(joinGaps(0, [gap(0, H), gap(H, 2 * H), degraded])).toEqual([gap(0, 2 * H), degraded])
})

test('a day of too many gaps is one gap of the worst status', () => {
  const gaps = Array.from({ length: GAPS_MAX }, (_, n) =>
    gap(DAY_MS + n * MIN, DAY_MS + n * MIN + 1),
  )
  expect(joinGaps(1, gaps)).toHaveLength(GAPS_MAX)
  const last = gap(DAY_MS + 5 * H, DAY_MS + 6 * H, { status: 'degraded', reason: 'error' })
  expect(joinGaps(1, [...gaps, last])).toEqual([
    { from: DAY_MS, until: DAY_MS + 6 * H, status: 'degraded', reason: 'many_changes' },
  ])
})

test('the seconds of a day add up to the time that has passed', () => {
  const unwatched = gap(DAY_MS, DAY_MS + H, { status: 'unknown', reason: 'before_start' })
  const gaps = [unwatched, gap(DAY_MS + 2 * H, DAY_MS + 2 * H + 1499)]
  expect(secondsOf({ day: 1, until_at: DAY_MS + 3 * H, gaps })).toEqual({
    complete_s: 7199,
    not_verified_s: 1,
    unwatched_s: 3600,
  })
})
