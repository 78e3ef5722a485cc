import type { Fault } from '../base/result.ts'

export const ACCOUNT_STATES = [
  'ready',
  'cooling',
  'needs_login',
  'suspended',
  'locked',
  'paused',
] as const
/**
 * State of an account of the pool. Only a ready account is used; only a cooling that was caused by
 * throttling ends by time alone.
 */
export type AccountState = (typeof ACCOUNT_STATES)[number]

export type StateReason =
  | 'throttled'
  | 'blocked'
  | 'login_page'
  | 'never_signed_in'
  | 'logged_out'
  | 'token_refused'
  | 'client_revoked'
  | 'wrong_credentials'
  | 'second_factor_required'
  | 'second_factor_refused'
  | 'human_check'
  | 'suspended'
  | 'password_reset'
  | 'operator'

/** Status of an account. Instants are epoch ms. */
export type AccountStatus = Readonly<{
  state: AccountState
  state_reason: StateReason | null
  state_since: number
  /** Set if and only if the state is cooling. */
  cooling_until: number | null
  /**
   * Consecutive block pages. A single one proves nothing: it may concern the path, the address or
   * the session.
   */
  strikes: number
  /** Consecutive inconclusive session checks. */
  probes: number
  /** Instant of the next session check; null: none until something happens. */
  probe_at: number | null
}>

export type AccountResult =
  | { kind: 'alive' | 'logged_out' | 'suspended' | 'locked' | 'blocked' | 'unclear' }
  | { kind: 'throttled'; retry_after_s: number }

/**
 * Consecutive block pages after which the account is not used until a session check has explained
 * them.
 */
const STRIKES_MAX = 3
/** Delays between session checks; the last one repeats. */
const PROBE_WAITS_S = [30, 120, 480, 900]
/** Interval of session checks on a ready account: nothing else reveals a suspension. */
const CHECKUP_MS = 3_600_000
/** Upper bound of a throttling period in seconds. */
const COOLING_MAX_S = 3600

/** Status of an account that is usable at once; its first session check is due. */
export const newStatus = (now: number): AccountStatus => ({
  state: 'ready',
  state_reason: null,
  state_since: now,
  cooling_until: null,
  strikes: 0,
  probes: 0,
  probe_at: now,
})

/** Status of an account that has no session yet. */
export const unsigned = (now: number): AccountStatus => needsLogin(now, 'never_signed_in')

export const paused = (now: number): AccountStatus => ({
  ...newStatus(now),
  state: 'paused',
  state_reason: 'operator',
  probe_at: null,
})

export function expireCooling(it: AccountStatus, now: number): AccountStatus {
  const over = it.state === 'cooling' && it.state_reason === 'throttled' && reached(it, now)
  return over ? { ...ready(it, now), probe_at: it.probe_at } : it
}

const reached = ({ cooling_until }: AccountStatus, now: number) =>
  cooling_until !== null && isOver(cooling_until, now, COOLING_MAX_S * 1000)

/** Clock corrections up to this size do not count as setting the clock back. */
const CORRECTED_MS = 60_000

/**
 * True once an instant has come. An instant further ahead than `longest_ms` was set before the
 * clock was put back, so it counts as over.
 */
export const isOver = (at: number, now: number, longest_ms: number): boolean =>
  now >= at || at - now > longest_ms + CORRECTED_MS

export function afterAnswer(it: AccountStatus, fault: Fault | null, now: number): AccountStatus {
  // An older request in flight does not override a state found since.
  if (it.state !== 'ready' && it.state !== 'cooling') return it
  switch (fault?.kind) {
    case 'throttled':
      return recordThrottling(it, now, fault.retry_after_s)
    case 'blocked':
      return recordBlock(it, now)
    case 'login_required':
      return suspect(it, now, 'login_page', 0)
    // A failure of the route, or no response, says nothing about the account.
    case 'timeout':
    case 'unavailable':
    case 'proxy':
      return it
    // A refusal in the platform's own format proves that its edge let the request in.
    case 'forbidden':
    case 'not_found':
    case 'unreadable':
    case 'rejected':
    case 'unsupported':
    case undefined:
      return it.strikes === 0 ? it : { ...it, strikes: 0 }
  }
}

function recordThrottling(it: AccountStatus, now: number, retry_after_s: number): AccountStatus {
  const until = now + Math.min(retry_after_s, COOLING_MAX_S) * 1000
  // While a block is being examined, a throttling only delays the next session check.
  if (it.state === 'cooling' && it.state_reason !== 'throttled')
    return { ...it, cooling_until: until, probe_at: Math.max(until, it.probe_at ?? until) }
  const begun = it.state === 'cooling' ? it.state_since : now
  const cooling_until = Math.max(until, it.cooling_until ?? until)
  return { ...it, state: 'cooling', state_reason: 'throttled', state_since: begun, cooling_until }
}

function recordBlock(it: AccountStatus, now: number): AccountStatus {
  const strikes = it.strikes + 1
  if (it.state === 'cooling' || strikes < STRIKES_MAX) return { ...it, strikes }
  return { ...suspect(it, now, 'blocked', waitMs(0)), strikes }
}

function suspect(
  it: AccountStatus,
  now: number,
  reason: StateReason,
  wait_ms: number,
): AccountStatus {
  if (it.state === 'cooling' && it.state_reason !== 'throttled') return it
  const at = now + wait_ms
  return {
    ...it,
    state: 'cooling',
    state_reason: reason,
    state_since: now,
    cooling_until: at,
    probes: 0,
    probe_at: at,
  }
}

const waitMs = (probes: number): number =>
  (PROBE_WAITS_S[Math.min(probes, PROBE_WAITS_S.length - 1)] ?? 0) * 1000

/**
 * Status after a session check. A session ends if the platform answers as to an anonymous
 * client, or with a block page after {@link STRIKES_MAX} others.
 */
export function afterProbe(it: AccountStatus, result: AccountResult, now: number): AccountStatus {
  if (it.state === 'paused') return it
  switch (result.kind) {
    case 'alive':
      return it.state === 'ready' ? { ...it, strikes: 0, ...checkup(now) } : ready(it, now)
    case 'logged_out':
      return loggedOut(it, now)
    case 'suspended':
    case 'locked':
      return afterStop(it, result.kind, now)
    case 'throttled': {
      const until = now + Math.min(result.retry_after_s, COOLING_MAX_S) * 1000
      return it.state === 'ready'
        ? recordThrottling({ ...it, probe_at: until }, now, result.retry_after_s)
        : probeLater(it, until)
    }
    case 'blocked':
      return blockedProbe(it, now)
    case 'unclear':
      return probeLater(it, now + waitMs(it.probes + 1), it.probes + 1)
  }
}

/** Delay before the check that confirms the end of a session. */
const CONFIRM_MS = 120_000
/** Delays between checks of a session that has ended by two answers; the last one repeats. */
const ENDED_WAITS_MS = [600_000, 3_600_000, 21_600_000]
/** Longest delay of a session check. */
export const PROBE_WAIT_MAX_MS = 21_600_000

/**
 * Status after an answer as to an anonymous client. A platform in read-only mode gives it to every session, so the end needs
 * a second one, and checks go on afterwards.
 */
function loggedOut(it: AccountStatus, now: number): AccountStatus {
  if (isEndDoubted(it))
    return now < (it.probe_at ?? 0)
      ? it
      : { ...needsLogin(now, 'logged_out'), probe_at: now + endedWait(0) }
  if (it.state === 'needs_login') {
    const probes = it.state_reason === 'logged_out' ? it.probes + 1 : 0
    const begun = it.state_reason === 'logged_out' ? it : needsLogin(now, 'logged_out')
    return { ...begun, probes, probe_at: now + endedWait(probes) }
  }
  const at = now + CONFIRM_MS
  return { ...needsLogin(now, 'logged_out'), state: 'cooling', cooling_until: at, probe_at: at }
}

/** Status after an answer that the account is suspended or locked, which needs a second one as the end of a session does. */
function afterStop(it: AccountStatus, state: Stop, now: number): AccountStatus {
  if (it.state === 'cooling' && it.state_reason === STOP_REASONS[state])
    return now < (it.probe_at ?? 0) ? it : stopped(it, now, state)
  if (it.state !== 'ready' && it.state !== 'cooling') return stopped(it, now, state)
  const at = now + CONFIRM_MS
  return {
    ...newStatus(now),
    state: 'cooling',
    state_reason: STOP_REASONS[state],
    cooling_until: at,
    probe_at: at,
  }
}

const endedWait = (probes: number): number =>
  ENDED_WAITS_MS[Math.min(probes, ENDED_WAITS_MS.length - 1)] ?? 0

/** True while one answer alone says that the session has ended. */
export const isEndDoubted = ({ state, state_reason }: AccountStatus): boolean =>
  state === 'cooling' && state_reason === 'logged_out'

/** Status after a second such answer while all accounts have it: the platform's trouble, which is checked again later. */
export const endDeferred = (it: AccountStatus, now: number): AccountStatus => {
  const at = now + endedWait(it.probes)
  return { ...it, probes: it.probes + 1, cooling_until: at, probe_at: at }
}

function blockedProbe(it: AccountStatus, now: number): AccountStatus {
  const next_at = now + waitMs(it.probes + 1)
  if (it.state === 'ready') {
    const next = recordBlock(it, now)
    return next.state === 'ready' ? probeLater(next, next_at, it.probes + 1) : next
  }
  if (it.state !== 'cooling') return probeLater(it, next_at, it.probes + 1)
  const strikes = it.strikes + 1
  // The session may have survived the block: checks continue, and a success restores the account.
  return it.strikes < STRIKES_MAX
    ? probeLater({ ...it, strikes }, next_at, it.probes + 1)
    : { ...needsLogin(now, 'blocked'), strikes, probes: it.probes + 1, probe_at: next_at }
}

const checkup = (now: number) => ({ probes: 0, probe_at: now + CHECKUP_MS })
function probeLater(it: AccountStatus, probe_at: number, probes = it.probes): AccountStatus {
  const waits = it.state === 'cooling' && it.state_reason !== 'throttled'
  return { ...it, probes, probe_at, ...(waits && { cooling_until: probe_at }) }
}

const ready = (it: AccountStatus, now: number): AccountStatus => ({
  ...newStatus(now),
  ...checkup(now),
  strikes: it.state_reason === 'throttled' ? it.strikes : 0,
})

const STOP_REASONS = { suspended: 'suspended', locked: 'password_reset' } as const
type Stop = keyof typeof STOP_REASONS

function stopped(it: AccountStatus, now: number, state: Stop): AccountStatus {
  const state_since = it.state === state ? it.state_since : now
  const state_reason = STOP_REASONS[state]
  // Suspensions end and passwords are reset without any notice to forumd.
  return { ...newStatus(now), ...checkup(now), state, state_reason, state_since }
}

/** Status of an account whose session ended or never began. */
export const needsLogin = (now: number, state_reason: StateReason): AccountStatus => ({
  ...newStatus(now),
  state: 'needs_login',
  state_reason,
  probe_at: null,
})

export const signedIn = (now: number): AccountStatus => ({ ...newStatus(now), ...checkup(now) })

/** Status of an account that is added after this check. The daemon checks an unknown status again at once. */
export const statusOfAdded = (finding: AccountResult, now: number): AccountStatus => {
  const { kind } = finding
  if (kind === 'blocked' || kind === 'unclear') return newStatus(now)
  return kind === 'suspended' || kind === 'locked'
    ? stopped(newStatus(now), now, kind)
    : afterProbe(newStatus(now), finding, now)
}
