import { expect, test } from 'bun:test'

import { insertDelivery } from '../../src/store/delivery/deliveries.ts'
import {
  insertCheck,
  insertEvent,
  insertGap,
  type NewGap,
} from '../../src/store/monitoring/checks.ts'
import { startMonitors } from '../support/monitors-fixture.ts'
import { CUSTOMER, post, START } from '../unit/monitor/fixture.ts'

// The truth table of a monitor's health: stored state and public answer. Each row begins with a
// monitor of cats that was created ten hours ago and polled half a minute ago.

const S = 1000
const MIN = 60 * S
const H = 60 * MIN
const NOW = START + 10 * H

type TestDaemon = ReturnType<typeof startMonitors>
type Row = [title: string, arrange: (daemon: TestDaemon, id: string) => unknown, expected: object]

async function startRow(): Promise<{ daemon: TestDaemon; id: string }> {
  const daemon = startMonitors()
  const { fixture } = daemon
  fixture.webhook('wh_1')
  const { id } = (await daemon.add({ filter_spec: { subforum: 'cats' }, cadence_s: 60 })).body
  await fixture.pollDue()
  fixture.pass(NOW - START)
  checked(daemon, 30)
  return { daemon, id }
}

/** The feed was polled this long ago; null: never. */
const checked = ({ fixture }: TestDaemon, ago_s: number | null, key = 'posts:cats'): void =>
  void fixture.db.run('UPDATE feeds SET last_check_at = ? WHERE key = ?', [
    ago_s === null ? null : NOW - ago_s * S,
    key,
  ])

const streamId = ({ fixture }: TestDaemon, key: string): number => {
  const row = fixture.db
    .query<{ id: number }, [string]>('SELECT id FROM feeds WHERE key = ?')
    .get(key)
  if (row === null) throw new Error(`no stream ${key}`)
  return row.id
}

function cut(
  daemon: TestDaemon,
  fields: Partial<NewGap> & { healed_at?: number; stream?: string } = {},
) {
  const { healed_at, stream = 'posts:cats', ...gap } = fields
  const { db } = daemon.fixture
  const recorded_at = fields.recorded_at ?? NOW - H
  const reason = fields.reason ?? 'poll_overflow'
  const feed_id = streamId(daemon, stream)
  insertCheck(db, {
    feed_id,
    started_at: recorded_at - S,
    ended_at: recorded_at,
    cut_reason: reason === 'ids_went_back' ? null : reason,
    new_items: 0,
    pages: 12,
  })
  insertGap(db, {
    feed_id,
    reason,
    from_at: recorded_at - H,
    until_at: recorded_at,
    missed_estimate: 40,
    anchor_ids: [],
    recorded_at,
    ...gap,
  })
  if (healed_at !== undefined)
    db.run('UPDATE gaps SET closed_at = ? WHERE id = (SELECT max(id) FROM gaps)', [healed_at])
}

type Kind = Parameters<typeof insertEvent>[1]['kind']
const happened = (
  daemon: TestDaemon,
  kind: Kind,
  lasted_s = 0,
  at = NOW - H,
  stream?: string,
): void =>
  insertEvent(daemon.fixture.db, {
    kind,
    feed_id: stream === undefined ? null : streamId(daemon, stream),
    at,
    until_at: at + lasted_s * S,
  })

let deliveries = 0
type Ended = { ended_ago_h: number; last_error?: string }

/** A delivery written this many hours ago, and its outcome. */
function delivered(
  { fixture }: TestDaemon,
  monitor_id: string,
  ago_h: number,
  row:
    | { status: 'delivered' | 'dead' | 'failed'; how: Ended }
    | { status: 'suppressed'; reason: string }
    | { status: 'pending' }
    | { status: 'failed'; last_error: 'webhook_paused' | 'webhook_deleted' },
): void {
  const { db } = fixture
  const id = `dlv_${++deliveries}`
  const base = {
    id,
    customer_id: CUSTOMER,
    monitor_id,
    webhook_id: 'wh_1',
    body: new Uint8Array(1),
  }
  const begun = 'how' in row ? { status: 'pending' as const } : row
  insertDelivery(db, { ...base, ...begun, now: NOW - ago_h * H })
  if (!('how' in row)) return
  const ended_at = NOW - row.how.ended_ago_h * H
  db.run(
    'UPDATE deliveries SET status = ?, attempts = 1, next_attempt_at = NULL, delivered_at = ?, last_error = ? WHERE id = ?',
    [row.status, row.status === 'delivered' ? ended_at : null, row.how.last_error ?? null, id],
  )
  db.run(
    'INSERT INTO attempts (delivery_row, n, started_at, ended_at) SELECT row, 1, ?, ? FROM deliveries WHERE id = ?',
    [ended_at, ended_at, id],
  )
}

const saw = ({ fixture }: TestDaemon, count: number, created_at: number): void => {
  const insert = fixture.db.query(
    'INSERT INTO feed_items (feed_id, item_id, seq, created_at, first_seen_at) VALUES (1, ?, ?, ?, ?)',
  )
  for (let i = 0; i < count; i++) insert.run(`t3_${created_at}${i}`, i, created_at, created_at)
}

/** The monitor watches dogs too, which were polled this long ago. */
async function withDogs(daemon: TestDaemon, id: string, ago_s: number | null): Promise<void> {
  await daemon.update({ id, filter_spec: { subforum: ['cats', 'dogs'] } })
  daemon.fixture.db.run('UPDATE feeds SET created_at = ?1, last_check_at = ?1', [NOW - 9 * H])
  daemon.fixture.db.run('UPDATE monitor_feeds SET active_since = ?', [NOW - 9 * H])
  checked(daemon, 30)
  checked(daemon, ago_s, 'posts:dogs')
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
const EMPTY_HEALTH = {
  posts_in_window_at_least: null,
  posts_missed_estimate: null,
  gap_events_24h: null,
}
const stalled = [{ id: 'posts:cats', reason: 'stalled' }]

const ROWS: Row[] = [
  [
    'polled and never truncated',
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
  // Paused or unreadable.
  [
    'paused',
    (daemon, id) => daemon.update({ id, active: false }),
    {
      active: false,
      ...coverage('unknown', 'monitor_paused', EMPTY_HEALTH),
      ...liveness('unknown', 'monitor_paused'),
      cadence: { unknown_reason: 'monitor_paused', meets_entitlement: null, within_margin: null },
    },
  ],
  [
    'paused after a cut check',
    async (daemon, id) => {
      cut(daemon)
      await daemon.update({ id, active: false })
    },
    coverage('unknown', 'monitor_paused', { ...EMPTY_HEALTH, gaps: [] }),
  ],
  [
    'gaps that cannot be read',
    ({ fixture }) => fixture.db.run('ALTER TABLE gaps RENAME TO gone'),
    { ...coverage('unknown', 'poll_log_unreadable', EMPTY_HEALTH), ...liveness('live', null) },
  ],
  [
    'events that cannot be read',
    ({ fixture }) => fixture.db.run('ALTER TABLE observation_events RENAME TO gone'),
    coverage('unknown', 'poll_log_unreadable', EMPTY_HEALTH),
  ],
  [
    'streams that cannot be read',
    ({ fixture }) => fixture.db.run('ALTER TABLE monitor_feeds RENAME TO gone'),
    {
      ...coverage('unknown', 'poll_log_unreadable', EMPTY_HEALTH),
      ...liveness('unknown', 'poll_log_unreadable'),
      cadence: { unknown_reason: 'poll_log_unreadable', last_checked_s_ago: null },
    },
  ],
  // Truncated checks.
  ...(
    [
      'poll_overflow',
      'listing_exhausted',
      'page_restart',
      'empty_listing',
      'login_wall',
      'placeholder',
      'profile_hidden',
      'emptied',
      'error',
      'storage_full',
    ] as const
  ).map((reason): Row => [
    `a check cut by ${reason}`,
    (daemon) => cut(daemon, { reason }),
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
    (daemon) => {
      saw(daemon, 7, NOW - H)
      cut(daemon)
      cut(daemon, { missed_estimate: 2 })
    },
    degraded({ posts_missed_estimate: 42, posts_in_window_at_least: 7 }),
  ],
  [
    'a gap that was closed later hides nothing, and was one all the same',
    (daemon) => cut(daemon, { healed_at: NOW - MIN }),
    degraded({ posts_missed_estimate: 0, gap_events_24h: 1 }),
  ],
  [
    'a gap of unknown size',
    (daemon) => {
      cut(daemon)
      cut(daemon, { missed_estimate: null })
    },
    degraded({ posts_missed_estimate: null }),
  ],
  [
    'one of unknown size that was closed',
    (daemon) => cut(daemon, { missed_estimate: null, healed_at: NOW }),
    degraded({ posts_missed_estimate: 0 }),
  ],
  [
    'a gap of a day ago and a second',
    ({ fixture, ...daemon }) => {
      fixture.db.run(
        'UPDATE monitors SET created_at = created_at - ?1, active_since = active_since - ?1',
        [48 * H],
      )
      fixture.db.run('UPDATE monitor_feeds SET active_since = active_since - ?', [48 * H])
      cut({ fixture, ...daemon }, { recorded_at: NOW - 24 * H - S })
    },
    complete,
  ],
  [
    'a gap of just under a day ago',
    ({ fixture, ...daemon }) => {
      fixture.db.run(
        'UPDATE monitors SET created_at = created_at - ?1, active_since = active_since - ?1',
        [48 * H],
      )
      fixture.db.run('UPDATE monitor_feeds SET active_since = active_since - ?', [48 * H])
      cut({ fixture, ...daemon }, { recorded_at: NOW - 24 * H + S })
    },
    degraded({ since: new Date(NOW - 24 * H).toISOString() }),
  ],
  [
    'a gap from before the monitor',
    (daemon) => cut(daemon, { recorded_at: START - MIN }),
    complete,
  ],
  [
    "a gap of another's place",
    async (daemon) => {
      await daemon.add({ filter_spec: { subforum: 'dogs' } }, 'cus_2')
      cut(daemon, { stream: 'posts:dogs' })
    },
    complete,
  ],
  [
    'a gap of one of two places',
    async (daemon, id) => {
      await withDogs(daemon, id, 30)
      cut(daemon, { stream: 'posts:dogs' })
    },
    degraded({ gaps: [{ stream: 'posts:dogs' }] }),
  ],
  [
    'more gaps than are shown',
    (daemon) => {
      for (let i = 0; i < 53; i++) cut(daemon, { missed_estimate: 1, recorded_at: NOW - i * MIN })
    },
    degraded({
      gaps_returned: 50,
      gaps_truncated: true,
      gap_events_24h: 53,
      gaps_open: 53,
      posts_missed_estimate: 53,
    }),
  ],
  [
    'a gap, and no poll since',
    (daemon) => {
      cut(daemon)
      checked(daemon, 181)
    },
    { ...degraded({ posts_missed_estimate: null }), ...liveness('degraded', null, stalled) },
  ],
  // Missing polls.
  [
    'polled exactly three intervals ago',
    (daemon) => checked(daemon, 180),
    { ...complete, ...liveness('live', null) },
  ],
  [
    'polled longer ago than that',
    (daemon) => checked(daemon, 181),
    {
      ...partial('streams_not_polling', { posts_missed_estimate: null }),
      ...liveness('degraded', null, stalled),
    },
  ],
  [
    'an hourly feed that was polled two hours ago',
    (daemon) => {
      daemon.fixture.db.run('UPDATE feeds SET interval_s = 3600')
      checked(daemon, 7200)
    },
    { ...complete, ...liveness('live', null) },
  ],
  [
    'never polled in ten hours',
    (daemon) => checked(daemon, null),
    {
      ...partial('streams_not_polling'),
      ...liveness('degraded', null, [{ id: 'posts:cats', reason: 'never_polled' }]),
    },
  ],
  [
    'created three minutes ago and not polled',
    (daemon) => {
      checked(daemon, null)
      daemon.fixture.db.run('UPDATE monitor_feeds SET active_since = ?', [NOW - 180 * S])
    },
    {
      ...partial('stream_liveness_unknown'),
      ...liveness('unknown', 'streams_awaiting_first_poll'),
      cadence: { unknown_reason: 'streams_awaiting_first_poll' },
    },
  ],
  [
    'asleep although it is watched',
    ({ fixture }) => fixture.db.run('UPDATE feeds SET next_check_at = NULL'),
    {
      ...partial('streams_not_polling'),
      ...liveness('degraded', null, [{ id: 'posts:cats', reason: 'unregistered' }]),
    },
  ],
  [
    'one of two places stalled',
    (daemon, id) => withDogs(daemon, id, 600),
    {
      ...partial('streams_not_polling'),
      ...liveness('degraded', null, [{ id: 'posts:dogs', reason: 'stalled' }]),
    },
  ],
  [
    'one of two places awaits its first look',
    async (daemon, id) => {
      await withDogs(daemon, id, null)
      daemon.fixture.db.run('UPDATE monitor_feeds SET active_since = ? WHERE feed_id = 2', [NOW])
    },
    {
      ...partial('stream_liveness_unknown'),
      ...liveness('unknown', 'streams_awaiting_first_poll'),
    },
  ],
  [
    'one stalled, one awaiting: the worse is reported',
    async (daemon, id) => {
      await withDogs(daemon, id, null)
      daemon.fixture.db.run('UPDATE monitor_feeds SET active_since = ? WHERE feed_id = 2', [NOW])
      checked(daemon, 600)
    },
    { ...partial('streams_not_polling'), ...liveness('degraded', null, stalled) },
  ],
  [
    'a monitor that watches nothing',
    ({ fixture }) => fixture.db.run('DELETE FROM monitor_feeds'),
    { ...partial('streams_not_polling'), ...liveness('degraded', null) },
  ],
  [
    'a clock that was put back',
    (daemon) => checked(daemon, -3600),
    { ...complete, ...liveness('live', null), cadence: { last_checked_s_ago: 0 } },
  ],
  // Unobservable periods.
  ...(['poll_log_failed', 'feed_replaced', 'log_pruned', 'restore_detected'] as const).map(
    (kind): Row => [
      `an unobserved event: ${kind}`,
      (daemon) => happened(daemon, kind),
      partial('loss_events_not_observed', {
        posts_missed_estimate: null,
        unobserved_events: [{ kind, at: new Date(NOW - H).toISOString(), stream: null }],
      }),
    ],
  ),
  [
    'a clock that jumped on by two minutes',
    (daemon) => happened(daemon, 'clock_jump', 120),
    partial('loss_events_not_observed', { unobserved_events: [{ kind: 'clock_jump' }] }),
  ],
  [
    'a clock that jumped back by two minutes',
    (daemon) => happened(daemon, 'clock_jump', -120),
    partial('loss_events_not_observed'),
  ],
  [
    'a clock that was set right by a minute',
    (daemon) => happened(daemon, 'clock_jump', 60),
    coverage('complete', null, { unobserved_events: [] }),
  ],
  [
    'the process was down, and the next check met the head',
    (daemon) => happened(daemon, 'process_down', 600),
    coverage('complete', null, {
      observed_events: [{ kind: 'process_down' }],
      unobserved_events: [],
      posts_missed_estimate: 0,
    }),
  ],
  [
    'an event of before the window',
    (daemon) => happened(daemon, 'poll_log_failed', 0, START - H),
    complete,
  ],
  [
    'an event that began before the window and reaches into it',
    (daemon) => happened(daemon, 'log_pruned', 2 * 3600, START - H),
    partial('loss_events_not_observed'),
  ],
  [
    "an event of another's place",
    async (daemon) => {
      await daemon.add({ filter_spec: { subforum: 'dogs' } }, 'cus_2')
      happened(daemon, 'feed_replaced', 0, NOW - H, 'posts:dogs')
    },
    complete,
  ],
  [
    'a gap beside an event: cut outweighs unobserved, and the sum is unknown',
    (daemon) => {
      cut(daemon)
      happened(daemon, 'poll_log_failed')
    },
    degraded({ posts_missed_estimate: null, unobserved_events: [{ kind: 'poll_log_failed' }] }),
  ],
  [
    'stalled beside an event: not polled outweighs unobserved',
    (daemon) => {
      checked(daemon, 600)
      happened(daemon, 'poll_log_failed')
    },
    partial('streams_not_polling'),
  ],
  // The lower bound.
  [
    'posts of the window, and not those of before the monitor',
    (daemon) => {
      saw(daemon, 5, NOW - 2 * H)
      saw(daemon, 3, START - 1)
    },
    coverage('complete', null, { posts_in_window_at_least: 5 }),
  ],
  // Suppressed deliveries.
  [
    'one withheld as stale',
    (daemon, id) => delivered(daemon, id, 1, { status: 'suppressed', reason: 'stale_item' }),
    {
      suppressed_24h: 1,
      ceiling_reached: false,
      suppressed_breakdown: {
        ceiling: 0,
        stale: 1,
        low_relevance: 0,
        irrelevant: 0,
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
    (daemon, id) => delivered(daemon, id, 1, { status: 'suppressed', reason: 'delivery_ceiling' }),
    {
      suppressed_24h: 1,
      ceiling_reached: true,
      suppressed_breakdown: { ceiling: 1, resolved: true },
    },
  ],
  [
    'one of low relevance is counted apart',
    (daemon, id) => delivered(daemon, id, 1, { status: 'suppressed', reason: 'low_relevance' }),
    {
      suppressed_24h: 0,
      ceiling_reached: false,
      suppressed_breakdown: { low_relevance: 1, sampled: 1, resolved: true },
    },
  ],
  [
    'one irrelevant to the model is counted apart',
    (daemon, id) => delivered(daemon, id, 1, { status: 'suppressed', reason: 'irrelevant' }),
    {
      suppressed_24h: 0,
      ceiling_reached: false,
      suppressed_breakdown: { irrelevant: 1, sampled: 1, resolved: true },
    },
  ],
  [
    'one for a reason of a later version',
    (daemon, id) => delivered(daemon, id, 1, { status: 'suppressed', reason: 'full_moon' }),
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
    (daemon, id) => {
      delivered(daemon, id, 1, { status: 'suppressed', reason: 'delivery_ceiling' })
      const day = Math.floor(NOW / (24 * H))
      daemon.fixture.db.run(
        'INSERT OR REPLACE INTO monitor_days (monitor_id, day, ceiling_suppressed) VALUES (?, ?, 501)',
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
    (daemon, id) => {
      const day = Math.floor(NOW / (24 * H)) - 2
      daemon.fixture.db.run(
        'INSERT OR REPLACE INTO monitor_days (monitor_id, day, ceiling_suppressed) VALUES (?, ?, 501)',
        [id, day],
      )
    },
    { ceiling_reached: false, suppressed_breakdown: { resolved: true } },
  ],
  [
    'withheld more than a day ago',
    (daemon, id) => delivered(daemon, id, 25, { status: 'suppressed', reason: 'stale_item' }),
    {
      suppressed_24h: 0,
      suppressed_breakdown: { sampled: 0 },
      last_match_at: new Date(NOW - 25 * H).toISOString(),
    },
  ],
  // Outcomes of deliveries.
  [
    'delivered an hour ago',
    (daemon, id) => delivered(daemon, id, 1, { status: 'delivered', how: { ended_ago_h: 1 } }),
    {
      delivered_24h: 1,
      failed_24h: 0,
      rejected_24h: 0,
      last_match_at: new Date(NOW - H).toISOString(),
    },
  ],
  [
    'delivered a day and an hour ago',
    (daemon, id) => delivered(daemon, id, 25, { status: 'delivered', how: { ended_ago_h: 25 } }),
    { delivered_24h: 0 },
  ],
  [
    'written ten days ago and sent again now',
    (daemon, id) => delivered(daemon, id, 240, { status: 'delivered', how: { ended_ago_h: 0 } }),
    { delivered_24h: 1 },
  ],
  [
    'dead after the whole ladder',
    (daemon, id) =>
      delivered(daemon, id, 1, { status: 'dead', how: { ended_ago_h: 1, last_error: 'http_503' } }),
    { delivered_24h: 0, failed_24h: 1, rejected_24h: 0 },
  ],
  [
    'written ten days ago, sent again and dead now',
    (daemon, id) =>
      delivered(daemon, id, 240, {
        status: 'dead',
        how: { ended_ago_h: 0, last_error: 'timeout' },
      }),
    { failed_24h: 1 },
  ],
  [
    'dead two days ago',
    (daemon, id) =>
      delivered(daemon, id, 48, {
        status: 'dead',
        how: { ended_ago_h: 47, last_error: 'timeout' },
      }),
    { failed_24h: 0 },
  ],
  [
    'refused by its receiver',
    (daemon, id) =>
      delivered(daemon, id, 1, {
        status: 'failed',
        how: { ended_ago_h: 1, last_error: 'http_404' },
      }),
    { failed_24h: 0, rejected_24h: 1 },
  ],
  [
    'never sent, because its webhook was paused',
    (daemon, id) => delivered(daemon, id, 1, { status: 'failed', last_error: 'webhook_paused' }),
    { failed_24h: 0, rejected_24h: 0, last_match_at: new Date(NOW - H).toISOString() },
  ],
  [
    'never sent, because its webhook was deleted',
    (daemon, id) => delivered(daemon, id, 1, { status: 'failed', last_error: 'webhook_deleted' }),
    { failed_24h: 0, rejected_24h: 0 },
  ],
  [
    'waiting to be sent',
    (daemon, id) => delivered(daemon, id, 1, { status: 'pending' }),
    {
      delivered_24h: 0,
      failed_24h: 0,
      rejected_24h: 0,
      suppressed_24h: 0,
      last_match_at: new Date(NOW - H).toISOString(),
    },
  ],
  // Poll intervals.
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
    (daemon) => checked(daemon, 90),
    { cadence: { freshness_ratio: 1.5, within_margin: true, meets_entitlement: true } },
  ],
  [
    'later than that',
    (daemon) => checked(daemon, 91),
    { cadence: { freshness_ratio: 1.52, within_margin: false, meets_entitlement: false } },
  ],
  [
    'backoff_factor by the platform: judged by its own interval, measured by the promise',
    (daemon) => {
      daemon.fixture.db.run('UPDATE feeds SET interval_s = 120, backoff_factor = 2')
      checked(daemon, 300)
    },
    {
      ...complete,
      ...liveness('live', null),
      cadence: { promised_cadence_s: 60, meets_entitlement: false, freshness_ratio: 5 },
    },
  ],
  [
    'faster than promised',
    ({ fixture }) => fixture.db.run('UPDATE feeds SET interval_s = 20'),
    { cadence: { meets_entitlement: true } },
  ],
  [
    'the least recently polled place counts',
    (daemon, id) => withDogs(daemon, id, 120),
    { cadence: { slowest_stream: 'posts:dogs', last_checked_s_ago: 120, freshness_ratio: 2 } },
  ],
  // Clocks.
  [
    "a platform whose clock is half a minute ahead: a new monitor's first cut is its own",
    async ({ fixture, ...daemon }, id) => {
      fixture.feed.ahead(30 * S)
      fixture.feed.put('cats', post(1, 'before', fixture.clock.now() + 30 * S))
      await fixture.pollDue()
      await daemon.update({ id, active: false })
      await daemon.update({ id, active: true })
      fixture.pass(10 * S)
      cut({ fixture, ...daemon }, { recorded_at: fixture.clock.now() - S })
      checked({ fixture, ...daemon }, 0)
    },
    degraded({ since: new Date(NOW).toISOString() }),
  ],
  [
    'paused and resumed: the window begins when it was resumed, and what was before is no part of it',
    async (daemon, id) => {
      cut(daemon, { recorded_at: NOW - 2 * H })
      await daemon.update({ id, active: false })
      daemon.fixture.feed.put('cats', post(1, 'meanwhile', NOW))
      daemon.fixture.pass(H)
      await daemon.update({ id, active: true })
      daemon.fixture.pass(MIN)
      daemon.fixture.feed.put('cats', post(2, 'after', daemon.fixture.clock.now()))
      await daemon.fixture.check()
      daemon.fixture.pass(30 * S)
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

test('a gap of a monitor begins no earlier than the monitor', async () => {
  await using daemon = startMonitors()
  const { id } = (await daemon.add({ filter_spec: { subforum: 'cats' }, cadence_s: 60 })).body
  await daemon.fixture.pollDue()
  daemon.fixture.pass(10 * S)
  const recorded_at = START + 10 * S
  cut(daemon, { recorded_at, from_at: START - MIN, until_at: recorded_at })

  const { coverage_24h } = await daemon.health(id)
  expect(coverage_24h.gaps).toMatchObject([{ from: new Date(START).toISOString() }])
})

test.each([
  ['ahead of', 150 * S, ['t3_2']],
  // Either clock may date the items, so the monitor begins by the earlier one.
  ['behind', -150 * S, ['t3_1', 't3_2']],
])(
  'a monitor that begins while the Date header is %s the clock of items by %d ms misses no later item',
  async (_, ahead_ms, expected) => {
    await using daemon = startMonitors()
    const { fixture } = daemon
    fixture.feed.put('cats', post(1, 'an older one', fixture.clock.now() - 1000))
    await daemon.add({ filter_spec: { subforum: 'cats' }, cadence_s: 60 })
    await fixture.check()
    fixture.feed.ahead(ahead_ms)
    fixture.pass(5 * S)

    const { id } = (await daemon.add({ filter_spec: { subforum: 'cats' }, cadence_s: 60 })).body
    fixture.feed.put('cats', post(2, 'a new one', fixture.clock.now() + S))
    fixture.pass(60 * S)
    await fixture.check()

    const items = fixture.db
      .query<{ item_id: string }, [string]>('SELECT item_id FROM matches WHERE monitor_id = ?')
      .all(id)
    expect(items.map(({ item_id }) => item_id)).toEqual(expected)
    const { coverage_24h } = await daemon.health(id)
    expect(coverage_24h).toMatchObject({
      status: 'complete',
      posts_in_window_at_least: expected.length,
    })
  },
)

test.each(ROWS)('health: %s', async (_, arrange, expected) => {
  const { daemon, id } = await startRow()
  await using __ = daemon
  await arrange(daemon, id)

  expect(await daemon.health(id)).toMatchObject(expected)
})

test('the table has a row for every cell', () => {
  expect(ROWS.length).toBeGreaterThanOrEqual(40)
  expect(new Set(ROWS.map(([title]) => title)).size).toBe(ROWS.length)
})

test('a post of the second in which a monitor was created is counted as observed', async () => {
  const daemon = startMonitors()
  await using _ = daemon
  const { fixture } = daemon
  fixture.pass(700)
  const { id } = (await daemon.add({ filter_spec: { subforum: 'cats' }, cadence_s: 60 })).body
  saw(daemon, 2, START)
  saw(daemon, 1, START - S)

  expect(await daemon.health(id)).toMatchObject({ coverage_24h: { posts_in_window_at_least: 2 } })
})
