import { expect, test } from 'bun:test'

import * as fc from 'fast-check'

import { type Bucket, type Pace, perMinute, step } from '../../../../src/core/limits/pace.ts'

const READS: Pace = { burst: 20, per_s: 10, max_wait_ms: 10_000 }

/** Waits of calls made at these instants. */
function waits(pace: Pace, instants: number[]): (number | null)[] {
  let bucket: Bucket | undefined
  return instants.map((now) => {
    const taken = step(bucket, pace, now)
    bucket = taken.bucket
    return taken.wait_ms
  })
}

test('twenty calls pass at once, then ten a second', () => {
  const all = waits(READS, Array<number>(23).fill(0))

  expect(all.slice(0, 20)).toEqual(Array<number>(20).fill(0))
  expect(all.slice(20)).toEqual([100, 200, 300])
})

test('a call that would wait more than ten seconds is refused and takes nothing', () => {
  const all = waits(READS, Array<number>(125).fill(0))

  expect(all.filter((wait) => wait !== null)).toHaveLength(120)
  expect(all[119]).toBe(10_000)
  expect(all.slice(120)).toEqual([null, null, null, null, null])
})

test('a refused call is accepted after its retry delay', () => {
  let bucket: Bucket | undefined
  for (let n = 0; n < 120; n += 1) bucket = step(bucket, READS, 0).bucket
  const refused = step(bucket, READS, 0)

  expect(refused).toMatchObject({ wait_ms: null, retry_ms: 100 })
  expect(step(refused.bucket, READS, 100).wait_ms).toBe(10_000)
})

test('thirty a minute are thirty at once, and then one every two seconds', () => {
  const pace = perMinute(30)

  expect(waits(pace, Array<number>(31).fill(0)).at(-1)).toBeNull()
  expect(waits(pace, [...Array<number>(30).fill(0), 2_000, 2_001]).slice(-2)).toEqual([0, null])
})

test('a bucket refills to its burst and no further', () => {
  const empty = { tokens: -5, at: 0 }
  expect(step(empty, READS, 1_000_000).bucket.tokens).toBe(19)
})

test('a clock that goes back adds no tokens', () => {
  expect(step({ tokens: 0, at: 5_000 }, READS, 0)).toMatchObject({ wait_ms: 100 })
})

test('no period exceeds the burst, the rate and the wait', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(2_000), { maxLength: 300 }), (gaps) => {
      let now = 0
      const instants = gaps.map((gap) => (now += gap))
      const gone = waits(READS, instants).flatMap((wait, n) =>
        wait === null ? [] : [(instants[n] ?? 0) + wait],
      )
      const span_s = ((gone.at(-1) ?? 0) - (gone[0] ?? 0)) / 1000

      expect(gone.length).toBeLessThanOrEqual(READS.burst + READS.per_s * span_s + 1)
      expect(gone).toEqual(gone.toSorted((a, b) => a - b))
    }),
  )
})
