import { expect, test } from 'bun:test'

import { fail, ok } from '../../../src/core/outcome.ts'
import { commentOf } from '../../support/items.ts'
import { post, START, startStage } from './stage.ts'

const S = 1000

/** `count` posts numbered from `first`, a second apart or less, the last at `until`. */
const posts = (first: number, count: number, until: number, step_ms = S) =>
  Array.from({ length: count }, (_, i) =>
    post(first + i, `cat ${first + i}`, until - (count - 1 - i) * step_ms),
  )

const nothing = ok({ rows: [], after: null })

const comment = (n: number) =>
  commentOf({ id: `c${n}`, name: `t1_c${n}`, post_id: 'abc', created_utc: START / 1000 + n })

/** A stage whose only monitor has looked once, at sixty posts. */
async function watching() {
  const stage = startStage()
  stage.webhook('wh_1')
  stage.feed.put('cats', ...posts(1, 60, START - S))
  stage.monitor('mon_1', { subforum: ['cats'] })
  await stage.look()
  return stage
}

test('a check that meets the head is neither cut nor a gap', async () => {
  await using stage = await watching()
  stage.feed.put('cats', post(100, 'new', START + S))
  await stage.check()

  expect(stage.cuts()).toEqual([null, null])
  expect(stage.gaps()).toEqual([])
})

test('a pinned post does not stand for the head: what came beneath it is read to the end', async () => {
  await using stage = startStage()
  const pinned = post(1, 'rules', START - 100 * S, { stickied: true })
  stage.webhook('wh_1')
  stage.feed.put('cats', ...posts(2, 30, START - S))
  stage.feed.pin('cats', pinned)
  stage.monitor('mon_1', { subforum: ['cats'] })
  await stage.look()
  stage.feed.remove('cats', pinned.name)
  stage.feed.put('cats', ...posts(1000, 250, START + 50 * S, 100))
  stage.feed.pin('cats', pinned)
  await stage.check()

  expect(stage.cuts()).toEqual([null, null])
  expect(stage.titles()).toHaveLength(250)
})

test('when all anchors but the oldest are deleted, nothing is lost and nothing repeats', async () => {
  await using stage = await watching()
  // Of fifty anchors (60 to 11) forty-nine go.
  stage.feed.remove('cats', ...posts(12, 49, START).map(({ name }) => name))
  stage.feed.put('cats', ...posts(100, 3, START + 3 * S))
  await stage.check()

  expect(stage.cuts()).toEqual([null, null])
  expect(stage.titles()).toEqual(['cat 100', 'cat 101', 'cat 102'])
})

test('a burst beyond twelve pages is a gap with a size, and what was read is delivered', async () => {
  await using stage = await watching()
  stage.feed.put('cats', ...posts(1000, 1500, START + 59 * S, 30))
  await stage.check()

  expect(stage.cuts()).toEqual([null, 'poll_overflow'])
  expect(stage.deliveries()).toHaveLength(1167)
  const [gap] = stage.gaps()
  expect(gap).toMatchObject({ reason: 'poll_overflow', from_at: START - S, healed_at: null })
  expect(gap!.until_at).toBe(START + 59 * S - 1166 * 30)
})

test('the estimate of a gap is not lower than what was really missed', async () => {
  await using stage = await watching()
  stage.pass(1_500 * S)
  stage.feed.put('cats', ...posts(1000, 1500, START + 1_500 * S))
  await stage.check()

  const [gap] = stage.gaps()
  expect(gap!.missed_estimate!).toBeGreaterThanOrEqual(300)
  expect(gap!.missed_estimate!).toBeLessThan(3 * 300)
})

test('after a gap the head has moved on: the next check is whole again', async () => {
  await using stage = await watching()
  stage.feed.put('cats', ...posts(1000, 1500, START + 59 * S, 30))
  await stage.check()
  stage.feed.put('cats', post(5000, 'after the burst', START + 70 * S))
  await stage.check()

  expect(stage.cuts()).toEqual([null, 'poll_overflow', null])
  expect(stage.gaps()[0]!.healed_at).toBeNull()
  expect(stage.titles().at(-1)).toBe('after the burst')
})

test('a listing that ends before the head is met is exhausted', async () => {
  await using stage = await watching()
  stage.feed.remove('cats', ...stage.feed.rows('cats').map(({ name }) => name))
  stage.feed.put('cats', ...posts(100, 5, START + 5 * S))
  await stage.check()

  expect(stage.cuts()).toEqual([null, 'listing_exhausted'])
  expect(stage.titles()).toHaveLength(5)
})

test('an old copy from a cache is no check: the head stays, and the true page finds what is new', async () => {
  await using stage = await watching()
  const before = stage.feed.rows('cats')
  stage.feed.put('cats', ...posts(100, 10, START + 10 * S))
  await stage.check()
  const old = () => ok({ rows: before, after: null })
  stage.feed.put('cats', post(200, 'behind the cache', START + 70 * S))
  stage.feed.instead(old, old, old)
  await stage.check()

  expect(stage.cuts()).toEqual([null, null])
  expect(stage.events.map(({ event }) => event)).toContain('check.void')
  expect(new Set(stage.feed.asked.slice(-3).map(({ limit }) => limit)).size).toBe(3)
  await stage.check()
  expect(stage.titles().at(-1)).toBe('behind the cache')
  expect(stage.gaps()).toEqual([])
})

test('deleted newest posts look like an old copy only for a while', async () => {
  await using stage = await watching()
  stage.feed.remove('cats', ...posts(50, 11, START).map(({ name }) => name))
  await stage.check()
  await stage.check()
  await stage.check()

  expect(stage.cuts()).toEqual([null, null])
})

test('a cursor whose row was deleted is stepped over', async () => {
  await using stage = await watching()
  stage.feed.put('cats', ...posts(1000, 150, START + 59 * S, 100))
  let requests = 0
  stage.feed.meanwhile(() => {
    // The last row of the first page goes while the second page is asked for.
    if (++requests === 2) stage.feed.remove('cats', stage.feed.asked.at(-1)!.after!)
  })
  await stage.check()

  expect(stage.cuts()).toEqual([null, null])
  expect(stage.titles()).toHaveLength(150)
})

test('a listing that keeps beginning anew is cut, and closed by the next check', async () => {
  await using stage = await watching()
  stage.feed.put('cats', ...posts(1000, 150, START + 59 * S, 100))
  const top = stage.feed.rows('cats').slice(0, 100)
  const first_page = () => ok({ rows: top, after: top.at(-1)!.name })
  stage.feed.instead(first_page, first_page, first_page, first_page)
  await stage.check()
  expect(stage.cuts()).toEqual([null, 'page_restart'])
  expect(stage.titles()).toHaveLength(100)

  await stage.check()
  expect(stage.cuts()).toEqual([null, 'page_restart', null])
  expect(stage.gaps()[0]!.healed_at).not.toBeNull()
  expect(new Set(stage.titles()).size).toBe(150)
})

test('a gap that checks could not close begins where the last whole one was, not where they ended', async () => {
  await using stage = await watching()
  stage.feed.put('cats', ...posts(1000, 1500, START + 50 * S, 30))
  const top = stage.feed.rows('cats').slice(0, 100)
  const first_page = () => ok({ rows: top, after: top.at(-1)!.name })
  for (let i = 0; i < 3; i++) {
    stage.feed.instead(first_page, first_page, first_page, first_page)
    await stage.check()
  }
  await stage.check()

  expect(stage.cuts().slice(1)).toEqual([
    'page_restart',
    'page_restart',
    'page_restart',
    'poll_overflow',
  ])
  const gap = stage.gaps().at(-1)
  expect(gap).toMatchObject({ from_at: START - S, until_at: START + 50 * S - 1166 * 30 })
  expect(gap!.missed_estimate!).toBeGreaterThanOrEqual(300)
})

test('a check that the platform puts off is late, not cut: the next one meets the head', async () => {
  await using stage = await watching()
  stage.feed.put('cats', post(100, 'before the pause', START + S))
  stage.feed.faults({ kind: 'throttled', retry_after_s: 30 }, 1)
  await stage.check()
  expect(stage.cuts()).toEqual([null])
  expect(stage.events.filter(({ event }) => event === 'check.void')).toMatchObject([
    { fields: { why: 'throttled' } },
  ])
  expect(stage.one<{ s: number }>('SELECT slowed AS s FROM streams')?.s).toBe(1.5)

  await stage.check()
  await stage.check()
  expect(stage.gaps()).toEqual([])
  expect(stage.titles()).toEqual(['before the pause'])
})

test('a check that is throttled in the middle is cut, and what was read is kept', async () => {
  await using stage = await watching()
  stage.feed.put('cats', ...posts(1000, 150, START + 59 * S, 100))
  stage.feed.instead((rows) => ok({ rows: rows.slice(0, 100), after: rows[99]!.name }))
  stage.feed.faults({ kind: 'throttled', retry_after_s: 30 }, 1)
  await stage.check()

  expect(stage.cuts()).toEqual([null, 'error'])
  expect(stage.titles()).toHaveLength(100)
})

test('a request that fails twice is tried a third time', async () => {
  await using stage = await watching()
  stage.feed.faults({ kind: 'timeout' }, 2)
  await stage.check()

  expect(stage.cuts()).toEqual([null, null])
})

test('a platform that fails three times cuts the check, which the next one closes', async () => {
  await using stage = await watching()
  stage.feed.faults({ kind: 'unavailable', status: 503, retry_after_s: null }, 3)
  stage.feed.put('cats', post(100, 'in the dark', START + S))
  await stage.check()
  expect(stage.cuts()).toEqual([null, 'error'])
  expect(stage.gaps()).toMatchObject([{ reason: 'error', until_at: null, healed_at: null }])
  expect(stage.one<{ f: string }>('SELECT last_fault AS f FROM streams')?.f).toBe('unavailable:503')

  await stage.check()
  expect(stage.gaps()).toMatchObject([{ reason: 'error', healed_at: stage.clock.now() }])
  expect(stage.titles()).toEqual(['in the dark'])
})

test('a gap that was open when its monitor was paused stays one, and is no part of what comes after', async () => {
  await using stage = await watching()
  stage.feed.faults({ kind: 'timeout' }, 3)
  await stage.check()
  stage.edit('mon_1', { active: false })
  stage.pass(2 * 3600 * S)
  const resumed = stage.clock.now()
  stage.edit('mon_1', { active: true })
  stage.feed.faults({ kind: 'timeout' }, 3)
  await stage.check()
  await stage.check()

  const [before, after] = stage.gaps()
  expect(before).toMatchObject({ until_at: resumed, healed_at: null })
  expect(after!.from_at).toBe(Math.floor(resumed / S) * S)
  expect(after!.healed_at).not.toBeNull()
})

test('an outage of many checks is estimated once, not once a check', async () => {
  await using stage = await watching()
  for (let i = 0; i < 3; i++) {
    stage.feed.faults({ kind: 'timeout' }, 3)
    await stage.check()
  }

  const open = stage.gaps().map((it) => it.missed_estimate)
  expect(open.slice(0, 2)).toEqual([0, 0])
  expect(open[2]).toBeGreaterThan(0)
})

test('a refusal is not tried again at once, and leaves its name', async () => {
  await using stage = await watching()
  const asked = stage.feed.asked.length
  stage.feed.faults({ kind: 'forbidden', reason: 'private' }, 1)
  await stage.check()

  expect(stage.feed.asked.length - asked).toBe(1)
  expect(stage.cuts()).toEqual([null, 'error'])
  expect(stage.one<{ f: string }>('SELECT last_fault AS f FROM streams')?.f).toBe(
    'forbidden:private',
  )
})

test('a platform that asks to slow down is left alone for as long as it says', async () => {
  await using stage = await watching()
  stage.feed.faults({ kind: 'throttled', retry_after_s: 300 }, 1)
  await stage.check()
  const asked = stage.feed.asked.length
  for (let i = 0; i < 4; i++) await stage.check()
  expect(stage.feed.asked.length).toBe(asked)

  stage.pass(60 * S)
  await stage.check()
  expect(stage.feed.asked.length).toBe(asked + 1)
})

test('a place that shows nothing any more is cut as empty, and the head waits for its return', async () => {
  await using stage = await watching()
  stage.feed.instead(nothing, nothing)
  stage.feed.put('cats', post(100, 'while it was empty', START + S))
  await stage.check()
  expect(stage.cuts()).toEqual([null, 'empty_listing'])

  await stage.check()
  expect(stage.cuts()).toEqual([null, 'empty_listing', null])
  expect(stage.titles()).toEqual(['while it was empty'])
})

test('a place that has been closed says so instead', async () => {
  await using stage = await watching()
  stage.feed.verdicts.set('cats', { kind: 'refused', why: 'banned' })
  stage.feed.instead(nothing, nothing)
  await stage.check()

  expect(stage.cuts()).toEqual([null, 'error'])
  expect(stage.one<{ f: string }>('SELECT last_fault AS f FROM streams')?.f).toBe('refused:banned')
})

test('a search that finds nothing any more asks about no place of its name', async () => {
  await using stage = startStage()
  stage.feed.verdicts.set('laser', { kind: 'refused', why: 'banned' })
  stage.feed.put('laser', post(1, 'a laser', START - S))
  stage.monitor('mon_1', { q: 'laser' })
  await stage.look()
  stage.feed.instead(nothing, nothing)
  await stage.check()

  expect(stage.cuts()).toEqual([null, 'empty_listing'])
})

test('a thread that does not show all it holds is cut, with what it shows matched', async () => {
  await using stage = startStage()
  stage.webhook('wh_1')
  stage.monitor('mon_1', { thread: ['abc'] })
  stage.feed.put('abc', comment(1))
  await stage.look()
  stage.feed.put('abc', comment(2))
  stage.feed.instead((rows) => ok({ rows, after: null, partial: true }))
  await stage.check()
  expect(stage.cuts()).toEqual([null, 'poll_overflow'])
  expect(stage.deliveries()).toHaveLength(2)
  expect(stage.gaps()).toMatchObject([{ missed_estimate: null, healed_at: null }])

  // Once all of it is shown, whatever was kept back is there to be seen.
  await stage.check()
  expect(stage.cuts().at(-1)).toBeNull()
  expect(stage.gaps()).toMatchObject([{ healed_at: stage.clock.now() }])
})

test('an emptiness that ten checks have confirmed is believed', async () => {
  await using stage = await watching()
  stage.feed.remove('cats', ...stage.feed.rows('cats').map(({ name }) => name))
  for (let i = 0; i < 11; i++) await stage.check()
  expect(stage.cuts().slice(-2)).toEqual(['empty_listing', null])

  stage.feed.put('cats', post(100, 'life returns', stage.clock.now()))
  await stage.check()
  expect(stage.cuts().at(-1)).toBeNull()
  expect(stage.titles()).toEqual(['life returns'])
})

test('rows that show late beneath the head are matched all the same', async () => {
  await using stage = await watching()
  stage.feed.put('cats', post(100, 'first', START + 10 * S), post(102, 'third', START + 30 * S))
  await stage.check()
  const rows = stage.feed.rows('cats')
  rows.splice(1, 0, post(101, 'approved late', START + 20 * S))
  await stage.check()

  expect(stage.titles()).toEqual(['first', 'third', 'approved late'])
})

test('a page that fails in the middle keeps what was read, and the next check reads on to the head', async () => {
  await using stage = await watching()
  stage.feed.put('cats', ...posts(1000, 150, START + 59 * S, 100))
  stage.feed.instead((rows) => ok({ rows: rows.slice(0, 100), after: rows[99]!.name }))
  stage.feed.instead(fail({ kind: 'blocked' }))
  await stage.check()
  expect(stage.titles()).toHaveLength(100)

  await stage.check()
  expect(stage.cuts()).toEqual([null, 'error', null])
  expect(stage.titles()).toHaveLength(150)
  expect(stage.gaps()).toMatchObject([{ healed_at: stage.clock.now() }])
})
