import { Cron } from 'croner'

/** When the monitor loop looks for due streams: the first such instant after `now`, Infinity when there is none. */
export type Schedule = (now: number) => number

/** Reads a cron pattern, seconds first, in a time zone. It only computes; waiting is the loop's. */
export function createSchedule(pattern: string, time_zone: string): Schedule {
  const cron = new Cron(pattern, { paused: true, timezone: time_zone })
  return (now) => cron.nextRun(new Date(now))?.getTime() ?? Infinity
}
