import type { Clock } from '../runtime/runtime.ts'
import { type ProjectionDeps, projectMatches } from '../store/delivery/projections.ts'

/** Time between two steps, in which messages come together: each step is a commit. */
const EVERY_MS = 100
const IDLE_MS = 60_000

/** Creates the iteration in which kept items and inbox follow the messages. Returns the next instant to run, epoch ms. */
export function createProjector({
  clock,
  on_read,
  ...deps
}: ProjectionDeps & { clock: Clock; on_read: () => void }): () => Promise<number> {
  let from_mono = -Infinity
  return async () => {
    const wait_ms = from_mono - clock.mono()
    if (wait_ms > 0) return clock.now() + wait_ms
    const has_more = projectMatches(deps)
    on_read()
    if (has_more) return clock.now()
    from_mono = clock.mono() + EVERY_MS
    return clock.now() + IDLE_MS
  }
}
