import { IDEMPOTENCY_MS } from '../core/limits/idempotency.ts'
import { type Clock, createJumpWatch, type Log } from '../runtime/runtime.ts'
import { pruneFeedback } from '../store/customers/feedback.ts'
import { pruneNamedWrites } from '../store/customers/idempotency.ts'
import { ACTIONS_KEEP_MS, pruneActions } from '../store/customers/operator-actions.ts'
import { type Chunks, runCooperatively } from '../store/db/chunked.ts'
import { type Db, transact } from '../store/db/connection.ts'
import { blankBodies, packBodies } from '../store/delivery/deliveries.ts'
import { listStalled } from '../store/delivery/operator-events.ts'
import { forgetOldSecrets } from '../store/delivery/webhooks.ts'
import { pruneOld, RETENTION_DAYS } from '../store/maintenance/retention.ts'
import { pruneEvents, pruneHours } from '../store/monitoring/checks.ts'
import { updateFeedPace } from '../store/monitoring/feeds.ts'

const SETTLE_MS = 60_000
const PRUNE_MS = 3_600_000
/** Seen items that every feed keeps at least: a quiet place lists its old rows again and again. */
const KEEP_ITEMS = 2000
/** Age from which a delivery's body is compressed, ms; old bodies are rarely read. */
const PACK_AFTER_MS = 7 * 86_400_000
/** Bodies processed in one step, which takes some tens of milliseconds. */
const BODIES_AT_ONCE = 500
/** Bodies processed in one run. Upkeep runs once a minute, and this is more than a minute can add. */
const BODIES_PER_ITERATION = 10_000
const DAY_MS = 86_400_000
/** Time after which the platform's responses have shown whether a clock that is new or was just set is right. */
const UNSURE_MS = 10 * 60_000

/**
 * Creates the upkeep for a loop. It stops polling feeds without customers, deletes rows older than any health report
 * needs and expired idempotency records, and compresses old bodies. Returns the next instant to run, epoch ms.
 */
export function createUpkeep({
  db,
  clock,
  signal,
  clock_offset_ms,
  retention_days = 0,
  feedback_days = () => 0,
}: {
  db: Db
  clock: Clock
  /**
   * Milliseconds by which true time, taken from the platform, is ahead of our clock; absent: the local clock is
   * trusted at once.
   */
  clock_offset_ms?: () => number
  /** Aborts when the daemon stops. */
  signal: AbortSignal
  /** Days after which the bodies of deliveries are blanked; 0: never. */
  retention_days?: number
  /**
   * Days without a change after which feedback is deleted; 0: never. Read each time, since a reload may change it.
   */
  feedback_days?: () => number
}): () => Promise<number> {
  const jumped = createJumpWatch(clock)
  let sure_from = clock_offset_ms === undefined ? -Infinity : clock.mono() + UNSURE_MS
  let pruned_at = -Infinity

  async function forget(now: number): Promise<void> {
    forgetOldSecrets(db, now)
    await runCooperatively(
      inParts((limit) => packBodies(db, { before_at: now - PACK_AFTER_MS, now }, limit)),
      signal,
    )
    if (retention_days > 0)
      await runCooperatively(
        inParts((limit) =>
          blankBodies(db, { before_at: now - retention_days * DAY_MS, now }, limit),
        ),
        signal,
      )
    if (Math.abs(now - pruned_at) < PRUNE_MS) return
    const before_at = now - RETENTION_DAYS * DAY_MS
    transact(db, () => {
      pruneHours(db, now)
      pruneEvents(db, before_at)
      pruneNamedWrites(db, now - IDEMPOTENCY_MS)
      pruneActions(db, now - ACTIONS_KEEP_MS)
      if (feedback_days() > 0) pruneFeedback(db, now - feedback_days() * DAY_MS)
    })
    await runCooperatively(pruneOld(db, { before_at, keep: KEEP_ITEMS }), signal)
    pruned_at = now
  }

  return async () => {
    const now = clock.now()
    transact(db, () => updateFeedPace(db, now))
    if (jumped() !== 0) sure_from = clock.mono() + UNSURE_MS
    // Deletion is final: a clock that is ahead must not age any row. Rows are dated by either clock.
    const ahead_ms = Math.min(0, clock_offset_ms?.() ?? 0)
    if (clock.mono() >= sure_from) await forget(now + ahead_ms)
    return now + SETTLE_MS
  }
}

/** Processes as many bodies as one run may, in steps. `work` returns the number of bodies it found. */
function* inParts(work: (limit: number) => number): Chunks<void> {
  for (let done = 0; done < BODIES_PER_ITERATION;) {
    const count = work(BODIES_AT_ONCE)
    if (count === 0) return
    done += count
    yield
  }
}

/**
 * Creates the stall watch for a loop: reports each feed once that was not polled for three of its intervals while the
 * daemon was up.
 */
export function createStallWatch({
  db,
  clock,
  log,
}: {
  db: Db
  clock: Clock
  log: Log
}): () => void {
  const jumped = createJumpWatch(clock)
  let up_since = clock.now()
  let reported: readonly string[] = []
  return () => {
    const now = clock.now()
    // A clock jump or a suspended machine is no stall.
    if (jumped() !== 0) up_since = now
    const stalled = listStalled(db, { now, up_since })
    for (const stream of stalled)
      if (!reported.includes(stream)) log('warn', 'feed.stalled', { feed: stream })
    reported = stalled
  }
}
