import type { Turn } from '../loop.ts'
import type { Clock, Own } from '../outside.ts'

const LOOK_MS = 10_000
/** For less, compiling again is not worth it. */
const GROWN_BYTES = 8 * 1024 * 1024
/** How long the engine is left alone where nothing is done, and by how much longer where a processor is busy all the time. */
const REST_MS = 30_000
const BUSY_REST_MS = 30 * 60_000

/**
 * A loop's turn that gives memory back once there is 8 MiB more of it than there was at the least since it last did: what
 * a burst had compiled, and what the allocator keeps for the next one. The busier the process, the more rarely: whoever
 * calls what was dropped waits for it to be compiled, some second of a processor in all.
 */
export function createShrink(clock: Clock, own: Own): Turn {
  let least_bytes = Infinity
  let looked_at = clock.mono()
  // What a start has compiled it needs at once.
  let shrunk_at = looked_at
  let worked_ms = own.cpu_ms()

  return () => {
    const at = clock.mono()
    const now_ms = own.cpu_ms()
    const busy = (now_ms - worked_ms) / (at - looked_at)
    looked_at = at
    worked_ms = now_ms

    const held_bytes = own.resident_bytes()
    least_bytes = Math.min(least_bytes, held_bytes)
    const rested = at - shrunk_at >= REST_MS + busy * BUSY_REST_MS
    if (held_bytes - least_bytes >= GROWN_BYTES && rested) {
      own.shrink()
      shrunk_at = at
      // What is given back is gone by the next look.
      least_bytes = Infinity
    }
    return Promise.resolve(clock.now() + LOOK_MS)
  }
}
