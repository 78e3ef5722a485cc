import { expect, test } from 'bun:test'

import { once } from '../../../../src/core/base/lazy.ts'

test('make runs at the first call only', () => {
  let creations = 0
  const it = once(() => ({ number: ++creations }))
  expect(creations).toBe(0)

  const first = it()

  expect(first).toEqual({ number: 1 })
  expect(it()).toBe(first)
})

test('an undefined value is cached, too', () => {
  let creations = 0
  const it = once(() => {
    creations++
    return null
  })

  expect([it(), it()]).toEqual([null, null])
  expect(creations).toBe(1)
})

test('a failed call is retried', () => {
  let fails = true
  const it = once(() => {
    if (fails) throw new Error('not yet')
    return 'made'
  })
  expect(it).toThrow('not yet')

  fails = false

  expect(it()).toBe('made')
})
