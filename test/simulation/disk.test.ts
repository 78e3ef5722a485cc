import { expect, test } from 'bun:test'

import { cases } from '../support/long-form.ts'
import { breaches, simulateFullDisk } from './bars.ts'

// Goal: if any write of a poll finds the disk full, for any duration, no observable item is lost
// without a gap. Method: the coverage simulation on a database whose transactions fail with
// SQLITE_FULL at a random write or at the commit. Stored items and reported coverage are compared
// with the truth.

const SEED = Number(process.env['FORUMD_SEED'] ?? 20_261_120)

test(`a disk full at any write loses no item without a gap (FORUMD_SEED=${SEED})`, async () => {
  const { verdict, unwritten, fulls } = await simulateFullDisk(SEED, cases({ short: 3, long: 10 }))

  expect(fulls).toBeGreaterThan(0)
  expect(unwritten.commits).toBeGreaterThan(10)
  expect(unwritten.failed).toBeGreaterThan(unwritten.commits)
  expect(verdict.items).toBeGreaterThan(1000)
  expect(breaches([verdict])).toEqual([])
}, 300_000)
