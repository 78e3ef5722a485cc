import { expect, test } from 'bun:test'

import { createSamplePace } from '../../../src/api/sample-pace.ts'
import { ApiError } from '../../../src/core/errors.ts'
import { fakeClock } from '../../support/clock.ts'

/** Whether a customer may look now; refused: the seconds until it may. */
function refusal(pace: ReturnType<typeof createSamplePace>): number | null {
  try {
    pace.before('cus_ann')
    return null
  } catch (error) {
    if (error instanceof ApiError) return error.details.retry_after_s ?? 0
    throw error
  }
}

test('a look of four requests costs four, also where one was left: over ten minutes it is forty a minute', async () => {
  const clock = fakeClock(() => Promise.resolve())
  const pace = createSamplePace(clock)
  let requests = 0
  for (let second = 0; second < 600; second++) {
    while (refusal(pace) === null) {
      pace.after('cus_ann', 4)
      requests += 4
    }
    await clock.advance(1000)
  }

  // What is saved up at first, what comes in by the minute, and one look that goes beyond.
  expect(requests).toBeLessThanOrEqual(40 + 400 + 3)
  expect(requests).toBeGreaterThanOrEqual(40 + 396)
})

test('looks that were let go at once are paid for by those after them', async () => {
  const clock = fakeClock(() => Promise.resolve())
  const pace = createSamplePace(clock)
  for (let n = 0; n < 60; n++) pace.before('cus_ann')
  for (let n = 0; n < 60; n++) pace.after('cus_ann', 1)

  expect(refusal(pace)).toBe(32)
  await clock.advance(32_000)
  expect(refusal(pace)).toBeNull()
})
