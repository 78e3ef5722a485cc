import { expect, test } from 'bun:test'

import { quietFor } from '../../../../src/api/http/admission.ts'
import { longestAtPlatform } from '../../../../src/wiring/platform.ts'
import { startTestApi } from '../../../support/test-api.ts'

test.each([
  [30, 120],
  [130.5, 131],
  [255, 255],
  // More than the server can count: no limit.
  [256, 0],
])('a connection whose answer may take %p s to begin is kept for %p s', (longest, keep_alive_s) => {
  expect(quietFor(longest)).toBe(keep_alive_s)
})

test('a platform call may take its HTTP deadline plus that of a browser', () => {
  expect(longestAtPlatform({ read_deadline_s: 30 })).toBe(90)
  expect(longestAtPlatform({ read_deadline_s: 100 })).toBe(200)
})

test.each([
  [100, null],
  [600, 'close'],
])('a connection with a timeout of %p s announces %p', async (platform_s, connection) => {
  await using daemon = startTestApi({ platform_s })

  const { headers } = await daemon.call('/health')

  expect(headers.get('connection')).toBe(connection)
})
