import { expect, test } from 'bun:test'

import { createPreviewPace } from '../../../../src/api/monitors/preview.ts'
import { ApiError } from '../../../../src/core/base/errors.ts'
import { fakeClock } from '../../../support/clock.ts'

/** Seconds until the customer may preview; null: now. */
function refusal(pace: ReturnType<typeof createPreviewPace>): number | null {
  try {
    pace.before('cus_ann')
    return null
  } catch (error) {
    if (error instanceof ApiError) return error.details.retry_after_s ?? 0
    throw error
  }
}

test('a preview of four requests costs four, even with one left: forty a minute over ten minutes', async () => {
  const clock = fakeClock(() => Promise.resolve())
  const pace = createPreviewPace(clock)
  let requests = 0
  for (let second = 0; second < 600; second++) {
    while (refusal(pace) === null) {
      pace.after('cus_ann', 4)
      requests += 4
    }
    await clock.advance(1000)
  }

  // The initial burst, the refill per minute, and the excess of one preview.
  expect(requests).toBeLessThanOrEqual(40 + 400 + 3)
  expect(requests).toBeGreaterThanOrEqual(40 + 396)
})

test('the excess of concurrent previews delays later ones', async () => {
  const clock = fakeClock(() => Promise.resolve())
  const pace = createPreviewPace(clock)
  for (let n = 0; n < 60; n++) pace.before('cus_ann')
  for (let n = 0; n < 60; n++) pace.after('cus_ann', 1)

  expect(refusal(pace)).toBe(32)
  await clock.advance(32_000)
  expect(refusal(pace)).toBeNull()
})
