import { nextLoginAt } from '../core/accounts/selection.ts'
import {
  type AccountResult,
  type AccountStatus,
  afterAnswer,
  afterProbe,
  endDeferred,
  isEndDoubted,
  needsLogin,
  signedIn,
} from '../core/accounts/status.ts'
import { loggedCode } from '../core/base/errors.ts'
import type { Fault } from '../core/base/result.ts'
import type { Clock, Log } from '../runtime/runtime.ts'
import type { AccountSecrets } from '../store/accounts/accounts.ts'
import { type AccountClient, type Renewed, toAccountResult } from './client.ts'
import {
  credentialsOf,
  identityOf,
  isRefused,
  type PooledAccount,
  taskOf,
} from './pooled-account.ts'

type LifecycleDeps = {
  client: AccountClient
  clock: Clock
  log: Log
  /** Called after a change that has to be stored. */
  onChange: () => void
  accounts: () => readonly PooledAccount[]
  /** The account's current object: the operator may have changed it during a request. */
  current: (it: PooledAccount) => PooledAccount
  /** Stores secrets that replaced others; false if the operator has replaced those meanwhile. */
  recordExchange: (it: PooledAccount, before: AccountSecrets, after: AccountSecrets) => boolean
  /** Aborts when the daemon stops; an interrupted check proves nothing. */
  signal: AbortSignal
}

/** Renewing does not help if a token this young is refused. */
const YOUNG_MS = 60_000
const RENEW_WAIT_MS = 30_000
/** Minimum time between renewals, even for a short-lived token. */
const RENEW_AGAIN_MS = 5_000
const RENEW_DOUBLINGS_MAX = 5
/** Refusals without a reason in a row, after which an application is examined. */
const REFUSALS_MAX = 3
/** Ends of all sessions within this time are the platform's trouble, for so long. */
const TOGETHER_MS = 60_000
const PLATFORM_MAX_MS = 6 * 3_600_000
/** Failed sign-ins after which the operator is needed. */
const LOGIN_TRIES_MAX = 3

export function createLifecycle(deps: LifecycleDeps) {
  const { client, clock, log, onChange, signal } = deps

  /** Logs a new state once, and notifies the operator if only a person can help. */
  function setStatus(it: PooledAccount, status: AccountStatus) {
    const before = it.status
    if (before === status) return
    it.status = status
    it.unwritten.add('status')
    const same = before.state === status.state && before.state_reason === status.state_reason
    if (!same) logStatus(it)
    const is_back = status.state === 'ready' && before.state_reason === 'client_revoked'
    if (is_back) log('info', 'access.restored', { reason: 'client_revoked', subject: it.name })
    onChange()
  }

  function logStatus(it: PooledAccount) {
    const { state, state_reason, cooling_until } = it.status
    const fields = { account: it.name, reason: state_reason }
    switch (state) {
      case 'ready':
        return log('info', 'account.ready', { account: it.name })
      case 'cooling':
        return log('info', 'account.cooling', {
          ...fields,
          rest_ms: (cooling_until ?? 0) - clock.now(),
        })
      case 'needs_login':
        // No sign-in helps: the platform does not know the application.
        if (state_reason === 'client_revoked')
          return log('warn', 'access.ended', { reason: state_reason, subject: it.name })
        return credentialsOf(it) === null
          ? log('warn', 'account.needs_login', fields)
          : log('warn', 'account.logged_out', fields)
      case 'suspended':
        return log('warn', 'account.suspended', fields)
      case 'locked':
        return log('warn', 'account.locked', fields)
      case 'paused':
        return log('info', 'account.paused', fields)
    }
  }

  function onResult(it: PooledAccount, fault: Fault | null) {
    const now = clock.now()
    if (fault === null) {
      it.last_ok_at = now
      it.unwritten.add('times')
    }
    if (fault?.kind === 'login_required' && it.secrets.kind === 'oauth') return onTokenRefused(it)
    if (it.secrets.kind === 'oauth') countRefusal(it, fault)
    setStatus(it, afterAnswer(it.status, fault, now))
  }

  /**
   * A place may refuse one call without a reason. Several in a row without an answer in between are
   * a doubt about the application: a new token and a public read decide it.
   */
  function countRefusal(it: PooledAccount, fault: Fault | null) {
    if (fault === null) it.refusals = 0
    if (fault?.kind !== 'forbidden' || fault.reason !== null || it.doubted) return
    it.refusals += 1
    if (it.refusals < REFUSALS_MAX) return
    it.refusals = 0
    it.doubted = true
    it.token = null
    it.unwritten.add('jar')
    onChange()
  }

  /** Renews a refused token once; a fresh token that is refused is useless. */
  function onTokenRefused(it: PooledAccount) {
    if (clock.mono() - it.token_at < YOUNG_MS) return dropToken(it)
    it.token = null
    it.unwritten.add('jar')
    onChange()
  }

  const dropToken = (
    it: PooledAccount,
    reason: 'token_refused' | 'client_revoked' = 'token_refused',
  ) => {
    it.token = null
    it.unwritten.add('jar')
    setStatus(it, needsLogin(clock.now(), reason))
  }

  /** Examines a doubted application with its new token; true if it may read. */
  async function examine(it: PooledAccount): Promise<boolean> {
    const identity = identityOf(it, clock, onChange)
    if (identity === null) return false
    const read = await client.readPublic(identity)
    if (signal.aborted) return true
    if (read.ok) {
      it.doubted = false
      it.refusals = 0
      if (isRefused(it.status)) setStatus(it, signedIn(clock.now()))
      return true
    }
    const { kind } = read.fault
    if (kind === 'forbidden' || kind === 'login_required') dropToken(it, 'client_revoked')
    // Unclear: a refused application stays so, another one keeps the benefit of the doubt.
    else if (isRefused(it.status)) dropToken(it, isRevoked(it) ? 'client_revoked' : 'token_refused')
    else it.doubted = false
    return false
  }

  /** Result of a session check; null if no check was possible or the daemon is stopping. */
  async function probe(it: PooledAccount): Promise<AccountResult | null> {
    // An answer may have replaced the session's cookie by one that is none: each of both is asked for.
    if (it.status.state_reason === 'logged_out') it.jar?.swap()
    const identity = identityOf(it, clock, onChange)
    if (identity === null) {
      setStatus(it, needsLogin(clock.now(), 'logged_out'))
      return null
    }
    const me = await client.me(identity)
    if (signal.aborted) return null
    if (me.ok && me.value !== null) {
      it.username = me.value.name
      it.last_ok_at = clock.now()
    }
    const result = toAccountResult(me, it.secrets)
    if (result.kind === 'alive' && it.jar?.settle() === true) it.unwritten.add('jar')
    if (result.kind === 'logged_out' && it.secrets.kind === 'oauth') onTokenRefused(it)
    else if (result.kind === 'logged_out' && isPlatformsTrouble(it))
      setStatus(it, endDeferred(it.status, clock.now()))
    else setStatus(it, afterProbe(it.status, result, clock.now()))
    return result
  }

  /** True if all sessions, of two or more accounts, seemed to end within a minute, and did so for less than some hours. */
  function isPlatformsTrouble({ id, status }: PooledAccount): boolean {
    if (!isEndDoubted(status) || clock.now() - status.state_since > PLATFORM_MAX_MS) return false
    const others = deps
      .accounts()
      .filter((it) => it.id !== id && it.secrets.kind === 'session' && it.jar !== null)
      .filter((it) => it.status.state === 'ready' || it.status.state === 'cooling')
    return (
      others.length > 0 &&
      others.every(
        (it) =>
          isEndDoubted(it.status) &&
          Math.abs(it.status.state_since - status.state_since) <= TOGETHER_MS,
      )
    )
  }

  async function signIn(it: PooledAccount): Promise<void> {
    const credentials = credentialsOf(it)
    if (credentials === null) return
    const ended = await client.signIn({ ...credentials, proxy: it.proxy })
    if (signal.aborted && !ended.ok) return
    const now = clock.now()
    it.login_failures = ended.ok ? 0 : it.login_failures + 1
    it.next_login_at = nextLoginAt(it.login_failures, now, ended.ok ? 0 : ended.retry_after_s)
    it.unwritten.add('status')
    if (ended.ok) {
      it.jar = ended.jar
      it.username = ended.username
      it.unwritten.add('jar')
      log('info', 'account.signed_in', { account: it.name })
      return setStatus(it, signedIn(now))
    }
    const state_reason = ended.reason ?? it.status.state_reason
    it.status = { ...it.status, state_reason }
    onChange()
    const hopeless = ended.final || ended.reason !== null
    if (hopeless || it.login_failures >= LOGIN_TRIES_MAX)
      log('warn', 'account.needs_login', { account: it.name, reason: state_reason })
  }

  /** Stores a token, and the grant as it is from now on. */
  function storeToken(
    it: PooledAccount,
    secrets: AccountSecrets & { kind: 'oauth' },
    { token, refresh_token }: Extract<Renewed, { ok: true }>,
  ) {
    const after = { ...secrets, refresh_token }
    if (!deps.recordExchange(it, secrets, after)) return
    it.token = token
    it.token_at = clock.mono()
    it.renew_at = it.token_at + RENEW_AGAIN_MS
    it.renew_failures = 0
    it.unwritten.add('jar')
    onChange()
  }

  async function renew(it: PooledAccount): Promise<void> {
    const { secrets } = it
    if (secrets.kind !== 'oauth') return
    const { client_id, client_secret, refresh_token } = secrets
    const renewed = await client.renew({ client_id, client_secret, refresh_token, proxy: it.proxy })
    if (renewed.ok) {
      const now_current = deps.current(it)
      storeToken(now_current, secrets, renewed)
      if (it.doubted || isRefused(now_current.status)) await examine(now_current)
      return
    }
    if (renewed.final) return dropToken(it, renewed.revoked ? 'client_revoked' : 'token_refused')
    if (signal.aborted) return
    const wait_ms = RENEW_WAIT_MS * 2 ** Math.min(it.renew_failures++, RENEW_DOUBLINGS_MAX)
    it.renew_at = clock.mono() + wait_ms
    log('warn', 'account.token_pending', { account: it.name, rest_ms: wait_ms })
  }

  return { onResult, probe, signIn, renew }
}

const isRevoked = ({ status }: PooledAccount) => status.state_reason === 'client_revoked'

type TasksDeps = {
  lifecycle: ReturnType<typeof createLifecycle>
  current: (it: PooledAccount) => PooledAccount
  clock: Clock
  log: Log
  nudge: () => void
}

const AT_ONCE = 4

/** Creates the background tasks of accounts, one at a time per account. */
export function createTasks({ lifecycle, current, clock, log, nudge }: TasksDeps) {
  const running = new Set<Promise<void>>()
  const work = {
    probe: async (it: PooledAccount) => void (await lifecycle.probe(it)),
    sign_in: lifecycle.signIn,
    renew: lifecycle.renew,
  }

  function start(it: PooledAccount, task: (it: PooledAccount) => Promise<void>): Promise<void> {
    it.busy = true
    const ended = task(it)
      .catch((error: unknown) => {
        log('error', 'account.task_failed', { account: it.name, code: loggedCode(error) })
      })
      .finally(() => {
        it.busy = false
        current(it).busy = false
        running.delete(ended)
        nudge()
      })
    running.add(ended)
    return ended
  }

  return {
    startDue(accounts: readonly PooledAccount[]) {
      for (const it of accounts) {
        if (running.size >= AT_ONCE) break
        const task = taskOf(it, clock.now(), clock.mono())
        if (task !== null) void start(it, work[task])
      }
    },
    /** Checks the account's session now; null if it has no credentials. */
    async probe(it: PooledAccount): Promise<AccountResult['kind'] | null> {
      const found: (AccountResult | null)[] = []
      await start(it, async (account) => void found.push(await lifecycle.probe(account)))
      return found[0]?.kind ?? null
    },
    async idle() {
      while (running.size > 0) await Promise.all(running)
    },
  }
}
