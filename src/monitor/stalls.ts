import type { Clock, Log } from '../outside.ts'
import type { Db } from '../store/db.ts'
import { listStalled } from '../store/operator-events.ts'

/** Says once of every stream that it has stalled, for a loop: three of its intervals without a look, while we were up. */
export function createStallWatch({
  db,
  clock,
  log,
}: {
  db: Db
  clock: Clock
  log: Log
}): () => void {
  let [up_since, mono] = [clock.now(), clock.mono()]
  let known: readonly string[] = []
  return () => {
    const now = clock.now()
    // A clock that jumped, or a machine that slept, is no stall.
    if (Math.abs(now - up_since - (clock.mono() - mono)) > 2000)
      [up_since, mono] = [now, clock.mono()]
    const stalled = listStalled(db, { now, up_since })
    for (const stream of stalled)
      if (!known.includes(stream)) log('warn', 'stream.stalled', { stream })
    known = stalled
  }
}
