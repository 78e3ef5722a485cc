import { expect, test } from 'bun:test'

import { breaches, simulateFullDisk } from './bars.ts'

// Goal: whatever write of a check finds the disk full, and for however long, nothing that could be seen is lost.
// Method: the simulation of coverage, on a database whose transactions fail with SQLITE_FULL at a write of chance, or at
// their commit. What the rows hold and what health said is compared with what there was.

const SEED = Number(process.env['FORUMD_SEED'] ?? 20_261_120)

test(`a disk that is full at any write loses nothing in silence (FORUMD_SEED=${SEED})`, async () => {
  const { verdict, unwritten, fulls } = await simulateFullDisk(SEED, 10)

  expect(fulls).toBeGreaterThan(0)
  expect(unwritten.commits).toBeGreaterThan(10)
  expect(unwritten.failed).toBeGreaterThan(unwritten.commits)
  expect(verdict.items).toBeGreaterThan(1000)
  expect(breaches([verdict])).toEqual([])
}, 300_000)
