import type { Clock } from '../outside.ts'

/** What is smaller than this leaves nothing that has to be thought of. */
const LARGE_BYTES = 1024 * 1024
/** What may have been left behind before it is freed. */
export const OWED_MAX_BYTES = 8 * 1024 * 1024
/** Freeing takes at most one part in so many of the time. */
const REST = 20
/** Where freeing takes longer, the engine's own way, which lets others run meanwhile, is the better one. */
const SLOW_MS = 50
const SLOW_REST_MS = 600_000

type Deps = {
  clock: Clock
  /** Frees at once what nobody holds any more, and holds up everybody meanwhile. Without it nothing is done. */
  collect?: (() => void) | undefined
}

/** Told of every answer and every body how many bytes it leaves behind. */
export type Sweep = (bytes: number) => void

/**
 * Sees to it that what large ones leave behind is freed soon: the engine goes by how much of it there is beside all else,
 * and would let many of them gather.
 */
export function createSweep({ clock, collect }: Deps): Sweep {
  let owed_bytes = 0
  let waiting = false
  let rested_at = -Infinity

  async function sweep(free: () => void): Promise<void> {
    waiting = true
    // Not before whoever asked has read it; until then it is no garbage.
    await clock.sleep(Math.max(0, rested_at - clock.mono()))
    waiting = false
    owed_bytes = 0
    const began = clock.mono()
    free()
    const took_ms = clock.mono() - began
    rested_at = clock.mono() + (took_ms > SLOW_MS ? SLOW_REST_MS : took_ms * REST)
  }

  return (bytes) => {
    if (bytes < LARGE_BYTES || collect === undefined) return
    owed_bytes += bytes
    if (owed_bytes >= OWED_MAX_BYTES && !waiting) void sweep(collect)
  }
}
