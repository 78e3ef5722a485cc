import { expect, test } from 'bun:test'

import { ok } from '../../../src/core/base/result.ts'
import type { Item } from '../../../src/core/forum/items.ts'
import { startPoll } from '../../../src/core/polling/cursor.ts'
import { splitBatch, toRows } from '../../../src/core/polling/listing.ts'
import { findFeedByKey } from '../../../src/store/monitoring/feeds.ts'
import { findBatch } from '../../../src/store/monitoring/poll-batches.ts'
import { countWrites } from '../../simulation/disk.ts'
import { post, START, startMonitorFixture } from './fixture.ts'

const S = 1000
const DAY = 86_400 * S

type Fixture = ReturnType<typeof startMonitorFixture>

let serial = 0
const put = ({ feed }: Fixture, place: string, title: string, created_at: number): void =>
  feed.put(place, post(++serial, title, created_at, { subforum: place }))

/** Three quiet places with a monitor each, polled often enough to share a batch. */
async function travelling(options: Parameters<typeof startMonitorFixture>[0] = {}) {
  const fixture = startMonitorFixture(options)
  fixture.webhook('wh_1')
  for (const place of ['ants', 'bees', 'cats']) {
    for (let i = 10; i > 0; i--) put(fixture, place, 'old', START - i * 600 * S)
    fixture.monitor(`mon_${place}`, { subforum: [place] })
  }
  await fixture.pollDue()
  for (let i = 0; i < 4; i++) await fixture.check()
  return fixture
}

const requestedPlaces = ({ feed }: Fixture, since: number): string[] =>
  feed.page_requests.slice(since).map(({ place }) => place)

test('quiet places share one request, and each keeps its own matches', async () => {
  await using fixture = await travelling()
  const since = fixture.feed.page_requests.length
  put(fixture, 'ants', 'an ant', fixture.clock.now())
  put(fixture, 'cats', 'a cat', fixture.clock.now())
  await fixture.check()

  expect(requestedPlaces(fixture, since)).toEqual(['ants+bees+cats'])
  expect(fixture.titles('mon_ants')).toEqual(['an ant'])
  expect(fixture.titles('mon_bees')).toEqual([])
  expect(fixture.titles('mon_cats')).toEqual(['a cat'])
})

test('a round over idle places takes a few writes, however many share a request', async () => {
  await using fixture = startMonitorFixture()
  const places = Array.from({ length: 40 }, (_, n) => `quiet${n}`)
  for (const place of places) {
    put(fixture, place, 'old', START - 3600 * S)
    fixture.monitor(`mon_${place}`, { subforum: [place] })
  }
  for (let poll = 0; poll < 40; poll++) await fixture.pollDue()
  for (let round = 0; round < 4; round++) await fixture.check()
  const since = fixture.feed.page_requests.length
  const counts = countWrites(fixture.db)
  await fixture.check()

  expect(requestedPlaces(fixture, since)).toEqual([places.toSorted().join('+')])
  expect(counts.writes).toBeLessThan(10)
})

test('searches of the whole platform share one request, and their results are split', async () => {
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  const both = '(laser) OR (mouse)'
  for (let i = 10; i > 0; i--) {
    const old = post(++serial, 'an old laser for a mouse', START - i * 600 * S)
    for (const q of ['laser', 'mouse', both]) fixture.feed.put(q, old)
  }
  fixture.monitor('mon_laser', { q: 'laser' })
  fixture.monitor('mon_mouse', { q: 'mouse' })
  await fixture.pollDue()
  for (let i = 0; i < 4; i++) await fixture.check()
  const since = fixture.feed.page_requests.length
  const now = fixture.clock.now()
  put(fixture, both, 'a laser', now)
  put(fixture, both, 'a mouse', now)
  put(fixture, both, 'a laser for a mouse', now + S)
  put(fixture, both, 'something that no monitor watches', now + S)
  await fixture.check()

  expect(requestedPlaces(fixture, since)).toEqual([both])
  expect(fixture.titles('mon_laser')).toEqual(['a laser', 'a laser for a mouse'])
  expect(fixture.titles('mon_mouse')).toEqual(['a mouse', 'a laser for a mouse'])
})

test.each([
  ['signs alone', { include_any: ['--', 'mouse'] }, '"--" OR mouse', 'a -- b'],
  [
    'a quote, which no expression can contain',
    { include_any: ['"', 'mouse'] },
    '"" OR mouse',
    'a " b',
  ],
  ['accents that its filter folds', { q: 'cafe', fold_accents: true }, 'cafe', 'a Café'],
])('a search for %s does not prevent splitting a batch poll', async (...one) => {
  const [, filter_spec, place, title] = one
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  const both = `(${place}) OR (laser)`
  for (let i = 10; i > 0; i--) {
    const old = post(++serial, 'an old laser for a mouse at a cafe', START - i * 600 * S)
    for (const q of ['laser', place, both]) fixture.feed.put(q, old)
  }
  fixture.monitor('mon_laser', { q: 'laser' })
  fixture.monitor('mon_other', filter_spec)
  await fixture.pollDue()
  for (let i = 0; i < 4; i++) await fixture.check()
  const since = fixture.feed.page_requests.length
  put(fixture, both, 'a laser', fixture.clock.now())
  put(fixture, both, title, fixture.clock.now())
  await fixture.check()
  await fixture.check()

  expect(requestedPlaces(fixture, since)).toEqual([both, both])
  expect(fixture.titles('mon_laser')).toEqual(['a laser'])
  expect(fixture.titles('mon_other')).toEqual([title])
})

test('one burst keeps a batch, pages that stay full split it, and no item is lost', async () => {
  await using fixture = await travelling()
  const batched = () =>
    fixture.db
      .query<{ n: number }, []>('SELECT count(*) AS n FROM feeds WHERE poll_batch_id IS NOT NULL')
      .get()?.n
  const fillPage = async (round: number) => {
    for (let i = 0; i < 40; i++)
      for (const place of ['ants', 'bees', 'cats'])
        put(fixture, place, `${place} ${round} ${i}`, fixture.clock.now() + i * S)
    await fixture.check()
    fixture.pass(5 * S)
    await fixture.pollDue()
  }
  await fillPage(1)
  expect(batched()).toBe(3)
  for (const round of [2, 3, 4, 5, 6]) await fillPage(round)
  expect(batched()).toBeLessThan(3)
  for (const place of ['ants', 'bees', 'cats'])
    expect(fixture.titles(`mon_${place}`)).toHaveLength(240)
  expect(fixture.cuts().every((cut) => cut === null)).toBe(true)
})

test('a subforum that closes within a batch is polled individually, reported, and excluded from batches', async () => {
  await using fixture = await travelling()
  fixture.feed.close('bees')
  put(fixture, 'ants', 'an ant', fixture.clock.now())
  const since = fixture.feed.page_requests.length
  await fixture.check()
  // An individual poll waits for the batch poll to end, which wakes the loop.
  await fixture.pollDue()

  expect(requestedPlaces(fixture, since)).toEqual(['ants+bees+cats', 'bees'])
  expect(
    fixture.one<{ f: string }>(`SELECT last_fault AS f FROM feeds WHERE place = 'bees'`)?.f,
  ).toBe('forbidden:private')
  fixture.pass(10 * 60 * S)
  await fixture.pollDue()
  await fixture.pollDue()
  const later = fixture.feed.page_requests.length
  await fixture.check()
  await fixture.pollDue()
  expect(requestedPlaces(fixture, later).toSorted()).toEqual(['ants+cats', 'bees'])
  expect(fixture.titles('mon_ants')).toEqual(['an ant'])
})

test('a place without any row so far is polled individually too', async () => {
  await using fixture = await travelling()
  fixture.db.run(
    `UPDATE feeds SET state = json_set(state, '$.item_seen_at', NULL, '$.newest_at', NULL) WHERE place = 'bees'`,
  )
  put(fixture, 'ants', 'an ant', fixture.clock.now())
  const since = fixture.feed.page_requests.length
  fixture.feed.remove('bees', ...fixture.feed.rows('bees').map(({ name }) => name))
  await fixture.check()
  await fixture.pollDue()

  expect(requestedPlaces(fixture, since)).toContain('bees')
})

test('a partial batch poll proves nothing about members without rows', async () => {
  await using fixture = await travelling()
  put(fixture, 'ants', 'an ant', fixture.clock.now())
  const since = fixture.feed.page_requests.length
  // Cut off at the newest rows of the others.
  fixture.feed.instead((all) => {
    const rows = all.filter(({ subforum }) => subforum === 'ants').slice(0, 2)
    return ok({ rows, after: null, partial: true })
  })
  await fixture.check()
  await fixture.pollDue()

  expect(requestedPlaces(fixture, since).toSorted()).toEqual(['ants+bees+cats', 'bees', 'cats'])
})

test('a truncated batch poll is a gap of each of its members', async () => {
  await using fixture = await travelling()
  fixture.feed.faults({ kind: 'timeout' }, 1)
  await fixture.check()

  const gaps = fixture.db
    .query<{ place: string }, []>(
      'SELECT s.place FROM gaps g JOIN feeds s ON s.id = g.feed_id ORDER BY s.place',
    )
    .all()
  expect(gaps.map(({ place }) => place)).toEqual(['ants', 'bees', 'cats'])
})

test('a postponed batch poll is late for all of its members, and truncated for none', async () => {
  await using fixture = await travelling()
  const checks = fixture.cuts().length
  fixture.feed.faults({ kind: 'throttled', retry_after_s: 30 }, 1)
  await fixture.check()
  expect(fixture.cuts()).toHaveLength(checks)

  put(fixture, 'bees', 'a bee', fixture.clock.now())
  await fixture.check()
  await fixture.check()
  expect(fixture.gaps()).toEqual([])
  expect(fixture.titles('mon_bees')).toEqual(['a bee'])
})

test('after a flood a place soon returns to its requested interval', async () => {
  await using fixture = startMonitorFixture()
  fixture.monitor('mon_1', { subforum: ['cats'] })
  put(fixture, 'cats', 'old', START - DAY)
  await fixture.pollDue()
  for (let i = 0; i < 300; i++) put(fixture, 'cats', `cat ${i}`, fixture.clock.now() + i * 100)
  await fixture.check()
  const interval = () => fixture.one<{ s: number }>('SELECT interval_s AS s FROM feeds')?.s
  expect(interval()).toBeLessThan(15)

  for (let i = 0; i < 15; i++) await fixture.check()
  expect(interval()).toBe(60)
})

/** Makes the cats more recent than any batch poll. */
const leaveBehind = ({ db }: Fixture) =>
  db.run(
    "UPDATE feeds SET synced_epoch = 0, state = json_set(state, '$.covered_epoch', 0) WHERE place = 'cats'",
  )

/** Number of members polled individually since. */
const HOME =
  "SELECT count(*) AS n FROM feeds WHERE state ->> '$.covered_epoch' > 0 AND place IN ('cats', 'dogs')"

/** Their last poll failed too: they need an individual poll before they rejoin the batch. */
const lose = (fixture: Fixture) => {
  leaveBehind(fixture)
  fixture.db.run("UPDATE feeds SET last_fault = 'timeout' WHERE place = 'cats'")
}

/** A page without these rows of the cats. */
const withoutCats =
  (...titles: string[]) =>
  (rows: Item[]) =>
    ok({
      rows: rows.filter(
        (it) => it.subforum !== 'cats' || it.kind !== 'post' || !titles.includes(it.title),
      ),
      after: null,
    })

test('an extra feed is polled along, and is in sync once a known row shows', async () => {
  await using fixture = await travelling()
  leaveBehind(fixture)
  put(fixture, 'cats', 'a cat', fixture.clock.now())
  const since = fixture.feed.page_requests.length
  await fixture.check()
  await fixture.pollDue()
  put(fixture, 'cats', 'another cat', fixture.clock.now())
  await fixture.check()

  expect(requestedPlaces(fixture, since)).toEqual(['ants+bees+cats', 'ants+bees+cats'])
  expect(fixture.titles('mon_cats')).toEqual(['a cat', 'another cat'])
})

test('an extra feed without a known row is polled individually, and misses nothing', async () => {
  await using fixture = await travelling()
  leaveBehind(fixture)
  put(fixture, 'cats', 'a cat', fixture.clock.now())
  put(fixture, 'cats', 'another cat', fixture.clock.now() + S)
  fixture.feed.instead(withoutCats('old', 'a cat'))
  const since = fixture.feed.page_requests.length
  await fixture.check()
  await fixture.pollDue()

  expect(requestedPlaces(fixture, since)).toEqual(['ants+bees+cats', 'cats'])
  expect(fixture.titles('mon_cats')).toEqual(['a cat', 'another cat'])
  expect(fixture.gaps()).toEqual([])
})

test('a feed with only new rows in a batch is polled individually, even if it was polled during the batch', async () => {
  await using fixture = await travelling()
  leaveBehind(fixture)
  put(fixture, 'cats', 'a cat', fixture.clock.now())
  const since = fixture.feed.page_requests.length
  fixture.db.run(`UPDATE feeds SET next_check_at = ${fixture.clock.now()} WHERE place = 'cats'`)
  fixture.pass(60 * S)
  const hold = fixture.feed.hold()
  fixture.monitoring.nudge()
  await fixture.monitoring.checkDue()
  expect(requestedPlaces(fixture, since)).toEqual(['cats', 'ants+bees+cats'])
  // Its known rows are not on the batch page, which shows only newer ones.
  fixture.feed.instead((rows) => ok({ rows, after: null }), withoutCats('old', 'a cat'))
  hold.one()
  while (fixture.titles('mon_cats').length === 0) await Bun.sleep(1)
  put(fixture, 'cats', 'another cat', fixture.clock.now())
  hold.all()
  await fixture.monitoring.idle()
  await fixture.check()
  await fixture.pollDue()

  expect(fixture.titles('mon_cats')).toEqual(['a cat', 'another cat'])
  expect(requestedPlaces(fixture, since)).toContain('cats')
})

test('feeds that got in sync during a batch poll start no second batch poll', async () => {
  await using fixture = await travelling()
  for (let i = 10; i > 0; i--) put(fixture, 'dogs', 'old', START - i * 600 * S)
  fixture.monitor('mon_dogs', { subforum: ['dogs'] })
  await fixture.pollDue()
  fixture.pass(5 * S)
  await fixture.pollDue()
  await fixture.check()
  await fixture.check()
  const hold = fixture.feed.hold()
  const since = fixture.feed.page_requests.length
  fixture.db.run(
    `UPDATE feeds SET synced_epoch = 0, state = json_set(state, '$.covered_epoch', 0), next_check_at = ${fixture.clock.now()}
      WHERE place IN ('cats', 'dogs')`,
  )
  fixture.pass(60 * S)
  fixture.monitoring.nudge()
  await fixture.monitoring.checkDue()
  expect(requestedPlaces(fixture, since).toSorted()).toEqual([
    'ants+bees+cats+dogs',
    'cats',
    'dogs',
  ])
  const homeOf = () => fixture.one<{ n: number }>(HOME)?.n
  hold.one()
  hold.one()
  while (homeOf() !== 2) await Bun.sleep(1)
  fixture.pass(60 * S)
  fixture.monitoring.nudge()
  await fixture.monitoring.checkDue()
  expect(requestedPlaces(fixture, since)).toHaveLength(3)

  hold.all()
  await fixture.monitoring.idle()
  await fixture.check()
  expect(requestedPlaces(fixture, since).slice(3)).toEqual(['ants+bees+cats+dogs'])
})

test('a feed that needs an individual poll gets it, even if the others are due again at once', async () => {
  await using fixture = await travelling()
  lose(fixture)
  put(fixture, 'cats', 'a cat', fixture.clock.now())
  const since = fixture.feed.page_requests.length
  await fixture.check()
  expect(requestedPlaces(fixture, since)).toEqual(['ants+bees'])
  await fixture.check()

  expect(requestedPlaces(fixture, since).toSorted()).toEqual(['ants+bees', 'ants+bees', 'cats'])
  expect(fixture.titles('mon_cats')).toEqual(['a cat'])
})

test('a feed that waits for a batch poll is polled when it ends, on any schedule, and rejoins', async () => {
  await using fixture = await travelling({ schedule: '0 * * * * *' })
  lose(fixture)
  const since = fixture.feed.page_requests.length
  await fixture.check()
  await fixture.monitoring.checkDue()
  await fixture.monitoring.idle()
  await fixture.check()

  expect(requestedPlaces(fixture, since)).toEqual(['ants+bees', 'cats', 'ants+bees+cats'])
})

test('a monitor on a place left out of a batch poll starts when the place is back', async () => {
  await using fixture = await travelling()
  const now = fixture.clock.now()
  const first = post(++serial, 'its baseline', now, { subforum: 'bees' })
  fixture.feed.put('bees', first)
  put(fixture, 'bees', 'seen before by another', now + S)
  put(fixture, 'ants', 'an ant', now + S)
  await fixture.check()
  fixture.monitor('mon_late', { subforum: ['bees'] }, { baseline: first })
  fixture.feed.close('bees')
  const since = fixture.feed.page_requests.length
  await fixture.check()
  expect(requestedPlaces(fixture, since)[0]).toBe('ants+bees+cats')
  fixture.feed.open('bees')
  for (let i = 0; i < 3; i++) await fixture.check()

  expect(fixture.titles('mon_late')).toEqual(['seen before by another'])
})

test.each([
  ['was read completely', true, true, []],
  ['was cut', false, true, []],
  ['has no row of the previous one', true, false, []],
] as const)(
  'a batch poll that %s proves nothing about feeds with only new rows: %p, %p: %j',
  async (...one) => {
    const [, whole, has_head, proved] = one
    await using fixture = await travelling()
    const { db, clock } = fixture
    const of = (place: string) =>
      findFeedByKey(db, `posts:${place}`) ?? expect.unreachable('the feed is polled')
    const [ants, cats] = [of('ants'), of('cats')]
    const batch = findBatch(db, ants.poll_batch_id ?? 0) ?? expect.unreachable('they travel')
    const now = clock.now()
    const rows = ['ants', 'cats'].map((subforum) => post(++serial, 'new', now, { subforum }))

    const { steps, batch: advanced } = splitBatch({
      targets: [{ feed: ants, backfill_since: null, open_gap: null, audit: false }],
      extras: [{ feed: cats, in_sync: true }],
      batch: has_head ? batch : { ...batch, checkpoint: null },
      state: {
        ...startPoll({ checkpoint: null, backfill_since: null, accept_stale: false }),
        rows: toRows(rows),
      },
      items: new Map(rows.map((it) => [it.name, it])),
      at: { started_at: now, ended_at: now, seen_at: now },
      complete: whole,
    })
    expect(steps.map(({ feed }) => feed.place)).toEqual([...proved])
    expect(advanced?.unproven).toEqual(proved.length === 0 ? [ants.id] : [])
  },
)
