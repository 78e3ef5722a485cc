import { expect, test } from 'bun:test'

import { createLease } from '../../../src/standby/lease.ts'
import { memoryRegister } from '../../support/memory-register.ts'

const TTL_MS = 30_000
const SKEW_MS = 2000

function nodes() {
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
  const pass = (ms: number) => (now += ms)
  return { a: make('a'), b: make('b'), c: make('c'), fail, pass }
}

test('the second process waits for the whole term and the skew, from its own first look', async () => {
  const { a, b, pass } = nodes()
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
  const { a, b, pass } = nodes()
  await a.acquire()
  for (let n = 0; n < 10; n++) {
    expect(await b.acquire()).toMatchObject({ held: false })
    pass(TTL_MS)
    expect(await a.renew(true)).toBe(true)
  }

  expect(await b.acquire()).toMatchObject({ held: false, wait_ms: TTL_MS + SKEW_MS })
})

test('a released lease is taken at once, with the epoch in which a database acted', async () => {
  const { a, b } = nodes()
  await a.acquire()
  await a.renew(true)
  await a.release()

  expect(await b.acquire()).toMatchObject({ held: true, epoch: 2, data_epoch: 1 })
})

test('the term counts from before the request, not from its answer', async () => {
  const { a, pass } = nodes()
  pass(500)
  await a.acquire()
  pass(10_000)

  expect(a.term()).toMatchObject({ asked: { mono: 500 } })
})

test('a claim whose answer was lost is found by the next attempt', async () => {
  const { a, b, fail, pass } = nodes()
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
  const { a, b, fail, pass } = nodes()
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
  const { a, b } = nodes()

  const both = await Promise.all([a.acquire(), b.acquire()])

  expect(both.filter(({ held }) => held)).toHaveLength(1)
})

test('a lease that is handed over is taken by that node alone, with the last mark of the one before', async () => {
  const { a, b, c, pass } = nodes()
  await a.acquire()
  await a.renew(true)
  await a.release({ to: 'b', data_mark: 41 })

  expect(await c.acquire()).toMatchObject({ held: false, wait_ms: TTL_MS + SKEW_MS })
  expect(await b.acquire()).toMatchObject({ held: true, is_move: true, data_mark: 41 })
  // Once it acts, the mark of the former one says nothing any more.
  await b.renew(true)
  await b.release()
  pass(1)
  expect(await c.acquire()).toMatchObject({ held: true, is_move: false, data_mark: null })
})

test('a lease that its heir does not take is free for all after a term', async () => {
  const { a, c, pass } = nodes()
  await a.acquire()
  await a.renew(true)
  await a.release({ to: 'b', data_mark: 41 })
  expect(await c.acquire()).toMatchObject({ held: false })

  pass(TTL_MS + SKEW_MS)

  expect(await c.acquire()).toMatchObject({ held: true, is_move: false, data_mark: 41 })
})

test('a node that has not acted passes on the mark that it found', async () => {
  const { a, b, c } = nodes()
  await a.acquire()
  await a.renew(true)
  await a.release({ to: 'b', data_mark: 41 })
  await b.acquire()
  await b.release({ to: 'c', data_mark: 3 })

  expect(await c.acquire()).toMatchObject({ held: true, data_mark: 41, data_holder: 'a' })
})
