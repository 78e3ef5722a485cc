import { expect, test } from 'bun:test'

import { createAllowed } from '../../../src/core/base/address.ts'
import { createCheck, createGuard } from '../../../src/net/guard.ts'
import type { Resolve } from '../../../src/runtime/runtime.ts'
import { fakeClock } from '../../support/clock.ts'

const settle = () => new Promise<void>((resolve) => setImmediate(resolve))

function guarding(resolve: Resolve, allow_targets: string[] = []) {
  const clock = fakeClock(settle)
  const allowed = createAllowed({ allow_targets, allow_http: false })
  return { clock, guard: createGuard({ resolve, clock, allowed, timeout_ms: 5000 }) }
}

test('a name is resolved once, and all its checked addresses are returned', async () => {
  const lookups: string[] = []
  const { guard } = guarding(async (host) => {
    lookups.push(host)
    return ['93.184.215.14', '2606:4700::1111']
  })
  expect(await guard('https://Hooks.Example.com./x')).toMatchObject({
    ok: true,
    addresses: ['93.184.215.14', '2606:4700::1111'],
  })
  expect(lookups).toEqual(['hooks.example.com'])
})

test('an address needs no resolver, and a malformed target never reaches one', async () => {
  const { guard } = guarding(() => Promise.reject(new Error('asked')))
  expect(await guard('https://1.1.1.1/')).toMatchObject({ ok: true, addresses: ['1.1.1.1'] })
  expect(await guard('https://[2606:4700::1111]/')).toMatchObject({
    ok: true,
    addresses: ['2606:4700::1111'],
  })
  expect(await guard('https://db.internal/')).toEqual({ ok: false, refusal: 'name' })
})

test('a name that does not resolve, or not in time, is unresolved', async () => {
  const none = guarding(() => Promise.reject(new Error('ENOTFOUND')))
  expect(await none.guard('https://hooks.example.com/')).toEqual({
    ok: false,
    refusal: 'unresolved',
  })

  const slow_guard = guarding(() => new Promise(() => {}))
  const answer = slow_guard.guard('https://hooks.example.com/')
  await slow_guard.clock.advance(5000)
  expect(await answer).toEqual({ ok: false, refusal: 'unresolved' })
})

test('the check returns the refusal, or null', async () => {
  const { guard } = guarding(async () => ['10.0.0.1'])
  const check = createCheck(guard)
  expect(await check('https://hooks.example.com/')).toBe('not_public')
  expect(await check('https://1.1.1.1/')).toBeNull()
})
