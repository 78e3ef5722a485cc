import { expect, test } from 'bun:test'

import { createMemoryRelease } from '../../../src/wiring/loops.ts'
import { fakeClock } from '../../support/clock.ts'

const MIB = 1024 * 1024

/** A process on a manual clock, sampled as often as the iteration requests. */
function createFixture() {
  const clock = fakeClock(() => Promise.resolve())
  const shrunk_at: number[] = []
  const own = {
    used_mib: 60,
    /** Share of a processor's time. */
    busy: 0,
    worked_ms: 0,
  }
  const turn = createMemoryRelease(clock, {
    resident_bytes: () => own.used_mib * MIB,
    cpu_ms: () => own.worked_ms,
    releaseMemory: () => void shrunk_at.push(clock.mono() / 1000),
  })

  /** Advances by seconds and samples when due. */
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

test('memory is released after growth by 8 MiB', async () => {
  const { own, pass, shrunk_at } = createFixture()
  await pass(20)

  own.used_mib += 7
  await pass(600)
  expect(shrunk_at).toEqual([])

  own.used_mib += 1
  await pass(10)
  expect(shrunk_at).toHaveLength(1)
})

test('the remainder is the baseline of further growth', async () => {
  const { own, pass, shrunk_at } = createFixture()
  await pass(20)
  own.used_mib += 40
  await pass(600)
  expect(shrunk_at).toHaveLength(1)

  own.used_mib += 8
  await pass(600)
  expect(shrunk_at).toHaveLength(2)
})

test('the lowest sample is the baseline, not the first', async () => {
  const { own, pass, shrunk_at } = createFixture()
  own.used_mib = 100
  await pass(20)
  own.used_mib = 60
  await pass(20)

  own.used_mib = 80
  await pass(20)

  expect(shrunk_at).toHaveLength(1)
})

// After each release, code is compiled again.
test.each([
  { busy: 0, rest_s: 30 },
  { busy: 0.01, rest_s: 50 },
  { busy: 0.1, rest_s: 210 },
  { busy: 0.25, rest_s: 480 },
  { busy: 1, rest_s: 1830 },
])('a process that is $busy busy gets no collection for $rest_s s', async ({ busy, rest_s }) => {
  const { own, pass, shrunk_at } = createFixture()
  own.busy = busy
  await pass(20)
  for (let round = 0; round < 400; round++) {
    own.used_mib += 20
    await pass(10)
  }

  // A start counts as one.
  const rests = shrunk_at.map((at, i) => at - (shrunk_at[i - 1] ?? 0))
  expect(rests.length).toBeGreaterThan(1)
  expect(new Set(rests)).toEqual(new Set([rest_s]))
})
