import type { Liveness } from '../core/items.ts'
import { bareId } from '../core/names.ts'
import { ok, type Outcome } from '../core/outcome.ts'
import type { Call, Platform } from '../platform/platform.ts'

/** `id` as it was asked; `name` is null where that is no comment's id at all. */
type Verified = { id: string; name: string | null; status: Liveness }
/** What became of comments, in the order asked. */
export type VerifyBody = { comments: Verified[] }

/** Which of these comments are still there: an entry for each id asked, in its order, repeats included. */
export async function verifyComments(
  platform: Platform,
  asked: readonly string[],
  call: Call,
): Promise<Outcome<VerifyBody>> {
  const ids = asked.map((id) => bareId('t1_', id))
  const known = [...new Set(ids.filter((id) => id !== null))]
  const found = known.length === 0 ? ok(new Map()) : await platform.liveness(known, call)
  if (!found.ok) return found
  const comments = asked.map((id, index): Verified => {
    const bare = ids[index] ?? null
    if (bare === null) return { id, name: null, status: 'not_found' }
    return { id, name: `t1_${bare}`, status: found.value.get(bare) ?? 'not_found' }
  })
  return ok({ comments })
}
