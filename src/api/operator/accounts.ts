import type { Ring } from '../../core/base/secrets.ts'
import type { Clock, Log } from '../../runtime/runtime.ts'
import type { Db } from '../../store/db/connection.ts'

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
