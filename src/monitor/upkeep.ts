import { IDEMPOTENCY_MS } from '../core/idempotency.ts'
import { type Clock, createJumpWatch } from '../outside.ts'
import { blankBodies, packBodies } from '../store/bodies.ts'
import { pruneHours } from '../store/convoys.ts'
import { type Db, transact } from '../store/db.ts'
import { pruneEvents } from '../store/events.ts'
import { forgetOld, KEPT_DAYS } from '../store/forgetting.ts'
import { pruneNamedWrites } from '../store/idempotency.ts'
import { byTurns, type Parts } from '../store/parts.ts'
import { settleStreams } from '../store/stream-life.ts'
import { forgetOldSecrets } from '../store/webhooks.ts'

const SETTLE_MS = 60_000
const PRUNE_MS = 3_600_000
/** Of seen items every stream keeps at least so many: a quiet place shows its old rows again and again. */
const KEEP_ITEMS = 2000
/** After so long nobody but a reader of old lists wants a delivery's body. */
const PACK_AFTER_MS = 7 * 86_400_000
/** Bodies worked on in one go: some tens of milliseconds. */
const BODIES_AT_ONCE = 500
/** Bodies worked on in one turn, of which there is one a minute: more than are written in a minute, or it would never catch up. */
const BODIES_A_TURN = 10_000
const DAY_MS = 86_400_000
/** After so long the platform's answers have told whether a clock is right that was just set, or is new to us. */
const UNSURE_MS = 10 * 60_000

/**
 * Housekeeping, for a loop: puts streams to sleep whose customers are gone, and forgets what no health report looks at
 * any more, and the answers of writes that are no longer promised; packs old bodies. Returns when to come again.
 */
export function createUpkeep({
  db,
  clock,
  signal,
  clock_offset_ms,
  retention_days = 0,
}: {
  db: Db
  clock: Clock
  /** How far true time is ahead of our clock, as the platform tells it; left out, ours is believed at once. */
  clock_offset_ms?: () => number
  /** Aborts when the daemon stops. */
  signal: AbortSignal
  /** After so many days the bodies of deliveries are blanked; 0: never. */
  retention_days?: number
}): () => Promise<number> {
  const jumped = createJumpWatch(clock)
  let sure_from = clock_offset_ms === undefined ? -Infinity : clock.mono() + UNSURE_MS
  let pruned_at = -Infinity

  async function forget(now: number): Promise<void> {
    forgetOldSecrets(db, now)
    await byTurns(
      inParts((limit) => packBodies(db, { before_at: now - PACK_AFTER_MS, now }, limit)),
      signal,
    )
    if (retention_days > 0)
      await byTurns(
        inParts((limit) =>
          blankBodies(db, { before_at: now - retention_days * DAY_MS, now }, limit),
        ),
        signal,
      )
    if (Math.abs(now - pruned_at) < PRUNE_MS) return
    const before_at = now - KEPT_DAYS * DAY_MS
    transact(db, () => {
      pruneHours(db, now)
      pruneEvents(db, before_at)
      pruneNamedWrites(db, now - IDEMPOTENCY_MS)
    })
    await byTurns(forgetOld(db, { before_at, keep: KEEP_ITEMS }), signal)
    pruned_at = now
  }

  return async () => {
    const now = clock.now()
    transact(db, () => settleStreams(db, now))
    if (jumped() !== 0) sure_from = clock.mono() + UNSURE_MS
    // What is forgotten is gone: a clock that is ahead must not make anything old. Rows are dated by either clock.
    const ahead_ms = Math.min(0, clock_offset_ms?.() ?? 0)
    if (clock.mono() >= sure_from) await forget(now + ahead_ms)
    return now + SETTLE_MS
  }
}

/** Works on as many bodies as one turn may, a part at a time. `work` returns how many it found to work on. */
function* inParts(work: (limit: number) => number): Parts<void> {
  for (let done = 0; done < BODIES_A_TURN;) {
    const count = work(BODIES_AT_ONCE)
    if (count === 0) return
    done += count
    yield
  }
}
