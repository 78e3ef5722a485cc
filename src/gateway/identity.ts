import { hash } from 'node:crypto'

import { fail, type Fault, ok, type Outcome } from '../core/base/result.ts'
import type { Me } from '../core/forum/items.ts'
import type { Proxy } from '../core/forum/proxy.ts'
import { cookieHeader, type Session } from '../core/forum/session.ts'
import type { Call, Identity, Listing, Listings, SourceReads } from '../platforms/port.ts'
import { unsupported } from '../platforms/source.ts'
import type { Clock } from '../runtime/runtime.ts'

/** Source of identities: the pool. */
export type Identities = {
  /** False: a call with a session is refused, as there are no accounts of callers. */
  takes_sessions?: false
  /** An identity for reads, except those in `avoid`; null if there is none. */
  lease(use: 'read', avoid?: readonly string[]): Identity | null
  /** The identity of a session that the pool itself has lent; null for a caller's own. */
  delegatedIdentity?(session: Session): Identity | null
  /**
   * The egress for a session that is not the pool's, null: direct. Absent: that of an identity for
   * reads.
   */
  egress?(): Proxy | null
  report(identity: Identity, fault: Fault | null): void
}

type Work<T> = (call: Call) => Promise<Outcome<T>>

export type Caller = {
  /** With an identity of the pool, or anonymously. */
  pool<T>(work: Work<T>): Promise<Outcome<T>>
  /**
   * With the caller's own account. Public content is returned even if the platform no longer
   * accepts the session.
   */
  caller<T>(session: Session, work: Work<T>): Promise<Outcome<T>>
  /**
   * As `caller`, for private content: `login_required` if the platform does not accept the session.
   */
  account<T>(session: Session, work: Work<T>): Promise<Outcome<T>>
}

const SESSION_DEAD = fail({ kind: 'login_required' })
const UNREACHABLE = fail({ kind: 'unavailable', status: null, retry_after_s: null })

/**
 * Creates the caller, which chooses identity and egress of a read; both stay the same through all
 * its requests.
 */
export function createCaller({
  observer: { platform, isAnonymous, isDoubtful },
  identities,
  clock,
  deadline_ms,
  wait_ms,
}: {
  observer: SessionObserver
  identities: Identities
  clock: Clock
  deadline_ms: number
  /** Milliseconds that a throttled read may wait; 0: until its deadline. */
  wait_ms: () => number
}): Caller {
  function limits(): Pick<Call, 'deadline_at' | 'wait_until'> {
    const [now, wait] = [clock.now(), wait_ms()]
    return { deadline_at: now + deadline_ms, ...(wait > 0 && { wait_until: now + wait }) }
  }

  async function run<T>(call: Call, work: Work<T>): Promise<Outcome<T>> {
    const outcome = await work(call)
    // Public content was returned, but the session was not accepted: only the pool needs to know.
    const dead = outcome.ok && call.identity.whose === 'pool' && isAnonymous(call)
    const fault = outcome.ok ? null : outcome.fault
    identities.report(call.identity, dead ? SESSION_DEAD.fault : fault)
    return outcome
  }

  async function pool<T>(work: Work<T>): Promise<Outcome<T>> {
    const times = limits()
    const identity = identities.lease('read')
    if (identity === null) return UNREACHABLE
    const first = await run(withAnother({ identity, ...times }, identities, 'read'), work)
    if (first.ok || !isIdentityFault(first.fault)) return first
    const other = identities.lease('read', [identity.id])
    if (other === null || other.id === identity.id) return maskPoolLogin(first, identity)
    return maskPoolLogin(await run({ identity: other, ...times }, work), other)
  }

  async function caller<T>(session: Session, work: Work<T>): Promise<Outcome<T>> {
    if (identities.takes_sessions === false) return unsupported('session')
    const call = callOf(session)
    const outcome = await work(call)
    // A dead session and a search without results both return an empty page.
    if (!outcome.ok || !isDoubtful(call)) return outcome
    const me = await requireAccount(platform, call)
    return me.ok ? outcome : me
  }

  async function account<T>(session: Session, work: Work<T>): Promise<Outcome<T>> {
    if (identities.takes_sessions === false) return unsupported('session')
    const call = callOf(session)
    const outcome = await work(call)
    return outcome.ok && isAnonymous(call) ? SESSION_DEAD : outcome
  }

  const callOf = (session: Session): Call => ({
    identity: callerIdentity(session, identities),
    ...limits(),
  })

  return { pool, caller, account }
}

/** A call that can name another account, where one account's answer is no evidence. */
export function withAnother<U extends 'read' | 'poll'>(
  call: Call,
  identities: { lease(use: U, avoid?: readonly string[]): Identity | null },
  use: U,
): Call {
  const another = (): Call | null => {
    const identity = identities.lease(use, [call.identity.id])
    return identity === null || identity.id === call.identity.id ? null : { ...call, identity }
  }
  return { ...call, another }
}

/**
 * The identity of a session: the pool's if the pool lent the session, otherwise the caller's own.
 */
export function callerIdentity(
  session: Session,
  identities: Pick<Identities, 'lease' | 'delegatedIdentity' | 'egress'>,
): Identity {
  const delegated = identities.delegatedIdentity?.(session) ?? null
  if (delegated !== null) return delegated
  const id = `caller:${fingerprint(session)}`
  const own = { id, whose: 'caller', cookie: cookieHeader(session), bearer: null } as const
  if (session.proxy !== null) return { ...own, proxy: session.proxy }
  // A caller's session uses the egress of a pool account, and nothing else of it.
  const proxy = defaultEgress(identities)
  return { ...own, proxy, ...(proxy && { pool_proxy: true }) }
}

/** The egress of a request that names no proxy. */
export const defaultEgress = (identities: Pick<Identities, 'lease' | 'egress'>): Proxy | null =>
  identities.egress ? identities.egress() : (identities.lease('read')?.proxy ?? null)

/** The account of a call; `login_required` if the platform treats the call as anonymous. */
export async function requireAccount(platform: SourceReads, call: Call): Promise<Outcome<Me>> {
  const me = await platform.me(call)
  if (!me.ok) return me
  return me.value === null ? SESSION_DEAD : ok(me.value)
}

const fingerprint = ({ cookies: [{ value }] }: Session): string => hash('sha256', value, 'hex')

/** True for a fault of the identity or its egress: another identity might succeed. */
export function isIdentityFault(fault: Fault): boolean {
  switch (fault.kind) {
    case 'login_required':
    case 'blocked':
    case 'throttled':
    case 'proxy':
      return true
    case 'unavailable':
      return fault.trouble !== undefined
    case 'forbidden':
    case 'not_found':
    case 'timeout':
    case 'unreadable':
    case 'rejected':
    case 'unsupported':
      return false
  }
}

/** A login failure of a pool account is not the caller's: it becomes `unavailable`. */
const maskPoolLogin = <T>(outcome: Outcome<T>, { whose }: Identity): Outcome<T> =>
  !outcome.ok && outcome.fault.kind === 'login_required' && whose === 'pool' ? UNREACHABLE : outcome

/** Records the calls that the platform answered as anonymous. Weak: an entry ends with its call. */
export type SessionObserver = {
  /** The same platform with observed listings. */
  platform: SourceReads
  /** True if a listing of this call said that it was anonymous. */
  isAnonymous(call: Call): boolean
  /**
   * True if a listing had no rows and did not say that a session was accepted: the call may have
   * been anonymous.
   */
  isDoubtful(call: Call): boolean
}

/**
 * Wraps a platform to detect dead sessions. Public reads do not fail with one: the platform returns
 * the public page, and only a field of the listing shows it. It is recorded here for every call, so
 * that no read has to check it.
 */
export function createSessionObserver(platform: SourceReads): SessionObserver {
  const anonymous = new WeakSet<Call>()
  const doubtful = new WeakSet<Call>()

  const observe =
    <Query, Row>(list: (query: Query, call: Call) => Promise<Outcome<Listing<Row>>>) =>
    async (query: Query, call: Call) => {
      const listing = await list(query, call)
      if (!listing.ok) return listing
      const { rows, logged_in } = listing.value
      if (logged_in === false) anonymous.add(call)
      if (logged_in !== true && rows.length === 0) doubtful.add(call)
      return listing
    }

  // The type requires all listings: an unobserved one would hide a dead session.
  const listings: Listings = {
    posts: observe(platform.posts),
    comments: observe(platform.comments),
    search: observe(platform.search),
    searchMedia: observe(platform.searchMedia),
    searchCommunities: observe(platform.searchCommunities),
    searchUsers: observe(platform.searchUsers),
    userComments: observe(platform.userComments),
    userItems: observe(platform.userItems),
    feed: observe(platform.feed),
    communities: observe(platform.communities),
  }
  return {
    platform: { ...platform, ...listings },
    isAnonymous: (call) => anonymous.has(call),
    isDoubtful: (call) => doubtful.has(call),
  }
}
