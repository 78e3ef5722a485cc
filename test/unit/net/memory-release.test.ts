import { expect, test } from 'bun:test'

import { createGarbageCollector } from '../../../src/net/egress.ts'
import { fakeClock } from '../../support/clock.ts'

const MIB = 1024 * 1024

/** A collector on a fake clock, with collections of this duration. */
function createFixture(took_ms = 0) {
  const clock = fakeClock(() => Promise.resolve())
  const freed_at: number[] = []
  let duration_ms = 0
  // Only collections take time here, on this clock.
  const mono = () => clock.mono() + duration_ms
  const began = clock.mono()
  const collect = () => {
    freed_at.push(mono() - began)
    duration_ms += took_ms
  }
  return {
    clock,
    freed_at,
    onFreed: createGarbageCollector({ clock: { ...clock, mono }, collect }),
  }
}

test('the memory of large answers is freed at 8 MiB', async () => {
  const { clock, freed_at, onFreed } = createFixture()

  for (let i = 0; i < 7; i++) onFreed(MIB)
  await clock.advance(1)
  expect(freed_at).toHaveLength(0)

  onFreed(MIB)
  await clock.advance(1)
  expect(freed_at).toHaveLength(1)

  onFreed(7 * MIB)
  await clock.advance(1)
  expect(freed_at).toHaveLength(1)
})

test('nothing is freed before the caller has read the answer', async () => {
  const { clock, freed_at, onFreed } = createFixture()

  onFreed(8 * MIB)

  expect(freed_at).toHaveLength(0)
  await clock.advance(1)
  expect(freed_at).toHaveLength(1)
})

test('the memory of small answers is left to the engine, regardless of their number', async () => {
  const { clock, freed_at, onFreed } = createFixture()

  for (let i = 0; i < 100; i++) onFreed(MIB - 1)
  await clock.advance(1)

  expect(freed_at).toHaveLength(0)
})

test('collections take at most a twentieth of the time', async () => {
  const { clock, freed_at, onFreed } = createFixture(10)

  for (let i = 0; i < 400; i++) {
    onFreed(8 * MIB)
    await clock.advance(1)
  }

  expect(freed_at.length).toBeGreaterThan(1)
  for (const [i, at] of freed_at.entries())
    expect(at - (freed_at[i - 1] ?? -Infinity)).toBeGreaterThanOrEqual(210)
})

test('slow collections are left to the engine for ten minutes', async () => {
  const { clock, freed_at, onFreed } = createFixture(51)

  for (let minute = 0; minute < 9; minute++) {
    onFreed(8 * MIB)
    await clock.advance(60_000)
  }
  expect(freed_at).toHaveLength(1)

  await clock.advance(120_000)
  expect(freed_at).toHaveLength(2)
})
