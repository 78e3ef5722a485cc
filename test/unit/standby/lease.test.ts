import { expect, test } from 'bun:test'

import { createLease } from '../../../src/standby/lease.ts'
import { memoryRegister } from '../../support/memory-register.ts'

const TTL_MS = 30_000
const SKEW_MS = 2000

function pair() {
  const { register, fail } = memoryRegister()
  let now = 0
  const make = (node: string) =>
    createLease({
      register,
      node,
      token: `token of ${node}`,
      ttl_ms: TTL_MS,
      skew_ms: SKEW_MS,
      instant: () => ({ mono: now, boot: now, wall: now }),
    })
  return { a: make('a'), b: make('b'), fail, pass: (ms: number) => (now += ms) }
}

test('the second process waits for the whole term and the skew, from its own first look', async () => {
  const { a, b, pass } = pair()
  expect(await a.acquire()).toMatchObject({ held: true, epoch: 1, data_epoch: 0 })
  pass(20_000)

  expect(await b.acquire()).toMatchObject({ held: false, holder: 'a', wait_ms: TTL_MS + SKEW_MS })
  pass(TTL_MS + SKEW_MS - 1)
  expect(await b.acquire()).toMatchObject({ held: false, wait_ms: 1 })
  pass(1)
  expect(await b.acquire()).toMatchObject({ held: true, epoch: 2, data_epoch: 0 })
  expect(await a.renew()).toBe(false)
  expect(a.term()).toBeNull()
})

test('each renewal starts the wait again', async () => {
  const { a, b, pass } = pair()
  await a.acquire()
  for (let n = 0; n < 10; n++) {
    expect(await b.acquire()).toMatchObject({ held: false })
    pass(TTL_MS)
    expect(await a.renew(true)).toBe(true)
  }

  expect(await b.acquire()).toMatchObject({ held: false, wait_ms: TTL_MS + SKEW_MS })
})

test('a released lease is taken at once, with the epoch in which a database acted', async () => {
  const { a, b } = pair()
  await a.acquire()
  await a.renew(true)
  await a.release()

  expect(await b.acquire()).toMatchObject({ held: true, epoch: 2, data_epoch: 1 })
})

test('the term counts from before the request, not from its answer', async () => {
  const { a, pass } = pair()
  pass(500)
  await a.acquire()
  pass(10_000)

  expect(a.term()).toMatchObject({ asked: { mono: 500 } })
})

test('a claim whose answer was lost is found by the next attempt', async () => {
  const { a, b, fail, pass } = pair()
  // The read succeeds, the swap happens, its answer is lost.
  const attempt = a.acquire()
  await Promise.resolve()
  await Promise.resolve()
  fail('after')
  expect(await attempt.catch(() => 'lost')).toBe('lost')
  pass(1000)

  expect(await a.acquire()).toMatchObject({ held: true, epoch: 1, data_epoch: 0 })
  expect(a.term()).toMatchObject({ asked: { mono: 0 } })
  expect(await b.acquire()).toMatchObject({ held: false, holder: 'a' })
})

test('a renewal whose answer was lost counts from its own request, and the next one goes on', async () => {
  const { a, b, fail, pass } = pair()
  await a.acquire()
  pass(5000)
  fail('after')
  expect(await a.renew().catch(() => 'lost')).toBe('lost')
  expect(a.term()).toMatchObject({ asked: { mono: 0 } })
  pass(1000)

  expect(await a.renew()).toBe(true)
  expect(a.term()).toMatchObject({ asked: { mono: 5000 } })
  expect(await a.renew(true)).toBe(true)
  expect(a.term()).toMatchObject({ asked: { mono: 6000 } })
  expect(await b.acquire()).toMatchObject({ held: false })
})

test('two processes that claim a free lease at the same moment do not both get it', async () => {
  const { a, b } = pair()

  const both = await Promise.all([a.acquire(), b.acquire()])

  expect(both.filter(({ held }) => held)).toHaveLength(1)
})
