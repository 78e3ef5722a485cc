import { expect, test } from 'bun:test'

import { createDeepGate } from '../../../src/api/reads/gate.ts'
import { fakeClock } from '../../support/clock.ts'

const settled = () => new Promise<void>(setImmediate)

function searches(places = 2) {
  const clock = fakeClock(settled)
  const gate = createDeepGate(clock, () => places)
  const started: string[] = []
  function search(customer: string, name: string) {
    const { promise, resolve } = Promise.withResolvers<string>()
    const answer = gate(customer, () => {
      started.push(name)
      return promise
    }).catch((error: unknown) => (error instanceof Error ? error.message : 'odd'))
    return { finish: () => resolve(name), answer }
  }
  return { clock, search, started }
}

test('a third search of a customer begins when one of the two ends', async () => {
  const { search, started } = searches()
  const [first, , third] = [search('ada', 'a'), search('ada', 'b'), search('ada', 'c')]
  await settled()
  expect(started).toEqual(['a', 'b'])

  first.finish()
  await settled()
  third.finish()

  expect(started).toEqual(['a', 'b', 'c'])
  expect(await third.answer).toBe('c')
})

test('a third search that finds no place within three seconds is refused', async () => {
  const { clock, search, started } = searches()
  const [first, second, third] = [search('ada', 'a'), search('ada', 'b'), search('ada', 'c')]

  await clock.advance(3_000)

  expect(await third.answer).toContain('at most 2 deep searches')
  first.finish()
  second.finish()
  await settled()
  expect(started).toEqual(['a', 'b'])
  search('ada', 'd')
  await settled()
  expect(started).toEqual(['a', 'b', 'd'])
})

test('a search that fails gives its place back', async () => {
  const clock = fakeClock(settled)
  const gate = createDeepGate(clock, () => 1)

  for (let number = 0; number < 3; number++)
    await gate('ada', () => Promise.reject(new Error('no'))).catch(() => {})

  expect(await gate('ada', async () => 'in')).toBe('in')
})

test('customers do not wait for each other, and nobody waits where there is no limit', async () => {
  const { search, started } = searches(1)
  search('ada', 'a')
  search('bob', 'b')
  await settled()
  expect(started).toEqual(['a', 'b'])

  const free = searches(0)
  for (const name of ['a', 'b', 'c', 'd']) free.search('ada', name)
  await settled()
  expect(free.started).toEqual(['a', 'b', 'c', 'd'])
})
