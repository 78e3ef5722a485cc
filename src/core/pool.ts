import type { Fault } from './outcome.ts'

/** How an account of the pool may stand. */
export const ACCOUNT_STATES = [
  'ready',
  'cooling',
  'needs_login',
  'suspended',
  'locked',
  'paused',
] as const
/** What an account of the pool is good for. Only a ready one is used; time alone ends a cooling by throttling. */
export type AccountState = (typeof ACCOUNT_STATES)[number]

/** Why it is in that state. */
export type StateReason =
  | 'throttled'
  | 'blocked'
  | 'login_page'
  | 'never_signed_in'
  | 'logged_out'
  | 'token_refused'
  | 'wrong_credentials'
  | 'second_factor_required'
  | 'second_factor_refused'
  | 'human_check'
  | 'suspended'
  | 'password_reset'
  | 'operator'

/** Where an account stands. Instants are epoch ms. */
export type Standing = Readonly<{
  state: AccountState
  state_reason: StateReason | null
  state_since: number
  /** Set while cooling, and only then. */
  cooling_until: number | null
  /** Block pages in a row. One of them proves nothing: the path, the address or the session may be meant. */
  strikes: number
  /** Probes in a row that told nothing. */
  probes: number
  /** When to ask the platform who it takes us for; null: not before something happens. */
  probe_at: number | null
}>

/** What asking the platform who we are has shown. */
export type Finding =
  | { kind: 'alive' | 'nobody' | 'suspended' | 'locked' | 'blocked' | 'unclear' }
  | { kind: 'throttled'; retry_after_s: number }

/** Block pages in a row after which nothing is asked through an account until it is known what they mean. */
const STRIKES_MAX = 3
/** Between one probe and the next; the last one stays. */
const PROBE_WAITS_S = [30, 120, 480, 900]
/** How often a well account is asked who it is: suspension shows nowhere else. */
const CHECKUP_MS = 3_600_000
/** The longest that a throttling is believed. */
const COOLING_MAX_S = 3600

/** An account that may be used from now on, and is looked at first. */
export const newStanding = (now: number): Standing => ({
  state: 'ready',
  state_reason: null,
  state_since: now,
  cooling_until: null,
  strikes: 0,
  probes: 0,
  probe_at: now,
})

/** An account that has nothing yet with which to be anybody. */
export const unsigned = (now: number): Standing => needsLogin(now, 'never_signed_in')

/** Put aside by the operator; nothing but the operator ends it. */
export const paused = (now: number): Standing => ({
  ...newStanding(now),
  state: 'paused',
  state_reason: 'operator',
  probe_at: null,
})

/** Whether something may be asked through it. */
export const isUsable = ({ state }: Standing): boolean => state === 'ready'

/** The same account later: a throttling that has ended is over. */
export function settleStanding(it: Standing, now: number): Standing {
  const over = it.state === 'cooling' && it.state_reason === 'throttled' && reached(it, now)
  return over ? { ...ready(it, now), probe_at: it.probe_at } : it
}

const reached = ({ cooling_until }: Standing, now: number) =>
  cooling_until !== null && isOver(cooling_until, now, COOLING_MAX_S * 1000)

/** A clock that is corrected by so little has not been put back. */
const CORRECTED_MS = 60_000

/** Whether an instant has come. One that is further off than it can ever have been set is of a clock since put back. */
export const isOver = (at: number, now: number, longest_ms: number): boolean =>
  now >= at || at - now > longest_ms + CORRECTED_MS

/** What one answer of the platform says about the account it was asked through. */
export function afterAnswer(it: Standing, fault: Fault | null, now: number): Standing {
  // What an earlier request brings home no longer counts once it is known how things stand.
  if (it.state !== 'ready' && it.state !== 'cooling') return it
  switch (fault?.kind) {
    case 'throttled':
      return cooled(it, now, fault.retry_after_s)
    case 'blocked':
      return struck(it, now)
    case 'login_required':
      return suspect(it, now, 'login_page', 0)
    // The way was in trouble, or nobody answered: nothing is known of the account.
    case 'timeout':
    case 'unavailable':
    case 'proxy':
      return it
    // A refusal in the platform's own words proves that its edge has let us in.
    case 'forbidden':
    case 'not_found':
    case 'unreadable':
    case 'rejected':
    case undefined:
      return it.strikes === 0 ? it : { ...it, strikes: 0 }
  }
}

function cooled(it: Standing, now: number, retry_after_s: number): Standing {
  const until = now + Math.min(retry_after_s, COOLING_MAX_S) * 1000
  // While it is being found out what a block means, a throttling only puts the next probe off.
  if (it.state === 'cooling' && it.state_reason !== 'throttled')
    return { ...it, cooling_until: until, probe_at: Math.max(until, it.probe_at ?? until) }
  const begun = it.state === 'cooling' ? it.state_since : now
  const cooling_until = Math.max(until, it.cooling_until ?? until)
  return { ...it, state: 'cooling', state_reason: 'throttled', state_since: begun, cooling_until }
}

function struck(it: Standing, now: number): Standing {
  const strikes = it.strikes + 1
  if (it.state === 'cooling' || strikes < STRIKES_MAX) return { ...it, strikes }
  return { ...suspect(it, now, 'blocked', waitMs(0)), strikes }
}

function suspect(it: Standing, now: number, reason: StateReason, wait_ms: number): Standing {
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

/** What a probe says. Only "nobody", or a block page to it too after {@link STRIKES_MAX} others, ends a session. */
export function afterProbe(it: Standing, finding: Finding, now: number): Standing {
  if (it.state === 'paused') return it
  switch (finding.kind) {
    case 'alive':
      return it.state === 'ready' ? { ...it, strikes: 0, ...checkup(now) } : ready(it, now)
    case 'nobody':
      return it.state === 'needs_login' && it.state_reason !== 'blocked'
        ? { ...it, probe_at: null }
        : needsLogin(now, 'logged_out')
    case 'suspended':
      return stopped(it, now, 'suspended', 'suspended')
    case 'locked':
      return stopped(it, now, 'locked', 'password_reset')
    case 'throttled': {
      const until = now + Math.min(finding.retry_after_s, COOLING_MAX_S) * 1000
      return it.state === 'ready'
        ? cooled({ ...it, probe_at: until }, now, finding.retry_after_s)
        : later(it, until)
    }
    case 'blocked':
      return blockedProbe(it, now)
    case 'unclear':
      return later(it, now + waitMs(it.probes + 1), it.probes + 1)
  }
}

function blockedProbe(it: Standing, now: number): Standing {
  const next_at = now + waitMs(it.probes + 1)
  if (it.state === 'ready') {
    const next = struck(it, now)
    return next.state === 'ready' ? later(next, next_at, it.probes + 1) : next
  }
  if (it.state !== 'cooling') return later(it, next_at, it.probes + 1)
  const strikes = it.strikes + 1
  // After a block the session may still live: it goes on being asked about, and comes back by itself.
  return it.strikes < STRIKES_MAX
    ? later({ ...it, strikes }, next_at, it.probes + 1)
    : { ...needsLogin(now, 'blocked'), strikes, probes: it.probes + 1, probe_at: next_at }
}

const checkup = (now: number) => ({ probes: 0, probe_at: now + CHECKUP_MS })
/** Nothing was learned; the same question later. */
function later(it: Standing, probe_at: number, probes = it.probes): Standing {
  const waits = it.state === 'cooling' && it.state_reason !== 'throttled'
  return { ...it, probes, probe_at, ...(waits && { cooling_until: probe_at }) }
}

const ready = (it: Standing, now: number): Standing => ({
  ...newStanding(now),
  ...checkup(now),
  strikes: it.state_reason === 'throttled' ? it.strikes : 0,
})

function stopped(
  it: Standing,
  now: number,
  state: 'suspended' | 'locked',
  state_reason: StateReason,
): Standing {
  const state_since = it.state === state ? it.state_since : now
  // Suspensions end, and passwords are set anew, without anybody telling us.
  return { ...newStanding(now), ...checkup(now), state, state_reason, state_since }
}

/** A session that is over, or never began. */
export const needsLogin = (now: number, state_reason: StateReason): Standing => ({
  ...newStanding(now),
  state: 'needs_login',
  state_reason,
  probe_at: null,
})

/** Signed in anew. */
export const signedIn = (now: number): Standing => ({ ...newStanding(now), ...checkup(now) })
