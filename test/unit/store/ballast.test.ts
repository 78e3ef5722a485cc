import { expect, test } from 'bun:test'
import { existsSync, linkSync, statSync } from 'node:fs'

import { createBallast } from '../../../src/store/ballast.ts'
import { tempFolder } from '../../support/folder.ts'

const MIB = 1024 * 1024

test('32 MiB are held back, until they are given free; twice they are not', async () => {
  using folder = tempFolder()
  const path = folder.file('ballast')
  const ballast = createBallast(path)
  expect(ballast.drop()).toBe(false)

  expect(await ballast.refill()).toBe(true)
  expect(statSync(path).blocks * 512).toBeGreaterThanOrEqual(32 * MIB)
  expect(ballast.drop()).toBe(true)
  expect([existsSync(path), ballast.drop()]).toEqual([false, false])
  expect(await ballast.refill()).toBe(true)
})

test('space that is given free while it has hardly begun to be taken is not taken', async () => {
  using folder = tempFolder()
  const path = folder.file('ballast')
  const ballast = createBallast(path)

  const taking = ballast.refill()
  expect([ballast.drop(), ballast.drop()]).toEqual([true, false])
  expect([await taking, existsSync(path)]).toEqual([false, false])
  expect([await ballast.refill(), existsSync(path)]).toEqual([true, true])
})

test('space that is given free in the middle of its being taken is not taken any further', async () => {
  using folder = tempFolder()
  const ballast = createBallast(folder.file('ballast'))
  const taking = ballast.refill()
  while (!existsSync(folder.file('ballast.part'))) await new Promise(setImmediate)
  linkSync(folder.file('ballast.part'), folder.file('taken'))

  ballast.drop()
  expect(await taking).toBe(false)
  expect(statSync(folder.file('taken')).size).toBeLessThan(16 * MIB)
})

test('where nobody tells how much space there is, none is held back', async () => {
  using folder = tempFolder()

  expect(await createBallast(folder.file('gone/ballast')).refill()).toBe(false)
})
