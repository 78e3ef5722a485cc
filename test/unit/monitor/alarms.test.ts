import { expect, test } from 'bun:test'

import { createAlarms } from '../../../src/monitor/maintenance.ts'
import { acknowledgeAlarms, listOpenAlarms } from '../../../src/store/monitoring/alarms.ts'
import { breachesOf, startSending } from './attention-fixture.ts'
import { type MonitorFixture, post, START, startMonitorFixture } from './fixture.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const CATS = { subforum: ['cats'] }

/** A monitor with alarms, checked beside its polls; `degraded` is its coverage. */
function watching(attention: object) {
  const fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  fixture.monitor('mon_1', CATS, { cadence_s: 600, attention })
  const coverage = { degraded: false }
  const sending = startSending(fixture)
  const open = () =>
    createAlarms({
      db: fixture.db,
      instance_id: 'instance',
      clock: fixture.clock,
      log: (level, event, fields) =>
        void fixture.events.push({ level, event, fields: { ...fields } }),
      clock_offset_ms: () => 0,
      isDegraded: () => coverage.degraded,
      on_pending: () => {},
    })
  let check = open()
  return {
    fixture,
    coverage,
    sending,
    run: (ms: number) => sending.until(fixture.clock.now() + ms, () => check()),
    restart() {
      sending.kill()
      check = open()
    },
    /** Alarms sent, by the minute after the start. */
    alarms: () =>
      sending.sent.map(({ at, body }) =>
        [Math.round((at - START) / MINUTE), body.type, body.alarm?.kind, body.alarm?.repeat].join(
          ' ',
        ),
      ),
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  }
}

const put = (fixture: MonitorFixture, n: number) =>
  fixture.feed.put('cats', post(n, 'a cat', fixture.clock.now() - 1000))

test('a monitor without a match for the given hours sends one alarm, and its end with the next match', async () => {
  await using it = watching({ silent_after_h: 2 })
  await it.run(HOUR)
  put(it.fixture, 1)
  await it.run(2 * HOUR)
  expect(it.alarms()).toEqual([expect.stringMatching(/^6\d +$/)])
  await it.run(HOUR)
  expect(it.alarms()).toHaveLength(2)
  expect(breachesOf(it.fixture)).toEqual([])
  await it.run(9 * HOUR)
  put(it.fixture, 2)
  await it.run(HOUR)
  expect(it.alarms().slice(1)).toEqual([
    expect.stringMatching(/^1[89]\d monitor\.alarm silent 0$/),
    expect.stringMatching(/^7[89]\d +$/),
    expect.stringMatching(/^7[89]\d monitor\.alarm_ended silent 0$/),
  ])
  const [, alarm, , ended] = it.sending.sent
  expect(alarm?.body).toMatchObject({
    delivery_id: alarm?.id,
    monitor_id: 'mon_1',
    count: 0,
    items: [],
    alarm: { title: 'Alarm: no matches: mon_1' },
  })
  expect(ended?.id).not.toBe(alarm?.id)
})

test('no alarm opens in the first minutes after a start, in which old matches are found', async () => {
  await using it = watching({ silent_after_h: 1 })
  it.fixture.pass(10 * HOUR)
  it.restart()
  await it.run(4 * MINUTE)
  expect(it.alarms()).toEqual([])
  await it.run(2 * MINUTE)
  expect(it.alarms()).toHaveLength(1)
})

test('degraded coverage sends an alarm, repeated until it is acknowledged', async () => {
  await using it = watching({ alarm_on_degraded: true, escalate: { every_min: 30 } })
  await it.run(10 * MINUTE)
  it.coverage.degraded = true
  await it.run(65 * MINUTE)
  it.restart()
  await it.run(30 * MINUTE)
  expect(it.alarms()).toEqual([
    '11 monitor.alarm degraded 0',
    '41 monitor.alarm degraded 1',
    '71 monitor.alarm degraded 2',
    '101 monitor.alarm degraded 3',
  ])
  expect(new Set(it.sending.sent.map(({ id }) => id)).size).toBe(4)
  const { db, clock } = it.fixture
  expect(acknowledgeAlarms(db, 'mon_1', clock.now())).toBe(1)
  expect(acknowledgeAlarms(db, 'mon_1', clock.now())).toBe(0)
  await it.run(5 * HOUR)
  expect(it.alarms()).toHaveLength(4)
  it.coverage.degraded = false
  await it.run(2 * MINUTE)
  expect(it.alarms().slice(4)).toEqual([expect.stringMatching(/monitor\.alarm_ended degraded/)])
  expect(listOpenAlarms(db, 'mon_1')).toEqual([])
})

test('an alarm is repeated at most as often as given', async () => {
  await using it = watching({ alarm_on_degraded: true, escalate: { every_min: 5, max: 2 } })
  await it.run(10 * MINUTE)
  it.coverage.degraded = true
  await it.run(HOUR)
  expect(it.alarms()).toHaveLength(3)
})

test('an alarm waits for the end of quiet hours, and its repeats do not pile up behind it', async () => {
  const quiet_hours = [{ from: '12:00', to: '14:00' }]
  await using it = watching({
    quiet_hours,
    alarm_on_degraded: true,
    escalate: { every_min: 30, max: 2 },
  })
  await it.run(10 * MINUTE)
  it.coverage.degraded = true
  await it.run(105 * MINUTE)
  expect(it.alarms()).toEqual([])
  await it.run(2 * HOUR)
  expect(it.alarms()).toEqual([
    '120 monitor.alarm degraded 0',
    '131 monitor.alarm degraded 1',
    '161 monitor.alarm degraded 2',
  ])
})

test.each([
  ['a pause', { active: false }],
  ['its removal from the rules', { attention: {} }],
])('%s ends an alarm without a delivery', async (_, change) => {
  await using it = watching({ alarm_on_degraded: true, escalate: { every_min: 30 } })
  await it.run(10 * MINUTE)
  it.coverage.degraded = true
  await it.run(5 * MINUTE)
  it.fixture.edit('mon_1', change)
  await it.run(2 * HOUR)
  expect(it.alarms()).toEqual(['11 monitor.alarm degraded 0'])
  expect(listOpenAlarms(it.fixture.db, 'mon_1')).toEqual([])
})
