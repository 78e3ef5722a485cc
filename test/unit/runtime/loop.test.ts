import { expect, test } from 'bun:test'

import { startLoop } from '../../../src/runtime/loop.ts'
import { fakeClock } from '../../support/clock.ts'

const DAY_MS = 86_400_000
const settle = () => new Promise<void>((resolve) => setImmediate(resolve))

function startIterations(turn: (n: number) => void) {
  const clock = fakeClock(settle)
  const turns: number[] = []
  const ending = new AbortController()
  const loop = startLoop({ clock, log: () => {} }, 'loop', ending.signal, async () => {
    turns.push(clock.mono())
    const due_at = clock.now() + 10_000
    turn(turns.length)
    return due_at
  })
  return {
    clock,
    turns,
    async [Symbol.asyncDispose]() {
      ending.abort()
      await loop.stopped
    },
  }
}

test('runs again when it is due, and not earlier', async () => {
  await using it = startIterations(() => {})

  await it.clock.advance(25_000)

  expect(it.turns).toEqual([0, 10_000, 20_000])
})

test.each([-DAY_MS, DAY_MS])(
  'runs again at once after a clock change of %i ms during an iteration',
  async (jump_ms) => {
    const clock: { jump?: (ms: number) => void } = {}
    await using it = startIterations((n) => n === 2 && clock.jump?.(jump_ms))
    clock.jump = it.clock.jump

    await it.clock.advance(25_000)

    expect(it.turns).toEqual([0, 10_000, 10_000, 20_000])
  },
)
