import { expect, test } from 'bun:test'

import { createDeepSearchBulkhead } from '../../../../src/api/reads/bulkhead.ts'
import { fakeClock } from '../../../support/clock.ts'

const settle = () => new Promise<void>(setImmediate)

function searches(places = 2) {
  const clock = fakeClock(settle)
  const bulkhead = createDeepSearchBulkhead(clock, () => places)
  const started: string[] = []
  function search(customer: string, name: string) {
    const { promise, resolve } = Promise.withResolvers<string>()
    const answer = bulkhead(customer, () => {
      started.push(name)
      return promise
    }).catch((error: unknown) => (error instanceof Error ? error.message : 'odd'))
    return { finish: () => resolve(name), answer }
  }
  return { clock, search, started }
}

test('a third search of a customer starts when one of the two ends', async () => {
  const { search, started } = searches()
  const [first, , third] = [search('ada', 'a'), search('ada', 'b'), search('ada', 'c')]
  await settle()
  expect(started).toEqual(['a', 'b'])

  first.finish()
  await settle()
  third.finish()

  expect(started).toEqual(['a', 'b', 'c'])
  expect(await third.answer).toBe('c')
})

test('a third search without a place within three seconds is refused', async () => {
  const { clock, search, started } = searches()
  const [first, second, third] = [search('ada', 'a'), search('ada', 'b'), search('ada', 'c')]

  await clock.advance(3_000)

  expect(await third.answer).toContain('at most 2 deep searches')
  first.finish()
  second.finish()
  await settle()
  expect(started).toEqual(['a', 'b'])
  search('ada', 'd')
  await settle()
  expect(started).toEqual(['a', 'b', 'd'])
})

test('a failed search releases its place', async () => {
  const clock = fakeClock(settle)
  const bulkhead = createDeepSearchBulkhead(clock, () => 1)

  for (let number = 0; number < 3; number++)
    await bulkhead('ada', () => Promise.reject(new Error('no'))).catch(() => {})

  expect(await bulkhead('ada', async () => 'in')).toBe('in')
})

test('customers do not wait for each other, and no call waits without a limit', async () => {
  const { search, started } = searches(1)
  search('ada', 'a')
  search('bob', 'b')
  await settle()
  expect(started).toEqual(['a', 'b'])

  const free = searches(0)
  for (const name of ['a', 'b', 'c', 'd']) free.search('ada', name)
  await settle()
  expect(free.started).toEqual(['a', 'b', 'c', 'd'])
})
