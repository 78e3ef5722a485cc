import { expect, test } from 'bun:test'

import { createSweep } from '../../../src/net/sweep.ts'
import { fakeClock } from '../../support/clock.ts'

const MIB = 1024 * 1024

/** A sweep on a clock we hold, of which freeing takes so long. */
function stage(took_ms = 0) {
  const clock = fakeClock(() => Promise.resolve())
  const freed_at: number[] = []
  let lasts_ms = 0
  // Nothing but freeing takes time here, and only by this clock.
  const mono = () => clock.mono() + lasts_ms
  const began = clock.mono()
  const collect = () => {
    freed_at.push(mono() - began)
    lasts_ms += took_ms
  }
  return { clock, freed_at, sweep: createSweep({ clock: { ...clock, mono }, collect }) }
}

test('what large answers leave is freed once it is 8 MiB', async () => {
  const { clock, freed_at, sweep } = stage()

  for (let i = 0; i < 7; i++) sweep(MIB)
  await clock.advance(1)
  expect(freed_at).toHaveLength(0)

  sweep(MIB)
  await clock.advance(1)
  expect(freed_at).toHaveLength(1)

  sweep(7 * MIB)
  await clock.advance(1)
  expect(freed_at).toHaveLength(1)
})

test('nothing is freed before whoever asked has read the answer', async () => {
  const { clock, freed_at, sweep } = stage()

  sweep(8 * MIB)

  expect(freed_at).toHaveLength(0)
  await clock.advance(1)
  expect(freed_at).toHaveLength(1)
})

test('small answers are left to the engine, however many they are', async () => {
  const { clock, freed_at, sweep } = stage()

  for (let i = 0; i < 100; i++) sweep(MIB - 1)
  await clock.advance(1)

  expect(freed_at).toHaveLength(0)
})

test('freeing takes at most a twentieth of the time', async () => {
  const { clock, freed_at, sweep } = stage(10)

  for (let i = 0; i < 400; i++) {
    sweep(8 * MIB)
    await clock.advance(1)
  }

  expect(freed_at.length).toBeGreaterThan(1)
  for (const [i, at] of freed_at.entries())
    expect(at - (freed_at[i - 1] ?? -Infinity)).toBeGreaterThanOrEqual(210)
})

test('where freeing holds up everybody for long, it is left to the engine for ten minutes', async () => {
  const { clock, freed_at, sweep } = stage(51)

  for (let minute = 0; minute < 9; minute++) {
    sweep(8 * MIB)
    await clock.advance(60_000)
  }
  expect(freed_at).toHaveLength(1)

  await clock.advance(120_000)
  expect(freed_at).toHaveLength(2)
})
