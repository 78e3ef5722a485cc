import { expect, test } from 'bun:test'

import { insertCheck, insertGap, type NewGap } from '../../src/store/checks.ts'
import { insertDelivery, type NewDelivery } from '../../src/store/deliveries.ts'
import { insertEvent } from '../../src/store/events.ts'
import { startMonitors } from '../support/monitors.ts'
import { CUSTOMER, post, START } from '../unit/monitor/stage.ts'

// The truth table of a monitor's health (interface.md, Monitor health; contract 7): what is stored, and what the public
// answer makes of it. Each row begins with a monitor of cats that was made ten hours ago and looked at half a minute ago.

const S = 1000
const MIN = 60 * S
const H = 60 * MIN
const NOW = START + 10 * H

type House = ReturnType<typeof startMonitors>
type Row = [title: string, arrange: (house: House, id: string) => unknown, expected: object]

async function startRow(): Promise<{ house: House; id: string }> {
  const house = startMonitors()
  const { stage } = house
  stage.webhook('wh_1')
  const { id } = (await house.add({ filter_spec: { subforum: 'cats' }, cadence_s: 60 })).body
  await stage.look()
  stage.pass(NOW - START)
  checked(house, 30)
  return { house, id }
}

/** The stream was looked at so long ago; null: never. */
const checked = ({ stage }: House, ago_s: number | null, key = 'posts:cats'): void =>
  void stage.db.run('UPDATE streams SET last_check_at = ? WHERE key = ?', [
    ago_s === null ? null : NOW - ago_s * S,
    key,
  ])

const streamId = ({ stage }: House, key: string): number => {
  const row = stage.db
    .query<{ id: number }, [string]>('SELECT id FROM streams WHERE key = ?')
    .get(key)
  if (row === null) throw new Error(`no stream ${key}`)
  return row.id
}

function cut(house: House, fields: Partial<NewGap> & { healed_at?: number; stream?: string } = {}) {
  const { healed_at, stream = 'posts:cats', ...gap } = fields
  const { db } = house.stage
  const recorded_at = fields.recorded_at ?? NOW - H
  const reason = fields.reason ?? 'poll_overflow'
  const stream_id = streamId(house, stream)
  const at = { started_at: recorded_at - S, ended_at: recorded_at }
  const check_id = insertCheck(db, {
    ...at,
    stream_id,
    boot: 'boot',
    cut_reason: reason,
    new_items: 0,
    pages: 12,
  })
  insertGap(db, {
    stream_id,
    check_id,
    reason,
    from_at: recorded_at - H,
    until_at: recorded_at,
    missed_estimate: 40,
    anchors: [],
    recorded_at,
    ...gap,
  })
  if (healed_at !== undefined)
    db.run('UPDATE gaps SET healed_at = ? WHERE id = (SELECT max(id) FROM gaps)', [healed_at])
}

type Kind = Parameters<typeof insertEvent>[1]['kind']
const happened = (house: House, kind: Kind, lasted_s = 0, at = NOW - H, stream?: string): void =>
  insertEvent(house.stage.db, {
    kind,
    stream_id: stream === undefined ? null : streamId(house, stream),
    at,
    until_at: at + lasted_s * S,
  })

let deliveries = 0
type Ended = { ended_ago_h: number; last_error?: string }

/** A delivery written so many hours ago, and how it ended since. */
function delivered(
  { stage }: House,
  monitor_id: string,
  ago_h: number,
  row:
    | { status: 'delivered' | 'dead' | 'failed'; how: Ended }
    | { status: 'suppressed'; reason: string }
    | { status: 'pending' }
    | { status: 'failed'; last_error: 'webhook_paused' | 'webhook_deleted' },
): void {
  const { db } = stage
  const id = `dlv_${++deliveries}`
  const base = {
    id,
    customer_id: CUSTOMER,
    monitor_id,
    webhook_id: 'wh_1',
    body: new Uint8Array(1),
  }
  const begun = 'how' in row ? { status: 'pending' as const } : row
  insertDelivery(db, { ...base, ...begun, now: NOW - ago_h * H } satisfies NewDelivery)
  if (!('how' in row)) return
  const ended_at = NOW - row.how.ended_ago_h * H
  db.run(
    'UPDATE deliveries SET status = ?, attempts = 1, next_attempt_at = NULL, delivered_at = ?, last_error = ? WHERE id = ?',
    [row.status, row.status === 'delivered' ? ended_at : null, row.how.last_error ?? null, id],
  )
  db.run(
    'INSERT INTO attempts (delivery_row, n, boot, started_at, ended_at) SELECT row, 1, ?, ?, ? FROM deliveries WHERE id = ?',
    ['boot', ended_at, ended_at, id],
  )
}

const saw = ({ stage }: House, count: number, created_at: number): void => {
  const insert = stage.db.query(
    'INSERT INTO stream_items (stream_id, item_id, seq, created_at, first_seen_at) VALUES (1, ?, ?, ?, ?)',
  )
  for (let i = 0; i < count; i++) insert.run(`t3_${created_at}${i}`, i, created_at, created_at)
}

/** The monitor watches dogs too, which were looked at so long ago. */
async function withDogs(house: House, id: string, ago_s: number | null): Promise<void> {
  await house.update({ id, filter_spec: { subforum: ['cats', 'dogs'] } })
  house.stage.db.run('UPDATE streams SET created_at = ?1, last_check_at = ?1', [NOW - 9 * H])
  house.stage.db.run('UPDATE monitor_streams SET active_since = ?', [NOW - 9 * H])
  checked(house, 30)
  checked(house, ago_s, 'posts:dogs')
}

const coverage = (status: string, reason: string | null, rest: object = {}) => ({
  coverage_24h: { status, reason, ...rest },
})
const complete = coverage('complete', null)
const degraded = (rest: object = {}) => coverage('degraded', null, rest)
const partial = (reason: string, rest: object = {}) => coverage('partial', reason, rest)
const liveness = (status: string, reason: string | null, streams: object[] = []) => ({
  stream_liveness: { status, reason, streams },
})
const NOTHING_KNOWN = {
  posts_in_window_at_least: null,
  posts_missed_estimate: null,
  gap_events_24h: null,
}
const stalled = [{ id: 'posts:cats', reason: 'stalled' }]

const ROWS: Row[] = [
  [
    'looked at and never cut',
    () => {},
    {
      ...coverage('complete', null, {
        posts_in_window_at_least: 0,
        posts_missed_estimate: 0,
        gap_events_24h: 0,
        observed_events: [],
        unobserved_events: [],
        since: new Date(START).toISOString(),
      }),
      ...liveness('live', null),
      active: true,
      daily_delivery_ceiling: 10_000,
      last_match_at: null,
    },
  ],
  // Paused, or not to be read.
  [
    'paused',
    (house, id) => house.update({ id, active: false }),
    {
      active: false,
      ...coverage('unknown', 'monitor_paused', NOTHING_KNOWN),
      ...liveness('unknown', 'monitor_paused'),
      cadence: { unknown_reason: 'monitor_paused', meets_entitlement: null, within_margin: null },
    },
  ],
  [
    'paused after a cut check',
    async (house, id) => {
      cut(house)
      await house.update({ id, active: false })
    },
    coverage('unknown', 'monitor_paused', { ...NOTHING_KNOWN, gaps: [] }),
  ],
  [
    'gaps that cannot be read',
    ({ stage }) => stage.db.run('ALTER TABLE gaps RENAME TO gone'),
    { ...coverage('unknown', 'poll_log_unreadable', NOTHING_KNOWN), ...liveness('live', null) },
  ],
  [
    'events that cannot be read',
    ({ stage }) => stage.db.run('ALTER TABLE events RENAME TO gone'),
    coverage('unknown', 'poll_log_unreadable', NOTHING_KNOWN),
  ],
  [
    'streams that cannot be read',
    ({ stage }) => stage.db.run('ALTER TABLE monitor_streams RENAME TO gone'),
    {
      ...coverage('unknown', 'poll_log_unreadable', NOTHING_KNOWN),
      ...liveness('unknown', 'poll_log_unreadable'),
      cadence: { unknown_reason: 'poll_log_unreadable', last_checked_s_ago: null },
    },
  ],
  // Cut checks.
  ...(
    [
      'poll_overflow',
      'listing_exhausted',
      'page_restart',
      'empty_listing',
      'error',
      'storage_full',
    ] as const
  ).map((reason): Row => [
    `a check cut by ${reason}`,
    (house) => cut(house, { reason }),
    degraded({
      gap_events_24h: 1,
      gaps_returned: 1,
      gaps_truncated: false,
      posts_missed_estimate: 40,
      gaps: [{ stream: 'posts:cats', reason, healed_at: null, missed_estimate: 40 }],
      observed_events: [{ kind: reason }],
    }),
  ]),
  [
    'two gaps add up, and the floor stays beside them',
    (house) => {
      saw(house, 7, NOW - H)
      cut(house)
      cut(house, { missed_estimate: 2 })
    },
    degraded({ posts_missed_estimate: 42, posts_in_window_at_least: 7 }),
  ],
  [
    'a gap that was closed later hides nothing, and was one all the same',
    (house) => cut(house, { healed_at: NOW - MIN }),
    degraded({ posts_missed_estimate: 0, gap_events_24h: 1 }),
  ],
  [
    'a gap of a size that nobody knows',
    (house) => {
      cut(house)
      cut(house, { missed_estimate: null })
    },
    degraded({ posts_missed_estimate: null }),
  ],
  [
    'one of unknown size that was closed',
    (house) => cut(house, { missed_estimate: null, healed_at: NOW }),
    degraded({ posts_missed_estimate: 0 }),
  ],
  [
    'a gap of a day ago and a second',
    ({ stage, ...house }) => {
      stage.db.run(
        'UPDATE monitors SET created_at = created_at - ?1, active_since = active_since - ?1',
        [48 * H],
      )
      stage.db.run('UPDATE monitor_streams SET active_since = active_since - ?', [48 * H])
      cut({ stage, ...house }, { recorded_at: NOW - 24 * H - S })
    },
    complete,
  ],
  [
    'a gap of just under a day ago',
    ({ stage, ...house }) => {
      stage.db.run(
        'UPDATE monitors SET created_at = created_at - ?1, active_since = active_since - ?1',
        [48 * H],
      )
      stage.db.run('UPDATE monitor_streams SET active_since = active_since - ?', [48 * H])
      cut({ stage, ...house }, { recorded_at: NOW - 24 * H + S })
    },
    degraded({ since: new Date(NOW - 24 * H).toISOString() }),
  ],
  ['a gap from before the monitor', (house) => cut(house, { recorded_at: START - MIN }), complete],
  [
    "a gap of another's place",
    async (house) => {
      await house.add({ filter_spec: { subforum: 'dogs' } }, 'cus_2')
      cut(house, { stream: 'posts:dogs' })
    },
    complete,
  ],
  [
    'a gap of one of two places',
    async (house, id) => {
      await withDogs(house, id, 30)
      cut(house, { stream: 'posts:dogs' })
    },
    degraded({ gaps: [{ stream: 'posts:dogs' }] }),
  ],
  [
    'more gaps than are shown',
    (house) => {
      for (let i = 0; i < 53; i++) cut(house, { missed_estimate: 1, recorded_at: NOW - i * MIN })
    },
    degraded({
      gaps_returned: 50,
      gaps_truncated: true,
      gap_events_24h: 53,
      posts_missed_estimate: 53,
    }),
  ],
  [
    'a gap, and nobody has looked since',
    (house) => {
      cut(house)
      checked(house, 181)
    },
    { ...degraded({ posts_missed_estimate: null }), ...liveness('degraded', null, stalled) },
  ],
  // What was not looked at.
  [
    'looked at exactly three intervals ago',
    (house) => checked(house, 180),
    { ...complete, ...liveness('live', null) },
  ],
  [
    'looked at longer ago than that',
    (house) => checked(house, 181),
    {
      ...partial('streams_not_polling', { posts_missed_estimate: null }),
      ...liveness('degraded', null, stalled),
    },
  ],
  [
    'an hourly stream that was looked at two hours ago',
    (house) => {
      house.stage.db.run('UPDATE streams SET interval_s = 3600')
      checked(house, 7200)
    },
    { ...complete, ...liveness('live', null) },
  ],
  [
    'never looked at in ten hours',
    (house) => checked(house, null),
    {
      ...partial('streams_not_polling'),
      ...liveness('degraded', null, [{ id: 'posts:cats', reason: 'never_polled' }]),
    },
  ],
  [
    'made three minutes ago and not looked at',
    (house) => {
      checked(house, null)
      house.stage.db.run('UPDATE monitor_streams SET active_since = ?', [NOW - 180 * S])
    },
    {
      ...partial('stream_liveness_unknown'),
      ...liveness('unknown', 'streams_awaiting_first_poll'),
      cadence: { unknown_reason: 'streams_awaiting_first_poll' },
    },
  ],
  [
    'asleep although it is watched',
    ({ stage }) => stage.db.run('UPDATE streams SET next_check_at = NULL'),
    {
      ...partial('streams_not_polling'),
      ...liveness('degraded', null, [{ id: 'posts:cats', reason: 'unregistered' }]),
    },
  ],
  [
    'one of two places stalled',
    (house, id) => withDogs(house, id, 600),
    {
      ...partial('streams_not_polling'),
      ...liveness('degraded', null, [{ id: 'posts:dogs', reason: 'stalled' }]),
    },
  ],
  [
    'one of two places awaits its first look',
    async (house, id) => {
      await withDogs(house, id, null)
      house.stage.db.run('UPDATE monitor_streams SET active_since = ? WHERE stream_id = 2', [NOW])
    },
    {
      ...partial('stream_liveness_unknown'),
      ...liveness('unknown', 'streams_awaiting_first_poll'),
    },
  ],
  [
    'one stalled, one awaiting: the worse is told',
    async (house, id) => {
      await withDogs(house, id, null)
      house.stage.db.run('UPDATE monitor_streams SET active_since = ? WHERE stream_id = 2', [NOW])
      checked(house, 600)
    },
    { ...partial('streams_not_polling'), ...liveness('degraded', null, stalled) },
  ],
  [
    'a monitor that watches nothing',
    ({ stage }) => stage.db.run('DELETE FROM monitor_streams'),
    { ...partial('streams_not_polling'), ...liveness('degraded', null) },
  ],
  [
    'a clock that was put back',
    (house) => checked(house, -3600),
    { ...complete, ...liveness('live', null), cadence: { last_checked_s_ago: 0 } },
  ],
  // What nobody could observe.
  ...(['poll_log_failed', 'feed_replaced', 'log_pruned', 'restore_detected'] as const).map(
    (kind): Row => [
      `an unobserved event: ${kind}`,
      (house) => happened(house, kind),
      partial('loss_events_not_observed', {
        posts_missed_estimate: null,
        unobserved_events: [{ kind, at: new Date(NOW - H).toISOString(), stream: null }],
      }),
    ],
  ),
  [
    'a clock that jumped on by two minutes',
    (house) => happened(house, 'clock_jump', 120),
    partial('loss_events_not_observed', { unobserved_events: [{ kind: 'clock_jump' }] }),
  ],
  [
    'a clock that jumped back by two minutes',
    (house) => happened(house, 'clock_jump', -120),
    partial('loss_events_not_observed'),
  ],
  [
    'a clock that was set right by a minute',
    (house) => happened(house, 'clock_jump', 60),
    coverage('complete', null, { unobserved_events: [] }),
  ],
  [
    'the process was down, and the next check met the head',
    (house) => happened(house, 'process_down', 600),
    coverage('complete', null, {
      observed_events: [{ kind: 'process_down' }],
      unobserved_events: [],
      posts_missed_estimate: 0,
    }),
  ],
  [
    'an event of before the window',
    (house) => happened(house, 'poll_log_failed', 0, START - H),
    complete,
  ],
  [
    'an event that began before the window and reaches into it',
    (house) => happened(house, 'log_pruned', 2 * 3600, START - H),
    partial('loss_events_not_observed'),
  ],
  [
    "an event of another's place",
    async (house) => {
      await house.add({ filter_spec: { subforum: 'dogs' } }, 'cus_2')
      happened(house, 'feed_replaced', 0, NOW - H, 'posts:dogs')
    },
    complete,
  ],
  [
    'a gap beside an event: cut outweighs unobserved, and the sum is unknown',
    (house) => {
      cut(house)
      happened(house, 'poll_log_failed')
    },
    degraded({ posts_missed_estimate: null, unobserved_events: [{ kind: 'poll_log_failed' }] }),
  ],
  [
    'stalled beside an event: not looked at outweighs unobserved',
    (house) => {
      checked(house, 600)
      happened(house, 'poll_log_failed')
    },
    partial('streams_not_polling'),
  ],
  // The floor.
  [
    'posts of the window, and not those of before the monitor',
    (house) => {
      saw(house, 5, NOW - 2 * H)
      saw(house, 3, START - 1)
    },
    coverage('complete', null, { posts_in_window_at_least: 5 }),
  ],
  // Withheld.
  [
    'one withheld as stale',
    (house, id) => delivered(house, id, 1, { status: 'suppressed', reason: 'stale_item' }),
    {
      suppressed_24h: 1,
      ceiling_reached: false,
      suppressed_breakdown: {
        ceiling: 0,
        stale: 1,
        low_relevance: 0,
        unknown: 0,
        sampled: 1,
        sample_truncated: false,
        resolved: true,
        unresolved_reason: null,
      },
    },
  ],
  [
    'one withheld by the ceiling',
    (house, id) => delivered(house, id, 1, { status: 'suppressed', reason: 'delivery_ceiling' }),
    {
      suppressed_24h: 1,
      ceiling_reached: true,
      suppressed_breakdown: { ceiling: 1, resolved: true },
    },
  ],
  [
    'one of low relevance is counted apart',
    (house, id) => delivered(house, id, 1, { status: 'suppressed', reason: 'low_relevance' }),
    {
      suppressed_24h: 0,
      ceiling_reached: false,
      suppressed_breakdown: { low_relevance: 1, sampled: 1, resolved: true },
    },
  ],
  [
    'one for a reason of a later version',
    (house, id) => delivered(house, id, 1, { status: 'suppressed', reason: 'full_moon' }),
    {
      suppressed_24h: 1,
      ceiling_reached: true,
      suppressed_breakdown: {
        unknown: 1,
        resolved: false,
        unresolved_reason: 'reason_unknown',
        sample_truncated: false,
      },
    },
  ],
  [
    'more at the ceiling than are stored',
    (house, id) => {
      delivered(house, id, 1, { status: 'suppressed', reason: 'delivery_ceiling' })
      const day = Math.floor(NOW / (24 * H))
      house.stage.db.run(
        'INSERT INTO monitor_days (monitor_id, day, ceiling_suppressed) VALUES (?, ?, 501)',
        [id, day],
      )
    },
    {
      suppressed_24h: 1,
      ceiling_reached: true,
      suppressed_breakdown: {
        sampled: 1,
        sample_truncated: true,
        resolved: false,
        unresolved_reason: 'ceiling_records_capped',
      },
    },
  ],
  [
    'a day that was capped before the window',
    (house, id) => {
      const day = Math.floor(NOW / (24 * H)) - 2
      house.stage.db.run(
        'INSERT INTO monitor_days (monitor_id, day, ceiling_suppressed) VALUES (?, ?, 501)',
        [id, day],
      )
    },
    { ceiling_reached: false, suppressed_breakdown: { resolved: true } },
  ],
  [
    'withheld more than a day ago',
    (house, id) => delivered(house, id, 25, { status: 'suppressed', reason: 'stale_item' }),
    {
      suppressed_24h: 0,
      suppressed_breakdown: { sampled: 0 },
      last_match_at: new Date(NOW - 25 * H).toISOString(),
    },
  ],
  // How deliveries ended.
  [
    'delivered an hour ago',
    (house, id) => delivered(house, id, 1, { status: 'delivered', how: { ended_ago_h: 1 } }),
    {
      delivered_24h: 1,
      failed_24h: 0,
      rejected_24h: 0,
      last_match_at: new Date(NOW - H).toISOString(),
    },
  ],
  [
    'delivered a day and an hour ago',
    (house, id) => delivered(house, id, 25, { status: 'delivered', how: { ended_ago_h: 25 } }),
    { delivered_24h: 0 },
  ],
  [
    'written ten days ago and sent again now',
    (house, id) => delivered(house, id, 240, { status: 'delivered', how: { ended_ago_h: 0 } }),
    { delivered_24h: 1 },
  ],
  [
    'dead after the whole ladder',
    (house, id) =>
      delivered(house, id, 1, { status: 'dead', how: { ended_ago_h: 1, last_error: 'http_503' } }),
    { delivered_24h: 0, failed_24h: 1, rejected_24h: 0 },
  ],
  [
    'written ten days ago, sent again and dead now',
    (house, id) =>
      delivered(house, id, 240, { status: 'dead', how: { ended_ago_h: 0, last_error: 'timeout' } }),
    { failed_24h: 1 },
  ],
  [
    'dead two days ago',
    (house, id) =>
      delivered(house, id, 48, { status: 'dead', how: { ended_ago_h: 47, last_error: 'timeout' } }),
    { failed_24h: 0 },
  ],
  [
    'refused by its receiver',
    (house, id) =>
      delivered(house, id, 1, {
        status: 'failed',
        how: { ended_ago_h: 1, last_error: 'http_404' },
      }),
    { failed_24h: 0, rejected_24h: 1 },
  ],
  [
    'never sent, because its webhook was paused',
    (house, id) => delivered(house, id, 1, { status: 'failed', last_error: 'webhook_paused' }),
    { failed_24h: 0, rejected_24h: 0, last_match_at: new Date(NOW - H).toISOString() },
  ],
  [
    'never sent, because its webhook was deleted',
    (house, id) => delivered(house, id, 1, { status: 'failed', last_error: 'webhook_deleted' }),
    { failed_24h: 0, rejected_24h: 0 },
  ],
  [
    'waiting to be sent',
    (house, id) => delivered(house, id, 1, { status: 'pending' }),
    {
      delivered_24h: 0,
      failed_24h: 0,
      rejected_24h: 0,
      suppressed_24h: 0,
      last_match_at: new Date(NOW - H).toISOString(),
    },
  ],
  // Pace.
  [
    'as often as promised',
    () => {},
    {
      cadence: {
        promised_cadence_s: 60,
        requested_cadence_s: 60,
        meets_entitlement: true,
        last_checked_s_ago: 30,
        freshness_ratio: 0.5,
        within_margin: true,
        slowest_stream: 'posts:cats',
        unknown_reason: null,
      },
    },
  ],
  [
    'half as late again as promised',
    (house) => checked(house, 90),
    { cadence: { freshness_ratio: 1.5, within_margin: true, meets_entitlement: true } },
  ],
  [
    'later than that',
    (house) => checked(house, 91),
    { cadence: { freshness_ratio: 1.52, within_margin: false } },
  ],
  [
    'slowed by the platform: judged by its own interval, measured by the promise',
    (house) => {
      house.stage.db.run('UPDATE streams SET interval_s = 120, slowed = 2')
      checked(house, 300)
    },
    {
      ...complete,
      ...liveness('live', null),
      cadence: { promised_cadence_s: 60, meets_entitlement: false, freshness_ratio: 5 },
    },
  ],
  [
    'faster than promised',
    ({ stage }) => stage.db.run('UPDATE streams SET interval_s = 20'),
    { cadence: { meets_entitlement: true } },
  ],
  [
    'the place that was looked at longest ago counts',
    (house, id) => withDogs(house, id, 120),
    { cadence: { slowest_stream: 'posts:dogs', last_checked_s_ago: 120, freshness_ratio: 2 } },
  ],
  // Clocks.
  [
    "a platform whose clock is half a minute ahead: a new monitor's first cut is its own",
    async ({ stage, ...house }, id) => {
      stage.feed.ahead(30 * S)
      await house.update({ id, active: false })
      await house.update({ id, active: true })
      stage.pass(10 * S)
      cut({ stage, ...house }, { recorded_at: stage.clock.now() - S })
      checked({ stage, ...house }, 0)
    },
    degraded({ since: new Date(NOW - S).toISOString() }),
  ],
  [
    'paused and resumed: the window begins when it was resumed, and what was before is no part of it',
    async (house, id) => {
      cut(house, { recorded_at: NOW - 2 * H })
      await house.update({ id, active: false })
      house.stage.feed.put('cats', post(1, 'meanwhile', NOW))
      house.stage.pass(H)
      await house.update({ id, active: true })
      house.stage.pass(MIN)
      house.stage.feed.put('cats', post(2, 'after', house.stage.clock.now()))
      await house.stage.check()
      house.stage.pass(30 * S)
    },
    {
      coverage_24h: {
        status: 'complete',
        since: new Date(NOW + H).toISOString(),
        posts_in_window_at_least: 1,
        gaps: [],
      },
    },
  ],
]

test.each(ROWS)('health: %s', async (_, arrange, expected) => {
  const { house, id } = await startRow()
  await using __ = house
  await arrange(house, id)

  expect(await house.health(id)).toMatchObject(expected)
})

test('the table has a row for every cell', () => {
  expect(ROWS.length).toBeGreaterThanOrEqual(40)
  expect(new Set(ROWS.map(([title]) => title)).size).toBe(ROWS.length)
})

test('what was posted in the very second in which a monitor was made is counted with what it has seen', async () => {
  const house = startMonitors()
  await using _ = house
  const { stage } = house
  stage.pass(700)
  const { id } = (await house.add({ filter_spec: { subforum: 'cats' }, cadence_s: 60 })).body
  saw(house, 2, START)
  saw(house, 1, START - S)

  expect(await house.health(id)).toMatchObject({ coverage_24h: { posts_in_window_at_least: 2 } })
})
