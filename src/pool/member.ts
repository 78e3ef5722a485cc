import * as z from 'zod'

import { once } from '../core/once.ts'
import { LOGIN_WAIT_MAX_MS } from '../core/planning.ts'
import { isOver, type Standing } from '../core/pool.ts'
import type { Proxy } from '../core/proxy.ts'
import type { Ring } from '../core/seal.ts'
import type { Clock } from '../outside.ts'
import type { Eyes } from '../platform/platform.ts'
import { type Account, type AccountSecrets, type Learned, openAccount } from '../store/accounts.ts'
import type { Db } from '../store/db.ts'
import { openWay } from '../store/proxies.ts'
import type { Craft, OpenJar, Token } from './craft.ts'

/** Parts of an account that have been learned and are not written down yet. */
type Unwritten = 'standing' | 'jar' | 'secrets' | 'times'

/** An account of the pool at work. */
export type Member = {
  readonly id: string
  readonly name: string
  readonly revision: number
  readonly proxy_id: string | null
  readonly proxy: Proxy | null
  secrets: AccountSecrets
  standing: Standing
  username: string | null
  jar: OpenJar | null
  token: Token | null
  /** The jar or the token as text, as it is stored. */
  stored: string | null
  /** By the clock that only grows: when the token came, and when to ask for the next one after a failure. */
  token_at: number
  renew_at: number
  renew_failures: number
  login_failures: number
  next_login_at: number | null
  last_used_at: number | null
  last_ok_at: number | null
  /** Counts leases, over all members: the smallest is the least recently used. */
  used: number
  /** By the clock that only grows: until then its way out is taken to be closed. */
  way_closed_until: number
  /** Somebody is finding out who it is, or signing it in. */
  busy: boolean
  unwritten: Set<Unwritten>
}

/** An access token as it is stored. */
export const tokenShape = once(() =>
  z.strictObject({
    value: z.string(),
    renew_at: z.number(),
    expires_at: z.number(),
  }),
)

/** An account as it is stored. Throws when its secrets or those of its way out do not open. */
export function openMember(
  { db, ring, craft }: { db: Db; ring: Ring; craft: Pick<Craft, 'openJar'> },
  account: Account,
): Member | null {
  const opened = openAccount(db, ring, account.id)
  if (opened === null) return null
  const { secrets, jar } = opened
  const { id, name, revision, proxy_id, username, login_failures, next_login_at } = account
  const { last_used_at, last_ok_at } = account
  const proxy = proxy_id === null ? null : openWay(db, ring, proxy_id)
  return {
    id,
    name,
    revision,
    proxy_id,
    proxy,
    secrets,
    standing: standingOf(account),
    username,
    jar: jar !== null && secrets.kind === 'session' ? craft.openJar(jar) : null,
    token: jar !== null && secrets.kind === 'oauth' ? tokenShape().parse(JSON.parse(jar)) : null,
    stored: jar,
    token_at: -Infinity,
    renew_at: -Infinity,
    renew_failures: 0,
    login_failures,
    next_login_at,
    last_used_at,
    last_ok_at,
    used: 0,
    way_closed_until: -Infinity,
    busy: false,
    unwritten: new Set(),
  }
}

/**
 * An account as the operator has changed it, with what goes on for it here: what is being found out, and cookies or a
 * token that are newer than what is stored, unless the operator has put others there.
 */
export function takeOver(member: Member, before: Member): Member {
  const { busy, jar, token, token_at, unwritten } = before
  return member.stored === before.stored && member.secrets.kind === before.secrets.kind
    ? { ...member, busy, jar, token, token_at, unwritten }
    : { ...member, busy }
}

const standingOf = (account: Account): Standing => {
  const { state, state_reason, state_since, cooling_until, strikes, probes, probe_at } = account
  return { state, state_reason, state_since, cooling_until, strikes, probes, probe_at }
}

/** Its eyes as they are now; null when it has nothing with which to be somebody. */
export function eyesOf(it: Member, clock: Clock, changed: () => void): Eyes | null {
  const { id, proxy, jar, token } = it
  if (it.secrets.kind === 'oauth') {
    if (token === null || token.expires_at <= clock.now()) return null
    return { id, whose: 'pool', cookie: null, bearer: token.value, proxy }
  }
  if (!jar?.has_session()) return null
  const cookie = jar.header()
  return {
    id,
    whose: 'pool',
    cookie,
    bearer: null,
    proxy,
    // Closed over its own jar: no answer can find its way into another one.
    on_cookies(lines) {
      if (!jar.take(lines)) return
      it.unwritten.add('jar')
      changed()
    },
  }
}

/** What is to be written down of it. */
export function learnedOf(it: Member): Learned {
  const { id, revision, standing, username, login_failures, next_login_at } = it
  const { last_used_at, last_ok_at, jar, token, secrets } = it
  const kept =
    secrets.kind === 'oauth'
      ? token && { text: JSON.stringify(token), expires_at: token.expires_at }
      : jar && { text: jar.text(), expires_at: jar.expires_at() }
  return {
    id,
    revision,
    standing,
    username,
    login_failures,
    next_login_at,
    last_used_at,
    last_ok_at,
    ...(it.unwritten.has('jar') && { jar: kept }),
    ...(it.unwritten.has('secrets') && { secrets }),
  }
}

/** When its access token is to be renewed, epoch ms; null for accounts without one. */
function renewalAt({ secrets, token, standing }: Member): number | null {
  if (secrets.kind !== 'oauth' || standing.state === 'paused') return null
  if (standing.state === 'needs_login') return null
  return token === null ? 0 : token.renew_at
}

/** Ends of sign-ins that would end the same tomorrow, unless the operator changes something. */
const FINAL = new Set<Standing['state_reason']>([
  'wrong_credentials',
  'second_factor_required',
  'second_factor_refused',
])

/** Whether it can be signed in without a person, and what with. */
export function credentialsOf({ secrets, username, standing }: Member) {
  if (secrets.kind !== 'session' || secrets.password === null || username === null) return null
  if (FINAL.has(standing.state_reason)) return null
  return { username, password: secrets.password, totp_secret: secrets.totp_secret }
}

/** When it is to be signed in by itself, epoch ms; null when it is not. */
export const signInAt = (it: Member): number | null =>
  it.standing.state === 'needs_login' && credentialsOf(it) !== null ? (it.next_login_at ?? 0) : null

const PROBE_WAIT_MAX_MS = 3_600_000

/** What is to be done for it now, if anything. `mono` is the clock that only grows. */
export function choreOf(
  it: Member,
  now: number,
  mono: number,
): 'renew' | 'probe' | 'sign_in' | null {
  if (it.busy || it.standing.state === 'paused') return null
  const renewal_at = renewalAt(it)
  if (renewal_at !== null && renewal_at <= now && it.renew_at <= mono) return 'renew'
  const { probe_at } = it.standing
  const has_eyes = it.secrets.kind === 'oauth' ? it.token !== null : it.jar !== null
  if (has_eyes && probe_at !== null && isOver(probe_at, now, PROBE_WAIT_MAX_MS)) return 'probe'
  const login_at = signInAt(it)
  return login_at !== null && isOver(login_at, now, LOGIN_WAIT_MAX_MS) ? 'sign_in' : null
}

/** When there may be something to do for it next, epoch ms; Infinity when time alone brings nothing. */
export function nextChoreAt(it: Member, now: number, mono: number): number {
  // Whoever is at it says when it is done.
  if (it.busy || it.standing.state === 'paused') return Infinity
  const renewal_at = renewalAt(it)
  const instants = [
    renewal_at === null ? null : Math.max(renewal_at, now + it.renew_at - mono),
    it.jar !== null || it.token !== null ? it.standing.probe_at : null,
    it.standing.cooling_until,
    signInAt(it),
  ]
  return Math.min(Infinity, ...instants.filter((at) => at !== null && at > now).map(Number))
}
