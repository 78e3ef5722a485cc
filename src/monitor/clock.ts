import type { Clock } from '../outside.ts'

/** Steps smaller than this are slewing, not a jump. */
const JUMP_MIN_MS = 2000

/**
 * Asks whether the wall clock has jumped since the last time it was asked; by how much, in ms, 0 for not. A
 * machine that slept jumps forward: the other clock stood still meanwhile.
 */
export function createJumpWatch(clock: Clock): () => number {
  let wall = clock.now()
  let mono = clock.mono()
  return () => {
    const jump_ms = Math.round(clock.now() - wall - (clock.mono() - mono))
    wall = clock.now()
    mono = clock.mono()
    return Math.abs(jump_ms) > JUMP_MIN_MS ? jump_ms : 0
  }
}
