// The operator page's requests to a running pool.
import { expect, test } from 'bun:test'

import { ok } from '../../../src/core/base/result.ts'
import { pauseAccount, resumeAccount } from '../../../src/store/accounts/accounts.ts'
import { ring, startPoolFixture } from './fixture.ts'

test('listing the accounts reserves no share of their budgets', () => {
  using fixture = startPoolFixture()
  fixture.add('a')
  fixture.pool.reload()
  const calls: string[] = []
  const { headroom } = fixture
  headroom.get = (id) => {
    calls.push(id)
    return { requests: 7, until_ms: 0 }
  }
  const listed = fixture.pool.list()

  expect(listed.map(({ state }) => state)).toEqual(['ready'])
  expect(calls).toEqual([])
  expect(listed.map(({ requests }) => requests)).toEqual([7])
  expect(calls).toEqual(['a'])
})

test('changes by this process are picked up when it reports them', () => {
  using fixture = startPoolFixture()
  fixture.add('a')
  fixture.pool.reload()
  pauseAccount(fixture.db, ring, 'a', fixture.clock.now())
  fixture.pool.reload()
  // Reloads ignore the connection's own writes.
  expect(fixture.states()).toEqual({ a: 'ready' })
  fixture.pool.adopt()
  expect(fixture.states()).toEqual({ a: 'paused' })
  expect(fixture.pool.lease('read')).toBeNull()

  expect(resumeAccount(fixture.db, ring, 'a', fixture.clock.now())).toBe(true)
  fixture.pool.adopt()
  expect(fixture.pool.lease('read')?.id).toBe('a')
})

test('resuming an account without cookies does not make it usable', () => {
  using fixture = startPoolFixture()
  fixture.add('a', { jar: null })

  expect(resumeAccount(fixture.db, ring, 'a', fixture.clock.now())).toBe(false)
  fixture.pool.adopt()
  expect(fixture.states()).toEqual({ a: 'needs_login' })
})

test('a probe runs at once, and its result counts', async () => {
  using fixture = startPoolFixture()
  fixture.add('a')
  fixture.pool.reload()

  expect(await fixture.pool.probe('a')).toBe('alive')
  fixture.mes.push(ok(null))
  expect(await fixture.pool.probe('a')).toBe('logged_out')
  expect(fixture.states()).toEqual({ a: 'cooling' })
  expect(fixture.asked).toEqual(['me a', 'me a'])
})

test('an account is not probed twice at once, nor a missing one or one without credentials', async () => {
  using fixture = startPoolFixture()
  fixture.add('a')
  fixture.add('empty', { jar: null })
  fixture.pool.reload()
  const first = fixture.pool.probe('a')

  expect(await fixture.pool.probe('a')).toBe('busy')
  expect(await fixture.pool.probe('missing')).toBe('absent')
  expect(await fixture.pool.probe('empty')).toBeNull()
  expect(await first).toBe('alive')
  expect(fixture.asked).toEqual(['me a'])
})
