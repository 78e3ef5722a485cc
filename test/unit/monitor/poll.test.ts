import { expect, test } from 'bun:test'

import { fail, type Fault, ok } from '../../../src/core/base/result.ts'
import type { Item } from '../../../src/core/forum/items.ts'
import { commentOf } from '../../support/items.ts'
import { post, START, startMonitorFixture } from './fixture.ts'

const S = 1000

/** `count` posts numbered from `first`, a second apart or less, the last at `until`. */
const posts = (first: number, count: number, until: number, step_ms = S) =>
  Array.from({ length: count }, (_, i) =>
    post(first + i, `cat ${first + i}`, until - (count - 1 - i) * step_ms),
  )

const nothing = ok({ rows: [], after: null })

const comment = (n: number) =>
  commentOf({ id: `c${n}`, name: `t1_c${n}`, post_id: 'abc', created_utc: START / 1000 + n })

/** A fixture whose only monitor has polled once, with sixty posts. */
async function watching() {
  const fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  fixture.feed.put('cats', ...posts(1, 60, START - S))
  fixture.monitor('mon_1', { subforum: ['cats'] })
  await fixture.pollDue()
  return fixture
}

test.each([-4 * 3600 * S, -20 * 60 * S, 4 * 3600 * S])(
  'a gap begins at the poll before a stop in which the clock was set by %i ms',
  async (jump_ms) => {
    await using fixture = await watching()
    fixture.feed.put('cats', ...posts(100, 5, START + 5 * S))
    await fixture.check()
    const polled_at = fixture.clock.now()
    const minutes = 30
    fixture.pass(minutes * 60 * S)
    // More than a listing shows, all of them since the poll.
    fixture.feed.remove('cats', ...fixture.feed.rows('cats').map(({ name }) => name))
    fixture.feed.put('cats', ...posts(1000, 1000, polled_at + minutes * 60 * S, S))
    fixture.jump(jump_ms)
    fixture.feed.ahead(-jump_ms)
    fixture.reboot()
    await fixture.check()

    const [gap, ...more] = fixture.gaps()
    expect(more).toEqual([])
    const oldest_at = polled_at + minutes * 60 * S - 999 * S
    expect(gap?.until_at).toBe(oldest_at)
    expect(gap?.from_at ?? Infinity).toBeLessThanOrEqual(polled_at)
    expect(gap?.from_at ?? 0).toBeGreaterThanOrEqual(polled_at - 2 * 60 * S)
  },
)

test('a check that reaches the checkpoint is neither truncated nor a gap', async () => {
  await using fixture = await watching()
  fixture.feed.put('cats', post(100, 'new', START + S))
  await fixture.check()

  expect(fixture.cuts()).toEqual([null, null])
  expect(fixture.gaps()).toEqual([])
})

test('a platform that has added its share of bytes is read later, from where it was, and its monitors say so', async () => {
  await using fixture = startMonitorFixture({ source_bytes_per_day: 24 * 100_000 })
  fixture.webhook('wh_1')
  fixture.feed.put('cats', ...posts(1, 60, START - S))
  fixture.monitor('mon_1', { subforum: ['cats'] })
  await fixture.pollDue()
  const text = 'x'.repeat(50_000)
  const long = posts(100, 4, START + 5 * S).map((it) => ({ ...it, text }))
  fixture.feed.put('cats', ...long)
  await fixture.check()
  const titles = fixture.titles().length
  fixture.feed.put('cats', post(200, 'cat meanwhile', fixture.clock.now()))
  await fixture.check()

  expect(fixture.titles()).toHaveLength(titles)
  const fault = () => fixture.one<{ it: string | null }>('SELECT last_fault AS it FROM feeds')?.it
  expect(fault()).toBe('over_disk_budget')
  fixture.pass(2 * 3_600_000)
  fixture.feed.put('cats', post(201, 'cat after', fixture.clock.now()))
  await fixture.check()
  expect(fixture.titles().slice(titles)).toEqual(['cat after'])
  expect(fault()).toBeNull()
})

test('a poll whose texts are larger than any listing has reads no further page, and has a gap', async () => {
  await using fixture = await watching()
  const text = 'x'.repeat(200_000)
  fixture.feed.put('cats', ...posts(100, 400, START + 50 * S, 50).map((it) => ({ ...it, text })))
  await fixture.check()

  expect(fixture.cuts()).toEqual([null, 'poll_overflow'])
  expect(fixture.titles().length).toBeLessThanOrEqual(100)
  expect(fixture.gaps()).toHaveLength(1)
})

test('items dated ahead of every clock leave later ones fresh, and the proof where it is', async () => {
  await using fixture = await watching()
  const ahead = [20, 4 * 1440].map((minutes, n) =>
    post(1000 + n, `ahead ${minutes}`, fixture.clock.now() + minutes * 60 * S),
  )
  fixture.feed.put('cats', ...ahead)
  await fixture.check()
  for (let n = 0; n < 5; n++) {
    fixture.feed.remove('cats', ...ahead.map(({ name }) => name))
    fixture.feed.put('cats', ...posts(100 + 10 * n, 3, fixture.clock.now() + 50 * S, 10 * S))
    // A list of the newest shows them first until their time.
    for (const item of ahead) fixture.feed.pin('cats', item)
    await fixture.check()
  }

  expect(fixture.titles()).toHaveLength(2 + 5 * 3)
  expect(fixture.gaps()).toEqual([])
  const audited = fixture.one<{ until: number }>('SELECT audited_until AS until FROM feeds')
  expect(audited?.until).toBeLessThanOrEqual(fixture.clock.now())
})

test.each<[string, Partial<Item>, Record<string, unknown>]>([
  ['title', { title: 'news of cats' }, { include_any: ['cats'] }],
  ['text', { text: 'cats' }, { include_any: ['cats'] }],
  ['link', { link_url: 'https://news.test/cats', domain: 'news.test' }, { domain: ['news.test'] }],
  ['flair', { flair: 'cats' }, { flair: ['cats'] }],
  ['mark for adults', { over_18: true }, { nsfw: true }],
])(
  'a post whose %s appears after it was first listed is matched then, once',
  async (_, later, spec) => {
    await using fixture = startMonitorFixture()
    fixture.webhook('wh_1')
    fixture.feed.put('pets', ...posts(1, 5, START - S).map((it) => ({ ...it, title: 'old' })))
    const half = post(100, 'news', START + 30 * S, { subforum: 'pets' })
    fixture.monitor('mon_1', { subforum: ['pets'], ...spec })
    await fixture.pollDue()
    fixture.feed.put('pets', half)
    await fixture.check()
    expect(fixture.deliveries()).toEqual([])
    fixture.feed.remove('pets', half.name)
    fixture.feed.put('pets', Object.assign({}, half, later))
    await fixture.check()
    await fixture.check()

    expect(fixture.deliveries()).toHaveLength(1)
  },
)

test('a pinned post does not count as checkpoint: rows beneath it are read to the end', async () => {
  await using fixture = startMonitorFixture()
  const pinned = post(1, 'rules', START - 100 * S, { stickied: true })
  fixture.webhook('wh_1')
  fixture.feed.put('cats', ...posts(2, 30, START - S))
  fixture.feed.pin('cats', pinned)
  fixture.monitor('mon_1', { subforum: ['cats'] })
  await fixture.pollDue()
  fixture.feed.remove('cats', pinned.name)
  fixture.feed.put('cats', ...posts(1000, 250, START + 50 * S, 100))
  fixture.feed.pin('cats', pinned)
  await fixture.check()

  expect(fixture.cuts()).toEqual([null, null])
  expect(fixture.titles()).toHaveLength(250)
})

test('after the deletion of all anchor_ids but the oldest nothing is lost or repeated', async () => {
  await using fixture = await watching()
  // Deletes forty-nine of fifty anchors (60 to 11).
  fixture.feed.remove('cats', ...posts(12, 49, START).map(({ name }) => name))
  fixture.feed.put('cats', ...posts(100, 3, START + 3 * S))
  await fixture.check()

  expect(fixture.cuts()).toEqual([null, null])
  expect(fixture.titles()).toEqual(['cat 100', 'cat 101', 'cat 102'])
})

test('a burst beyond twelve pages is a gap with an estimate, and the rows read are delivered', async () => {
  await using fixture = await watching()
  fixture.feed.put('cats', ...posts(1000, 1500, START + 59 * S, 30))
  await fixture.check()

  expect(fixture.cuts()).toEqual([null, 'poll_overflow'])
  expect(fixture.deliveries()).toHaveLength(1167)
  const [gap] = fixture.gaps()
  expect(gap).toMatchObject({ reason: 'poll_overflow', from_at: START - S, closed_at: null })
  expect(gap!.until_at).toBe(START + 59 * S - 1166 * 30)
})

test('the estimate of a gap is not below the true number', async () => {
  await using fixture = await watching()
  fixture.pass(1_500 * S)
  fixture.feed.put('cats', ...posts(1000, 1500, START + 1_500 * S))
  await fixture.check()

  const [gap] = fixture.gaps()
  expect(gap!.missed_estimate!).toBeGreaterThanOrEqual(300)
  expect(gap!.missed_estimate!).toBeLessThan(3 * 300)
})

test('after a gap the checkpoint has advanced: the next check is complete again', async () => {
  await using fixture = await watching()
  fixture.feed.put('cats', ...posts(1000, 1500, START + 59 * S, 30))
  await fixture.check()
  fixture.feed.put('cats', post(5000, 'after the burst', START + 70 * S))
  await fixture.check()

  expect(fixture.cuts()).toEqual([null, 'poll_overflow', null])
  expect(fixture.gaps()[0]!.closed_at).toBeNull()
  expect(fixture.titles().at(-1)).toBe('after the burst')
})

test('a listing that ends before the checkpoint is exhausted', async () => {
  await using fixture = await watching()
  fixture.feed.remove('cats', ...fixture.feed.rows('cats').map(({ name }) => name))
  fixture.feed.put('cats', ...posts(100, 5, START + 5 * S))
  await fixture.check()

  expect(fixture.cuts()).toEqual([null, 'listing_exhausted'])
  expect(fixture.titles()).toHaveLength(5)
})

test('an outage logs its first truncated check and its recovery, and the rest at debug level', async () => {
  await using fixture = await watching()
  fixture.feed.faults({ kind: 'unavailable', status: 503, retry_after_s: null }, 5)
  for (let n = 0; n < 6; n++) await fixture.check()

  const lines = fixture.events
    .filter(({ event }) => event === 'check.cut' || event === 'feed.recovered')
    .map(({ level, event }) => `${level} ${event}`)
  expect(lines.slice(0, 3)).toEqual(['warn check.cut', 'debug check.cut', 'debug check.cut'])
  expect(lines.filter((line) => !line.startsWith('debug'))).toEqual([
    'warn check.cut',
    'info feed.recovered',
  ])
  expect(fixture.events.find(({ event }) => event === 'feed.recovered')?.fields).toMatchObject({
    feed: 'posts:cats',
    count: lines.length - 1,
  })
})

test('a stale page leaves the checkpoint, and the next page delivers the new items', async () => {
  await using fixture = await watching()
  const before = fixture.feed.rows('cats')
  fixture.feed.put('cats', ...posts(100, 10, START + 10 * S))
  await fixture.check()
  const old = () => ok({ rows: before, after: null })
  fixture.feed.put('cats', post(200, 'behind the cache', START + 70 * S))
  fixture.feed.instead(old, old, old)
  await fixture.check()

  expect(fixture.cuts()).toEqual([null, null])
  expect(fixture.events.map(({ event }) => event)).toContain('check.skipped')
  expect(new Set(fixture.feed.page_requests.slice(-3).map(({ limit }) => limit)).size).toBe(3)
  await fixture.check()
  expect(fixture.titles().at(-1)).toBe('behind the cache')
  expect(fixture.gaps()).toEqual([])
})

test('deleted newest posts look like a stale page only for a while', async () => {
  await using fixture = await watching()
  fixture.feed.remove('cats', ...posts(50, 11, START).map(({ name }) => name))
  await fixture.check()
  await fixture.check()
  await fixture.check()

  expect(fixture.cuts()).toEqual([null, null])
})

test('a cursor whose row was deleted is replaced by the previous row', async () => {
  await using fixture = await watching()
  fixture.feed.put('cats', ...posts(1000, 150, START + 59 * S, 100))
  let requests = 0
  fixture.feed.meanwhile(() => {
    // The last row of the first page is deleted while the second page is requested.
    if (++requests === 2) fixture.feed.remove('cats', fixture.feed.page_requests.at(-1)!.after!)
  })
  await fixture.check()

  expect(fixture.cuts()).toEqual([null, null])
  expect(fixture.titles()).toHaveLength(150)
})

test('a listing that keeps restarting is truncated, and closed by the next check', async () => {
  await using fixture = await watching()
  fixture.feed.put('cats', ...posts(1000, 150, START + 59 * S, 100))
  const top = fixture.feed.rows('cats').slice(0, 100)
  const first_page = () => ok({ rows: top, after: top.at(-1)!.name })
  fixture.feed.instead(first_page, first_page, first_page, first_page)
  await fixture.check()
  expect(fixture.cuts()).toEqual([null, 'page_restart'])
  expect(fixture.titles()).toHaveLength(100)

  await fixture.check()
  expect(fixture.cuts()).toEqual([null, 'page_restart', null])
  expect(fixture.gaps()[0]!.closed_at).not.toBeNull()
  expect(new Set(fixture.titles()).size).toBe(150)
})

test('a gap that several checks could not close begins at the last complete one', async () => {
  await using fixture = await watching()
  fixture.feed.put('cats', ...posts(1000, 1500, START + 50 * S, 30))
  const top = fixture.feed.rows('cats').slice(0, 100)
  const first_page = () => ok({ rows: top, after: top.at(-1)!.name })
  for (let i = 0; i < 3; i++) {
    fixture.feed.instead(first_page, first_page, first_page, first_page)
    await fixture.check()
  }
  await fixture.check()

  expect(fixture.cuts().slice(1)).toEqual([
    'page_restart',
    'page_restart',
    'page_restart',
    'poll_overflow',
  ])
  const gap = fixture.gaps().at(-1)
  expect(gap).toMatchObject({ from_at: START - S, until_at: START + 50 * S - 1166 * 30 })
  // 333 are missing.
  expect(gap!.missed_estimate!).toBeGreaterThanOrEqual(111)
  expect(gap!.missed_estimate!).toBeLessThanOrEqual(999)
})

test('a check that the platform postpones is late, not truncated: the next one reaches the checkpoint', async () => {
  await using fixture = await watching()
  fixture.feed.put('cats', post(100, 'before the pause', START + S))
  fixture.feed.faults({ kind: 'throttled', retry_after_s: 30 }, 1)
  await fixture.check()
  expect(fixture.cuts()).toEqual([null])
  expect(fixture.events.filter(({ event }) => event === 'check.skipped')).toMatchObject([
    { fields: { why: 'throttled' } },
  ])

  await fixture.check()
  await fixture.check()
  expect(fixture.gaps()).toEqual([])
  expect(fixture.titles()).toEqual(['before the pause'])
})

test('a check throttled half way is truncated, and the rows read are kept', async () => {
  await using fixture = await watching()
  fixture.feed.put('cats', ...posts(1000, 150, START + 59 * S, 100))
  fixture.feed.instead((rows) => ok({ rows: rows.slice(0, 100), after: rows[99]!.name }))
  fixture.feed.faults({ kind: 'throttled', retry_after_s: 30 }, 1)
  await fixture.check()

  expect(fixture.cuts()).toEqual([null, 'error'])
  expect(fixture.titles()).toHaveLength(100)
})

test.each([
  { kind: 'timeout' } as const,
  { kind: 'unavailable', status: null, retry_after_s: null } as const,
  { kind: 'unreadable', path: 'body' } as const,
])('a page that failed is not requested again: the client has retried it (%j)', async (fault) => {
  await using fixture = await watching()
  const requests_before = fixture.feed.page_requests.length
  fixture.feed.faults(fault, 1)
  await fixture.check()

  expect(fixture.feed.page_requests.length - requests_before).toBe(1)
  expect(fixture.cuts()).toEqual([null, 'error'])
})

test('feeds that did not reach the platform are due at once when it answers again', async () => {
  await using fixture = await watching()
  fixture.feed.faults(
    { kind: 'unavailable', status: null, retry_after_s: null, not_requested: true },
    1,
  )
  await fixture.check()
  const requests_before = fixture.feed.page_requests.length
  await fixture.pollDue()
  expect(fixture.feed.page_requests.length).toBe(requests_before)

  fixture.monitoring.resume()
  await fixture.pollDue()

  expect(fixture.feed.page_requests.length).toBe(requests_before + 1)
  expect(fixture.cuts()).toEqual([null, 'error', null])
})

test('a platform failure truncates the check, and the next one closes the gap', async () => {
  await using fixture = await watching()
  fixture.feed.faults({ kind: 'unavailable', status: 503, retry_after_s: null }, 1)
  fixture.feed.put('cats', post(100, 'in the dark', START + S))
  await fixture.check()
  expect(fixture.cuts()).toEqual([null, 'error'])
  expect(fixture.gaps()).toMatchObject([{ reason: 'error', until_at: null, closed_at: null }])
  expect(fixture.one<{ f: string }>('SELECT last_fault AS f FROM feeds')?.f).toBe('unavailable:503')

  await fixture.check()
  expect(fixture.gaps()).toMatchObject([{ reason: 'error', closed_at: fixture.clock.now() }])
  expect(fixture.titles()).toEqual(['in the dark'])
})

test('a gap open when its monitor was paused stays one, apart from later gaps', async () => {
  await using fixture = await watching()
  fixture.feed.faults({ kind: 'timeout' }, 1)
  await fixture.check()
  fixture.edit('mon_1', { active: false })
  fixture.pass(2 * 3600 * S)
  const resumed = fixture.clock.now()
  fixture.edit('mon_1', { active: true })
  fixture.feed.faults({ kind: 'timeout' }, 1)
  await fixture.check()
  await fixture.check()

  const [before, after] = fixture.gaps()
  expect(before).toMatchObject({ until_at: resumed, closed_at: null })
  expect(after!.from_at).toBe(Math.floor(resumed / S) * S)
  expect(after!.closed_at).not.toBeNull()
})

test('an outage of many checks is estimated once', async () => {
  await using fixture = await watching()
  for (let i = 0; i < 3; i++) {
    fixture.feed.faults({ kind: 'timeout' }, 1)
    await fixture.check()
  }

  const open = fixture.gaps().map((it) => it.missed_estimate)
  expect(open.slice(0, 2)).toEqual([0, 0])
  expect(open[2]).toBeGreaterThan(0)
})

test('a refusal is not retried at once, and its reason is recorded', async () => {
  await using fixture = await watching()
  const requests_before = fixture.feed.page_requests.length
  fixture.feed.faults({ kind: 'forbidden', reason: 'private' }, 1)
  await fixture.check()

  expect(fixture.feed.page_requests.length - requests_before).toBe(1)
  expect(fixture.cuts()).toEqual([null, 'error'])
  expect(fixture.one<{ f: string }>('SELECT last_fault AS f FROM feeds')?.f).toBe(
    'forbidden:private',
  )
})

const RESTING: Fault = { kind: 'throttled', retry_after_s: 0, not_requested: true, resting: true }
const paceOfFeed = ({ one }: ReturnType<typeof startMonitorFixture>) =>
  one<{ backoff_factor: number; interval_s: number; next_check_at: number }>(
    'SELECT backoff_factor, interval_s, next_check_at FROM feeds',
  )

test.each([
  ['by the platform', { kind: 'throttled', retry_after_s: 300 } as const],
  ['because accounts rest', { ...RESTING, retry_after_s: 300 }],
])('a feed that was not answered %s keeps its slow-down and interval', async (_, fault) => {
  await using fixture = await watching()
  const before = paceOfFeed(fixture)
  fixture.feed.faults(fault, 1)
  await fixture.check()

  const after = paceOfFeed(fixture)
  expect(after).toMatchObject({ backoff_factor: 1, interval_s: before!.interval_s })
  const wait_ms = after!.next_check_at - fixture.clock.now()
  expect(wait_ms).toBeLessThanOrEqual(before!.interval_s * S)
})

test('a feed is due when the first account is usable, before its regular poll', async () => {
  await using fixture = await watching()
  fixture.feed.faults({ ...RESTING, retry_after_s: 7 }, 1)
  await fixture.check()

  expect(paceOfFeed(fixture)!.next_check_at - fixture.clock.now()).toBe(7 * S)
})

test('a poll throttled half way keeps the interval of its feed', async () => {
  await using fixture = await watching()
  fixture.feed.put('cats', ...posts(1000, 150, START + 59 * S, 100))
  fixture.feed.instead((rows) => ok({ rows: rows.slice(0, 100), after: rows[99]!.name }))
  fixture.feed.faults({ kind: 'throttled', retry_after_s: 300 }, 1)
  await fixture.check()

  const after = paceOfFeed(fixture)
  expect(after).toMatchObject({ backoff_factor: 1, interval_s: 60 })
  expect(after!.next_check_at - fixture.clock.now()).toBeLessThanOrEqual(60 * S)
})

test('an exhausted budget postpones and slows a feed', async () => {
  await using fixture = await watching()
  fixture.feed.faults({ kind: 'throttled', retry_after_s: 300, not_requested: true }, 1)
  await fixture.check()
  const requests_before = fixture.feed.page_requests.length
  expect(paceOfFeed(fixture)).toMatchObject({ backoff_factor: 1.5 })
  for (let i = 0; i < 4; i++) await fixture.check()
  expect(fixture.feed.page_requests.length).toBe(requests_before)

  fixture.pass(60 * S)
  await fixture.check()
  expect(fixture.feed.page_requests.length).toBe(requests_before + 1)
})

test('an empty page of a place whose posts exist is refused, and the checkpoint waits for its return', async () => {
  await using fixture = await watching()
  fixture.feed.instead(nothing, nothing)
  fixture.feed.put('cats', post(100, 'while it was empty', START + S))
  await fixture.check()
  expect(fixture.cuts()).toEqual([null, 'emptied'])
  expect(fixture.one<{ f: string }>('SELECT last_fault AS f FROM feeds')?.f).toBe('refused:emptied')

  await fixture.check()
  expect(fixture.cuts()).toEqual([null, 'emptied', null])
  expect(fixture.titles()).toEqual(['while it was empty'])
})

test('a closed place reports that instead', async () => {
  await using fixture = await watching()
  fixture.feed.verdicts.set('cats', { kind: 'refused', why: 'banned' })
  fixture.feed.instead(nothing, nothing)
  await fixture.check()

  expect(fixture.cuts()).toEqual([null, 'error'])
  expect(fixture.one<{ f: string }>('SELECT last_fault AS f FROM feeds')?.f).toBe('refused:banned')
})

test('an emptied search requests no place of its name', async () => {
  await using fixture = startMonitorFixture()
  fixture.feed.verdicts.set('laser', { kind: 'refused', why: 'banned' })
  fixture.feed.put('laser', post(1, 'a laser', START - S))
  fixture.monitor('mon_1', { q: 'laser' })
  await fixture.pollDue()
  fixture.feed.instead(nothing, nothing)
  await fixture.check()

  expect(fixture.cuts()).toEqual([null, 'emptied'])
})

test('a search whose post was edited so that it no longer matches may be empty', async () => {
  await using fixture = startMonitorFixture()
  fixture.feed.put('laser', post(1, 'a laser', START - S))
  fixture.monitor('mon_1', { q: 'laser' })
  await fixture.pollDue()
  fixture.feed.remove('laser', 't3_1')
  fixture.feed.put('elsewhere', post(1, 'a lamp', START - S))
  fixture.feed.instead(nothing, nothing)
  await fixture.check()

  expect(fixture.cuts()).toEqual([null, 'empty_listing'])
})

test('empty pages of a place whose posts exist are never accepted, however many there are', async () => {
  await using fixture = await watching()
  for (let i = 0; i < 12; i++) {
    fixture.feed.instead(nothing, nothing)
    await fixture.check()
  }
  expect(fixture.cuts().slice(1)).toEqual(Array(12).fill('emptied'))
  expect(fixture.gaps().every(({ closed_at }) => closed_at === null)).toBe(true)

  await fixture.check()
  expect(fixture.cuts().at(-1)).toBeNull()
  expect(fixture.gaps().every(({ closed_at }) => closed_at !== null)).toBe(true)
})

test.each([
  [{ kind: 'login_required' }, 'login_wall'],
  [{ kind: 'blocked', login_hint: true }, 'login_wall'],
  [{ kind: 'forbidden', reason: 'placeholder' }, 'placeholder'],
  [{ kind: 'forbidden', reason: 'profile_hidden' }, 'profile_hidden'],
  [{ kind: 'forbidden', reason: 'private' }, 'error'],
  [{ kind: 'blocked' }, 'error'],
] as const)(
  'the fault %j is the gap %s, and the last check stays as it was',
  async (fault, cut) => {
    await using fixture = await watching()
    const lastCheck = () => fixture.one<{ at: number }>('SELECT last_check_at AS at FROM feeds')?.at
    const before = lastCheck()
    fixture.feed.instead(fail(fault))
    await fixture.check()

    expect(fixture.cuts()).toEqual([null, cut])
    expect(lastCheck()).toBe(before)
  },
)

test('a thread shown in part is truncated, with the shown comments matched', async () => {
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  fixture.monitor('mon_1', { thread: ['abc'] })
  fixture.feed.put('abc', comment(1))
  await fixture.pollDue()
  fixture.feed.put('abc', comment(2))
  fixture.feed.instead((rows) => ok({ rows, after: null, partial: true }))
  await fixture.check()
  expect(fixture.cuts()).toEqual([null, 'poll_overflow'])
  expect(fixture.deliveries()).toHaveLength(2)
  expect(fixture.gaps()).toMatchObject([{ missed_estimate: null, closed_at: null }])

  // Once all of it is listed, withheld comments appear too.
  await fixture.check()
  expect(fixture.cuts().at(-1)).toBeNull()
  expect(fixture.gaps()).toMatchObject([{ closed_at: fixture.clock.now() }])
})

test('an empty listing confirmed by ten checks is accepted', async () => {
  await using fixture = await watching()
  fixture.feed.remove('cats', ...fixture.feed.rows('cats').map(({ name }) => name))
  for (let i = 0; i < 11; i++) await fixture.check()
  expect(fixture.cuts().slice(-2)).toEqual(['empty_listing', null])

  fixture.feed.put('cats', post(100, 'life returns', fixture.clock.now()))
  await fixture.check()
  expect(fixture.cuts().at(-1)).toBeNull()
  expect(fixture.titles()).toEqual(['life returns'])
})

test('rows that appear late beneath the checkpoint are matched', async () => {
  await using fixture = await watching()
  fixture.feed.put('cats', post(100, 'first', START + 10 * S), post(102, 'third', START + 30 * S))
  await fixture.check()
  const rows = fixture.feed.rows('cats')
  rows.splice(1, 0, post(101, 'approved late', START + 20 * S))
  await fixture.check()

  expect(fixture.titles()).toEqual(['first', 'third', 'approved late'])
})

test('a page that fails half way keeps the rows read, and the next check reads on to the checkpoint', async () => {
  await using fixture = await watching()
  fixture.feed.put('cats', ...posts(1000, 150, START + 59 * S, 100))
  fixture.feed.instead((rows) => ok({ rows: rows.slice(0, 100), after: rows[99]!.name }))
  fixture.feed.instead(fail({ kind: 'blocked' }))
  await fixture.check()
  expect(fixture.titles()).toHaveLength(100)

  await fixture.check()
  expect(fixture.cuts()).toEqual([null, 'error', null])
  expect(fixture.titles()).toHaveLength(150)
  expect(fixture.gaps()).toMatchObject([{ closed_at: fixture.clock.now() }])
})

test('goes on with the row before a cursor in a place that became private', async () => {
  await using fixture = await watching()
  fixture.feed.put('cats', ...posts(100, 150, START + 200 * S))
  const all = fixture.feed.rows('cats')
  fixture.feed.instead(
    (rows) => ok({ rows: rows.slice(0, 100), after: rows[99]?.name ?? null }),
    fail({ kind: 'forbidden', reason: 'private' }),
  )
  fixture.pass(200 * S)
  await fixture.check()

  expect(all.length).toBe(210)
  expect(fixture.gaps()).toEqual([])
})
