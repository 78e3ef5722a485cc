import { expect, test } from 'bun:test'

import { judge } from '../../simulation/judge.ts'
import { run } from '../../simulation/run.ts'
import { SMOOTH } from '../../simulation/upstream.ts'

const SEED = 20_261_120
const DAYS = 5

test('over ten eventful feed-days nothing that could be seen is missed while coverage reads complete', async () => {
  const done = await run({
    seed: SEED,
    days: DAYS,
    places: [
      { name: 'busy', rate: 40 / 3600, floods: false },
      { name: 'quiet', rate: 2 / 3600, floods: false },
    ],
    rough: { ...SMOOTH, errors: 0.02 },
    eventful: true,
  })
  const verdict = judge(done, DAYS)

  expect(verdict.items).toBeGreaterThan(500)
  expect(verdict.missed_in_silence).toEqual([])
  expect(verdict.floor_above_truth).toBe(0)
}, 120_000)
