import { Elysia } from 'elysia'

import { ApiError } from '../core/errors.ts'
import { iso } from '../core/instant.ts'
import type { Ring } from '../core/seal.ts'
import type { Clock, Log } from '../outside.ts'
import { type Account, listAccounts, pauseAccount, resumeAccount } from '../store/accounts.ts'
import { type Db, transact } from '../store/db.ts'
import { listProxies, openWay, type ProxyRow } from '../store/proxies.ts'
import type { RequestCounts } from './operator-requests.ts'

/** What the pool can be asked by the operator's routes. */
type PoolDesk = {
  /** Takes over what was changed of accounts here. */
  adopt(): void
  /** Asks the platform who an account is, and answers what that has shown. */
  probe(id: string): Promise<string | null>
}

/** How much may be asked through an account; null as long as nothing was. */
type BudgetOf = (account_id: string) => {
  limit_per_minute: number
  remaining: number
  resets_in_ms: number | null
} | null

export type OperatorPoolDeps = {
  db: Db
  ring: Ring
  clock: Clock
  log: Log
  pool: PoolDesk
  budget_of: BudgetOf
  requests: RequestCounts
  allow_anonymous: boolean
}

/** The operator's accounts and ways out, and what is done with them. No secret is ever among it. */
export function operatorPool(deps: OperatorPoolDeps) {
  const { db, ring, clock, log, pool, budget_of, requests, allow_anonymous } = deps

  function toAccount(it: Account, proxies: ReadonlyMap<string, string>) {
    const budget = budget_of(it.id)
    const asked = requests.of(it.id)
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
      requests_24h: asked.requests,
      blocked_24h: asked.blocked,
    }
  }

  function toProxy({ id, name, last_ok_at, last_error }: ProxyRow) {
    const way = openWay(db, ring, id)
    const status = last_error !== null ? 'failing' : last_ok_at === null ? 'untested' : 'ok'
    return {
      id,
      name,
      scheme: way?.scheme ?? null,
      // Host and port alone: what else an address may hold is nobody's to read.
      host: way && `${way.host}:${way.port}`,
      status,
      // Of a test that failed only its reason is kept.
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

  /** Puts an account where the operator wants it, and has the pool know. */
  function change(id: string, put: typeof pauseAccount | typeof resumeAccount) {
    const { name } = transact(db, () => {
      const account = accountOf(id)
      put(db, ring, id, clock.now())
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
    .post('/pool/:id/pause', ({ params: { id } }) => {
      const { name, account } = change(id, pauseAccount)
      log('info', 'account.paused', { account: name, reason: 'operator' })
      return account
    })
    .post('/pool/:id/resume', ({ params: { id } }) => {
      const { name, account } = change(id, resumeAccount)
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
