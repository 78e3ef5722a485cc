import { expect, test } from 'bun:test'

import { startMonitors } from '../support/monitors-fixture.ts'
import { startTestDaemon } from '../support/test-daemon.ts'
import { PLAN, post, START } from '../unit/monitor/fixture.ts'

// Which facts make which health is a pure decision: unit/core/polling/health.test.ts. These tests are about the facts that
// polls, edits, pauses and deliveries leave behind.

const S = 1000
const MIN = 60 * S
const H = 60 * MIN

type Daemon = ReturnType<typeof startMonitors>

const iso = (at: number): string => new Date(at).toISOString()

/** A monitor whose places have been polled once. */
async function watch(daemon: Daemon, subforum: string | string[] = 'cats', customer?: string) {
  for (const [n, place] of [subforum].flat().entries())
    if (daemon.fixture.feed.rows(place).length === 0)
      daemon.fixture.feed.put(place, post(n + 1, 'the first', START - S, { subforum: place }))
  const { body } = await daemon.add({ filter_spec: { subforum }, cadence_s: 60 }, customer)
  await daemon.fixture.pollDue()
  return String(body.id)
}

/** More new posts than a poll reads. */
async function overflow({ fixture }: Daemon, place = 'cats') {
  const until = fixture.clock.now() + 59 * S
  const burst = Array.from({ length: 1500 }, (_, n) =>
    post(1000 + n, 'a cat', until - (1499 - n) * 30, { subforum: place }),
  )
  fixture.feed.put(place, ...burst)
  await fixture.check()
}

async function failedCheck({ fixture }: Daemon) {
  fixture.feed.faults({ kind: 'timeout' }, 1)
  await fixture.check()
}

const coverageOf = async (daemon: Daemon, id: string) => (await daemon.health(id)).coverage_24h

test('a monitor that is polled and never truncated is complete and live', async () => {
  await using daemon = startMonitors()
  const id = await watch(daemon)
  daemon.fixture.feed.put('cats', post(2, 'one', START + S), post(3, 'two', START + 2 * S))
  await daemon.fixture.check()
  daemon.fixture.pass(30 * S)

  expect(await daemon.health(id)).toMatchObject({
    active: true,
    daily_delivery_ceiling: 10_000,
    coverage_24h: {
      status: 'complete',
      reason: null,
      posts_in_window_at_least: 2,
      posts_missed_estimate: 0,
      gap_events_24h: 0,
      observed_events: [],
      unobserved_events: [],
      since: iso(START),
    },
    stream_liveness: { status: 'live', reason: null, streams: [] },
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
  })
})

test('a paused monitor is unknown and lists none of its gaps', async () => {
  await using daemon = startMonitors()
  const id = await watch(daemon)
  await failedCheck(daemon)
  await daemon.update({ id, active: false })

  expect(await daemon.health(id)).toMatchObject({
    active: false,
    coverage_24h: {
      status: 'unknown',
      reason: 'monitor_paused',
      posts_in_window_at_least: null,
      posts_missed_estimate: null,
      gap_events_24h: null,
      gaps: [],
    },
    stream_liveness: { status: 'unknown', reason: 'monitor_paused' },
    cadence: { unknown_reason: 'monitor_paused', meets_entitlement: null, within_margin: null },
  })
})

test.each([
  ['gaps', 'live', null],
  ['observation_events', 'live', null],
  ['monitor_feeds', 'unknown', 'poll_log_unreadable'],
])('a damaged file without %s leaves the coverage unknown', async (table, status, reason) => {
  await using daemon = startMonitors()
  const id = await watch(daemon)
  daemon.fixture.db.run(`ALTER TABLE ${table} RENAME TO gone`)

  expect(await daemon.health(id)).toMatchObject({
    coverage_24h: { status: 'unknown', reason: 'poll_log_unreadable', gap_events_24h: null },
    stream_liveness: { status, reason },
    cadence: { unknown_reason: reason },
  })
})

test('a burst beyond one poll is a gap with an estimate, until polls stop', async () => {
  await using daemon = startMonitors()
  const id = await watch(daemon)
  await overflow(daemon)

  const { posts_missed_estimate, ...coverage } = await coverageOf(daemon, id)
  expect(coverage).toMatchObject({
    status: 'degraded',
    reason: null,
    posts_in_window_at_least: 1167,
    gap_events_24h: 1,
    gaps_open: 1,
    gaps: [{ stream: 'posts:cats', reason: 'poll_overflow', healed_at: null }],
    observed_events: [{ kind: 'poll_overflow' }],
  })
  expect(posts_missed_estimate).toBeGreaterThanOrEqual(333)
  daemon.fixture.pass(181 * S)
  expect(await daemon.health(id)).toMatchObject({
    coverage_24h: { status: 'degraded', posts_missed_estimate: null },
    stream_liveness: { status: 'degraded', streams: [{ id: 'posts:cats', reason: 'stalled' }] },
  })
})

test('a gap that the next poll closes was one all the same, and leaves the window after a day', async () => {
  await using daemon = startMonitors()
  const id = await watch(daemon)
  await failedCheck(daemon)
  await daemon.fixture.check()
  const healed_at = iso(daemon.fixture.clock.now())

  expect(await coverageOf(daemon, id)).toMatchObject({
    status: 'degraded',
    posts_missed_estimate: 0,
    gap_events_24h: 1,
    gaps_open: 0,
    gaps: [{ reason: 'error', healed_at }],
  })
  daemon.fixture.pass(24 * H - 3 * MIN)
  await daemon.fixture.check()
  expect(await coverageOf(daemon, id)).toMatchObject({ gap_events_24h: 1 })
  await daemon.fixture.check()
  await daemon.fixture.check()
  expect(await coverageOf(daemon, id)).toMatchObject({ gap_events_24h: 0, gaps: [] })
})

test('more gaps than are shown are counted', async () => {
  await using daemon = startMonitors()
  const id = await watch(daemon)
  for (let n = 0; n < 53; n++) {
    await failedCheck(daemon)
    await daemon.fixture.check()
  }

  expect(await coverageOf(daemon, id)).toMatchObject({
    gaps_returned: 50,
    gaps_truncated: true,
    gap_events_24h: 53,
  })
})

test('a gap counts for the monitors of its place that were active', async () => {
  await using daemon = startMonitors()
  const cats = await watch(daemon)
  const both = await watch(daemon, ['cats', 'dogs'])
  const others = await watch(daemon, 'dogs', 'cus_2')
  await overflow(daemon, 'dogs')
  const later = await watch(daemon, 'dogs')
  await daemon.fixture.check()

  const of = (id: string) => coverageOf(daemon, id)
  expect(await of(cats)).toMatchObject({ status: 'complete', gaps: [] })
  expect(await of(both)).toMatchObject({ status: 'degraded', gaps: [{ stream: 'posts:dogs' }] })
  const { body } = await daemon.call(`/forum/monitor/health?id=${others}`, undefined, 'cus_2')
  expect(body.coverage_24h).toMatchObject({ status: 'degraded' })
  expect(await of(later)).toMatchObject({ status: 'complete', gaps: [] })
})

test('a poll is late after one and a half intervals, and missing after three', async () => {
  await using daemon = startMonitors()
  const id = await watch(daemon)
  const found = []
  for (const age_s of [90, 91, 180, 181]) {
    daemon.fixture.pass(START + age_s * S - daemon.fixture.clock.now())
    const { coverage_24h, cadence } = await daemon.health(id)
    found.push([coverage_24h.reason, cadence.within_margin, cadence.freshness_ratio])
  }

  expect(found).toEqual([
    [null, true, 1.5],
    [null, false, 1.52],
    [null, false, 3],
    ['streams_not_polling', false, 3.02],
  ])
})

test('a place that is never polled is awaited, and then missing', async () => {
  await using daemon = startMonitors()
  const { id } = (await daemon.add({ filter_spec: { subforum: 'cats' }, cadence_s: 60 })).body

  expect(await daemon.health(id)).toMatchObject({
    coverage_24h: { status: 'partial', reason: 'stream_liveness_unknown' },
    stream_liveness: { status: 'unknown', reason: 'streams_awaiting_first_poll' },
    cadence: { unknown_reason: 'streams_awaiting_first_poll' },
  })
  daemon.fixture.pass(10 * H)
  expect(await daemon.health(id)).toMatchObject({
    coverage_24h: { status: 'partial', reason: 'streams_not_polling' },
    stream_liveness: { status: 'degraded', streams: [{ reason: 'never_polled' }] },
  })
})

test.each([
  [120, 'partial', [{ kind: 'clock_jump' }]],
  [-120, 'partial', [{ kind: 'clock_jump' }]],
  [60, 'complete', []],
])('a clock that is set by %i s leaves the coverage %s', async (jump_s, status, events) => {
  await using daemon = startMonitors()
  const id = await watch(daemon)
  await daemon.fixture.check()
  daemon.fixture.jump(jump_s * S)
  daemon.fixture.feed.ahead(-jump_s * S)
  await daemon.fixture.check()

  expect(await coverageOf(daemon, id)).toMatchObject({ status, unobserved_events: events })
})

test('the window of a resumed monitor begins when it was resumed', async () => {
  await using daemon = startMonitors()
  const { fixture } = daemon
  const id = await watch(daemon)
  await failedCheck(daemon)
  await fixture.check()
  await daemon.update({ id, active: false })
  fixture.feed.put('cats', post(2, 'meanwhile', fixture.clock.now()))
  fixture.pass(H)
  await daemon.update({ id, active: true })
  const resumed_at = fixture.clock.now()
  fixture.pass(MIN)
  fixture.feed.put('cats', post(3, 'after', fixture.clock.now()))
  await fixture.check()

  expect(await coverageOf(daemon, id)).toMatchObject({
    status: 'complete',
    since: iso(resumed_at),
    posts_in_window_at_least: 1,
    gaps: [],
  })
})

test('the first gap of a monitor is its own on a platform whose clock is ahead', async () => {
  await using daemon = startMonitors()
  const { fixture } = daemon
  const id = await watch(daemon)
  fixture.feed.ahead(30 * S)
  fixture.feed.put('cats', post(2, 'before', fixture.clock.now() + 30 * S))
  await fixture.check()
  await daemon.update({ id, active: false })
  await daemon.update({ id, active: true })
  const since = iso(fixture.clock.now())
  await failedCheck(daemon)

  expect(await coverageOf(daemon, id)).toMatchObject({ status: 'degraded', since })
})

test('matches that are withheld are counted by their reason, for a day', async () => {
  await using daemon = startMonitors({ plan: { ...PLAN, daily_deliveries: 1 } })
  const { fixture } = daemon
  fixture.webhook('wh_1')
  const id = await watch(daemon)
  fixture.feed.put('cats', post(20, 'found late', START + S))
  fixture.pass(20 * MIN)
  fixture.feed.put('cats', post(21, 'a cat', fixture.clock.now() + S))
  await fixture.check()
  const matched_at = fixture.clock.now()
  expect(await daemon.health(id)).toMatchObject({
    suppressed_24h: 1,
    ceiling_reached: false,
    suppressed_breakdown: { stale: 1, ceiling: 0, sampled: 1, resolved: true },
  })
  fixture.feed.put('cats', post(22, 'another cat', matched_at + S))
  await fixture.check()
  expect(await daemon.health(id)).toMatchObject({
    suppressed_24h: 2,
    ceiling_reached: true,
    suppressed_breakdown: { stale: 1, ceiling: 1, sample_truncated: false, resolved: true },
  })
  fixture.pass(25 * H)
  expect(await daemon.health(id)).toMatchObject({
    suppressed_24h: 0,
    ceiling_reached: false,
    suppressed_breakdown: { sampled: 0, resolved: true },
    last_match_at: iso(matched_at + MIN),
  })
})

test('matches of low relevance are counted apart', async () => {
  await using daemon = startMonitors()
  const { fixture } = daemon
  fixture.webhook('wh_1')
  await watch(daemon)
  const filter_spec = { subforum: 'cats', q: 'cat OR dog', min_relevance: 60 }
  const { id } = (await daemon.add({ filter_spec })).body
  fixture.feed.put('cats', post(20, 'a cat', START + S))
  await fixture.check()

  expect(await daemon.health(id)).toMatchObject({
    suppressed_24h: 0,
    ceiling_reached: false,
    suppressed_breakdown: { low_relevance: 1, sampled: 1, resolved: true },
  })
})

test('more matches beyond the ceiling than are stored are counted as a floor, for their day', async () => {
  await using daemon = startMonitors({ plan: { ...PLAN, daily_deliveries: 1 } })
  daemon.fixture.webhook('wh_1')
  const id = await watch(daemon)
  await overflow(daemon)

  expect(await daemon.health(id)).toMatchObject({
    suppressed_24h: 500,
    ceiling_reached: true,
    suppressed_breakdown: {
      ceiling: 500,
      sample_truncated: true,
      resolved: false,
      unresolved_reason: 'ceiling_records_capped',
    },
  })
  daemon.fixture.pass(48 * H)
  expect(await daemon.health(id)).toMatchObject({
    ceiling_reached: false,
    suppressed_breakdown: { resolved: true },
  })
})

test('deliveries are counted by how and when they ended', async () => {
  await using daemon = await startTestDaemon({
    change: (config) => void (config.delivery.retry_delays_s = [0, 1]),
  })
  const { send, call, receiver, clock, sandbox } = daemon
  sandbox.subforum({ name: 'bread' })
  const { body: target } = await send('/forum/monitor/webhook/create', { url: receiver.url })
  const { id } = (await send('/forum/monitor/add', { filter_spec: { subforum: 'bread' } })).body
  await clock.advance(MIN)
  const counts = async () => {
    const { body } = await call(`/forum/monitor/health?id=${id}`)
    return [body.delivered_24h, body.failed_24h, body.rejected_24h]
  }
  const matched = async (...answers: number[]) => {
    receiver.answers.push(...answers)
    sandbox.post({ subforum: 'bread', title: 'A loaf' })
    await clock.advance(2 * MIN)
  }
  await matched(500, 500)
  expect(await counts()).toEqual([0, 1, 0])
  await matched(404)
  expect(await counts()).toEqual([0, 1, 1])
  await matched(200)
  expect(await counts()).toEqual([1, 1, 1])
  await daemon.restart(240 * H)
  expect(await counts()).toEqual([0, 0, 0])
  // What was written long ago counts when it ends.
  const span = { since: iso(clock.now() - 250 * H), until: iso(clock.now()) }
  await send('/forum/monitor/deliveries/redeliver', span)
  await clock.advance(MIN)
  expect(await counts()).toEqual([2, 0, 0])
  // One that was never sent has not failed.
  receiver.answers.push({ status: 503, headers: { 'retry-after': '600' } })
  sandbox.post({ subforum: 'bread', title: 'A last loaf' })
  await clock.advance(MIN)
  await send('/forum/monitor/webhook/update', { id: target.id, active: false })
  await clock.advance(MIN)
  const { deliveries } = (await call('/forum/monitor/deliveries?status=failed')).body
  expect(deliveries).toMatchObject([{ last_error: 'webhook_paused' }])
  expect(await counts()).toEqual([2, 0, 0])
})

test('a gap of a monitor begins no earlier than the monitor', async () => {
  await using daemon = startMonitors()
  await watch(daemon, 'cats', 'cus_2')
  daemon.fixture.pass(30 * S)
  const { id } = (await daemon.add({ filter_spec: { subforum: 'cats' }, cadence_s: 60 })).body
  await failedCheck(daemon)

  expect((await coverageOf(daemon, id)).gaps).toMatchObject([{ from: iso(START + 30 * S) }])
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

test('a post of the second in which a monitor was created is counted as observed', async () => {
  await using daemon = startMonitors()
  const { fixture } = daemon
  fixture.pass(700)
  fixture.feed.put(
    'cats',
    post(1, 'before', START - S),
    post(2, 'one', START),
    post(3, 'two', START),
  )
  const id = await watch(daemon)

  expect(await coverageOf(daemon, id)).toMatchObject({ posts_in_window_at_least: 2 })
})
