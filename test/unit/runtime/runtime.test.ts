import { heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'
import { availableParallelism } from 'node:os'

import * as z from 'zod'

import { createRuntime } from '../../../src/runtime/runtime.ts'

const { own } = createRuntime(() => {})
if (own === undefined) throw new Error('the runtime has no process')

/** Number of compiled functions. */
const compiled = () => heapStats().objectTypeCounts['FunctionCodeBlock'] ?? 0

const read = () =>
  z.object({ a: z.string().min(2), b: z.array(z.number()) }).safeParse({ a: 'x', b: [1, '2'] })

test('compiled code is dropped, and compiled again on use', async () => {
  const reading = read()
  const before = compiled()

  own.releaseMemory()
  // It happens when nothing runs.
  await Bun.sleep(0)

  expect(compiled()).toBeLessThan(before / 2)
  expect(JSON.stringify(read())).toBe(JSON.stringify(reading))
})

test('processor time is in milliseconds, and resident memory in bytes', () => {
  const worked_ms = own.cpu_ms()
  const began = performance.now()
  for (let i = 0; i < 1e7 && own.cpu_ms() - worked_ms < 40; i++);

  expect(own.cpu_ms() - worked_ms).toBeGreaterThanOrEqual(40)
  // Not earlier than with all processors together.
  expect(performance.now() - began).toBeGreaterThan(40 / (availableParallelism() + 1))
  expect(own.resident_bytes()).toBeGreaterThan(10_000_000)
})
