import type { Manner } from './receiver.ts'

export const HOUR = 3_600_000
export const DAY = 24 * HOUR

/** A target, how it answers, if it asks for events, and the fields of its monitor. */
export const TARGETS: { name: string; manner: Manner; events: boolean; monitor: object }[] = [
  { name: 'all', manner: 'accept', events: true, monitor: {} },
  { name: 'flaky', manner: 'flaky', events: true, monitor: {} },
  { name: 'refuse', manner: 'refuse', events: true, monitor: {} },
  { name: 'echo', manner: 'echo', events: false, monitor: {} },
  { name: 'echo_refuse', manner: 'echo_refuse', events: false, monitor: {} },
  {
    name: 'digest',
    manner: 'accept',
    events: true,
    monitor: { attention: { digest: { every: 'day', at: '08:00' } } },
  },
  {
    name: 'quiet',
    manner: 'accept',
    events: true,
    monitor: { attention: { quiet_hours: [{ from: '01:00', to: '20:00' }] } },
  },
]
