import type { Code } from './errors.ts'

/** The writes that may be drafted, by their paths below the API. */
export const DRAFT_ACTIONS = [
  'comment',
  'vote',
  'dm',
  'profile/description',
  'profile/display-name',
  'profile/avatar',
  'profile/banner',
] as const
/** What a draft may be of. */
export type DraftAction = (typeof DRAFT_ACTIONS)[number]

/** Where the write is done that a draft becomes once it is approved, below the place of the platform's calls. */
export const pathOfDraft = (action: DraftAction): string =>
  // No browser is needed for what a person has read already.
  action === 'comment' ? '/v2/comment' : `/${action}`

/** How long a draft may wait for somebody to approve it, as people are told it. */
export const DRAFT_HOURS = 24
/** The same in milliseconds. */
export const DRAFT_MS = DRAFT_HOURS * 3_600_000
/** What became of a draft that has waited too long. */
export const EXPIRED = `nobody approved it within ${DRAFT_HOURS} hours`

/**
 * Where a draft stands. `queued`: approved, and not begun; `running`: begun, and its end not written down; `done` and
 * `failed`: the platform has been asked.
 */
export const DRAFT_STATES = ['waiting', 'queued', 'running', 'done', 'failed', 'declined'] as const
export type DraftState = (typeof DRAFT_STATES)[number]

/** What a draft is called on the wire; its states are finer. */
export const DRAFT_STATUSES = ['waiting', 'approved', 'declined', 'expired', 'failed'] as const
/** The same as people are told it. */
export type DraftStatus = (typeof DRAFT_STATUSES)[number]

/** How a draft stands at an instant: one that nobody has begun ends by itself. */
export function statusOf(
  { state, expires_at }: { state: DraftState; expires_at: number },
  now: number,
): DraftStatus {
  switch (state) {
    case 'waiting':
      return now < expires_at ? 'waiting' : 'expired'
    case 'queued':
      return now < expires_at ? 'approved' : 'expired'
    case 'running':
    case 'done':
      return 'approved'
    case 'failed':
    case 'declined':
      return state
  }
}

/** Refusals of what was to be tried otherwise, later or with other means: nothing has been written. */
const NOTHING_DONE = [400, 401, 402, 408, 413, 429, 503]
const NOTHING_DONE_CODES: readonly Code[] = [
  'FEATURE_DISABLED',
  'FORUM_RATELIMIT',
  'UPSTREAM_BLOCKED',
  'PROXY_ERROR',
]

/** What becomes of a draft by how its write was answered. Only one of which it is known that nothing was done waits on. */
export function afterWrite(status: number, code: string | null): 'done' | 'failed' | 'waiting' {
  if (status === 200) return 'done'
  const open = NOTHING_DONE.includes(status) || NOTHING_DONE_CODES.some((it) => it === code)
  return open ? 'waiting' : 'failed'
}
