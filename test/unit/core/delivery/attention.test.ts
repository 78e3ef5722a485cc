import { expect, test } from 'bun:test'

import { attentionSchema, digestAt, heldUntil } from '../../../../src/core/delivery/attention.ts'

const rules = (fields: object) => attentionSchema().parse(fields)
const at = (text: string) => Date.parse(text)
const iso = (instant: number | null) => (instant === null ? null : new Date(instant).toISOString())

const BERLIN = 'Europe/Berlin'
const NIGHT = { time_zone: BERLIN, quiet_hours: [{ from: '22:00', to: '07:00' }] }
const quiet = (fields: object, instant: string) =>
  iso(heldUntil(rules(fields), 'wh_1', at(instant)))
const next = (fields: object, instant: string) => iso(digestAt(rules(fields), 'wh_1', at(instant)))

test.each([
  ['2026-01-10T20:59:59Z', null],
  ['2026-01-10T21:00:00Z', '2026-01-11T06:00:00.000Z'],
  ['2026-01-11T05:59:59Z', '2026-01-11T06:00:00.000Z'],
  ['2026-01-11T06:00:00Z', null],
  // In summer an hour earlier by UTC; the night of the change is an hour shorter.
  ['2026-03-28T21:00:00Z', '2026-03-29T05:00:00.000Z'],
  ['2026-10-24T20:00:00Z', '2026-10-25T06:00:00.000Z'],
])('a night in Berlin: at %s quiet until %p', (instant, until) => {
  expect(quiet(NIGHT, instant)).toBe(until)
})

test('quiet hours begin on their days and may end on the next', () => {
  // 2026-01-09 is a Friday.
  const friday = { quiet_hours: [{ from: '22:00', to: '07:00', days: ['fri'] }] }
  expect(quiet(friday, '2026-01-09T23:00:00Z')).toBe('2026-01-10T07:00:00.000Z')
  expect(quiet(friday, '2026-01-10T06:00:00Z')).toBe('2026-01-10T07:00:00.000Z')
  expect(quiet(friday, '2026-01-10T23:00:00Z')).toBeNull()
})

test('windows that follow each other count as one', () => {
  const weekend = {
    quiet_hours: [
      { from: '18:00', to: '24:00', days: ['fri'] },
      { from: '00:00', to: '24:00', days: ['sat', 'sun'] },
      { from: '00:00', to: '08:00', days: ['mon'] },
    ],
  }
  expect(quiet(weekend, '2026-01-09T18:00:00Z')).toBe('2026-01-12T08:00:00.000Z')
})

test('a time that does not exist is the instant at which the clock is set forward', () => {
  // Berlin, 29 March 2026: 02:00 to 03:00 does not exist; the change is at 01:00 UTC.
  const change = '2026-03-29T01:00:00.000Z'
  const ends = { time_zone: BERLIN, quiet_hours: [{ from: '01:00', to: '02:30' }] }
  expect(quiet(ends, '2026-03-29T00:10:00Z')).toBe(change)
  const begins = { time_zone: BERLIN, quiet_hours: [{ from: '02:30', to: '04:00' }] }
  expect(quiet(begins, '2026-03-29T00:59:59Z')).toBeNull()
  expect(quiet(begins, '2026-03-29T01:00:00Z')).toBe('2026-03-29T02:00:00.000Z')
  const digest = { time_zone: BERLIN, digest: { every: 'day', at: '02:30' } }
  expect(next(digest, '2026-03-28T12:00:00Z')).toBe(change)
})

test('with a time that exists twice, quiet hours begin at the first and end at the second; a digest is sent once', () => {
  // Berlin, 25 October 2026: 02:30 is at 00:30 and at 01:30 UTC.
  const ends = { time_zone: BERLIN, quiet_hours: [{ from: '01:00', to: '02:30' }] }
  expect(quiet(ends, '2026-10-24T23:10:00Z')).toBe('2026-10-25T01:30:00.000Z')
  const begins = { time_zone: BERLIN, quiet_hours: [{ from: '02:30', to: '04:00' }] }
  expect(quiet(begins, '2026-10-25T00:29:59Z')).toBeNull()
  expect(quiet(begins, '2026-10-25T00:30:00Z')).toBe('2026-10-25T03:00:00.000Z')
  const digest = { time_zone: BERLIN, digest: { every: 'day', at: '02:30' } }
  expect(next(digest, '2026-10-24T12:00:00Z')).toBe('2026-10-25T00:30:00.000Z')
  expect(next(digest, '2026-10-25T00:30:00Z')).toBe('2026-10-26T01:30:00.000Z')
})

test('a weekly digest, strictly after the instant', () => {
  const weekly = { time_zone: 'Asia/Kolkata', digest: { every: 'week', day: 'mon', at: '08:00' } }
  expect(next(weekly, '2026-01-12T02:29:59Z')).toBe('2026-01-12T02:30:00.000Z')
  expect(next(weekly, '2026-01-12T02:30:00Z')).toBe('2026-01-19T02:30:00.000Z')
})

test('a target may have rules of its own, in the time zone of the monitor unless it names one', () => {
  const fields = {
    ...NIGHT,
    targets: [
      { webhook_id: 'wh_1' },
      { webhook_id: 'wh_2', digest: { every: 'day', at: '09:00' } },
      { webhook_id: 'wh_3', time_zone: 'UTC', digest: { every: 'day', at: '09:00' } },
    ],
  }
  const night = at('2026-01-10T23:00:00Z')
  const held = ['wh_1', 'wh_2', 'wh_4'].map((id) => iso(heldUntil(rules(fields), id, night)))
  expect(held).toEqual([null, null, '2026-01-11T06:00:00.000Z'])
  const digests = ['wh_1', 'wh_2', 'wh_3'].map((id) => iso(digestAt(rules(fields), id, night)))
  expect(digests).toEqual([null, '2026-01-11T08:00:00.000Z', '2026-01-11T09:00:00.000Z'])
})

test.each([
  [{ time_zone: '+02:00' }, 'attention.time_zone must be an IANA time zone'],
  [{ quiet_hours: [{ from: '24:00', to: '07:00' }] }, 'quiet_hours.from must be a local time'],
  [{ quiet_hours: [{ from: '7:00', to: '08:00' }] }, 'quiet_hours.from must be a local time'],
  [{ quiet_hours: [{ from: '07:00', to: '07:00' }] }, 'from and to must differ'],
  [{ quiet_hours: [{ from: '07:00', to: '08:00', days: ['monday'] }] }, 'must list days: mon'],
  [{ quiet_hours: [{ from: '00:00', to: '24:00' }] }, 'must leave time in every week'],
  [
    {
      quiet_hours: [
        { from: '00:00', to: '12:00' },
        { from: '12:00', to: '24:00' },
      ],
    },
    'must leave time in every week',
  ],
  [{ digest: { every: 'hour', at: '08:00' } }, 'digest.every must be day or week'],
  [{ digest: { every: 'week', at: '08:00' } }, 'digest.day is required if every is week'],
  [{ digest: { every: 'day', day: 'mon', at: '08:00' } }, 'digest.day is required if every is'],
  [{ targets: [{ webhook_id: 'wh_1' }, { webhook_id: 'wh_1' }] }, 'name each webhook once'],
  [{ silent_after_h: 0 }, 'silent_after_h must be a whole number from 1 to 720'],
  [{ escalate: { every_min: 30 } }, 'set silent_after_h or alarm_on_degraded'],
  [{ alarm_on_degraded: true, escalate: { every_min: 1 } }, 'from 5 to 1440'],
  [{ quiet: [] }, 'attention does not have the field quiet; allowed: time_zone'],
])('%j is refused', (fields, sentence) => {
  const issues = attentionSchema().safeParse(fields).error?.issues ?? []
  expect(issues.map(({ message }) => message).join()).toContain(sentence)
})

test('rules with all defaults are read as they were written', () => {
  const all = rules({ ...NIGHT, silent_after_h: 4, escalate: { every_min: 30 } })
  expect(rules(JSON.parse(JSON.stringify(all)))).toEqual(all)
  expect(all.escalate?.max).toBe(10)
})
