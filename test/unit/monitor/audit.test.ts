import { expect, test } from 'bun:test'

import { ok } from '../../../src/core/base/result.ts'
import type { Item } from '../../../src/core/forum/items.ts'
import { latenessMargin } from '../../../src/core/polling/audit.ts'
import { judgeAudits } from '../../../src/core/polling/coverage.ts'
import { listMonitorFeeds } from '../../../src/store/monitoring/monitors.ts'
import { post, START, startMonitorFixture } from './fixture.ts'

const S = 1000
const AUDIT_S = 600
const MINUTE_MS = 60_000

const posts = (first: number, count: number, until: number) =>
  Array.from({ length: count }, (_, i) =>
    post(first + i, `old ${first + i}`, until - (count - i) * 20 * S),
  )

/** Feeds with one completed audit and a monitor each; polls run every minute. */
async function watched(...places: string[]) {
  const fixture = startMonitorFixture({ audit_interval_s: AUDIT_S })
  fixture.webhook('wh_1')
  let serial = 1
  for (const place of places) {
    fixture.feed.put(place, ...posts(serial, 60, START).map((it) => ({ ...it, subforum: place })))
    serial += 100
    fixture.monitor(`mon_${place}`, { subforum: [place] })
  }
  await fixture.pollDue()
  for (let i = 0; i < 3; i++) await fixture.check()
  return fixture
}

type Fixture = Awaited<ReturnType<typeof watched>>

/** Inserts a post at the position of its creation time, below newer rows. */
function appearLate(fixture: Fixture, place: string, item: ReturnType<typeof post>) {
  const rows = [...fixture.feed.rows(place), { ...item, subforum: place }]
  fixture.feed.remove(place, ...rows.map(({ name }) => name))
  fixture.feed.put(place, ...rows.toSorted((a, b) => a.created_utc - b.created_utc))
}

/** Minutes of polls, with this many new posts in each. */
async function passMinutes(fixture: Fixture, place: string, minutes: number, posts_each: number) {
  for (let i = 0; i < minutes; i++) {
    const now = fixture.clock.now()
    for (let n = 0; n < posts_each; n++)
      fixture.feed.put(
        place,
        post(100_000 + Math.floor(now / 100) + n, 'news', now + n * 500, { subforum: place }),
      )
    await fixture.check()
  }
}

const feedOf = (fixture: Fixture, place: string) =>
  fixture.one<{
    audited_at: number
    audited_from: number
    audited_until: number
    lateness_ms: number
    audit_interval_s: number
  }>(`SELECT * FROM feeds WHERE key = 'posts:${place}'`) ?? expect.unreachable('it is watched')

const foundBy = (fixture: Fixture, name: string) =>
  fixture.one<{ found_by: string }>(`SELECT found_by FROM feed_items WHERE item_id = '${name}'`)
    ?.found_by

test('a post that appears late below a hundred newer ones is delivered after an audit', async () => {
  await using fixture = await watched('cats')
  const late = post(900_001, 'held for moderation', fixture.clock.now())
  await passMinutes(fixture, 'cats', 2, 110)
  appearLate(fixture, 'cats', late)
  await passMinutes(fixture, 'cats', 10, 20)

  expect(fixture.titles('mon_cats')).toContain('held for moderation')
  expect(foundBy(fixture, late.name)).toBe('audit')
  expect(feedOf(fixture, 'cats').lateness_ms).toBeGreaterThan(0)
})

test('a post that is approved within an hour, at its old place, is as old as its approval', async () => {
  await using fixture = await watched('cats')
  const held = post(900_001, 'approved', fixture.clock.now())
  await passMinutes(fixture, 'cats', 40, 1)
  appearLate(fixture, 'cats', held)
  // The audits to the full depth are some of them.
  await passMinutes(fixture, 'cats', 15, 1)

  expect(foundBy(fixture, held.name)).toBeDefined()
  expect(fixture.titles('mon_cats')).toContain('approved')
})

test('a row that a page calls unlisted is a position of its listing, and no item', async () => {
  await using fixture = await watched('cats')
  const [hidden, shown] = [1, 2].map((n) =>
    post(900_000 + n, n === 1 ? 'removed' : 'new', fixture.clock.now() + n * S, {
      subforum: 'cats',
    }),
  )
  const page = (rows: Item[]) => ok({ rows, after: null, unlisted: new Set([hidden?.name ?? '']) })
  fixture.feed.instead((rows) => page([shown, hidden, ...rows].filter((it) => it !== undefined)))
  await fixture.check()

  expect(fixture.titles('mon_cats')).toEqual(['new'])
  expect(fixture.cuts().at(-1)).toBeNull()
})

test('a feed that a merged listing omitted for a while loses no item', async () => {
  await using fixture = await watched('ants', 'bees', 'cats')
  fixture.feed.close('bees')
  fixture.feed.put(
    'bees',
    post(900_001, 'while it was away', fixture.clock.now(), { subforum: 'bees' }),
  )
  await passMinutes(fixture, 'ants', 1, 30)
  fixture.feed.open('bees')
  await passMinutes(fixture, 'ants', 11, 30)

  expect(fixture.titles('mon_bees')).toEqual(['while it was away'])
})

test('a post seen in an author feed reaches the monitors of its subforum and triggers an audit', async () => {
  await using fixture = await watched('cats')
  const late = post(900_001, 'seen elsewhere', fixture.clock.now(), {
    author: 'ann',
    subforum: 'cats',
  })
  await passMinutes(fixture, 'cats', 1, 20)
  fixture.monitor('mon_ann', { author: ['ann'] })
  fixture.feed.put('author:ann', late)
  await fixture.check()

  expect(fixture.titles('mon_cats')).toContain('seen elsewhere')
  expect(foundBy(fixture, late.name)).toBe('other_feed')
  // A row listed by the place itself is known and ends the search for late rows.
  appearLate(fixture, 'cats', late)
  await fixture.check()
  expect(foundBy(fixture, late.name)).toBe('poll')
})

test('an edit that only an author feed shows reaches the monitors of the place by an audit', async () => {
  await using fixture = await watched('cats')
  fixture.monitor('mon_zebra', { subforum: ['cats'], q: 'zebra' })
  const plain = post(900_001, 'a horse', fixture.clock.now(), { author: 'ann', subforum: 'cats' })
  await passMinutes(fixture, 'cats', 1, 20)
  fixture.monitor('mon_ann', { author: ['ann'] })
  fixture.feed.put('author:ann', plain)
  await fixture.check()
  expect(foundBy(fixture, plain.name)).toBe('other_feed')

  fixture.feed.remove('author:ann', plain.name)
  fixture.feed.put('author:ann', { ...plain, title: 'a zebra', edited: true })
  await passMinutes(fixture, 'cats', 20, 0)

  expect(fixture.titles('mon_zebra')).toEqual(['a zebra'])
})

test('a post that is edited into matching is found by an audit, once', async () => {
  await using fixture = await watched('dogs')
  fixture.monitor('mon_zebra', { subforum: ['dogs'], q: 'zebra' })
  await fixture.check()
  const plain = post(900_001, 'a horse', fixture.clock.now(), { subforum: 'dogs' })
  fixture.feed.put('dogs', plain)
  await fixture.check()
  fixture.feed.remove('dogs', plain.name)
  appearLate(fixture, 'dogs', { ...plain, title: 'a zebra', edited: true })
  await passMinutes(fixture, 'dogs', 20, 0)

  expect(fixture.titles('mon_zebra')).toEqual(['a zebra'])
})

test('the verified range ends before an audit by the observed lateness', async () => {
  await using fixture = await watched('cats')
  const first = feedOf(fixture, 'cats')

  expect(first.audited_until).toBe(first.audited_at - latenessMargin(0))
  // An odd number of milliseconds: the verified range is stored in whole ones.
  fixture.pass(777)
  appearLate(fixture, 'cats', post(900_001, 'late', fixture.clock.now() - 777 - 150 * S))
  await passMinutes(fixture, 'cats', 10, 0)
  const second = feedOf(fixture, 'cats')
  expect(second.lateness_ms).toBeGreaterThanOrEqual(150 * S)
  expect(second.audited_until).toBeLessThan(second.audited_at - 150 * S)
  expect(second.audited_from).toBeLessThanOrEqual(first.audited_from)
})

test('an audit whose pages may be copies proves the time before their age', async () => {
  await using fixture = await watched('cats')
  fixture.feed.aged(45 * S)
  await passMinutes(fixture, 'cats', 10, 0)
  const { audited_at, audited_until } = feedOf(fixture, 'cats')
  expect(audited_until).toBe(audited_at - 45 * S - latenessMargin(0))
})

test('a failed audit leaves the range, and health reports it after two intervals', async () => {
  await using fixture = await watched('cats')
  const { audited_until } = feedOf(fixture, 'cats')
  const verdict = () =>
    judgeAudits(
      listMonitorFeeds(fixture.db, 'mon_cats').map((it) => ({
        ...it,
        id: it.key,
        registered: true,
        attached_at: it.active_since,
        ids: null,
      })),
      { now: fixture.clock.now(), since_at: START, offset_ms: 0 },
    )
  expect(verdict().is_current).toBe(true)

  fixture.feed.close('cats')
  await passMinutes(fixture, 'cats', 25, 0)
  expect(verdict()).toMatchObject({ is_current: false, audited_until })
})

test('audits of busy feeds are stretched to a fifth of the allowed requests', async () => {
  await using fixture = startMonitorFixture({ audit_interval_s: 60, requests_per_minute: 1 })
  for (let i = 0; i < 10; i++) {
    fixture.feed.put(`place${i}`, ...posts(1 + i * 100, 60, START))
    fixture.monitor(`mon_${i}`, { subforum: [`place${i}`] })
  }
  for (let i = 0; i < 20; i++) {
    fixture.pass(MINUTE_MS)
    for (let n = 0; n < 4; n++) await fixture.pollDue()
  }

  const slowest = fixture.one<{ s: number }>('SELECT max(audit_interval_s) AS s FROM feeds')?.s
  expect(slowest).toBeGreaterThan(600)
})

test('older rows that a deeper audit reads for the first time are neither late nor a burst', async () => {
  await using fixture = startMonitorFixture({ audit_interval_s: AUDIT_S })
  const busy = Array.from({ length: 600 }, (_, i) =>
    post(1 + i, `old ${i}`, START - Math.floor((600 - i) / 3) * S, { subforum: 'cats' }),
  )
  fixture.feed.put('cats', ...busy)
  fixture.monitor('mon_cats', { subforum: ['cats'] })
  await fixture.pollDue()
  const peaks: number[] = []
  for (let i = 0; i < 60; i++) {
    fixture.feed.put('cats', post(9000 + i, 'news', fixture.clock.now(), { subforum: 'cats' }))
    await fixture.check()
    peaks.push(
      fixture.one<{ peak: number }>('SELECT coalesce(peak_rate_per_s, 0) AS peak FROM feeds')
        ?.peak ?? 9,
    )
  }

  const columns = "state ->> '$.audits' > 4 AS deep, lateness_ms"
  expect(fixture.one(`SELECT ${columns} FROM feeds`)).toEqual({
    deep: 1,
    lateness_ms: 0,
  })
  expect(Math.max(...peaks)).toBeLessThan(0.5)
})
