import { expect, test } from 'bun:test'

import { createUpkeep } from '../../../src/monitor/maintenance.ts'
import { transact } from '../../../src/store/db/connection.ts'
import { listMatchesAfter } from '../../../src/store/monitoring/matches.ts'
import { removeMonitorOf } from '../../../src/store/monitoring/monitors.ts'
import { insertPulled } from '../../support/pulled.ts'
import { CUSTOMER, post, START, startMonitorFixture } from './fixture.ts'

const S = 1000
const MIN = 60 * S
const DAY = 86_400 * S

test('a place with many monitors is requested once', async () => {
  await using fixture = startMonitorFixture()
  for (let i = 0; i < 50; i++) fixture.monitor(`mon_${i}`, { subforum: [i % 2 ? 'Cats' : 'cats'] })
  await fixture.pollDue()

  expect(fixture.feed.page_requests).toHaveLength(1)
})

test('filters of many monitors are compiled in steps, between which other work runs', async () => {
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  transact(fixture.db, () => {
    for (let i = 0; i < 180; i++)
      fixture.monitor(`mon_${i}`, { subforum: ['cats'], include_any: [`cat${i}`] })
  })
  fixture.feed.put('cats', post(1, 'of cat7 and cat179', START + S))
  const sleeps: number[] = []
  const { sleep } = fixture.clock
  fixture.clock.sleep = async (ms) => {
    sleeps.push(ms)
    await sleep(ms)
  }
  await fixture.pollDue()
  expect(sleeps).toEqual([0, 0, 0])
  expect(fixture.deliveries().map(({ monitor_id }) => monitor_id)).toEqual(['mon_7', 'mon_179'])

  fixture.feed.put('cats', post(2, 'cat8', START + 2 * S))
  await fixture.check()
  expect(sleeps).toHaveLength(3)
  expect(fixture.deliveries('mon_8')).toHaveLength(1)
})

test('a place is polled at the fastest cadence of its monitors', async () => {
  await using fixture = startMonitorFixture()
  fixture.monitor('mon_slow', { subforum: ['cats'] }, { cadence_s: 600 })
  fixture.monitor('mon_fast', { subforum: ['cats'] }, { cadence_s: 60 })
  await fixture.pollDue()
  for (let i = 0; i < 10; i++) await fixture.check()
  const fast = fixture.feed.page_requests.length
  expect(fast).toBeGreaterThanOrEqual(10)

  removeMonitorOf(fixture.db, CUSTOMER, 'mon_fast', fixture.clock.now())
  for (let i = 0; i < 20; i++) await fixture.check()
  expect(fixture.feed.page_requests.length - fast).toBeLessThanOrEqual(3)
})

test('a feed that gets a faster monitor does not wait for its old interval', async () => {
  await using fixture = startMonitorFixture()
  fixture.monitor('mon_slow', { subforum: ['cats'] }, { cadence_s: 3600 })
  await fixture.pollDue()
  fixture.monitor('mon_fast', { subforum: ['cats'] }, { cadence_s: 60 })
  await fixture.check()

  expect(fixture.feed.page_requests).toHaveLength(2)
})

test('at most four feeds are polled at once, and a free slot is used at once', async () => {
  await using fixture = startMonitorFixture()
  const hold = fixture.feed.hold()
  fixture.monitor('mon_1', { subforum: ['a1', 'a2', 'a3', 'a4', 'a5', 'a6'] })
  fixture.monitoring.nudge()

  expect(await fixture.monitoring.checkDue()).toBe(Infinity)
  expect(fixture.feed.page_requests).toHaveLength(4)
  const wakes = fixture.wakes()
  hold.one()
  while (fixture.wakes() === wakes) await new Promise((resolve) => setImmediate(resolve))
  await fixture.monitoring.checkDue()
  expect(fixture.feed.page_requests).toHaveLength(5)
  hold.all()
})

test('a feed whose check takes longer than its interval is not polled twice at once', async () => {
  await using fixture = startMonitorFixture()
  const hold = fixture.feed.hold()
  fixture.monitor('mon_1', { subforum: ['cats'] })
  fixture.monitoring.nudge()
  await fixture.monitoring.checkDue()
  fixture.pass(5 * MIN)
  fixture.monitoring.nudge()
  await fixture.monitoring.checkDue()
  expect(fixture.feed.page_requests).toHaveLength(1)

  hold.all()
})

test('feeds are polled on the schedule, but at once after a change', async () => {
  await using fixture = startMonitorFixture({ schedule: '0 */5 * * * *' })
  fixture.monitor('mon_1', { subforum: ['cats'] })
  await fixture.pollDue()
  expect(fixture.feed.page_requests).toHaveLength(1)

  fixture.pass(2 * MIN)
  expect(await fixture.monitoring.checkDue()).toBe(START + 5 * MIN)
  expect(fixture.feed.page_requests).toHaveLength(1)
  fixture.pass(3 * MIN)
  await fixture.monitoring.checkDue()
  await fixture.monitoring.idle()
  expect(fixture.feed.page_requests).toHaveLength(2)
})

test('with no feed due the loop sleeps until the next one is', async () => {
  await using fixture = startMonitorFixture()
  fixture.monitor('mon_1', { subforum: ['cats'] })
  await fixture.pollDue()
  const due_at = fixture.one<{ at: number }>('SELECT next_check_at AS at FROM feeds')!.at

  const next_at = await fixture.monitoring.checkDue()
  expect(next_at).toBeGreaterThanOrEqual(due_at)
  expect(next_at - due_at).toBeLessThan(S)
})

test('after a clock is set back by a day the next check is not a day away', async () => {
  await using fixture = startMonitorFixture()
  fixture.monitor('mon_1', { subforum: ['cats'] })
  await fixture.pollDue()
  fixture.jump(-DAY)
  await fixture.monitoring.checkDue()
  await fixture.check()

  expect(fixture.feed.page_requests).toHaveLength(2)
  expect(fixture.one('SELECT kind, until_at - at AS by FROM observation_events')).toEqual({
    kind: 'clock_jump',
    by: -DAY,
  })
})

test('due times follow a clock that was set back once writes succeed again', async () => {
  await using fixture = startMonitorFixture()
  fixture.monitor('mon_1', { subforum: ['cats'] })
  await fixture.pollDue()
  fixture.db.run(
    "CREATE TRIGGER full BEFORE INSERT ON observation_events BEGIN SELECT raise(ABORT, 'no'); END",
  )
  fixture.jump(-DAY)
  expect(await fixture.monitoring.checkDue().then(() => 'none', String)).toContain('no')
  fixture.db.run('DROP TRIGGER full')
  await fixture.check()

  expect(fixture.feed.page_requests).toHaveLength(2)
})

test('a clock set back while the daemon was down delays no poll', async () => {
  await using fixture = startMonitorFixture()
  fixture.monitor('mon_1', { subforum: ['cats'] })
  await fixture.pollDue()
  fixture.jump(-DAY)
  fixture.reboot()
  await fixture.check()

  expect(fixture.feed.page_requests).toHaveLength(2)
})

test('a clock set back delays neither rechecks nor bundles', async () => {
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  fixture.monitor('mon_1', { subforum: ['cats'], min_score: 5 })
  fixture.monitor('mon_2', { subforum: ['cats'], group: true, group_window_s: 300 })
  await fixture.pollDue()
  fixture.feed.put('cats', post(1, 'new', START + S, { upvotes: 1 }))
  await fixture.check()
  fixture.jump(-DAY)
  fixture.reboot()

  const { at } = fixture.one<{ at: number }>('SELECT max(rechecked_at) AS at FROM candidates') ?? {
    at: 0,
  }
  expect(at).toBe(fixture.clock.now())
  for (let i = 0; i < 61; i++) await fixture.check()
  expect(fixture.titles('mon_2')).toEqual(['new'])
})

test('a stopping daemon discards the check in progress', async () => {
  await using fixture = startMonitorFixture()
  const hold = fixture.feed.hold()
  fixture.monitor('mon_1', { subforum: ['cats'] })
  fixture.monitoring.nudge()
  await fixture.monitoring.checkDue()
  fixture.stop()
  hold.all()
  await fixture.monitoring.idle()

  expect(fixture.cuts()).toEqual([])
  expect(fixture.events.filter(({ event }) => event.startsWith('check'))).toEqual([])
})

test('a candidate that its platform has removed meanwhile is no match, however it scores', async () => {
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  fixture.feed.put('cats', post(0, 'old', START - S))
  fixture.monitor('mon_1', { subforum: ['cats'], min_score: 5 })
  await fixture.pollDue()
  fixture.feed.put('cats', post(1, 'new', START + S, { upvotes: 1 }))
  await fixture.check()
  fixture.feed.remove('cats', 't3_1')
  // By id it is there, and no list shows it.
  fixture.feed.put('attic', post(1, '[removed]', START + S, { upvotes: 9 }))
  fixture.feed.shown.set('t3_1', { state: 'removed' })
  for (let minute = 0; minute < 5; minute++) await fixture.check()

  expect(fixture.deliveries()).toEqual([])
})

test('the sender is woken for a match found by a recheck', async () => {
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  fixture.monitor('mon_1', { subforum: ['cats'], min_score: 5 })
  await fixture.pollDue()
  fixture.feed.put('cats', post(1, 'new', START + S, { upvotes: 1 }))
  // Rechecked repeatedly.
  for (let i = 0; i < 4; i++) await fixture.check()
  fixture.feed.remove('cats', 't3_1')
  fixture.feed.put('cats', post(1, 'new', START + S, { upvotes: 9 }))
  expect(fixture.pendings()).toBe(0)

  await fixture.check()
  await fixture.check()
  expect(fixture.titles()).toEqual(['new'])
  expect(fixture.pendings()).toBe(1)
})

test('a place whose customer was removed while the daemon was down is not polled', async () => {
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  fixture.monitor('mon_1', { subforum: ['cats'] })
  await fixture.pollDue()
  fixture.db.run('UPDATE customers SET removed_at = 1')
  fixture.reboot()
  await fixture.check()

  expect(fixture.feed.page_requests).toHaveLength(1)
})

test('upkeep keeps two weeks, and the newest two thousand items of every feed', async () => {
  await using fixture = startMonitorFixture()
  const upkeep = createUpkeep({ ...fixture, signal: new AbortController().signal })
  fixture.monitor('mon_1', { subforum: ['cats'] })
  await fixture.pollDue()
  const insert = fixture.db.query(
    'INSERT INTO feed_items (feed_id, item_id, seq, created_at, first_seen_at) VALUES (1, ?, ?, ?, 0)',
  )
  transact(fixture.db, () => {
    for (let i = 1; i <= 2500; i++) insert.run(`t3_x${i}`, i, START)
  })
  fixture.db.run('UPDATE feeds SET next_seq = 2501')
  const seen = () => fixture.one<{ n: number }>('SELECT count(*) AS n FROM feed_items')?.n

  await upkeep()
  expect([seen(), fixture.cuts().length]).toEqual([2500, 1])
  fixture.pass(15 * DAY)
  await upkeep()
  expect([seen(), fixture.cuts().length]).toEqual([2000, 0])
})

test('upkeep deletes feedback by the configured age, read each time', async () => {
  await using fixture = startMonitorFixture()
  fixture.monitor('mon_1', { subforum: ['cats'] })
  let days = 0
  const upkeep = createUpkeep({
    ...fixture,
    signal: new AbortController().signal,
    feedback_days: () => days,
  })
  fixture.db
    .run(`INSERT INTO feedback (id, customer_id, type, title, details, created_at, updated_at)
    SELECT 'fb_' || value, customer_id, 'bug', 't', 'd', ${START}, ${START} + value * ${DAY}
      FROM monitors, json_each('[0, 20]')`)
  const left = () =>
    fixture.db
      .query<{ id: string }, []>('SELECT id FROM feedback')
      .all()
      .map(({ id }) => id)

  fixture.pass(31 * DAY)
  await upkeep()
  expect(left()).toEqual(['fb_0', 'fb_20'])
  days = 30
  fixture.pass(DAY)
  await upkeep()
  expect(left()).toEqual(['fb_20'])
})

test('upkeep processes more bodies than a minute adds, and yields between steps', async () => {
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  fixture.monitor('mon_1', { subforum: ['cats'] })
  fixture.db.run(`WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1300)
    INSERT INTO messages (monitor_id, body, matched_at) SELECT id, CAST('{}' AS BLOB), ${START} FROM n, monitors`)
  const blanked = () =>
    fixture.one<{ n: number }>('SELECT count(*) AS n FROM messages WHERE body IS NULL')?.n
  const { signal } = new AbortController()

  fixture.pass(3 * DAY)
  const ended = createUpkeep({ ...fixture, retention_days: 2, signal })()
  await new Promise(setImmediate)
  expect(blanked()).toBe(500)
  await ended
  expect(blanked()).toBe(1300)
})

test.each([
  ['set ahead and back again', [0, 20 * DAY, -20 * DAY], [true, true, true]],
  [
    'set ahead, and left there while the platform reports the true time',
    [0, 20 * DAY, 0],
    [true, true, true],
  ],
  ['right, and what is old is old', [16 * DAY], [false]],
])('with a clock that is %s upkeep deletes nothing too early', async (_, steps, is_retained) => {
  await using fixture = startMonitorFixture()
  let ahead_ms = 0
  const upkeep = createUpkeep({
    ...fixture,
    retention_days: 14,
    clock_offset_ms: () => -ahead_ms,
    signal: new AbortController().signal,
  })
  const match = { monitor_id: 'mon_1', body: new Uint8Array(1), matched_at: START }
  fixture.monitor('mon_1', { subforum: ['cats'] })
  insertPulled(fixture.db, [match, match])
  const found: boolean[] = []
  for (const ms of steps) {
    if (steps.length > 1) fixture.jump(ms)
    else fixture.pass(ms)
    // At first only the local clock is known; minutes later the platform has reported the time.
    await upkeep()
    if (steps.length > 1) ahead_ms += ms
    for (let i = 0; i < 12; i++) {
      fixture.pass(60 * S)
      await upkeep()
    }
    found.push(listMatchesAfter(fixture.db, { monitor_id: 'mon_1', seq: 0, limit: 9 }).length === 2)
  }

  expect(found).toEqual(is_retained)
})

test("upkeep stops polling a removed customer's feeds", async () => {
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  fixture.monitor('mon_1', { subforum: ['cats'] })
  await fixture.pollDue()
  fixture.db.run('UPDATE customers SET removed_at = 1')
  await createUpkeep({ ...fixture, signal: new AbortController().signal })()
  fixture.feed.put('cats', post(1, 'new', START + S))
  await fixture.check()

  expect(fixture.feed.page_requests).toHaveLength(1)
  expect(fixture.deliveries()).toEqual([])
})
