import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { startTestDaemon } from '../support/test-daemon.ts'

test('browser files of a killed daemon are removed by the next start, with or without a browser', async () => {
  await using daemon = await startTestDaemon()
  const profile = join(daemon.dir, 'browser', 'chromium-killed')
  mkdirSync(join(profile, 'tmp'), { recursive: true })
  writeFileSync(join(profile, 'History'), 'x')

  await daemon.restart()

  expect(existsSync(join(daemon.dir, 'browser'))).toBeFalse()
})
