import { isDeepStrictEqual } from 'node:util'

import * as z from 'zod'

import { LOGIN_WAIT_MAX_MS } from '../core/accounts/selection.ts'
import {
  type AccountStatus,
  expireCooling,
  isOver,
  PROBE_WAIT_MAX_MS,
} from '../core/accounts/status.ts'
import { once } from '../core/base/lazy.ts'
import type { Ring } from '../core/base/secrets.ts'
import type { Proxy } from '../core/forum/proxy.ts'
import type { Identity } from '../platforms/port.ts'
import type { Clock, Log } from '../runtime/runtime.ts'
import {
  type Account,
  type AccountSecrets,
  type AccountUpdate,
  exchangeSecrets,
  listAccounts,
  openAccount,
  writeAccountUpdate,
  writtenByOthers,
} from '../store/accounts/accounts.ts'
import { openProxy } from '../store/accounts/proxies.ts'
import { type Db, isStorageError, transact } from '../store/db/connection.ts'
import type { AccountClient, OpenJar, Token } from './client.ts'

/** Changed parts of an account that are not stored yet. */
type Unwritten = 'status' | 'jar' | 'secrets' | 'times'

export type PooledAccount = {
  readonly id: string
  readonly name: string
  readonly revision: number
  readonly proxy_id: string | null
  readonly proxy: Proxy | null
  secrets: AccountSecrets
  status: AccountStatus
  username: string | null
  jar: OpenJar | null
  token: Token | null
  /** The jar or the token as text, as stored. */
  stored: string | null
  /** Monotonic ms: arrival of the token, and earliest renewal after a failure. */
  token_at: number
  renew_at: number
  renew_failures: number
  /** Refusals without a reason since the last answer; true: the application is examined. */
  refusals: number
  doubted: boolean
  login_failures: number
  next_login_at: number | null
  last_used_at: number | null
  last_ok_at: number | null
  /** Lease counter over all accounts: the smallest is the least recently used. */
  used: number
  /** Monotonic ms until which its proxy counts as failed. */
  proxy_closed_until: number
  /** A session check or sign-in is running. */
  busy: boolean
  unwritten: Set<Unwritten>
}

export const tokenShape = once(() =>
  z.strictObject({
    value: z.string(),
    renew_at: z.number(),
    expires_at: z.number(),
  }),
)

/** Opens a stored account. Throws if its secrets or those of its proxy cannot be decrypted. */
function openPooledAccount(
  { db, ring, client }: { db: Db; ring: Ring; client: Pick<AccountClient, 'openJar'> },
  account: Account,
): PooledAccount | null {
  const opened = openAccount(db, ring, account.id)
  if (opened === null) return null
  const { secrets, jar } = opened
  const { id, name, revision, proxy_id, username, login_failures, next_login_at } = account
  const { last_used_at, last_ok_at } = account
  const proxy = proxy_id === null ? null : openProxy(db, ring, proxy_id)
  return {
    id,
    name,
    revision,
    proxy_id,
    proxy,
    secrets,
    status: statusOf(account),
    username,
    jar: jar !== null && secrets.kind === 'session' ? client.openJar(jar) : null,
    token: jar !== null && secrets.kind === 'oauth' ? tokenShape().parse(JSON.parse(jar)) : null,
    stored: jar,
    token_at: -Infinity,
    renew_at: -Infinity,
    renew_failures: 0,
    refusals: 0,
    doubted: false,
    login_failures,
    next_login_at,
    last_used_at,
    last_ok_at,
    used: 0,
    proxy_closed_until: -Infinity,
    busy: false,
    unwritten: new Set(),
  }
}

/**
 * The account as the operator changed it, with its running state. Newer cookies or a newer token in
 * memory stay, unless the operator replaced them. So does a check in progress.
 */
function takeOver(fresh: PooledAccount, before: PooledAccount): PooledAccount {
  const { busy, jar, token, token_at, unwritten } = before
  return fresh.stored === before.stored && fresh.secrets.kind === before.secrets.kind
    ? { ...fresh, busy, jar, token, token_at, unwritten }
    : { ...fresh, busy }
}

const statusOf = (account: Account): AccountStatus => {
  const { state, state_reason, state_since, cooling_until, strikes, probes, probe_at } = account
  return { state, state_reason, state_since, cooling_until, strikes, probes, probe_at }
}

/** The account's identity at this moment; null if it has no credentials. */
export function identityOf(it: PooledAccount, clock: Clock, onChange: () => void): Identity | null {
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
    // Bound to its own jar: no answer can change another one.
    on_cookies(lines) {
      if (!jar.take(lines)) return
      it.unwritten.add('jar')
      onChange()
    },
  }
}

function updateOf(it: PooledAccount): AccountUpdate {
  const { id, revision, status, username, login_failures, next_login_at } = it
  const { last_used_at, last_ok_at, jar, token, secrets } = it
  const credential =
    secrets.kind === 'oauth'
      ? token && { text: JSON.stringify(token), expires_at: token.expires_at }
      : jar && { text: jar.text(), expires_at: jar.expires_at() }
  return {
    id,
    revision,
    status,
    username,
    login_failures,
    next_login_at,
    last_used_at,
    last_ok_at,
    ...(it.unwritten.has('jar') && { jar: credential }),
    ...(it.unwritten.has('secrets') && { secrets }),
  }
}

/** Time between token requests of a refused application. */
const REFUSED_RETRY_MS = 3_600_000

/** True for an application whose token the platform refuses. */
export const isRefused = ({ state, state_reason }: AccountStatus): boolean =>
  state === 'needs_login' && (state_reason === 'client_revoked' || state_reason === 'token_refused')

/** Time to renew the access token, epoch ms; null for accounts without one. */
function renewalAt({ secrets, token, status }: PooledAccount): number | null {
  if (secrets.kind !== 'oauth' || status.state === 'paused') return null
  // A refusal may be a mistake of the platform, so the token is requested again at times.
  if (status.state === 'needs_login')
    return isRefused(status) ? status.state_since + REFUSED_RETRY_MS : null
  return token === null ? 0 : token.renew_at
}

/** Login failures that a retry cannot fix. */
const FINAL = new Set<AccountStatus['state_reason']>([
  'wrong_credentials',
  'second_factor_required',
  'second_factor_refused',
])

/** Credentials for an automatic sign-in; null if it needs a person. */
export function credentialsOf({ secrets, username, status }: PooledAccount) {
  if (secrets.kind !== 'session' || secrets.password === null || username === null) return null
  if (FINAL.has(status.state_reason)) return null
  return { username, password: secrets.password, totp_secret: secrets.totp_secret }
}

/** Time of the next automatic sign-in, epoch ms; null: none. */
export const signInAt = (it: PooledAccount): number | null =>
  it.status.state === 'needs_login' && credentialsOf(it) !== null ? (it.next_login_at ?? 0) : null

/** The task that is due now, if any. `mono` is monotonic ms. */
export function taskOf(
  it: PooledAccount,
  now: number,
  mono: number,
): 'renew' | 'probe' | 'sign_in' | null {
  if (it.busy || it.status.state === 'paused') return null
  const renewal_at = renewalAt(it)
  if (renewal_at !== null && renewal_at <= now && it.renew_at <= mono) return 'renew'
  const { probe_at } = it.status
  const has_identity = it.secrets.kind === 'oauth' ? it.token !== null : it.jar !== null
  if (has_identity && probe_at !== null && isOver(probe_at, now, PROBE_WAIT_MAX_MS)) return 'probe'
  const login_at = signInAt(it)
  return login_at !== null && isOver(login_at, now, LOGIN_WAIT_MAX_MS) ? 'sign_in' : null
}

/** Time of the next possible task, epoch ms; Infinity if waiting alone brings none. */
export function nextTaskAt(it: PooledAccount, now: number, mono: number): number {
  // The running task nudges the loop at its end.
  if (it.busy || it.status.state === 'paused') return Infinity
  const renewal_at = renewalAt(it)
  const instants = [
    renewal_at === null ? null : Math.max(renewal_at, now + it.renew_at - mono),
    it.jar !== null || it.token !== null ? it.status.probe_at : null,
    it.status.cooling_until,
    signInAt(it),
  ]
  return Math.min(Infinity, ...instants.filter((at) => at !== null && at > now).map(Number))
}

type PooledAccountsDeps = {
  db: Db
  ring: Ring
  clock: Clock
  log: Log
  client: Pick<AccountClient, 'openJar'>
  /** As for the pool. */
  /** Key of the source to which the accounts belong. */
  source: string
  /** Wakes the loop that stores changes. */
  nudge: () => void
}

const RELOAD_EVERY_MS = 1000
/** Some platforms set cookies with nearly every answer: they are stored together. */
const WRITE_AFTER_MS = 5000
const WRITE_TIMES_AFTER_MS = 60_000

export function createPooledAccounts({
  db,
  ring,
  clock,
  log,
  client,
  source,
  nudge,
}: PooledAccountsDeps) {
  const by_id = new Map<string, PooledAccount>()
  let leases = 0
  let version = -1
  let reloaded_at = -Infinity
  let write_at = Infinity

  const all = (): PooledAccount[] => [...by_id.values()]

  function reload() {
    reloaded_at = clock.mono()
    const now = writtenByOthers(db)
    if (now === version) return
    version = now
    adopt()
  }

  function adopt() {
    const accounts = listAccounts(db, source)
    for (const id of by_id.keys())
      if (!accounts.some((account) => account.id === id)) by_id.delete(id)
    for (const account of accounts.toSorted(
      (a, b) => (a.last_used_at ?? 0) - (b.last_used_at ?? 0),
    )) {
      // Memory is newer for an account that the operator has not changed.
      if (by_id.get(account.id)?.revision === account.revision) continue
      try {
        const fresh = openPooledAccount({ db, ring, client }, account)
        if (fresh === null) continue
        const before = by_id.get(account.id)
        const now = before === undefined ? fresh : takeOver(fresh, before)
        by_id.set(account.id, { ...now, used: leases++ })
        if (now.unwritten.has('jar')) write_at = Math.min(write_at, clock.now() + WRITE_AFTER_MS)
      } catch {
        by_id.delete(account.id)
        log('error', 'account.unreadable', { account: account.name })
      }
    }
    nudge()
  }

  function write() {
    write_at = Infinity
    const dirty = all().filter(({ unwritten }) => unwritten.size > 0)
    if (dirty.length === 0) return
    const written = transact(db, () =>
      dirty.flatMap((it) => {
        const learned = updateOf(it)
        return writeAccountUpdate(db, ring, learned) ? [{ it, learned }] : []
      }),
    )
    // Skipped changes belong to an account that was changed in the database: the next reload picks
    // it up.
    for (const { it, learned } of written) {
      if (learned.jar !== undefined) it.stored = learned.jar?.text ?? null
      it.unwritten.clear()
    }
  }

  return {
    all,
    get: (id: string): PooledAccount | undefined => by_id.get(id),
    /** The account's current object: the operator may have changed it meanwhile. */
    current: (it: PooledAccount): PooledAccount => by_id.get(it.id) ?? it,
    /**
     * Stores a grant that replaced the previous one, which may be invalid from now on: at once, and
     * regardless of other changes by the operator. False if the operator has replaced the grant.
     */
    recordExchange(it: PooledAccount, before: AccountSecrets, after: AccountSecrets): boolean {
      if (!isDeepStrictEqual(it.secrets, before)) return false
      if (isDeepStrictEqual(before, after)) return true
      try {
        if (!exchangeSecrets(db, ring, it.id, { before, after })) return false
      } catch (error) {
        if (!isStorageError(error)) throw error
        it.unwritten.add('secrets')
      }
      it.secrets = after
      return true
    },
    reload,
    adopt,
    /**
     * Updates all accounts: changes from the database, at most a second late, and pauses that have
     * ended.
     */
    refresh() {
      if (clock.mono() - reloaded_at >= RELOAD_EVERY_MS) reload()
      const now = clock.now()
      for (const it of by_id.values()) {
        const next = expireCooling(it.status, now)
        if (next === it.status) continue
        it.status = next
        it.unwritten.add('status')
      }
    },
    use(it: PooledAccount) {
      it.last_used_at = clock.now()
      it.unwritten.add('times')
    },
    /** Puts an account behind all others for the next lease. */
    servedLast(it: PooledAccount) {
      it.used = leases++
    },
    onChange() {
      write_at = Math.min(write_at, clock.now() + WRITE_AFTER_MS)
      nudge()
    },
    write,
    /** Writes due changes, and returns the time of the next write. */
    writeDue(now: number): number {
      if (all().some(({ unwritten }) => unwritten.has('status')) || now >= write_at) write()
      // The time of last use is not urgent.
      else if (all().some(({ unwritten }) => unwritten.size > 0))
        write_at = Math.min(write_at, now + WRITE_TIMES_AFTER_MS)
      return write_at
    },
  }
}
