import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import * as z from 'zod'

const RESTARTS_MAX = 5
const WITHIN_MS = 600_000

const instants = z.array(z.number())
const fileOf = (dir: string) => join(dir, 'storage-errors.json')

/** When this folder's storage failed lately, as far as could be written down. */
function read(dir: string, now: number): number[] {
  try {
    return instants
      .parse(JSON.parse(readFileSync(fileOf(dir), 'utf8')))
      .filter((at) => Math.abs(now - at) < WITHIN_MS)
  } catch {
    return []
  }
}

/** Notes that the storage failed and a restart is asked for. On such a disk the note itself may fail. */
export function noteStorageError(dir: string, now: number): void {
  try {
    writeFileSync(fileOf(dir), JSON.stringify([...read(dir, now), now]), { mode: 0o600 })
  } catch {
    // Then the supervisor's own limit has to do.
  }
}

/** Whether the storage has failed of late, so that what it holds has to be looked at. */
export const failedLately = (dir: string, now: number): boolean => read(dir, now).length > 0

/** Whether restarts have not helped: five in ten minutes. */
export const restartsUseless = (dir: string, now: number): boolean =>
  read(dir, now).length >= RESTARTS_MAX
