import { expect, setDefaultTimeout, test } from 'bun:test'

import { cases, isLongForm } from '../support/long-form.ts'
import { damageFile } from './corruption.ts'
import { fillDisk } from './disk-full.ts'
import { failDisk } from './io-errors.ts'
import { mountMemory, mountPowered, unavailableReason } from './mounts.ts'
import { cutPower } from './power-cut.ts'

// Goal: acknowledged writes survive any disk fault; a lost database is never replaced by an empty one; reads continue
// while the disk is full.
// Method: a full tmpfs, a file system with power cuts, a tracer that fails one system call, and a damaged database. The full
// disk and the power cuts take seconds of waiting: the long form. `bun run bar:disk` runs each at full size.

const SEED = Number(process.env['FORUMD_SEED'] ?? Math.floor(Math.random() * 1e9))
// Generous: the start and end of a daemon depend on the machine.
setDefaultTimeout(120_000)

const FAULTS = [
  { call: 'pwrite64', error: 'EIO', n: 60 },
  { call: 'pwrite64', error: 'ENOSPC', n: 60 },
  { call: 'fsync', error: 'EIO', n: 20 },
] as const

const no_memory = await unavailableReason(() => mountMemory(1))
const no_power = await unavailableReason(mountPowered)
for (const why of [no_memory, no_power]) if (why !== null) console.warn(`skipped: ${why}`)

test.skipIf(!isLongForm || no_memory !== null)(
  `a full disk rejects writes, serves reads and loses nothing (FORUMD_SEED=${SEED})`,
  async () => {
    const it = await fillDisk({
      seed: SEED,
      items_per_s: 10,
      before_ms: 1000,
      full_ms: 2000,
      greedy: true,
    })

    expect(it.noticed).toEqual({ full: true, recovered: true })
    expect(it.gets).toBeGreaterThan(0)
    expect(it).toMatchObject({ gets_failed: 0, writes_lost: 0, lost: 0, under_two_ids: 0 })
    expect([it.reads.other, it.writes.other]).toEqual([0, 0])
    expect(it.books).toMatchObject({ integrity: 'ok', other: 0, holds: 0, unbalanced: 0 })
    expect(Object.values(it.recovery_ms).every(Number.isFinite)).toBe(true)
  },
)

test.skipIf(!isLongForm || no_power !== null)(
  `a power cut loses no acknowledged write (FORUMD_SEED=${SEED})`,
  async () => {
    const it = await cutPower({ cuts: 3, seed: SEED, items_per_s: 20, life_ms: [100, 600] })

    expect(it.acknowledged.reads).toBeGreaterThan(0)
    expect(it.lost_writes).toEqual({ webhooks: 0, keys: 0, delivered: 0, reads: 0 })
    expect(it).toMatchObject({ lost: 0, under_two_ids: 0, unstable_bodies: 0 })
    expect(it.refused_or_broken).toBe(0)
    expect(it.books).toMatchObject({ integrity: 'ok', other: 0, holds: 0, unbalanced: 0 })
  },
)

test.skipIf(Bun.which('strace') === null)(
  `a failing write or fsync loses no acknowledged write (FORUMD_SEED=${SEED})`,
  async () => {
    const faults = FAULTS.slice(0, cases({ short: 2, long: FAULTS.length }))
    const it = await failDisk({ faults, seed: SEED, items_per_s: 10 })

    expect(it.struck).toBe(faults.length)
    // A start waits for its disk, and a full disk ends no daemon.
    const full = faults.filter(({ error }) => error === 'ENOSPC').length
    expect(it.ended + it.at_start).toBeGreaterThanOrEqual(faults.length - full)
    expect(it.acknowledged).toBeGreaterThan(0)
    expect(it).toMatchObject({ hung: 0, writes_lost: 0, reads_unbilled: 0, lost: 0 })
    expect(it.books).toMatchObject({ integrity: 'ok', other: 0, holds: 0, unbalanced: 0 })
  },
)

test('the daemon rejects a database damaged in any of six ways and leaves it unchanged', async () => {
  for (const { harm, ...found } of await damageFile(SEED))
    expect({ harm, ...found }).toEqual({
      harm,
      refused: true,
      refused_beside: true,
      untouched: true,
    })
})
