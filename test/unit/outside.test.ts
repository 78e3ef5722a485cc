import { heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'
import { availableParallelism } from 'node:os'

import * as z from 'zod'

import { createOutside } from '../../src/outside.ts'

const { own } = createOutside(() => {})
if (own === undefined) throw new Error('nothing is known of the process')

/** Functions that are compiled. */
const compiled = () => heapStats().objectTypeCounts['FunctionCodeBlock'] ?? 0

const read = () =>
  z.object({ a: z.string().min(2), b: z.array(z.number()) }).safeParse({ a: 'x', b: [1, '2'] })

test('compiled code is dropped, and compiled again by whoever calls it', async () => {
  const said = read()
  const before = compiled()

  own.shrink()
  // It happens when nothing runs.
  await Bun.sleep(0)

  expect(compiled()).toBeLessThan(before / 2)
  expect(JSON.stringify(read())).toBe(JSON.stringify(said))
})

test('processor time is in milliseconds, and resident memory in bytes', () => {
  const worked_ms = own.cpu_ms()
  const began = performance.now()
  for (let i = 0; i < 1e7 && own.cpu_ms() - worked_ms < 40; i++);

  expect(own.cpu_ms() - worked_ms).toBeGreaterThanOrEqual(40)
  // Not sooner than all processors together can.
  expect(performance.now() - began).toBeGreaterThan(40 / (availableParallelism() + 1))
  expect(own.resident_bytes()).toBeGreaterThan(10_000_000)
})
