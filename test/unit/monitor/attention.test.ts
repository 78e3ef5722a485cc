// Goal: each match is delivered under one id, never in quiet hours, and not later than promised. Method: simulated days
// with kills, failing receivers and random rules; a second reckoning of local time, minute by minute.
import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { attentionSchema } from '../../../src/core/delivery/attention.ts'
import { transact } from '../../../src/store/db/connection.ts'
import { DIGEST_BUNDLES_MAX, putIntoBundle } from '../../../src/store/monitoring/bundles.ts'
import { cases } from '../../support/long-form.ts'
import { breachesOf, type Fate, type Sent, startSending } from './attention-fixture.ts'
import { CUSTOMER, type MonitorFixture, post, START, startMonitorFixture } from './fixture.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const CATS = { subforum: ['cats'] }

const namesOf = ({ body }: Sent): string[] => body.items.map((it: { name: string }) => it.name)

/** Ids under which each item was sent to a target. */
const idsOf = (sent: readonly Sent[], webhook_id: string) => {
  const ids = new Map<string, Set<string>>()
  for (const it of sent.filter((other) => other.webhook_id === webhook_id))
    for (const name of namesOf(it)) ids.set(name, (ids.get(name) ?? new Set()).add(it.id))
  return ids
}

/** Minutes of the local day, and the day, by another way than the code under test. */
function createLocal(time_zone: string) {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: time_zone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
  return (at: number) => {
    const of = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]))
    return {
      day: String(of['weekday']).toLowerCase(),
      minute: Number(of['hour']) * 60 + Number(of['minute']),
    }
  }
}

const minutes = (clock: string) => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3))
const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']

type Window = { from: string; to: string; days: string[] }
type Rules = { time_zone: string; quiet_hours: Window[]; digest: { at: string } | null }

function isQuiet({ quiet_hours }: Rules, local: { day: string; minute: number }): boolean {
  const yesterday = DAYS[(DAYS.indexOf(local.day) + 6) % 7] ?? ''
  return quiet_hours.some(({ from, to, days }) => {
    const [begin, end] = [minutes(from), minutes(to)]
    if (begin < end) return days.includes(local.day) && local.minute >= begin && local.minute < end
    return (
      (days.includes(local.day) && local.minute >= begin) ||
      (days.includes(yesterday) && local.minute < end)
    )
  })
}

/** The promised time of a match of an instant. */
function promised(rules: Rules, matched_at: number): number {
  const local = createLocal(rules.time_zone)
  let at = matched_at
  if (rules.digest !== null) {
    at = Math.floor(at / MINUTE) * MINUTE + MINUTE
    while (local(at).minute !== minutes(rules.digest.at)) at += MINUTE
  }
  if (isQuiet(rules, local(at))) at = Math.floor(at / MINUTE) * MINUTE
  while (isQuiet(rules, local(at))) at += MINUTE
  return at
}

// The hours in which clocks change are tested one by one, in attention.test.ts of the core.
const clock = fc
  .tuple(fc.integer({ min: 4, max: 23 }), fc.constantFrom('00', '15', '45'))
  .map(([hour, minute]) => `${String(hour).padStart(2, '0')}:${minute}`)
const window = fc
  .record({
    from: clock,
    to: clock,
    days: fc.subarray(DAYS, { minLength: 1 }),
  })
  .filter(({ from, to }) => from !== to)
const rules = fc
  .record({
    time_zone: fc.constantFrom(
      'UTC',
      'Europe/Berlin',
      'America/New_York',
      'Asia/Kathmandu',
      'Australia/Lord_Howe',
    ),
    quiet_hours: fc.array(window, { maxLength: 3 }),
    digest: fc.option(clock.map((at) => ({ every: 'day', at }))),
  })
  // Quiet hours that leave no time in the week are refused.
  .filter((it) => attentionSchema().safeParse(it).success)
/** Days before changes of clocks, and one without. */
const start = fc.constantFrom(
  '2026-06-10T10:00:00Z',
  '2026-10-24T12:00:00Z',
  '2026-10-31T20:00:00Z',
  '2027-03-13T18:00:00Z',
  '2027-03-27T15:00:00Z',
  '2027-04-03T06:00:00Z',
)
const fate = fc.constantFrom<Fate>('accepted', 'accepted', 'accepted', 'refused', 'killed')

test('random rules, kills and failures: one id per match, nothing in quiet hours, on time', async () => {
  await fc.assert(
    fc.asyncProperty(
      rules,
      start,
      fc.array(fate, { minLength: 5, maxLength: 20 }),
      fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 8, maxLength: 8 }),
      async (attention, from, fates, bursts) => {
        await using fixture = startMonitorFixture()
        fixture.pass(Date.parse(from) - START)
        fixture.webhook('wh_1')
        fixture.monitor('mon_1', CATS, { cadence_s: 600, attention })
        const sending = startSending(fixture, () => fates.pop() ?? 'accepted')
        const local = createLocal(attention.time_zone)
        let n = 0
        for (const burst of bursts) {
          await sending.until(fixture.clock.now() + 3 * HOUR + 7 * MINUTE)
          for (let i = 0; i < burst; i++)
            fixture.feed.put('cats', post(++n, 'a cat', fixture.clock.now() - 1000))
        }
        await sending.until(fixture.clock.now() + 15 * MINUTE)
        const matches = fixture.db
          .query<{ item_id: string; matched_at: number }, []>('SELECT * FROM matches')
          .all()
        expect(matches).toHaveLength(n)
        const due = matches.map((it) => ({ ...it, at: promised(attention, it.matched_at) }))
        await sending.until(Math.max(...due.map(({ at }) => at)) + 10 * MINUTE)

        const ids = idsOf(sending.sent, 'wh_1')
        for (const { item_id, at } of due) {
          expect(ids.get(item_id)?.size).toBe(1)
          const first = sending.sent.find((it) => namesOf(it).includes(item_id))
          expect(Math.abs((first?.at ?? Infinity) - at)).toBeLessThan(1000)
        }
        for (const { at } of sending.sent) expect(isQuiet(attention, local(at))).toBe(false)
      },
    ),
    { numRuns: Number(process.env['FORUMD_ATTENTION_RUNS'] ?? cases({ short: 2, long: 4 })) },
  )
})

const put = (fixture: MonitorFixture, from: number, count: number) =>
  fixture.feed.put(
    'cats',
    ...Array.from({ length: count }, (_, i) =>
      post(from + i, `cat ${from + i}`, fixture.clock.now() - 1000 + i),
    ),
  )

test('a day of matches with kills: every match is in exactly one digest, at its hour', async () => {
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  fixture.webhook('wh_2')
  const attention = {
    time_zone: 'Europe/Berlin',
    digest: { every: 'day', at: '08:00' },
    targets: [{ webhook_id: 'wh_2' }],
  }
  fixture.monitor('mon_1', CATS, { cadence_s: 600, attention })
  const fates: Fate[] = ['killed', 'refused', 'killed', 'accepted', 'killed']
  const sending = startSending(fixture, () =>
    sending.sent.at(-1)?.webhook_id === 'wh_1' ? (fates.pop() ?? 'accepted') : 'accepted',
  )
  await sending.until(START + 15 * MINUTE)
  let n = 0
  for (let hour = 0; hour < 24; hour++) {
    put(fixture, n + 1, 4)
    n += 4
    await sending.until(fixture.clock.now() + 40 * MINUTE)
    if (hour % 3 === 0) sending.kill()
    await sending.until(fixture.clock.now() + 20 * MINUTE)
  }
  await sending.until(START + 2 * DAY)

  const digests = sending.sent.filter(({ webhook_id }) => webhook_id === 'wh_1')
  const accepted = new Map(digests.filter((it) => it.accepted).map((it) => [it.id, namesOf(it)]))
  const names = [...accepted.values()].flat()
  expect(names).toHaveLength(n)
  expect(new Set(names).size).toBe(n)
  expect(digests.length).toBeGreaterThan(accepted.size)
  // 08:00 in Berlin is 06:00 UTC in May; a digest has at most 25 matches in one delivery.
  expect(new Set(digests.map(({ at }) => new Date(at).toISOString().slice(0, 13)))).toEqual(
    new Set(['2026-05-02T06', '2026-05-03T06']),
  )
  expect([...accepted.values()].map(({ length }) => length).toSorted((a, b) => a - b)).toEqual([
    22, 24, 25, 25,
  ])
  // The other target has rules of its own: each match at once.
  const alone = sending.sent.filter(({ webhook_id, accepted: ok }) => webhook_id === 'wh_2' && ok)
  expect(alone.map(({ body }) => body.count)).toEqual(Array.from({ length: n }, () => 1))
  expect(breachesOf(fixture)).toEqual([])
})

/** A monitor that is quiet until 13:00, an hour after the start, and one match that waits. */
async function held() {
  const fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  const attention = { quiet_hours: [{ from: '10:00', to: '13:00' }] }
  fixture.monitor('mon_1', CATS, { attention })
  const sending = startSending(fixture)
  await sending.until(START + 2 * MINUTE)
  put(fixture, 1, 1)
  await sending.until(START + 5 * MINUTE)
  return { fixture, sending }
}

test('a retry that is due in quiet hours waits for their end, and follows a clock that is set', async () => {
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  const attention = { quiet_hours: [{ from: '13:00', to: '15:00' }] }
  fixture.monitor('mon_1', CATS, { attention })
  const fates: Fate[] = ['refused', 'refused', 'refused', 'refused']
  const sending = startSending(fixture, () => fates.pop() ?? 'accepted')
  await sending.until(START + 2 * MINUTE)
  put(fixture, 1, 1)
  await sending.until(START + 110 * MINUTE)
  expect(sending.sent).toHaveLength(4)
  fixture.jump(HOUR)
  await sending.until(START + 4 * HOUR)
  expect(timesOf(sending.sent.slice(4))).toEqual(['2026-05-01T15:00:00.000Z'])
})

const timesOf = (sent: readonly Sent[]) => sent.map(({ at }) => new Date(at).toISOString())

test('deliveries wait for the end of quiet hours, through a restart and a clock set back and forth', async () => {
  const { fixture, sending } = await held()
  await using _ = fixture
  expect(breachesOf(fixture)).toEqual([])
  sending.kill()
  fixture.jump(20 * MINUTE)
  await sending.until(START + 40 * MINUTE)
  fixture.jump(-30 * MINUTE)
  await sending.until(START + 59 * MINUTE)
  expect(sending.sent).toEqual([])
  await sending.until(START + 2 * HOUR)
  expect(timesOf(sending.sent)).toEqual(['2026-05-01T13:00:00.000Z'])
})

test('a clock set beyond the end of quiet hours ends them', async () => {
  const { fixture, sending } = await held()
  await using _ = fixture
  fixture.jump(3 * HOUR)
  await sending.until(fixture.clock.now() + MINUTE)
  expect(sending.sent).toHaveLength(1)
})

test('removed quiet hours release what waits, and added ones hold it', async () => {
  const { fixture, sending } = await held()
  await using _ = fixture
  fixture.edit('mon_1', { attention: { quiet_hours: [{ from: '10:00', to: '12:30' }] } })
  await sending.until(START + 10 * MINUTE)
  expect(sending.sent).toEqual([])
  fixture.edit('mon_1', { attention: null })
  await sending.until(START + 11 * MINUTE)
  expect(sending.sent).toHaveLength(1)
})

test('a digest follows an edit: at its new hour, and at once when there is none any more', async () => {
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  fixture.monitor('mon_1', CATS, { attention: { digest: { every: 'day', at: '20:00' } } })
  const sending = startSending(fixture)
  await sending.until(START + 2 * MINUTE)
  put(fixture, 1, 2)
  await sending.until(START + 10 * MINUTE)
  fixture.edit('mon_1', { attention: { digest: { every: 'day', at: '12:20' } } })
  await sending.until(START + 25 * MINUTE)
  expect(timesOf(sending.sent)).toEqual(['2026-05-01T12:20:00.000Z'])
  put(fixture, 3, 2)
  await sending.until(START + 30 * MINUTE)
  fixture.edit('mon_1', { attention: {} })
  await sending.until(START + 31 * MINUTE)
  expect(sending.sent.map(({ body }) => body.count)).toEqual([2, 2])
  expect(new Set(sending.sent.flatMap(namesOf)).size).toBe(4)
})

test('a digest that grows beyond its bound sends its oldest matches early and loses none', async () => {
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  fixture.monitor('mon_1', CATS, {
    cadence_s: 3600,
    attention: { digest: { every: 'day', at: '20:00' } },
  })
  const to = { customer_id: CUSTOMER, monitor_id: 'mon_1', webhook_id: 'wh_1' }
  const most = DIGEST_BUNDLES_MAX * 25
  transact(fixture.db, () => {
    for (let n = 1; n <= most + 30; n++)
      putIntoBundle(
        fixture.db,
        to,
        { item_id: `t3_${n}`, created_at: n, body: JSON.stringify({ name: `t3_${n}` }) },
        { now: START, close_at: START + 8 * HOUR, digest: true },
      )
  })
  const sending = startSending(fixture)
  await sending.until(START + MINUTE)
  const early = sending.sent.flatMap(namesOf)
  expect(early).toEqual(Array.from({ length: 50 }, (_, i) => `t3_${i + 1}`))
  await sending.until(START + DAY)
  const names = sending.sent.flatMap(namesOf)
  expect([names.length, new Set(names).size]).toEqual([most + 30, most + 30])
})

test('a digest keeps its hour when the clock is set', async () => {
  await using fixture = startMonitorFixture()
  fixture.webhook('wh_1')
  fixture.monitor('mon_1', CATS, { attention: { digest: { every: 'day', at: '13:00' } } })
  const sending = startSending(fixture)
  await sending.until(START + 2 * MINUTE)
  put(fixture, 1, 2)
  await sending.until(START + 5 * MINUTE)
  fixture.jump(20 * MINUTE)
  await sending.until(START + 40 * MINUTE)
  fixture.jump(-30 * MINUTE)
  await sending.until(START + 2 * HOUR)
  expect(timesOf(sending.sent)).toEqual(['2026-05-01T13:00:00.000Z'])
})
