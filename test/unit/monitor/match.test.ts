import { expect, test } from 'bun:test'

import { startPoll } from '../../../src/core/polling/cursor.ts'
import { createFilters, matchAll } from '../../../src/monitor/match.ts'
import { findFeeds } from '../../../src/store/monitoring/feeds.ts'
import { commentOf } from '../../support/items.ts'
import { PLAN, post, START, startMonitorFixture } from './fixture.ts'

const S = 1000

/** Sixty posts from before the first monitor. */
const old = () =>
  Array.from({ length: 60 }, (_, i) => post(i + 1, `cat ${i}`, START - (60 - i) * S))

test('sixty old posts deliver nothing; two of four new ones match and go to every target', async () => {
  await using fixture = startMonitorFixture()
  fixture.feed.put('cats', ...old())
  fixture.webhook('wh_1')
  fixture.webhook('wh_2')
  fixture.monitor('mon_1', { subforum: ['cats'], include_any: ['cat'] })
  await fixture.pollDue()
  expect(fixture.deliveries()).toEqual([])

  const at = START + 30 * S
  fixture.feed.put(
    'cats',
    post(61, 'a dog', at),
    post(62, 'a cat', at),
    post(63, 'two cat beds', at),
    post(64, 'birds', at),
  )
  await fixture.check()

  expect(
    fixture.deliveries().map((it) => [it.webhook_id, it.status, fixture.payload(it).items[0].id]),
  ).toEqual([
    ['wh_1', 'pending', (62).toString(36)],
    ['wh_2', 'pending', (62).toString(36)],
    ['wh_1', 'pending', (63).toString(36)],
    ['wh_2', 'pending', (63).toString(36)],
  ])
  expect(fixture.pendings()).toBe(1)
})

test('the body contains item, monitor and relevance', async () => {
  await using fixture = startMonitorFixture({ community: 'board' })
  fixture.webhook('wh_1')
  fixture.monitor('mon_1', { board: ['cats'], include_any: ['cat', 'fish'] })
  await fixture.pollDue()
  const origin = { id: 'o1', subforum: 'kittens', permalink: '/x/' }
  fixture.feed.put('cats', post(1, 'a cat', START + S, { crosspost_origin: origin }))
  await fixture.check()

  const [row] = fixture.deliveries()
  const body = fixture.payload(row!)
  expect(Object.keys(body)).toEqual(['delivery_id', 'monitor_id', 'count', 'grouped', 'items'])
  expect(body).toMatchObject({
    delivery_id: row!.id,
    monitor_id: 'mon_1',
    count: 1,
    grouped: false,
    items: [
      {
        kind: 'post',
        title: 'a cat',
        board: 'cats',
        crosspost_origin: { board: 'kittens' },
        enrichment: { relevance: { score: 0.5, matched_terms: ['cat'], considered_terms: 2 } },
      },
    ],
  })
  expect(body.items[0]).not.toHaveProperty('subforum')
})

test('a filter is read once for all matches of a check, and not for known items', async () => {
  await using fixture = startMonitorFixture()
  fixture.monitor('mon_1', { subforum: ['cats'], include_any: ['cat'] })
  fixture.monitor('mon_2', { subforum: ['cats'] })
  await fixture.pollDue()
  const feed = findFeeds(fixture.db, [1]).get(1)!
  const filters = createFilters(fixture.db, () => {})
  const read: string[] = []
  const counted: typeof filters = Object.assign((it: Parameters<typeof filters>[0]) => {
    read.push(it.id)
    return filters(it)
  }, filters)
  const now = START + 30 * S
  const ordered = [post(1, 'a cat', now), post(2, 'a cat', now), post(3, 'a cat', now)]
  // As at the start of another monitor: all listed items are evaluated.
  const state = startPoll({ checkpoint: null, backfill_since: START, accept_stale: false })
  fixture.db.run('UPDATE monitor_feeds SET active_from_seq = 0')
  const find = (...fresh: string[]) =>
    matchAll(
      { db: fixture.db, filters: counted },
      feed,
      { now, begins: state.backfill_since !== null, isAgain: () => false },
      { ordered, fresh: new Set(fresh), first_seen: new Map(), next_seq: 4 },
    )

  const hits = find('t3_1', 't3_2', 't3_3')
  expect(hits.map((it) => it.watcher.id)).toEqual([
    'mon_1',
    'mon_2',
    'mon_1',
    'mon_2',
    'mon_1',
    'mon_2',
  ])
  expect(read).toEqual(['mon_1', 'mon_2'])

  expect(find()).toEqual([])
  expect(read).toHaveLength(2)
})

test('comments are watched on a feed of their own', async () => {
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  fixture.monitor('mon_1', { subforum: ['cats'], kind: 'both' })
  await fixture.pollDue()
  const created = { created: new Date(START + S).toISOString(), created_utc: START / S + 1 }
  fixture.feed.put('cats', commentOf({ id: 'z9', name: 't1_z9', body: 'purr', ...created }))
  await fixture.check()

  expect(fixture.deliveries().map((it) => fixture.payload(it).items[0].body)).toEqual(['purr'])
  expect(fixture.one<{ n: number }>('SELECT count(*) AS n FROM feeds')?.n).toBe(2)
})

test('an item listed by two feeds of a monitor is delivered once', async () => {
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  fixture.monitor('mon_1', { subforum: ['cats', 'kittens'] })
  await fixture.pollDue()
  const item = post(1, 'a cat', START + S)
  fixture.feed.put('cats', item)
  fixture.feed.put('kittens', { ...item, subforum: 'kittens' })
  await fixture.check()

  expect(fixture.deliveries()).toHaveLength(1)
})

test('a monitor for the whole platform polls searches and filters every result', async () => {
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  fixture.monitor('mon_1', { include_any: ['cat'] })
  await fixture.pollDue()
  const place = fixture.feed.page_requests[0]!.place
  fixture.feed.put(place, post(1, 'concatenate', START + S), post(2, 'cat', START + S))
  await fixture.check()

  expect(fixture.titles()).toEqual(['cat'])
})

test('an old item that appears late is suppressed as stale, with its age', async () => {
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  fixture.monitor('mon_1', { subforum: ['cats'] })
  await fixture.pollDue()
  fixture.pass(1_000 * S)
  fixture.feed.put('cats', post(1, 'approved late', START + S), post(2, 'fresh', START + 900 * S))
  await fixture.check()

  const [stale, fresh] = fixture.deliveries()
  expect(stale).toMatchObject({ status: 'suppressed', reason: 'stale_item' })
  expect(fixture.payload(stale!).suppressed).toEqual({
    reason: 'stale_item',
    oldest_age_s: 1059,
    threshold_s: 900,
  })
  expect(fresh).toMatchObject({ status: 'pending' })
})

test('a named paused target gets a failed row, among "every target" it gets none', async () => {
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  fixture.webhook('wh_2', { paused: true })
  fixture.monitor('mon_named', { subforum: ['cats'] }, { webhook_ids: ['wh_2'] })
  fixture.monitor('mon_all', { subforum: ['cats'] })
  await fixture.pollDue()
  fixture.feed.put('cats', post(1, 'a cat', START + S))
  await fixture.check()

  expect(fixture.deliveries('mon_named')).toMatchObject([
    { webhook_id: 'wh_2', status: 'failed', last_error: 'webhook_paused' },
  ])
  expect(fixture.deliveries('mon_all')).toMatchObject([{ webhook_id: 'wh_1', status: 'pending' }])
})

test('beyond the ceiling five hundred rows are stored and the rest is counted', async () => {
  await using fixture = startMonitorFixture({ plan: { ...PLAN, daily_deliveries: 3 } })
  fixture.webhook('wh_1')
  fixture.webhook('wh_2')
  fixture.monitor('mon_1', { subforum: ['cats'] })
  await fixture.pollDue()
  fixture.feed.put('cats', ...Array.from({ length: 300 }, (_, i) => post(i + 1, 'x', START + S)))
  await fixture.check()

  const by = (status: string) => fixture.deliveries().filter((it) => it.status === status)
  expect(by('pending')).toHaveLength(3)
  expect(by('suppressed')).toHaveLength(500)
  expect(new Set(by('suppressed').map((it) => it.reason))).toEqual(new Set(['delivery_ceiling']))
  expect(fixture.one('SELECT deliveries, ceiling_suppressed FROM monitor_days')).toEqual({
    deliveries: 3,
    ceiling_suppressed: 597,
  })
})

test('the ceiling resets at midnight UTC, separately for each monitor', async () => {
  await using fixture = startMonitorFixture({ plan: { ...PLAN, daily_deliveries: 1 } })
  fixture.webhook('wh_1')
  fixture.monitor('mon_1', { subforum: ['cats'] })
  fixture.monitor('mon_2', { subforum: ['cats'] })
  await fixture.pollDue()
  fixture.pass(12 * 3_600 * S - 120 * S)
  fixture.feed.put(
    'cats',
    post(1, 'evening', fixture.clock.now()),
    post(2, 'later', fixture.clock.now()),
  )
  await fixture.check()
  fixture.pass(60 * S)
  fixture.feed.put('cats', post(3, 'morning', fixture.clock.now()))
  await fixture.check()

  expect(fixture.titles('mon_1')).toEqual(['evening', 'morning'])
  expect(fixture.titles('mon_2')).toEqual(['evening', 'morning'])
})

test('a stale item does not count toward the ceiling', async () => {
  await using fixture = startMonitorFixture({ plan: { ...PLAN, daily_deliveries: 1 } })
  fixture.webhook('wh_1')
  fixture.monitor('mon_1', { subforum: ['cats'] })
  await fixture.pollDue()
  fixture.pass(1_000 * S)
  fixture.feed.put('cats', post(1, 'late', START + S), post(2, 'fresh', fixture.clock.now()))
  await fixture.check()

  expect(fixture.titles()).toEqual(['fresh'])
})
