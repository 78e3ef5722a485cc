import { expect, test } from 'bun:test'
import { existsSync, linkSync, statSync } from 'node:fs'

import { createReserveFile } from '../../../../src/store/maintenance/disk.ts'
import { tempFolder } from '../../../support/folder.ts'

const MIB = 1024 * 1024

test('32 MiB are reserved until released, and released once', async () => {
  using folder = tempFolder()
  const path = folder.file('ballast')
  const reserve = createReserveFile(path)
  expect(reserve.drop()).toBe(false)

  expect(await reserve.refill()).toBe(true)
  expect(statSync(path).blocks * 512).toBeGreaterThanOrEqual(32 * MIB)
  expect(reserve.drop()).toBe(true)
  expect([existsSync(path), reserve.drop()]).toEqual([false, false])
  expect(await reserve.refill()).toBe(true)
})

test('space released right after reserving began is not reserved', async () => {
  using folder = tempFolder()
  const path = folder.file('ballast')
  const reserve = createReserveFile(path)

  const taking = reserve.refill()
  expect([reserve.drop(), reserve.drop()]).toEqual([true, false])
  expect([await taking, existsSync(path)]).toEqual([false, false])
  expect([await reserve.refill(), existsSync(path)]).toEqual([true, true])
})

test('space released while reserving stops the reservation', async () => {
  using folder = tempFolder()
  const reserve = createReserveFile(folder.file('ballast'))
  const taking = reserve.refill()
  while (!existsSync(folder.file('ballast.part'))) await new Promise(setImmediate)
  linkSync(folder.file('ballast.part'), folder.file('taken'))

  reserve.drop()
  expect(await taking).toBe(false)
  expect(statSync(folder.file('taken')).size).toBeLessThan(16 * MIB)
})

test('no space is reserved where the free space is unknown', async () => {
  using folder = tempFolder()

  expect(await createReserveFile(folder.file('gone/ballast')).refill()).toBe(false)
})
