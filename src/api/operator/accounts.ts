import { Elysia } from 'elysia'

import { ApiError } from '../../core/base/errors.ts'
import type { Ring } from '../../core/base/secrets.ts'
import { iso } from '../../core/base/time.ts'
import type { Clock, Log } from '../../runtime/runtime.ts'
import {
  type Account,
  listAccounts,
  pauseAccount,
  resumeAccount,
} from '../../store/accounts/accounts.ts'
import { listProxies, openProxy, type ProxyRow } from '../../store/accounts/proxies.ts'
import { type Db, transact } from '../../store/db/connection.ts'
import type { RecordAction } from './actions.ts'

export type PoolControl = {
  adopt(): void
  /** Runs a session check at the platform, and returns its result. */
  probe(id: string): Promise<string | null>
  /** Rate budget of an account; null before its first request. */
  budget(
    id: string,
  ): { limit_per_minute: number; remaining: number; resets_in_ms: number | null } | null
}

export type OperatorPoolDeps = {
  db: Db
  ring: Ring
  clock: Clock
  log: Log
  pool: PoolControl
  requests: RequestCounts
  allow_anonymous: boolean
}

export function operatorPool(deps: OperatorPoolDeps, record: RecordAction) {
  const { db, ring, clock, log, pool, requests, allow_anonymous } = deps

  function toAccount(it: Account, proxies: ReadonlyMap<string, string>) {
    const budget = pool.budget(it.id)
    const usage = requests.of(it.id)
    return {
      id: it.id,
      name: it.name,
      kind: it.kind,
      username: it.username,
      status: it.state,
      since: iso(it.state_since),
      paused: it.state === 'paused',
      needs_login: it.state === 'needs_login',
      proxy: it.proxy_id === null ? null : (proxies.get(it.proxy_id) ?? null),
      budget: budget && {
        limit_per_minute: budget.limit_per_minute,
        remaining: budget.remaining,
        resets_at: budget.resets_in_ms === null ? null : iso(clock.now() + budget.resets_in_ms),
      },
      cooling_until: iso(it.cooling_until),
      last_used_at: iso(it.last_used_at),
      last_ok_at: iso(it.last_ok_at),
      last_error: it.state_reason,
      requests_24h: usage.requests,
      blocked_24h: usage.blocked,
    }
  }

  function toProxy({ id, name, last_ok_at, last_error }: ProxyRow) {
    const proxy = openProxy(db, ring, id)
    const status = last_error !== null ? 'failing' : last_ok_at === null ? 'untested' : 'ok'
    return {
      id,
      name,
      scheme: proxy?.scheme ?? null,
      // Host and port only: the rest of an address may hold credentials.
      host: proxy && `${proxy.host}:${proxy.port}`,
      status,
      // A failed test stores its reason only.
      last_tested_at: last_error === null ? iso(last_ok_at) : null,
      last_ok_at: iso(last_ok_at),
      last_error,
    }
  }

  const proxyNames = () => new Map(listProxies(db).map(({ id, name }) => [id, name]))

  function accountOf(id: string): Account {
    const account = listAccounts(db).find((it) => it.id === id)
    if (account) return account
    throw new ApiError('NOT_FOUND', { message: 'there is no such account' })
  }

  /** Changes the state of an account and updates the pool. */
  function change(
    request: Request,
    id: string,
    [put, action]:
      [typeof pauseAccount, 'account.paused'] | [typeof resumeAccount, 'account.resumed'],
  ) {
    const { name } = transact(db, () => {
      const account = accountOf(id)
      put(db, ring, id, clock.now())
      record(request, { action, subject: id, subject_name: account.name })
      return account
    })
    pool.adopt()
    return { name, account: toAccount(accountOf(id), proxyNames()) }
  }

  return new Elysia({ name: 'operator pool', prefix: '/operator', detail: { hide: true } })
    .get('/pool', () => {
      const names = proxyNames()
      return {
        accounts: listAccounts(db).map((it) => toAccount(it, names)),
        proxies: listProxies(db).map(toProxy),
        anonymous: { allowed: allow_anonymous },
        counted_since: iso(requests.since()),
      }
    })
    .post('/pool/:id/pause', ({ params: { id }, request }) => {
      const { name, account } = change(request, id, [pauseAccount, 'account.paused'])
      log('info', 'account.paused', { account: name, reason: 'operator' })
      return account
    })
    .post('/pool/:id/resume', ({ params: { id }, request }) => {
      const { name, account } = change(request, id, [resumeAccount, 'account.resumed'])
      log('info', 'account.resumed', { account: name })
      return account
    })
    .post('/pool/:id/test', async ({ params: { id } }) => {
      const verdict = accountOf(id).state === 'paused' ? 'paused' : await pool.probe(id)
      return {
        ok: verdict === 'alive',
        verdict: verdict ?? 'no_session',
        account: toAccount(accountOf(id), proxyNames()),
      }
    })
}

const HOUR_MS = 3_600_000
const HOURS = 24
const ACCOUNTS_MAX = 1000

type Hour = { hour: number; requests: number; blocked: number }

/** Requests through each pool account and how many met a block page, over 24 hours. */
export type RequestCounts = {
  count(account_id: string, blocked: boolean): void
  of(account_id: string): { requests: number; blocked: number }
  /** Start of the counts, epoch ms. */
  since(): number
}

/** Creates the counts, in memory: the account's own row stores the effect of a request on it. */
export function createRequestCounts(clock: Clock): RequestCounts {
  const accounts = new Map<string, Hour[]>()
  const started_at = clock.mono()
  const hourNow = () => Math.floor((clock.mono() - started_at) / HOUR_MS)
  const recent = (id: string) =>
    (accounts.get(id) ?? []).filter(({ hour }) => hour > hourNow() - HOURS)

  return {
    count(account_id, blocked) {
      const hour = hourNow()
      const existing = accounts.get(account_id)
      if (!existing && accounts.size >= ACCOUNTS_MAX) return
      const last = existing?.at(-1)
      const now = last?.hour === hour ? last : { hour, requests: 0, blocked: 0 }
      now.requests += 1
      if (blocked) now.blocked += 1
      if (now !== last) accounts.set(account_id, [...recent(account_id), now])
    },
    of: (account_id) => ({
      requests: recent(account_id).reduce((sum, { requests }) => sum + requests, 0),
      blocked: recent(account_id).reduce((sum, { blocked }) => sum + blocked, 0),
    }),
    since() {
      const first = Math.max(0, hourNow() - HOURS + 1)
      return clock.now() - (clock.mono() - started_at) + first * HOUR_MS
    },
  }
}
