import { expect, test } from 'bun:test'

import { quietFor } from '../../../src/api/admit.ts'
import { longestAtPlatform } from '../../../src/deeds.ts'
import { startHouse } from '../../support/http.ts'

test.each([
  [30, 120],
  [130.5, 131],
  [255, 255],
  // More than the server can count: as long as it takes.
  [256, 0],
])('a connection whose answer may take %p s to begin is kept for %p s', (longest, kept) => {
  expect(quietFor(longest)).toBe(kept)
})

test('a call at the platform may take its deadline over HTTP and that of a browser', () => {
  expect(longestAtPlatform({ read_deadline_s: 30 })).toBe(90)
  expect(longestAtPlatform({ read_deadline_s: 100 })).toBe(200)
})

test.each([
  [100, null],
  [600, 'close'],
])(
  'a connection that may wait for %p s says %p when it is done',
  async (platform_s, connection) => {
    await using house = startHouse({ platform_s })

    const { headers } = await house.call('/health')

    expect(headers.get('connection')).toBe(connection)
  },
)
