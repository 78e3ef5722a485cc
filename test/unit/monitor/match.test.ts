import { expect, test } from 'bun:test'

import { startLook } from '../../../src/core/sight.ts'
import { createFilters } from '../../../src/monitor/filters.ts'
import { matchAll } from '../../../src/monitor/match.ts'
import { findStream } from '../../../src/store/streams.ts'
import { commentOf } from '../../support/items.ts'
import { PLAN, post, START, startStage } from './stage.ts'

const S = 1000

/** Sixty posts that were there before anybody watched. */
const old = () =>
  Array.from({ length: 60 }, (_, i) => post(i + 1, `cat ${i}`, START - (60 - i) * S))

test('sixty old posts deliver nothing, of four new ones the two that match go to every target', async () => {
  await using stage = startStage()
  stage.feed.put('cats', ...old())
  stage.webhook('wh_1')
  stage.webhook('wh_2')
  stage.monitor('mon_1', { subforum: ['cats'], include_any: ['cat'] })
  await stage.look()
  expect(stage.deliveries()).toEqual([])

  const at = START + 30 * S
  stage.feed.put(
    'cats',
    post(61, 'a dog', at),
    post(62, 'a cat', at),
    post(63, 'two cat beds', at),
    post(64, 'birds', at),
  )
  await stage.check()

  expect(
    stage.deliveries().map((it) => [it.webhook_id, it.status, stage.payload(it).items[0].id]),
  ).toEqual([
    ['wh_1', 'pending', (62).toString(36)],
    ['wh_2', 'pending', (62).toString(36)],
    ['wh_1', 'pending', (63).toString(36)],
    ['wh_2', 'pending', (63).toString(36)],
  ])
  expect(stage.pendings()).toBe(1)
})

test('the body says what it is, whom it is for and how well it fits', async () => {
  await using stage = startStage({ community: 'board' })
  stage.webhook('wh_1')
  stage.monitor('mon_1', { board: ['cats'], include_any: ['cat', 'fish'] })
  await stage.look()
  const origin = { id: 'o1', subforum: 'kittens', permalink: '/x/' }
  stage.feed.put('cats', post(1, 'a cat', START + S, { crosspost_origin: origin }))
  await stage.check()

  const [row] = stage.deliveries()
  const body = stage.payload(row!)
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

test('a filter is read once for all that a check has found, and not for what was seen before', async () => {
  await using stage = startStage()
  stage.monitor('mon_1', { subforum: ['cats'], include_any: ['cat'] })
  stage.monitor('mon_2', { subforum: ['cats'] })
  await stage.look()
  const stream = findStream(stage.db, 1)!
  const filters = createFilters(stage.db, () => {})
  const read: string[] = []
  const counted: typeof filters = Object.assign((it: Parameters<typeof filters>[0]) => {
    read.push(it.id)
    return filters(it)
  }, filters)
  const now = START + 30 * S
  const ordered = [post(1, 'a cat', now), post(2, 'a cat', now), post(3, 'a cat', now)]
  // As when another monitor begins here: all that is shown is asked about.
  const look = startLook({ head: null, floor_at: START, believing: false })
  stage.db.run('UPDATE monitor_streams SET active_from_seq = 0')
  const find = (...fresh: string[]) =>
    matchAll(
      { db: stage.db, filters: counted },
      stream,
      {
        stream,
        look,
        items: new Map(),
        ending: { kind: 'reached' },
        lost_gap: null,
        started_at: now,
        ended_at: now,
        seen_at: now,
      },
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

test('comments are watched on a stream of their own', async () => {
  await using stage = startStage()
  stage.webhook('wh_1')
  stage.monitor('mon_1', { subforum: ['cats'], kind: 'both' })
  await stage.look()
  const created = { created: new Date(START + S).toISOString(), created_utc: START / S + 1 }
  stage.feed.put('cats', commentOf({ id: 'z9', name: 't1_z9', body: 'purr', ...created }))
  await stage.check()

  expect(stage.deliveries().map((it) => stage.payload(it).items[0].body)).toEqual(['purr'])
  expect(stage.one<{ n: number }>('SELECT count(*) AS n FROM streams')?.n).toBe(2)
})

test('an item that two streams of a monitor show is delivered once', async () => {
  await using stage = startStage()
  stage.webhook('wh_1')
  stage.monitor('mon_1', { subforum: ['cats', 'kittens'] })
  await stage.look()
  const item = post(1, 'a cat', START + S)
  stage.feed.put('cats', item)
  stage.feed.put('kittens', { ...item, subforum: 'kittens' })
  await stage.check()

  expect(stage.deliveries()).toHaveLength(1)
})

test('a monitor for the whole platform looks by search and checks every hit itself', async () => {
  await using stage = startStage()
  stage.webhook('wh_1')
  stage.monitor('mon_1', { include_any: ['cat'] })
  await stage.look()
  const place = stage.feed.asked[0]!.place
  stage.feed.put(place, post(1, 'concatenate', START + S), post(2, 'cat', START + S))
  await stage.check()

  expect(stage.titles()).toEqual(['cat'])
})

test('an old item that shows late is withheld as stale, with its age', async () => {
  await using stage = startStage()
  stage.webhook('wh_1')
  stage.monitor('mon_1', { subforum: ['cats'] })
  await stage.look()
  stage.pass(1_000 * S)
  stage.feed.put('cats', post(1, 'approved late', START + S), post(2, 'fresh', START + 900 * S))
  await stage.check()

  const [stale, fresh] = stage.deliveries()
  expect(stale).toMatchObject({ status: 'suppressed', reason: 'stale_item' })
  expect(stage.payload(stale!).suppressed).toEqual({
    reason: 'stale_item',
    oldest_age_s: 1059,
    threshold_s: 900,
  })
  expect(fresh).toMatchObject({ status: 'pending' })
})

test('a paused target that was named gets a failed row, among "every target" it gets none', async () => {
  await using stage = startStage()
  stage.webhook('wh_1')
  stage.webhook('wh_2', { paused: true })
  stage.monitor('mon_named', { subforum: ['cats'] }, { webhook_ids: ['wh_2'] })
  stage.monitor('mon_all', { subforum: ['cats'] })
  await stage.look()
  stage.feed.put('cats', post(1, 'a cat', START + S))
  await stage.check()

  expect(stage.deliveries('mon_named')).toMatchObject([
    { webhook_id: 'wh_2', status: 'failed', last_error: 'webhook_paused' },
  ])
  expect(stage.deliveries('mon_all')).toMatchObject([{ webhook_id: 'wh_1', status: 'pending' }])
})

test('the ceiling lets through exactly its number, then stores five hundred rows and counts the rest', async () => {
  await using stage = startStage({ plan: { ...PLAN, daily_deliveries: 3 } })
  stage.webhook('wh_1')
  stage.webhook('wh_2')
  stage.monitor('mon_1', { subforum: ['cats'] })
  await stage.look()
  stage.feed.put('cats', ...Array.from({ length: 300 }, (_, i) => post(i + 1, 'x', START + S)))
  await stage.check()

  const by = (status: string) => stage.deliveries().filter((it) => it.status === status)
  expect(by('pending')).toHaveLength(3)
  expect(by('suppressed')).toHaveLength(500)
  expect(new Set(by('suppressed').map((it) => it.reason))).toEqual(new Set(['delivery_ceiling']))
  expect(stage.one('SELECT deliveries, ceiling_suppressed FROM monitor_days')).toEqual({
    deliveries: 3,
    ceiling_suppressed: 597,
  })
})

test('at midnight, UTC, the ceiling begins anew, and each monitor has its own', async () => {
  await using stage = startStage({ plan: { ...PLAN, daily_deliveries: 1 } })
  stage.webhook('wh_1')
  stage.monitor('mon_1', { subforum: ['cats'] })
  stage.monitor('mon_2', { subforum: ['cats'] })
  await stage.look()
  stage.pass(12 * 3_600 * S - 120 * S)
  stage.feed.put('cats', post(1, 'evening', stage.clock.now()), post(2, 'later', stage.clock.now()))
  await stage.check()
  stage.pass(60 * S)
  stage.feed.put('cats', post(3, 'morning', stage.clock.now()))
  await stage.check()

  expect(stage.titles('mon_1')).toEqual(['evening', 'morning'])
  expect(stage.titles('mon_2')).toEqual(['evening', 'morning'])
})

test('a stale item takes nothing of the ceiling', async () => {
  await using stage = startStage({ plan: { ...PLAN, daily_deliveries: 1 } })
  stage.webhook('wh_1')
  stage.monitor('mon_1', { subforum: ['cats'] })
  await stage.look()
  stage.pass(1_000 * S)
  stage.feed.put('cats', post(1, 'late', START + S), post(2, 'fresh', stage.clock.now()))
  await stage.check()

  expect(stage.titles()).toEqual(['fresh'])
})
