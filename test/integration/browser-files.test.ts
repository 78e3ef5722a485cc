import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { startHouse } from '../support/house.ts'

test('what the browser of a killed daemon left is gone once another has started, wanted or not', async () => {
  await using house = await startHouse()
  const profile = join(house.dir, 'browser', 'chromium-killed')
  mkdirSync(join(profile, 'tmp'), { recursive: true })
  writeFileSync(join(profile, 'History'), 'x')

  await house.restart()

  expect(existsSync(join(house.dir, 'browser'))).toBeFalse()
})
