import { expect, test } from 'bun:test'

import { breaches, simulateCoverage, simulateSharing } from './bars.ts'

// Goal: what health says of the last day is true, whatever the platform, the clock and the process have been through.
// Method: days of virtual time in seconds. The daemon's own monitoring watches ten places together in which posts are
// pinned, deleted, approved late and come in floods, through a platform that errs, throttles, begins listings anew,
// serves old copies, empty and short pages, hides closed places and is gone for a while; the daemon stops and starts,
// its clock jumps, monitors are paused. What it stored and what health said every hour is compared with what there was.
// The long form is `bun run bar:coverage`.

const SEED = Number(process.env['FORUMD_SEED'] ?? 20_261_120)

test(`nothing is missed while coverage reads complete, no floor is above the truth (FORUMD_SEED=${SEED})`, async () => {
  const verdicts = await simulateCoverage(SEED, 20)

  for (const { items, readings } of verdicts) {
    expect(items).toBeGreaterThan(1000)
    expect(readings['complete']).toBeGreaterThan(0)
  }
  expect(breaches(verdicts)).toEqual([])
}, 300_000)

test('five hundred monitors of a place cost no more requests than one', async () => {
  const { one, many } = await simulateSharing(1, 500)

  expect(one).toBeGreaterThan(700)
  expect(many).toBeLessThanOrEqual(one * 1.05)
}, 300_000)
