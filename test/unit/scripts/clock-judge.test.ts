// Goal: a clock that is set, or wrong, changes neither the deliveries nor their times. Method: two days of the
// daemon's monitoring, sender and upkeep in virtual time, judged by true time. This is the short form of `bun run
// bar:clock`, which covers more clocks and the week after which a target is paused.

import { expect, test } from 'bun:test'

import { judge } from '../../../scripts/bars/clock/judge.ts'
import { run, type Size } from '../../../scripts/bars/clock/run.ts'
import { SCENARIOS } from '../../../scripts/bars/clock/scenarios.ts'

const SIZE: Size = {
  seed: 1,
  days: 2,
  ceiling: 100,
  busy_every_ms: 120_000,
  busy_days: 2,
  calm_every_ms: 60 * 60_000,
  cadence_s: 300,
}

test.each(['eight days back', 'over midnight and back'])(
  'a clock that runs %s',
  async (name) => {
    const scenario = SCENARIOS.find((it) => it.name.startsWith(name))
    const { start } = scenario?.runs[0] ?? {}
    if (scenario === undefined || start === undefined) throw new Error(`no scenario ${name}`)
    const { wrong, shown: totals } = judge(await run(scenario, start, SIZE), SIZE)

    expect(Object.entries(wrong).filter(([, count]) => count > 0)).toEqual([])
    expect(totals.deliveries).toBeGreaterThan(250)
  },
  120_000,
)
