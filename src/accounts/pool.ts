import { pickAccount } from '../core/accounts/selection.ts'
import type { AccountResult, AccountState } from '../core/accounts/status.ts'
import type { Fault } from '../core/base/result.ts'
import type { Ring } from '../core/base/secrets.ts'
import type { Proxy } from '../core/forum/proxy.ts'
import type { Session } from '../core/forum/session.ts'
import { ANONYMOUS, budgetKey, type Identity, type Payer, type Use } from '../platforms/port.ts'
import type { Clock, Log } from '../runtime/runtime.ts'
import { recordProxyTest } from '../store/accounts/proxies.ts'
import { type Db, isStorageError } from '../store/db/connection.ts'
import type { AccountClient } from './client.ts'
import { createLifecycle, createTasks } from './lifecycle.ts'
import {
  createPooledAccounts,
  identityOf,
  nextTaskAt,
  type PooledAccount,
  signInAt,
} from './pooled-account.ts'

export type PoolDeps = {
  db: Db
  ring: Ring
  clock: Clock
  log: Log
  client: AccountClient
  /** Allows the anonymous identity while there is no account at all. */
  allow_anonymous: boolean
  /** Key of the source to which the accounts belong. */
  source: string
  /** Aborts when the daemon stops. */
  signal: AbortSignal
  /** Wakes the loop that runs `turn`. */
  nudge: () => void
}

/**
 * Reason why an account's session is not available: it is unknown, an application's, or in a state
 * that prevents its use.
 */
type DelegationRefusal = 'absent' | 'oauth' | AccountState

type AccountRequest = { identity: string; path_kind: string; fault: Fault | null }

export type Pool = {
  /**
   * The identity with the most remaining budget, except those in `avoid`; null if there is none.
   */
  lease(use: Use, avoid?: readonly string[]): Identity | null
  /**
   * Milliseconds until the first identity may send, 0: now; null if none becomes usable by waiting.
   */
  free_in_ms(use: Use): number | null
  /**
   * The egress for a caller's own session: that of an account for reads. Without one, that of any
   * account that is not paused, so that a caller does not leave directly if the operator has
   * proxies. Null: direct.
   */
  egress(): Proxy | null
  /**
   * A session of one account, by the operator's name for it; otherwise the reason why it is not
   * available now.
   */
  delegate(name: string): { ok: true; session: Session } | { ok: false; why: DelegationRefusal }
  /** The identity of a lent session; null for any other. */
  delegatedIdentity(session: Session): Identity | null
  /**
   * Reports a fault that only the result of a whole read shows: the platform treated the identity
   * as anonymous.
   */
  report(identity: Identity, fault: Fault | null): void
  /** Records a finished request; `through`: the identity at the time of the request. */
  onRequest(event: AccountRequest, through?: Identity): void
  usable(): boolean
  /** Picks up changes of the command line. It also runs by itself at least every second. */
  reload(): void
  /**
   * Picks up changes that this process itself made to accounts; `reload` picks up those of others.
   */
  adopt(): void
  /**
   * Checks an account's session now; 'absent' or 'busy' if it cannot be checked, null if it has no
   * credentials.
   */
  probe(id: string): Promise<AccountResult['kind'] | 'absent' | 'busy' | null>
  /** State of each account, and the requests that it may make at once. */
  list(): { name: string; state: AccountState; requests: number }[]
  /** Rate budget of an account, which others at its address share; null before its first request. */
  budget(id: string): ReturnType<AccountClient['budget']>
  /** Requests per minute of all usable identities together. */
  requestsPerMinute(): number
  /** Starts due tasks, stores changes, and returns the time of the next turn in epoch ms. */
  turn(): Promise<number>
  idle(): Promise<void>
}

const PROXY_CLOSED_MS = 30_000

export function createPool(deps: PoolDeps): Pool {
  const { db, clock, log, client, nudge } = deps
  const accounts = createPooledAccounts(deps)
  const { refresh, reload, onChange } = accounts
  const { current, recordExchange } = accounts
  const lifecycle = createLifecycle({
    client,
    clock,
    log,
    onChange,
    accounts: accounts.all,
    current,
    recordExchange,
    signal: deps.signal,
  })
  const tasks = createTasks({ lifecycle, current, clock, log, nudge })
  /** Identities of lent sessions. The session's own cookies are never sent. */
  const delegated = new WeakMap<Session, Identity>()
  let empty = false

  /** Present budget of an account; null if it cannot be used at all. */
  function offer(it: PooledAccount, use: Use) {
    const { state, cooling_until } = it.status
    if (!isHopeful(it) || !hasIdentity(it)) return null
    const resting = state === 'cooling'
    const { requests, until_ms } = client.headroom(payerOf(it), use)
    // Only a pause that the pacer also enforces may be waited for.
    if (resting && until_ms <= 0) return null
    const closed_ms = it.proxy_closed_until - clock.mono()
    return {
      it,
      id: it.id,
      requests: resting || closed_ms > 0 ? 0 : requests,
      free_at: Math.max(until_ms, closed_ms, (cooling_until ?? 0) - clock.now(), 0),
      used_at: it.used,
    }
  }

  function logIfEmpty() {
    const in_use = accounts.all().filter(({ status }) => status.state !== 'paused')
    const none = in_use.length > 0 && !in_use.some(isExpectedBack)
    if (none && !empty) log('warn', 'pool.empty', { count: in_use.length })
    empty = none
  }

  /** Excludes a failing proxy for a while; accounts behind it are used last. */
  function closeProxy(it: PooledAccount, why: string) {
    if (it.proxy_closed_until > clock.mono() || it.proxy_id === null) return
    it.proxy_closed_until = clock.mono() + PROXY_CLOSED_MS
    log('warn', 'account.proxy_failed', { account: it.name, reason: why })
    try {
      recordProxyTest(db, it.proxy_id, why, clock.now())
    } catch (error) {
      // The stored fault is for the operator only; the read must not fail for it.
      if (!isStorageError(error)) throw error
    }
  }

  reload()

  function lease(use: Use, avoid: readonly string[] = []): Identity | null {
    refresh()
    const all = accounts.all()
    if (all.length === 0)
      return deps.allow_anonymous && !avoid.includes(ANONYMOUS.id) ? ANONYMOUS : null
    const offers = all.flatMap((it) => offer(it, use) ?? [])
    const without_identity: string[] = []
    for (;;) {
      const chosen = pickAccount(offers, [...avoid, ...without_identity])
      if (chosen === null) return null
      const { it } = chosen
      const identity = identityOf(it, clock, onChange)
      if (identity === null) {
        without_identity.push(it.id)
        continue
      }
      accounts.servedLast(it)
      accounts.use(it)
      return identity
    }
  }

  return {
    lease,
    free_in_ms(use) {
      refresh()
      const all = accounts.all()
      if (all.length === 0)
        return deps.allow_anonymous ? client.headroom(ANONYMOUS, use).until_ms : null
      const waits = all.flatMap((it) => offer(it, use) ?? [])
      if (waits.length === 0) return null
      return Math.min(...waits.map(({ requests, free_at }) => (requests > 0 ? 0 : free_at)))
    },
    egress() {
      const identity = lease('read')
      if (identity !== null) return identity.proxy
      const usable = accounts.all().filter(({ status }) => status.state !== 'paused')
      const open = usable.filter((it) => it.proxy_closed_until <= clock.mono())
      const [it] = (open.length > 0 ? open : usable).toSorted((one, other) => one.used - other.used)
      if (it) accounts.servedLast(it)
      return it?.proxy ?? null
    },
    delegate(name) {
      refresh()
      const it = accounts.all().find((account) => account.name === name)
      if (!it) return { ok: false, why: 'absent' }
      if (it.secrets.kind === 'oauth') return { ok: false, why: 'oauth' }
      const { state } = it.status
      if (state !== 'ready') return { ok: false, why: state }
      const identity = identityOf(it, clock, onChange)
      if (identity === null) return { ok: false, why: 'needs_login' }
      const session: Session = { cookies: [{ name: 'lent', value: it.id }], proxy: null }
      delegated.set(session, identity)
      accounts.use(it)
      return { ok: true, session }
    },
    delegatedIdentity: (session) => delegated.get(session) ?? null,
    report(identity, fault) {
      const it = accounts.get(identity.id)
      // Other faults were recorded with their requests, and some are our own pacer's.
      if (it && fault?.kind === 'login_required' && !isOutdated(it, identity))
        lifecycle.onResult(it, fault)
    },
    onRequest({ identity: identity_id, path_kind, fault }, through) {
      const it = accounts.get(identity_id)
      if (!it) return
      if (fault?.kind === 'unavailable' && fault.trouble) return closeProxy(it, fault.trouble)
      // The session check judges its own answer; here only a success is new.
      if (path_kind === 'me' && fault !== null) return
      if (fault?.kind === 'throttled' && fault.searches_only) return
      if (fault?.kind === 'login_required' && through && isOutdated(it, through)) return
      lifecycle.onResult(it, fault)
    },
    usable() {
      refresh()
      const all = accounts.all()
      if (all.length === 0) return deps.allow_anonymous
      return all.some(
        (it) => it.status.state === 'ready' && identityOf(it, clock, onChange) !== null,
      )
    },
    reload,
    adopt: accounts.adopt,
    async probe(id) {
      reload()
      const it = accounts.get(id)
      if (!it) return 'absent'
      return it.busy ? 'busy' : tasks.probe(it)
    },
    list() {
      refresh()
      return accounts.all().map((it) => ({
        name: it.name,
        state: it.status.state,
        // Computed on access: checking the headroom reserves a share of the budget for reads.
        get requests() {
          return it.status.state === 'ready' ? client.headroom(payerOf(it), 'read').requests : 0
        },
      }))
    },
    budget(id) {
      const it = accounts.get(id)
      return it === undefined ? null : client.budget(payerOf(it))
    },
    requestsPerMinute() {
      const payers: Payer[] = accounts
        .all()
        .filter((it) => isHopeful(it) && hasIdentity(it))
        .map(payerOf)
      if (payers.length === 0 && deps.allow_anonymous) payers.push(ANONYMOUS)
      const budgets = new Map(payers.map((it) => [budgetKey(it), it]))
      return [...budgets.values()].reduce(
        (sum, it) => sum + (client.budget(it)?.limit_per_minute ?? 0),
        0,
      )
    },
    turn() {
      reload()
      refresh()
      const all = accounts.all()
      tasks.startDue(all)
      logIfEmpty()
      const now = clock.now()
      const write_at = accounts.writeDue(now)
      const next = all.map((it) => nextTaskAt(it, now, clock.mono()))
      return Promise.resolve(Math.min(write_at, ...next))
    },
    async idle() {
      await tasks.idle()
      reload()
      accounts.write()
    },
  }
}

/** True for an account that is usable, or will be by waiting. */
const isHopeful = ({ status: { state, state_reason } }: PooledAccount) =>
  state === 'ready' || (state === 'cooling' && state_reason === 'throttled')

/** True for an account that may recover by itself, so the operator is not notified yet. */
const isExpectedBack = (it: PooledAccount) =>
  it.status.state === 'ready' ||
  it.status.state === 'cooling' ||
  (signInAt(it) !== null && it.login_failures === 0)

/**
 * True if an identity holds a token that was replaced meanwhile: its refusal says nothing about the
 * new one.
 */
const isOutdated = ({ secrets, token }: PooledAccount, { bearer }: Identity) =>
  secrets.kind === 'oauth' && bearer !== (token?.value ?? null)

const payerOf = ({ id, proxy, token }: PooledAccount): Payer => ({
  id,
  proxy,
  bearer: token?.value ?? null,
})

const hasIdentity = ({ jar, token }: PooledAccount) => jar !== null || token !== null

/** The pools of all sources, by the keys of these. */
export function joinPools(pools: () => ReadonlyMap<string, Pool>) {
  const all = () => [...pools().values()]
  return {
    list: () => all().flatMap((it) => it.list()),
    budget: (id: string) =>
      all()
        .map((it) => it.budget(id))
        .find((it) => it !== null) ?? null,
    async probe(id: string): ReturnType<Pool['probe']> {
      for (const pool of all()) {
        const verdict = await pool.probe(id)
        if (verdict !== 'absent') return verdict
      }
      return 'absent'
    },
    delegate: (source: string, name: string): ReturnType<Pool['delegate']> =>
      pools().get(source)?.delegate(name) ?? { ok: false, why: 'absent' },
    reload: () => all().forEach((it) => it.reload()),
    adopt: () => all().forEach((it) => it.adopt()),
    turn: async () => Math.min(Infinity, ...(await Promise.all(all().map((it) => it.turn())))),
    async idle() {
      await Promise.all(all().map((it) => it.idle()))
    },
  }
}

export type Pools = ReturnType<typeof joinPools>
