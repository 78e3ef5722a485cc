import type { Clock } from '../outside.ts'

const HOUR_MS = 3_600_000
const HOURS = 24
const ACCOUNTS_MAX = 1000

type Hour = { hour: number; requests: number; blocked: number }

/** Requests to the platform through each account of the pool, and how many of them met a block page, over 24 hours. */
export type RequestCounts = {
  count(account_id: string, blocked: boolean): void
  of(account_id: string): { requests: number; blocked: number }
  /** Nothing from before this instant (epoch ms) is in the counts. */
  since(): number
}

/** Counts from its making on, in memory: what a request did to its account is in the account's own row. */
export function createRequestCounts(clock: Clock): RequestCounts {
  const accounts = new Map<string, Hour[]>()
  const started_at = clock.mono()
  const hourNow = () => Math.floor((clock.mono() - started_at) / HOUR_MS)
  const recent = (id: string) =>
    (accounts.get(id) ?? []).filter(({ hour }) => hour > hourNow() - HOURS)

  return {
    count(account_id, blocked) {
      const hour = hourNow()
      const known = accounts.get(account_id)
      if (!known && accounts.size >= ACCOUNTS_MAX) return
      const last = known?.at(-1)
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
