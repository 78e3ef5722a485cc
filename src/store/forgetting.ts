import { pruneChecks } from './checks.ts'
import type { Db } from './db.ts'
import { type FetchPlace, pruneMatchBodies } from './match-bodies.ts'
import type { Parts } from './parts.ts'
import { pruneSeen } from './seen.ts'

/** How many days checks, gaps, events, seen items and what is there to fetch are kept; health looks back one. */
export const KEPT_DAYS = 14
/** Rows of a kind that go in one commit: a matter of milliseconds. */
const AT_ONCE = 500

/**
 * Forgets checks, gaps, seen items and what is there to fetch from before `before_at`, a part at a time: after a quiet
 * fortnight of a busy house every hour has as many rows to lose as it has gained. Of seen items every stream keeps its
 * newest `keep`.
 */
export function* forgetOld(
  db: Db,
  { before_at, keep }: { before_at: number; keep: number },
): Parts<void> {
  const old = { before_at, limit: AT_ONCE }
  for (const { id: stream_id } of db.query<{ id: number }, []>('SELECT id FROM streams').all()) {
    yield* untilNone(() => pruneChecks(db, { ...old, stream_id }))
    yield* untilNone(() => pruneSeen(db, { ...old, stream_id, keep }))
  }
  // By place, for those that stay would be looked at in every part.
  let after: FetchPlace | null = { matched_at: -1, row: 0 }
  while (after !== null) {
    after = pruneMatchBodies(db, { ...old, after })
    yield
  }
}

function* untilNone(prune: () => number): Parts<void> {
  while (prune() > 0) yield
  yield
}
