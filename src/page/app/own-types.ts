// What the API tells this page and the operator beside what its OpenAPI document has. Instants are ISO 8601, money is USD.

/** Who is signed in, and the words of this daemon. */
export type Who = {
  role: 'customer' | 'operator'
  customer: { id: string; name: string } | null
  key: { id: string; name: string | null; prefix: string; scopes: string[] }
  insecure: boolean
  version: string
  words: { platform: string; community: string; communities: string }
  base_path: string
  monitor_path: string
}

/** What happens now, as it is told again and again. */
export type Snapshot = {
  at: string
  last_minute: {
    checks: number
    items_seen: number
    matches: number
    delivered: number
    failed: number
    reads: number
    spent_usd: number
  }
  pending: number
  recent: Recent[]
  accounts?: { usable: number; cooling: number; needs_login: number }
}

/** Something that just happened. */
export type Recent = {
  at: string
  what: string
  monitor_id: string | null
  monitor_name: string | null
  delivery_id: string | null
  title: string | null
  status: string | null
}

/** An account of the pool. */
export type Account = {
  id: string
  name: string
  kind: string
  status: string
  paused: boolean
  needs_login: boolean
  proxy: string | null
  budget: { limit_per_minute: number; remaining: number; resets_at: string | null } | null
  cooling_until: string | null
  last_used_at: string | null
  last_error: string | null
  requests_24h: number | null
  blocked_24h: number | null
}

/** The pool, its ways out, and whether nobody may read. */
export type Pool = {
  accounts: Account[]
  proxies: {
    id: string
    name: string
    scheme: string | null
    host: string | null
    status: string
    last_tested_at: string | null
    last_error: string | null
  }[]
  anonymous: { allowed: boolean }
}

/** A customer as the operator sees one. */
export type Customer = {
  id: string
  name: string
  plan: string
  credits_remaining: number
  unlimited: boolean
  created_at: string
  monitors: number
  requests_24h: number
}

/** What the house tells of itself. */
export type House = {
  version: string
  started_at: string
  reads: string
  counts: { [name: string]: number }
  storage: {
    trouble: string | null
    schema: number
    free_bytes: number
    db_bytes: number
    wal_bytes: number
    ballast: boolean
  }
  auditor: { last_run_at: string | null; findings: { invariant: string; subject: string }[] }
}
