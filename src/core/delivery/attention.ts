import * as z from 'zod'

import { once } from '../base/lazy.ts'
import { parseTimezone, TIMEZONE_RULE } from '../base/time.ts'

// Rules by which a monitor asks for attention: hours in which nothing is sent, digests, and alarms. Local times follow
// the time zone's rules. A time that does not exist on a day is the instant at which the clock is set forward. Of a time
// that exists twice, quiet hours begin at the first and end at the second, and a digest is sent at the first.

const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
const PERIODS = ['day', 'week'] as const

/** A window of every week; `days`: on which it begins. */
type QuietHours = { from: string; to: string; days: (typeof DAYS)[number][] }

const WINDOWS_MAX = 20
const TARGETS_MAX = 100
const SILENT_MAX_H = 720
const REPEAT_MIN = { least: 5, most: 1440 }
const REPEATS_MAX = 100
const REPEATS = 10
const MINUTES_A_DAY = 1440
const MINUTES_A_WEEK = 7 * MINUTES_A_DAY

const field = (name: string) => `attention.${name}`

const table = <T extends z.ZodRawShape>(name: string, shape: T) =>
  z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `${name} does not have the field ${issue.keys.join(', ')}; allowed: ${Object.keys(shape).join(', ')}`
        : `${name} must be an object`,
  })

const fields = once(() => {
  const daysSentence = `${field('quiet_hours.days')} must list days: ${DAYS.join(', ')}`
  const hour = (name: string, pattern: RegExp, range: string) => {
    const error = `${field(name)} must be a local time from ${range}`
    return z.string({ error }).regex(pattern, { error })
  }
  const clock = (name: string) => hour(name, /^([01]\d|2[0-3]):[0-5]\d$/, '00:00 to 23:59')
  const whole = (name: string, least: number, most: number) => {
    const error = `${field(name)} must be a whole number from ${least} to ${most}`
    return z.int({ error }).min(least, { error }).max(most, { error })
  }
  const window = table(field('quiet_hours'), {
    from: clock(`quiet_hours.from`),
    to: hour('quiet_hours.to', /^(([01]\d|2[0-3]):[0-5]\d|24:00)$/, '00:00 to 24:00').describe(
      'Not later than from: on the next day.',
    ),
    days: z
      .array(z.enum(DAYS, { error: daysSentence }), { error: daysSentence })
      .min(1, { error: daysSentence })
      .max(DAYS.length, { error: daysSentence })
      .default([...DAYS])
      .describe('Days on which it begins; default: every day.'),
  }).refine(({ from, to }) => from !== to, {
    error: `${field('quiet_hours')}: from and to must differ; a whole day is from 00:00 to 24:00`,
  })
  const digest = table(field('digest'), {
    every: z.enum(PERIODS, { error: `${field('digest.every')} must be day or week` }),
    at: clock('digest.at'),
    day: z
      .enum(DAYS, { error: `${field('digest.day')} must be one of ${DAYS.join(', ')}` })
      .nullable()
      .default(null)
      .describe('Day of a weekly digest; null: every is day.'),
  }).refine(({ every, day }) => (every === 'week') === (day !== null), {
    error: `${field('digest.day')} is required if every is week, and only then`,
  })
  const zoneSentence = `${field('time_zone')} ${TIMEZONE_RULE}`
  const zone = () =>
    z
      .string({ error: zoneSentence })
      .refine((text) => parseTimezone(text) !== null, { error: zoneSentence })
  const sending = {
    time_zone: zone().default('UTC').describe('IANA time zone of all hours beside it.'),
    quiet_hours: z
      .array(window, { error: `${field('quiet_hours')} must be a list` })
      .max(WINDOWS_MAX, { error: `${field('quiet_hours')} has at most ${WINDOWS_MAX} entries` })
      .refine((windows) => !isAlwaysQuiet(windows), {
        error: `${field('quiet_hours')} must leave time in every week to send`,
      })
      .default([])
      .describe('Nothing is sent then; what is due waits for their end.'),
    digest: digest
      .nullable()
      .default(null)
      .describe('Matches are collected and sent at this hour; null: each at once.'),
  }
  return table('attention', {
    ...sending,
    targets: z
      .array(
        table(field('targets'), {
          webhook_id: z.string({ error: `${field('targets.webhook_id')} must be text` }).max(64),
          ...sending,
          time_zone: zone().nullable().default(null).describe('Null: that of the monitor.'),
        }),
        { error: `${field('targets')} must be a list` },
      )
      .max(TARGETS_MAX, { error: `${field('targets')} has at most ${TARGETS_MAX} entries` })
      .refine((all) => new Set(all.map((it) => it.webhook_id)).size === all.length, {
        error: `${field('targets')} must name each webhook once`,
      })
      .default([])
      .describe(
        'Webhooks with a time zone, quiet hours and digest of their own instead of those above.',
      ),
    silent_after_h: whole('silent_after_h', 1, SILENT_MAX_H)
      .nullable()
      .default(null)
      .describe('Hours without a match after which an alarm is sent; null: never.'),
    alarm_on_degraded: z
      .boolean({ error: `${field('alarm_on_degraded')} must be true or false` })
      .default(false)
      .describe('Send an alarm when coverage in health becomes degraded.'),
    escalate: table(field('escalate'), {
      every_min: whole('escalate.every_min', REPEAT_MIN.least, REPEAT_MIN.most),
      max: whole('escalate.max', 1, REPEATS_MAX)
        .default(REPEATS)
        .describe('Repeats of one alarm at most.'),
    })
      .nullable()
      .default(null)
      .describe(
        'Repeat an alarm at this interval until it is acknowledged or over; null: send it once.',
      ),
  })
    .refine((it) => it.escalate === null || it.silent_after_h !== null || it.alarm_on_degraded, {
      error: `${field('escalate')} repeats alarms: set silent_after_h or alarm_on_degraded beside it`,
    })
    .meta({ title: 'Attention' })
})

/** Schema of the field `attention` of a monitor; defaults are filled in. */
export const attentionSchema = fields

export type Attention = z.output<ReturnType<typeof fields>>
type SendingRules = Pick<Attention, 'time_zone' | 'quiet_hours' | 'digest'>

/** Parses stored rules, which were validated before they were stored. */
export const readAttention = (text: string | null): Attention | null =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- encodeAttention wrote it
  text === null ? null : (JSON.parse(text) as Attention)

/** Stored text of attention rules; null: none. */
export const encodeAttention = (attention: Attention | null): string | null =>
  attention === null ? null : JSON.stringify(attention)

/** Rules for one target: its own, else those of the monitor. */
function rulesFor(attention: Attention, webhook_id: string): SendingRules {
  const own = attention.targets.find((it) => it.webhook_id === webhook_id)
  return own === undefined ? attention : { ...own, time_zone: own.time_zone ?? attention.time_zone }
}

export const hasAlarms = ({ silent_after_h, alarm_on_degraded }: Attention): boolean =>
  silent_after_h !== null || alarm_on_degraded

const minutesOf = (clock: string): number => {
  const [hours = 0, minutes = 0] = clock.split(':').map(Number)
  return hours * 60 + minutes
}

const lengthOf = ({ from, to }: QuietHours): number => {
  const length = minutesOf(to) - minutesOf(from)
  return length > 0 ? length : length + MINUTES_A_DAY
}

/** A quarter of an hour more than the longest gap that a clock set forward closes: two hours. */
const FREE_MIN = 135

/** True if too little of the week is left to send in every week, those with a change of the clock included. */
function isAlwaysQuiet(windows: readonly QuietHours[]): boolean {
  const quiet = new Uint8Array(MINUTES_A_WEEK)
  for (const window of windows)
    for (const day of window.days) {
      const from = DAYS.indexOf(day) * MINUTES_A_DAY + minutesOf(window.from)
      for (let minute = 0; minute < lengthOf(window); minute++)
        quiet[(from + minute) % MINUTES_A_WEEK] = 1
    }
  return quiet.filter((it) => it === 0).length < FREE_MIN
}

const dateAt = (at: number, zone: string): Temporal.PlainDate =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).toPlainDate()

const dayOf = (date: Temporal.PlainDate) => DAYS[date.dayOfWeek - 1] ?? 'mon'

/** The instant of a local time, epoch ms; `which`: of those of a time that exists twice. */
function instantOf(
  date: Temporal.PlainDate,
  clock: string,
  zone: string,
  which: 'earlier' | 'later',
): number {
  const [hour, minute] = clock.split(':').map(Number)
  const whole_day = clock === '24:00'
  const local = (whole_day ? date.add({ days: 1 }) : date).toPlainDateTime(
    whole_day ? '00:00' : { hour: hour ?? 0, minute: minute ?? 0 },
  )
  const found = local.toZonedDateTime(zone, { disambiguation: which })
  if (found.toPlainDateTime().equals(local)) return found.epochMilliseconds
  const before = local.toZonedDateTime(zone, { disambiguation: 'earlier' })
  return before.getTimeZoneTransition('next')?.epochMilliseconds ?? found.epochMilliseconds
}

/** Windows may follow each other without a break for as long as a week. */
const CHAIN_MAX = 7 * WINDOWS_MAX

/**
 * End of the quiet hours in force at an instant (epoch ms), windows that follow without a break included; null when
 * none are.
 */
function quietUntil({ time_zone, quiet_hours }: SendingRules, at: number): number | null {
  let until = at
  for (let i = 0; i < CHAIN_MAX; i++) {
    const end = windowEnd(quiet_hours, time_zone, until)
    if (end === null) break
    until = end
  }
  return until === at ? null : until
}

/** Latest end of the windows in force at an instant; null when none is. */
function windowEnd(windows: readonly QuietHours[], zone: string, at: number): number | null {
  if (windows.length === 0) return null
  const today = dateAt(at, zone)
  const ends = windows.flatMap(({ from, to, days }) =>
    [today.subtract({ days: 1 }), today].flatMap((date) => {
      if (!days.includes(dayOf(date))) return []
      const last_date = minutesOf(to) > minutesOf(from) ? date : date.add({ days: 1 })
      const end = instantOf(last_date, to, zone, 'later')
      return instantOf(date, from, zone, 'earlier') <= at && at < end ? [end] : []
    }),
  )
  return ends.length === 0 ? null : Math.max(...ends)
}

/** Days looked ahead for a weekly digest. Some zones have once left out a day. */
const AHEAD_DAYS = 15

/** Period of a digest that closed at `close_at`, epoch ms, and its time zone; null without a digest any more. */
export function digestPeriod(
  attention: Attention | null,
  webhook_id: string,
  close_at: number,
): { from: number; time_zone: string } | null {
  const rules = attention && rulesFor(attention, webhook_id)
  if (!rules?.digest) return null
  const { digest, time_zone } = rules
  const today = dateAt(close_at, time_zone)
  for (let days = 0; days <= AHEAD_DAYS; days++) {
    const date = today.subtract({ days })
    if (digest.day !== null && digest.day !== dayOf(date)) continue
    const from = instantOf(date, digest.at, time_zone, 'earlier')
    if (from < close_at) return { from, time_zone }
  }
  return null
}

/** The first time of a digest after an instant, epoch ms; null without a digest. */
function nextDigestAt({ time_zone, digest }: SendingRules, after: number): number | null {
  if (digest === null) return null
  const today = dateAt(after, time_zone)
  for (let days = 0; days <= AHEAD_DAYS; days++) {
    const date = today.add({ days })
    if (digest.day !== null && digest.day !== dayOf(date)) continue
    const at = instantOf(date, digest.at, time_zone, 'earlier')
    if (at > after) return at
  }
  return null
}

/** End of the quiet hours in force for a target at an instant; null when none are. */
export const heldUntil = (
  attention: Attention | null,
  webhook_id: string,
  at: number,
): number | null => (attention === null ? null : quietUntil(rulesFor(attention, webhook_id), at))

/** The next digest of a target after an instant; null when its matches are sent at once. */
export const digestAt = (
  attention: Attention | null,
  webhook_id: string,
  after: number,
): number | null =>
  attention === null ? null : nextDigestAt(rulesFor(attention, webhook_id), after)
