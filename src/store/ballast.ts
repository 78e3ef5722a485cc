import { existsSync, renameSync, rmSync, statfsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const MIB = 1024 * 1024
const BALLAST_MIB = 32

/** Space that is held back, so that there is some to finish with when the disk is full. */
export type Ballast = {
  /** Gives the space free, also what of it is being taken just now; false when it has been given already. */
  drop(): boolean
  /** Takes the space again when there is plenty; whether it is there then. Nobody has to wait for the disk meanwhile. */
  refill(): Promise<boolean>
}

/** Bytes that a file system has left for us; none where it does not tell. */
function freeBytes(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(path)
    return bavail * bsize
  } catch {
    return 0
  }
}

/** Whether the space of a data folder is held back at this moment. */
export const hasBallast = (dir: string): boolean => existsSync(join(dir, BALLAST))

/** What the ballast is called in its folder. */
export const BALLAST = 'ballast'

/** A file of 32 MiB of real blocks. With half of it again left over beside it, the disk counts as not full. */
export function createBallast(path: string): Ballast {
  // It has its name once it is whole: a ballast cut short is none.
  const part = `${path}.part`
  let filling: Promise<boolean> | null = null
  let given = false

  async function fill(): Promise<boolean> {
    given = false
    try {
      await using handle = await open(part, 'w', 0o600)
      // A file of holes would hold nothing back.
      const block = new Uint8Array(MIB).fill(0x66)
      // What was given free meanwhile stays so: of a file that is open still, the blocks are held until it is closed.
      for (let n = 0; n < BALLAST_MIB; n++) {
        if (given) return false
        await handle.write(block)
      }
      await handle.sync()
      if (given) return false
      renameSync(part, path)
      return true
    } catch {
      // Somebody else has the space now.
      return false
    } finally {
      rmSync(part, { force: true })
      filling = null
    }
  }

  return {
    drop() {
      const freed = (filling !== null && !given) || existsSync(path)
      given = true
      for (const it of [path, part]) rmSync(it, { force: true })
      return freed
    },
    async refill() {
      if (filling !== null) return filling
      if (existsSync(path)) return true
      if (freeBytes(dirname(path)) < BALLAST_MIB * MIB * 1.5) return false
      return (filling = fill())
    },
  }
}
