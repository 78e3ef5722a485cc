import { expect, test } from 'bun:test'

import { once } from '../../src/core/once.ts'

test('it is made at the first call, and never again', () => {
  let made = 0
  const it = once(() => ({ number: ++made }))
  expect(made).toBe(0)

  const first = it()

  expect(first).toEqual({ number: 1 })
  expect(it()).toBe(first)
})

test('what was made may be nothing', () => {
  let made = 0
  const it = once(() => {
    made++
    return null
  })

  expect([it(), it()]).toEqual([null, null])
  expect(made).toBe(1)
})

test('what could not be made is tried again', () => {
  let fails = true
  const it = once(() => {
    if (fails) throw new Error('not yet')
    return 'made'
  })
  expect(it).toThrow('not yet')

  fails = false

  expect(it()).toBe('made')
})
