import { Cron } from 'croner'

/** When the monitor loop looks for due streams: the first such instant after `now`, Infinity when there is none. */
export type Schedule = (now: number) => number

/** Reads a cron pattern, seconds first, in a time zone. It only computes; waiting is the loop's. */
export function createSchedule(pattern: string, time_zone: string): Schedule {
  // UTC needs no calendar of zones, which is the dearest thing a start can load.
  const zone = time_zone === 'UTC' ? { utcOffset: 0 } : { timezone: time_zone }
  const cron = new Cron(pattern, { paused: true, ...zone })
  return (now) => cron.nextRun(new Date(now))?.getTime() ?? Infinity
}
