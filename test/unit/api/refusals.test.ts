import { expect, test } from 'bun:test'

import { createRefusals } from '../../../src/api/refusals.ts'

const KIB = 1024

function stage() {
  const left: number[] = []
  return { left, heard: createRefusals((bytes) => void left.push(bytes)) }
}

test('every two hundred and fifty-six refusals are told as what they leave behind together', () => {
  const { left, heard } = stage()

  for (let i = 0; i < 255; i++) heard(400 + (i % 100))
  expect(left).toEqual([])

  heard(503)
  expect(left).toEqual([2048 * KIB])

  for (let i = 0; i < 256; i++) heard(403)
  expect(left).toEqual([2048 * KIB, 2048 * KIB])
})

test('who is served leaves nothing that has to be thought of, however often', () => {
  const { left, heard } = stage()

  for (let i = 0; i < 10_000; i++) heard(200)
  for (let i = 0; i < 1000; i++) heard(304)

  expect(left).toEqual([])
})
