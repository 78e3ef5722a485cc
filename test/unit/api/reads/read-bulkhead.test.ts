import { expect, test } from 'bun:test'

import { admit, createReadBulkhead } from '../../../../src/api/reads/bulkhead.ts'
import { ApiError } from '../../../../src/core/base/errors.ts'
import { fakeClock } from '../../../support/clock.ts'

const settle = () => new Promise<void>(setImmediate)

test.each([
  [{ in_flight: 3, waiting: 8 }, { in_flight: 4, waiting: 8 }, 'go'],
  [{ in_flight: 4, waiting: 0 }, { in_flight: 4, waiting: 8 }, 'wait'],
  [{ in_flight: 9, waiting: 7 }, { in_flight: 4, waiting: 8 }, 'wait'],
  [{ in_flight: 4, waiting: 8 }, { in_flight: 4, waiting: 8 }, 'refuse'],
  [{ in_flight: 400, waiting: 0 }, { in_flight: 0, waiting: 8 }, 'go'],
  [{ in_flight: 4, waiting: 800 }, { in_flight: 4, waiting: 0 }, 'wait'],
] as const)('with %p and room for %p one more may %s', (crowd, capacity, admission) => {
  expect(admit(crowd, capacity)).toBe(admission)
})

/** Reads that end on request, and a platform state set by the test. */
function reads() {
  const clock = fakeClock(settle)
  const state = { degraded: true }
  const bulkhead = createReadBulkhead(
    clock,
    () => ({ in_flight: 4, waiting: 8 }),
    () => state.degraded,
  )
  const started: string[] = []
  const refused: string[] = []
  function read(key: string, name: string) {
    const { promise, resolve } = Promise.withResolvers<void>()
    void bulkhead(key, () => {
      started.push(name)
      return promise
    }).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error
      refused.push(`${name} ${error.code} ${error.details.retry_after_s}`)
    })
    return resolve
  }
  const many = (key: string, count: number) =>
    Array.from({ length: count }, (_, at) => read(key, `${key}${at + 1}`))
  return { clock, state, started, refused, read, many }
}

test('while the platform is healthy, a key may run any number of reads', async () => {
  const { state, started, many } = reads()
  state.degraded = false

  many('a', 30)
  await settle()

  expect(started).toHaveLength(30)
})

test('while it is degraded, four reads of a key run, and each that ends admits the next', async () => {
  const { started, many } = reads()
  const [first, second] = many('a', 7)
  many('b', 1)
  await settle()
  expect(started).toEqual(['a1', 'a2', 'a3', 'a4', 'b1'])

  second?.()
  await settle()
  first?.()
  await settle()

  expect(started).toEqual(['a1', 'a2', 'a3', 'a4', 'b1', 'a5', 'a6'])
})

test('the thirteenth is refused at once, the others after two seconds without a place', async () => {
  const { clock, started, refused, many } = reads()
  const [first] = many('a', 13)
  await settle()
  expect(refused).toEqual(['a13 too_many_concurrent_reads 2'])

  await clock.advance(1_999)
  first?.()
  await settle()
  expect(refused).toHaveLength(1)
  await clock.advance(1)

  expect(started).toEqual(['a1', 'a2', 'a3', 'a4', 'a5'])
  expect(refused.slice(1).map((it) => it.split(' ')[0])).toEqual([
    'a6',
    'a7',
    'a8',
    'a9',
    'a10',
    'a11',
    'a12',
  ])
})

test('reads started before the degradation count, and must end before others start', async () => {
  const { state, started, read, many } = reads()
  state.degraded = false
  const running = many('a', 6)
  state.degraded = true
  read('a', 'late')
  await settle()

  running[0]?.()
  running[1]?.()
  await settle()
  expect(started).not.toContain('late')
  running[2]?.()
  await settle()

  expect(started).toContain('late')
})

test('a waiting read continues after the recovery', async () => {
  const { clock, state, started, refused, many } = reads()
  many('a', 6)
  state.degraded = false

  await clock.advance(2_000)

  expect(started).toHaveLength(6)
  expect(refused).toEqual([])
})
