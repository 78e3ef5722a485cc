import { expect, test } from 'bun:test'
import { statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { passesWithDisk } from '../../../../src/store/startup/disk-trouble.ts'
import { mountMemory, unavailableReason } from '../../../chaos/mounts.ts'

const no_memory = await unavailableReason(() => mountMemory(1))
if (no_memory !== null) console.warn(`skipped: ${no_memory}`)

const failed = (code: string) => Object.assign(new Error(code), { code })

test.skipIf(no_memory !== null)(
  'an I/O error of SQLite passes with the disk where that is full, except a failed fsync and damage',
  async () => {
    await using disk = await mountMemory(1)
    const path = join(disk.path, 'forumd.sqlite')
    const passes = (code: string) => passesWithDisk(failed(code), path)
    expect([passes('SQLITE_FULL'), passes('SQLITE_IOERR_SHMSIZE')]).toEqual([true, false])

    const { bavail, bsize } = statfsSync(disk.path)
    writeFileSync(path, new Uint8Array(bavail * bsize))

    expect(
      ['SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE', 'SQLITE_CANTOPEN', 'SQLITE_IOERR_WRITE'].map(passes),
    ).toEqual([true, true, true, true])
    expect(['SQLITE_IOERR_FSYNC', 'SQLITE_CORRUPT', 'SQLITE_NOTADB'].map(passes)).toEqual([
      false,
      false,
      false,
    ])
  },
)
