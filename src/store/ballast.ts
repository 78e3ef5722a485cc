import { closeSync, existsSync, fsyncSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'

const MIB = 1024 * 1024
const BALLAST_MIB = 32

/** Space that is held back, so that there is some to finish with when the disk is full. */
export type Ballast = {
  /** Gives the space free; false when it has been given already. */
  drop(): boolean
  /** Takes the space again when there is plenty; whether it is there now. */
  refill(): boolean
}

/** Bytes that a file system has left for us. */
function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize
}

/** Whether the space of a data folder is held back at this moment. */
export const hasBallast = (dir: string): boolean => existsSync(join(dir, BALLAST))

/** What the ballast is called in its folder. */
export const BALLAST = 'ballast'

/** A file of 32 MiB of real blocks. With half of it again left over beside it, the disk counts as not full. */
export function createBallast(path: string): Ballast {
  return {
    drop() {
      if (!existsSync(path)) return false
      rmSync(path, { force: true })
      return true
    },
    refill() {
      if (existsSync(path)) return true
      if (freeBytes(dirname(path)) < BALLAST_MIB * MIB * 1.5) return false
      try {
        fill(path)
        return true
      } catch {
        // Whatever took the space in the meantime, a ballast cut short is none.
        rmSync(path, { force: true })
        return false
      }
    },
  }
}

function fill(path: string): void {
  const handle = openSync(path, 'w', 0o600)
  try {
    // A file of holes would hold nothing back.
    const block = new Uint8Array(MIB).fill(0x66)
    for (let n = 0; n < BALLAST_MIB; n++) writeSync(handle, block)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
