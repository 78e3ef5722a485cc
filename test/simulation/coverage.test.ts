import { expect, test } from 'bun:test'

import { breaches, simulateCoverage, simulateSharing } from './bars.ts'

// Goal: what health says of the last day is true, whatever the platform, the clock and the process have been through.
// Method: days of virtual time in seconds. The daemon's own monitoring watches ten places together in which posts are
// pinned, deleted, approved late and come in floods, through a platform that errs, throttles, serves old copies, empty
// and short pages, hides closed places and is gone for a while; the daemon stops and starts, its clock jumps. What it
// stored and what health said every hour is compared with what there was.
// The long form is `bun scripts/simulate.ts --days 100`.

const SEED = Number(process.env['FORUMD_SEED'] ?? Math.floor(Math.random() * 1e9))

test(`nothing is missed while coverage reads complete, no floor is above the truth (FORUMD_SEED=${SEED})`, async () => {
  const verdict = await simulateCoverage(SEED, 10)

  expect(verdict.items).toBeGreaterThan(1000)
  expect(Object.keys(verdict.readings)).toContain('complete')
  expect(breaches(verdict)).toEqual([])
}, 120_000)

test('five hundred monitors of a place cost no more requests than one', async () => {
  const { one, many } = await simulateSharing(1, 500)

  expect(one).toBeGreaterThan(700)
  expect(many).toBeLessThanOrEqual(one * 1.05)
}, 120_000)
