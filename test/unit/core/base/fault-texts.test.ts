import { expect, test } from 'bun:test'

import { describe, describeFault } from '../../../../src/core/base/fault-texts.ts'

test.each([
  ['unavailable:503', 'its host answers 503'],
  ['unavailable:unknown_host', 'its host has no address: its name does not resolve'],
  ['unavailable:no_tls', 'its host does not speak TLS on this port'],
  ['forbidden:gold_only', 'it refused the request (gold only)'],
  ['timeout', 'its host did not answer in time'],
  ['a_new_one', 'the answer was not usable: a new one'],
])('the fault %s has a sentence and a fix', (code, text) => {
  const described = describeFault(code)
  expect(described.text).toBe(text)
  expect(described.operator).not.toBe('')
})

test('a fault of this moment names the host that was requested', () => {
  const refused = { kind: 'unavailable', status: null, retry_after_s: null } as const
  expect(describe({ ...refused, cause: 'refused', host: 'api.example:443' }).text).toBe(
    'api.example:443 refuses connections',
  )
})
