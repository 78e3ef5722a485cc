import { expect, test } from 'bun:test'

import { createRefusals } from '../../../src/api/app.ts'

const KIB = 1024

function createFixture() {
  const left: number[] = []
  return { left, onRefusal: createRefusals((bytes) => void left.push(bytes)) }
}

test('every 256 refusals are reported together with their memory', () => {
  const { left, onRefusal } = createFixture()

  for (let i = 0; i < 255; i++) onRefusal(400 + (i % 100))
  expect(left).toEqual([])

  onRefusal(503)
  expect(left).toEqual([2048 * KIB])

  for (let i = 0; i < 256; i++) onRefusal(403)
  expect(left).toEqual([2048 * KIB, 2048 * KIB])
})

test('successful calls are never reported', () => {
  const { left, onRefusal } = createFixture()

  for (let i = 0; i < 10_000; i++) onRefusal(200)
  for (let i = 0; i < 1000; i++) onRefusal(304)

  expect(left).toEqual([])
})
