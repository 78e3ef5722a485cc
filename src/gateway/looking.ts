import { createHash } from 'node:crypto'

import type { Me } from '../core/items.ts'
import { fail, type Fault, ok, type Outcome } from '../core/outcome.ts'
import type { Proxy } from '../core/proxy.ts'
import { cookieHeader, type Session } from '../core/session.ts'
import type { Clock } from '../outside.ts'
import type { Call, Eyes, Platform } from '../platform/platform.ts'
import type { Witness } from './witness.ts'

/** Whose eyes there are to look through: the pool. */
export type EyesOf = {
  /** A pair to read with, other than those to avoid; null when there is none. */
  lease(use: 'read', avoid?: readonly string[]): Eyes | null
  /** The eyes that a session belongs to which the pool itself has lent; null for a caller's. */
  own?(session: Session): Eyes | null
  /** The way out for a session that is not the pool's, null for the direct one; left out, that of a pair to read with. */
  way?(): Proxy | null
  /** Tells how a read through these eyes ended. */
  report(eyes: Eyes, fault: Fault | null): void
}

type Work<T> = (call: Call) => Promise<Outcome<T>>

/** The ways to look at the platform, each within one deadline. */
export type Looking = {
  /** Through the pool's eyes, or nobody's. */
  pool<T>(work: Work<T>): Promise<Outcome<T>>
  /** Through the caller's own account. Public content is answered even where the platform no longer knows the session. */
  caller<T>(session: Session, work: Work<T>): Promise<Outcome<T>>
  /** As `caller`, for what means nothing without the account: `login_required` where the platform does not know it. */
  account<T>(session: Session, work: Work<T>): Promise<Outcome<T>>
}

const SESSION_DEAD = fail({ kind: 'login_required' })
const UNREACHABLE = fail({ kind: 'unavailable', status: null, retry_after_s: null })

/** Decides whose eyes a read has, and by which way it leaves; both stay the same through all its requests. */
export function createLooking({
  witness: { platform, isNobodys, isDoubtful },
  eyes_of,
  clock,
  deadline_ms,
}: {
  witness: Witness
  eyes_of: EyesOf
  clock: Clock
  deadline_ms: number
}): Looking {
  const deadline = () => clock.now() + deadline_ms

  async function look<T>(call: Call, work: Work<T>): Promise<Outcome<T>> {
    const outcome = await work(call)
    // What everybody may see was seen, but not through the account: that is for the pool to know.
    const dead = outcome.ok && call.eyes.whose === 'pool' && isNobodys(call)
    const fault = outcome.ok ? null : outcome.fault
    eyes_of.report(call.eyes, dead ? SESSION_DEAD.fault : fault)
    return outcome
  }

  async function pool<T>(work: Work<T>): Promise<Outcome<T>> {
    const deadline_at = deadline()
    const eyes = eyes_of.lease('read')
    if (eyes === null) return UNREACHABLE
    const first = await look({ eyes, deadline_at }, work)
    if (first.ok || !isOfTheEyes(first.fault)) return first
    const other = eyes_of.lease('read', [eyes.id])
    if (other === null || other.id === eyes.id) return theirs(first, eyes)
    return theirs(await look({ eyes: other, deadline_at }, work), other)
  }

  async function caller<T>(session: Session, work: Work<T>): Promise<Outcome<T>> {
    const call = callOf(session)
    const outcome = await work(call)
    // An empty page is what a dead session and a search without results have in common.
    if (!outcome.ok || !isDoubtful(call)) return outcome
    const me = await alive(platform, call)
    return me.ok ? outcome : me
  }

  async function account<T>(session: Session, work: Work<T>): Promise<Outcome<T>> {
    const call = callOf(session)
    const outcome = await work(call)
    return outcome.ok && isNobodys(call) ? SESSION_DEAD : outcome
  }

  const callOf = (session: Session): Call => ({
    eyes: callersEyes(session, eyes_of),
    deadline_at: deadline(),
  })

  return { pool, caller, account }
}

/** The eyes of the account that a session is of: the pool's where it lent the session, else a caller's own. */
export function callersEyes(
  session: Session,
  eyes_of: Pick<EyesOf, 'lease' | 'own' | 'way'>,
): Eyes {
  const lent = eyes_of.own?.(session) ?? null
  if (lent !== null) return lent
  const id = `caller:${fingerprint(session)}`
  const own = { id, whose: 'caller', cookie: cookieHeader(session), bearer: null } as const
  if (session.proxy !== null) return { ...own, proxy: session.proxy }
  // Of the pool's accounts a session borrows the way out, and nothing else.
  const proxy = wayOut(eyes_of)
  return { ...own, proxy, ...(proxy && { lent: true }) }
}

/** The way out for who names none. */
export const wayOut = (eyes_of: Pick<EyesOf, 'lease' | 'way'>): Proxy | null =>
  eyes_of.way ? eyes_of.way() : (eyes_of.lease('read')?.proxy ?? null)

/** Whose account a call is made through; `login_required` when the platform takes it for nobody's. */
export async function alive(platform: Platform, call: Call): Promise<Outcome<Me>> {
  const me = await platform.me(call)
  if (!me.ok) return me
  return me.value === null ? SESSION_DEAD : ok(me.value)
}

const fingerprint = ({ cookies: [{ value }] }: Session): string =>
  createHash('sha256').update(value).digest('hex')

/** Whether it is the eyes that the platform objects to, or their way out that is closed: others might see all the same. */
export function isOfTheEyes(fault: Fault): boolean {
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
      return false
  }
}

/** That an account of ours is not let in is no concern of the caller's. */
const theirs = <T>(outcome: Outcome<T>, { whose }: Eyes): Outcome<T> =>
  !outcome.ok && outcome.fault.kind === 'login_required' && whose === 'pool' ? UNREACHABLE : outcome
