import { expect, test } from 'bun:test'

import { cases } from '../support/long-form.ts'
import { breaches, simulateCoverage, simulateSharing } from './bars.ts'

// Goal: the reported coverage of the last day is true under any failure of platform, clock and
// process. Method: days of virtual time run in seconds. The shipped polling code polls ten
// subforums in batches. Their posts are pinned, deleted, approved late and arrive in floods. The
// platform fails, throttles, restarts listings, serves stale, empty and short pages, closes
// subforums and has outages. The daemon restarts, its clock jumps, monitors are paused. Stored
// items and hourly coverage are compared with the truth. The long form is `bun run bar:coverage`.

const SEED = Number(process.env['FORUMD_SEED'] ?? 20_261_120)

test(`no item is missed while coverage is complete, and no lower bound exceeds the truth (FORUMD_SEED=${SEED})`, async () => {
  const verdicts = await simulateCoverage(SEED, cases({ short: 2, long: 20 }))

  for (const { items, readings, complete_h } of verdicts) {
    expect(complete_h).toBeGreaterThan(10)
    expect(items).toBeGreaterThan(1000)
    expect(readings['complete']).toBeGreaterThan(0)
  }
  expect(breaches(verdicts)).toEqual([])
}, 300_000)

const MONITORS = cases({ short: 40, long: 500 })

test(`${MONITORS} monitors of a subforum cost no more requests than one`, async () => {
  const { one, many } = await simulateSharing(1, MONITORS)

  expect(one).toBeGreaterThan(280)
  expect(many).toBeLessThanOrEqual(one * 1.05)
}, 300_000)
