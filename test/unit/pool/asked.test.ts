// What the operator's page asks of a pool at work.
import { expect, test } from 'bun:test'

import { ok } from '../../../src/core/outcome.ts'
import { pauseAccount, resumeAccount } from '../../../src/store/accounts.ts'
import { ring, startStage } from './stage.ts'

test('asking how accounts stand asks for no share of their budgets', () => {
  using stage = startStage()
  stage.add('a')
  stage.pool.reload()
  const asked: string[] = []
  const { headroom } = stage
  headroom.get = (id) => {
    asked.push(id)
    return { requests: 7, until_ms: 0 }
  }
  const listed = stage.pool.list()

  expect(listed.map(({ state }) => state)).toEqual(['ready'])
  expect(asked).toEqual([])
  expect(listed.map(({ requests }) => requests)).toEqual([7])
  expect(asked).toEqual(['a'])
})

test('what this process itself changes of an account is taken over when it says so', () => {
  using stage = startStage()
  stage.add('a')
  stage.pool.reload()
  pauseAccount(stage.db, ring, 'a', stage.clock.now())
  stage.pool.reload()
  // Its own writes show as nobody else's.
  expect(stage.states()).toEqual({ a: 'ready' })
  stage.pool.adopt()
  expect(stage.states()).toEqual({ a: 'paused' })
  expect(stage.pool.lease('read')).toBeNull()

  expect(resumeAccount(stage.db, ring, 'a', stage.clock.now())).toBe(true)
  stage.pool.adopt()
  expect(stage.pool.lease('read')?.id).toBe('a')
})

test('an account without cookies is not in use by being resumed', () => {
  using stage = startStage()
  stage.add('a', { jar: null })

  expect(resumeAccount(stage.db, ring, 'a', stage.clock.now())).toBe(false)
  stage.pool.adopt()
  expect(stage.states()).toEqual({ a: 'needs_login' })
})

test('a probe asks at once, and what it shows counts', async () => {
  using stage = startStage()
  stage.add('a')
  stage.pool.reload()

  expect(await stage.pool.probe('a')).toBe('alive')
  stage.mes.push(ok(null))
  expect(await stage.pool.probe('a')).toBe('nobody')
  expect(stage.states()).toEqual({ a: 'needs_login' })
  expect(stage.asked).toEqual(['me a', 'me a'])
})

test('an account is not probed twice at once, nor one that is not there or has nothing to be with', async () => {
  using stage = startStage()
  stage.add('a')
  stage.add('empty', { jar: null })
  stage.pool.reload()
  const first = stage.pool.probe('a')

  expect(await stage.pool.probe('a')).toBe('busy')
  expect(await stage.pool.probe('nobody')).toBe('absent')
  expect(await stage.pool.probe('empty')).toBeNull()
  expect(await first).toBe('alive')
  expect(stage.asked).toEqual(['me a'])
})
