import { expect, test } from 'bun:test'

import { createShrink } from '../../../src/assembly/shrink.ts'
import { fakeClock } from '../../support/clock.ts'

const MIB = 1024 * 1024

/** A process on a clock we hold, looked at as often as the turn asks for. */
function stage() {
  const clock = fakeClock(() => Promise.resolve())
  const shrunk_at: number[] = []
  const own = {
    held_mib: 60,
    /** Of a processor's time. */
    busy: 0,
    worked_ms: 0,
  }
  const turn = createShrink(clock, {
    resident_bytes: () => own.held_mib * MIB,
    cpu_ms: () => own.worked_ms,
    shrink: () => void shrunk_at.push(clock.mono() / 1000),
  })

  /** Seconds go by, with a look whenever one is due. */
  async function pass(s: number) {
    const end = clock.now() + s * 1000
    for (;;) {
      const due_at = await turn()
      if (due_at > end) return
      own.worked_ms += (due_at - clock.now()) * own.busy
      await clock.advance(due_at - clock.now())
    }
  }
  return { own, pass, shrunk_at }
}

test('memory is given back once there is 8 MiB more of it than there was', async () => {
  const { own, pass, shrunk_at } = stage()
  await pass(20)

  own.held_mib += 7
  await pass(600)
  expect(shrunk_at).toEqual([])

  own.held_mib += 1
  await pass(10)
  expect(shrunk_at).toHaveLength(1)
})

test('what stays after that is what it grows from next', async () => {
  const { own, pass, shrunk_at } = stage()
  await pass(20)
  own.held_mib += 40
  await pass(600)
  expect(shrunk_at).toHaveLength(1)

  own.held_mib += 8
  await pass(600)
  expect(shrunk_at).toHaveLength(2)
})

test('the least there was is what counts, not what there was at the first look', async () => {
  const { own, pass, shrunk_at } = stage()
  own.held_mib = 100
  await pass(20)
  own.held_mib = 60
  await pass(20)

  own.held_mib = 80
  await pass(20)

  expect(shrunk_at).toHaveLength(1)
})

// After each, compiling begins anew.
test.each([
  { busy: 0, rest_s: 30 },
  { busy: 0.01, rest_s: 50 },
  { busy: 0.1, rest_s: 210 },
  { busy: 0.25, rest_s: 480 },
  { busy: 1, rest_s: 1830 },
])('a process that is $busy busy is left alone for $rest_s s', async ({ busy, rest_s }) => {
  const { own, pass, shrunk_at } = stage()
  own.busy = busy
  await pass(20)
  for (let round = 0; round < 400; round++) {
    own.held_mib += 20
    await pass(10)
  }

  // A start counts as one.
  const rests = shrunk_at.map((at, i) => at - (shrunk_at[i - 1] ?? 0))
  expect(rests.length).toBeGreaterThan(1)
  expect(new Set(rests)).toEqual(new Set([rest_s]))
})
