import { expect, test } from 'bun:test'

import { createUpkeep } from '../../../src/monitor/upkeep.ts'
import { transact } from '../../../src/store/db.ts'
import { keepMatch, listMatchesAfter } from '../../../src/store/match-bodies.ts'
import { removeMonitorOf } from '../../../src/store/watching.ts'
import { CUSTOMER, post, START, startStage } from './stage.ts'

const S = 1000
const MIN = 60 * S
const DAY = 86_400 * S

test('however many monitors watch a place, it is asked for once', async () => {
  await using stage = startStage()
  for (let i = 0; i < 50; i++) stage.monitor(`mon_${i}`, { subforum: [i % 2 ? 'Cats' : 'cats'] })
  await stage.look()

  expect(stage.feed.asked).toHaveLength(1)
})

test('the filters of many monitors are made in parts, between which others have their turn', async () => {
  await using stage = startStage()
  stage.webhook('wh_1')
  transact(stage.db, () => {
    for (let i = 0; i < 180; i++)
      stage.monitor(`mon_${i}`, { subforum: ['cats'], include_any: [`cat${i}`] })
  })
  stage.feed.put('cats', post(1, 'of cat7 and cat179', START + S))
  const sleeps: number[] = []
  const { sleep } = stage.clock
  stage.clock.sleep = async (ms) => {
    sleeps.push(ms)
    await sleep(ms)
  }
  await stage.look()
  expect(sleeps).toEqual([0, 0, 0])
  expect(stage.deliveries().map(({ monitor_id }) => monitor_id)).toEqual(['mon_7', 'mon_179'])

  stage.feed.put('cats', post(2, 'cat8', START + 2 * S))
  await stage.check()
  expect(sleeps).toHaveLength(3)
  expect(stage.deliveries('mon_8')).toHaveLength(1)
})

test('a place is looked at as often as the fastest of its monitors was promised', async () => {
  await using stage = startStage()
  stage.monitor('mon_slow', { subforum: ['cats'] }, { cadence_s: 600 })
  stage.monitor('mon_fast', { subforum: ['cats'] }, { cadence_s: 60 })
  await stage.look()
  for (let i = 0; i < 10; i++) await stage.check()
  const fast = stage.feed.asked.length
  expect(fast).toBeGreaterThanOrEqual(10)

  removeMonitorOf(stage.db, CUSTOMER, 'mon_fast', stage.clock.now())
  for (let i = 0; i < 20; i++) await stage.check()
  expect(stage.feed.asked.length - fast).toBeLessThanOrEqual(3)
})

test('a stream that gets a faster monitor does not wait for its old interval', async () => {
  await using stage = startStage()
  stage.monitor('mon_slow', { subforum: ['cats'] }, { cadence_s: 3600 })
  await stage.look()
  stage.monitor('mon_fast', { subforum: ['cats'] }, { cadence_s: 60 })
  await stage.check()

  expect(stage.feed.asked).toHaveLength(2)
})

test('at most four streams are looked at together, and a free slot is used at once', async () => {
  await using stage = startStage()
  const held = stage.feed.hold()
  stage.monitor('mon_1', { subforum: ['a1', 'a2', 'a3', 'a4', 'a5', 'a6'] })
  stage.monitoring.nudge()

  expect(await stage.monitoring.checkDue()).toBe(Infinity)
  expect(stage.feed.asked).toHaveLength(4)
  const wakes = stage.wakes()
  held.one()
  while (stage.wakes() === wakes) await new Promise((resolve) => setImmediate(resolve))
  await stage.monitoring.checkDue()
  expect(stage.feed.asked).toHaveLength(5)
  held.all()
})

test('a stream whose check takes longer than its interval is not looked at twice at once', async () => {
  await using stage = startStage()
  const held = stage.feed.hold()
  stage.monitor('mon_1', { subforum: ['cats'] })
  stage.monitoring.nudge()
  await stage.monitoring.checkDue()
  stage.pass(5 * MIN)
  stage.monitoring.nudge()
  await stage.monitoring.checkDue()
  expect(stage.feed.asked).toHaveLength(1)

  held.all()
})

test('streams are looked for when the schedule says, but at once after a change', async () => {
  await using stage = startStage({ schedule: '0 */5 * * * *' })
  stage.monitor('mon_1', { subforum: ['cats'] })
  await stage.look()
  expect(stage.feed.asked).toHaveLength(1)

  stage.pass(2 * MIN)
  expect(await stage.monitoring.checkDue()).toBe(START + 5 * MIN)
  expect(stage.feed.asked).toHaveLength(1)
  stage.pass(3 * MIN)
  await stage.monitoring.checkDue()
  await stage.monitoring.idle()
  expect(stage.feed.asked).toHaveLength(2)
})

test('when nothing is due the loop sleeps until the next stream is', async () => {
  await using stage = startStage()
  stage.monitor('mon_1', { subforum: ['cats'] })
  await stage.look()
  const due_at = stage.one<{ at: number }>('SELECT next_check_at AS at FROM streams')!.at

  const next_at = await stage.monitoring.checkDue()
  expect(next_at).toBeGreaterThanOrEqual(due_at)
  expect(next_at - due_at).toBeLessThan(S)
})

test('a clock put back by a day is followed: the next check is not a day away', async () => {
  await using stage = startStage()
  stage.monitor('mon_1', { subforum: ['cats'] })
  await stage.look()
  stage.jump(-DAY)
  await stage.monitoring.checkDue()
  await stage.check()

  expect(stage.feed.asked).toHaveLength(2)
  expect(stage.one('SELECT kind, until_at - at AS by FROM events')).toEqual({
    kind: 'clock_jump',
    by: -DAY,
  })
})

test('a clock put back while nothing can be written is followed once something can', async () => {
  await using stage = startStage()
  stage.monitor('mon_1', { subforum: ['cats'] })
  await stage.look()
  stage.db.run("CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT raise(ABORT, 'no'); END")
  stage.jump(-DAY)
  expect(await stage.monitoring.checkDue().then(() => 'none', String)).toContain('no')
  stage.db.run('DROP TRIGGER full')
  await stage.check()

  expect(stage.feed.asked).toHaveLength(2)
})

test('a clock that was put back while nobody was running delays nothing either', async () => {
  await using stage = startStage()
  stage.monitor('mon_1', { subforum: ['cats'] })
  await stage.look()
  stage.jump(-DAY)
  stage.reboot()
  await stage.check()

  expect(stage.feed.asked).toHaveLength(2)
})

test('nor what has yet to reach its score, nor what waits for more', async () => {
  await using stage = startStage()
  stage.webhook('wh_1')
  stage.monitor('mon_1', { subforum: ['cats'], min_score: 5 })
  stage.monitor('mon_2', { subforum: ['cats'], group: true, group_window_s: 300 })
  await stage.look()
  stage.feed.put('cats', post(1, 'new', START + S, { upvotes: 1 }))
  await stage.check()
  stage.jump(-DAY)
  stage.reboot()

  const { at } = stage.one<{ at: number }>('SELECT max(asked_at) AS at FROM candidates') ?? {
    at: 0,
  }
  expect(at).toBe(stage.clock.now())
  for (let i = 0; i < 61; i++) await stage.check()
  expect(stage.titles('mon_2')).toEqual(['new'])
})

test('a daemon that stops writes nothing of the check it was in', async () => {
  await using stage = startStage()
  const held = stage.feed.hold()
  stage.monitor('mon_1', { subforum: ['cats'] })
  stage.monitoring.nudge()
  await stage.monitoring.checkDue()
  stage.stop()
  held.all()
  await stage.monitoring.idle()

  expect(stage.cuts()).toEqual([])
  expect(stage.events.filter(({ event }) => event.startsWith('check'))).toEqual([])
})

test('whoever sends is told of what has reached its score only later', async () => {
  await using stage = startStage()
  stage.webhook('wh_1')
  stage.monitor('mon_1', { subforum: ['cats'], min_score: 5 })
  await stage.look()
  stage.feed.put('cats', post(1, 'new', START + S, { upvotes: 1 }))
  // It is asked about once and again.
  for (let i = 0; i < 4; i++) await stage.check()
  stage.feed.remove('cats', 't3_1')
  stage.feed.put('cats', post(1, 'new', START + S, { upvotes: 9 }))
  expect(stage.pendings()).toBe(0)

  await stage.check()
  await stage.check()
  expect(stage.titles()).toEqual(['new'])
  expect(stage.pendings()).toBe(1)
})

test('a place whose customer went while nobody was running is not looked at', async () => {
  await using stage = startStage()
  stage.webhook('wh_1')
  stage.monitor('mon_1', { subforum: ['cats'] })
  await stage.look()
  stage.db.run('UPDATE customers SET removed_at = 1')
  stage.reboot()
  await stage.check()

  expect(stage.feed.asked).toHaveLength(1)
})

test('upkeep keeps two weeks, and of every stream its newest two thousand items', async () => {
  await using stage = startStage()
  const upkeep = createUpkeep({ ...stage, signal: new AbortController().signal })
  stage.monitor('mon_1', { subforum: ['cats'] })
  await stage.look()
  const insert = stage.db.query(
    'INSERT INTO stream_items (stream_id, item_id, seq, created_at, first_seen_at) VALUES (1, ?, ?, ?, 0)',
  )
  transact(stage.db, () => {
    for (let i = 1; i <= 2500; i++) insert.run(`t3_x${i}`, i, START)
  })
  stage.db.run('UPDATE streams SET next_seq = 2501')
  const seen = () => stage.one<{ n: number }>('SELECT count(*) AS n FROM stream_items')?.n

  await upkeep()
  expect([seen(), stage.cuts().length]).toEqual([2500, 1])
  stage.pass(15 * DAY)
  await upkeep()
  expect([seen(), stage.cuts().length]).toEqual([2000, 0])
})

test('upkeep gets through the bodies of more than a minute, and lets others have their turn meanwhile', async () => {
  await using stage = startStage()
  stage.db.run("INSERT INTO instance (one, id, created_at, last_seen_at) VALUES (1, 'i', 0, 0)")
  stage.webhook('wh_1')
  stage.monitor('mon_1', { subforum: ['cats'] })
  stage.db.run(`WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1300)
    INSERT INTO deliveries (id, customer_id, monitor_id, webhook_id, status, created_at, delivered_at)
    SELECT 'dlv_' || n, customer_id, id, 'wh_1', 'delivered', ${START}, ${START} FROM n, monitors`)
  stage.db.run("INSERT INTO delivery_bodies SELECT row, CAST('{}' AS BLOB), x'00' FROM deliveries")
  const blanked = () =>
    stage.one<{ n: number }>("SELECT count(*) AS n FROM delivery_bodies WHERE body_sha256 <> x'00'")
      ?.n
  const { signal } = new AbortController()

  stage.pass(3 * DAY)
  const ended = createUpkeep({ ...stage, retention_days: 2, signal })()
  await new Promise(setImmediate)
  expect(blanked()).toBe(500)
  await ended
  expect(blanked()).toBe(1300)
})

test.each([
  ['set ahead and back again', [0, 20 * DAY, -20 * DAY], [true, true, true]],
  ['set ahead, and left there while the platform tells', [0, 20 * DAY, 0], [true, true, true]],
  ['right, and what is old is old', [16 * DAY], [false]],
])('by a clock that is %s upkeep forgets nothing too early', async (_, steps, kept) => {
  await using stage = startStage()
  let ahead_ms = 0
  const upkeep = createUpkeep({
    ...stage,
    clock_offset_ms: () => -ahead_ms,
    signal: new AbortController().signal,
  })
  const match = { monitor_id: 'mon_1', body: new Uint8Array(1), matched_at: START }
  stage.monitor('mon_1', { subforum: ['cats'] })
  for (let n = 0; n < 2; n++) keepMatch(stage.db, match)
  const found: boolean[] = []
  for (const ms of steps) {
    if (steps.length > 1) stage.jump(ms)
    else stage.pass(ms)
    // At once nobody knows more than our own clock; minutes later the platform has told.
    await upkeep()
    if (steps.length > 1) ahead_ms += ms
    for (let i = 0; i < 12; i++) {
      stage.pass(60 * S)
      await upkeep()
    }
    found.push(listMatchesAfter(stage.db, { monitor_id: 'mon_1', seq: 0, limit: 9 }).length === 2)
  }

  expect(found).toEqual(kept)
})

test("upkeep puts a removed customer's streams to sleep", async () => {
  await using stage = startStage()
  stage.webhook('wh_1')
  stage.monitor('mon_1', { subforum: ['cats'] })
  await stage.look()
  stage.db.run('UPDATE customers SET removed_at = 1')
  await createUpkeep({ ...stage, signal: new AbortController().signal })()
  stage.feed.put('cats', post(1, 'new', START + S))
  await stage.check()

  expect(stage.feed.asked).toHaveLength(1)
  expect(stage.deliveries()).toEqual([])
})
