import type { ErrorCode } from '../base/errors.ts'

/** Writes that can be drafted, by their paths below the API. */
export const DRAFT_ACTIONS = [
  'comment',
  'vote',
  'dm',
  'profile/description',
  'profile/display-name',
  'profile/avatar',
  'profile/banner',
] as const
export type DraftAction = (typeof DRAFT_ACTIONS)[number]

/** Path of the write that an approved draft performs, below the platform's prefix. */
export const pathOfDraft = (action: DraftAction): string =>
  // A draft was already reviewed by a person, so it needs no browser.
  action === 'comment' ? '/v2/comment' : `/${action}`

/** Hours until an undecided draft expires. */
export const DRAFT_HOURS = 24
/** {@link DRAFT_HOURS} in milliseconds. */
export const DRAFT_MS = DRAFT_HOURS * 3_600_000
export const EXPIRED = `not approved within ${DRAFT_HOURS} hours`

/**
 * Stored states of a draft. `running`: started, without a recorded result. `done` and `failed`: the platform was requested.
 */
export const DRAFT_STATES = ['waiting', 'running', 'done', 'failed', 'declined'] as const
export type DraftState = (typeof DRAFT_STATES)[number]

/** Public statuses of a draft; the stored states are finer. */
export const DRAFT_STATUSES = ['waiting', 'approved', 'declined', 'expired', 'failed'] as const
export type DraftStatus = (typeof DRAFT_STATUSES)[number]

/** Status of a draft at an instant: an unstarted draft expires without an event. */
export function statusOf(
  { state, expires_at }: { state: DraftState; expires_at: number },
  now: number,
): DraftStatus {
  switch (state) {
    case 'waiting':
      return now < expires_at ? 'waiting' : 'expired'
    case 'running':
    case 'done':
      return 'approved'
    case 'failed':
    case 'declined':
      return state
  }
}

/** Statuses after which no action was taken, so that the draft can be approved again. */
const NOTHING_DONE = [400, 401, 402, 408, 413, 429, 503]
const NOTHING_DONE_CODES: readonly ErrorCode[] = [
  'FEATURE_DISABLED',
  'FORUM_RATELIMIT',
  'UPSTREAM_BLOCKED',
  'PROXY_ERROR',
]

/**
 * State of a draft after its write. It waits on only if the response proves that no action was
 * taken.
 */
export function afterWrite(status: number, code: string | null): 'done' | 'failed' | 'waiting' {
  if (status === 200) return 'done'
  const open = NOTHING_DONE.includes(status) || NOTHING_DONE_CODES.some((it) => it === code)
  return open ? 'waiting' : 'failed'
}
