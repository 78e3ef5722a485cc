import { type Db, schemaVersion } from './db.ts'
import { pendingDeliveries } from './pending.ts'

const PENDING_MAX = 100_000

/** Numbers of everything that an operator is responsible for. */
export type HouseCounts = {
  customers: number
  keys: number
  monitors: number
  monitors_paused: number
  webhooks: number
  webhooks_paused: number
  streams: number
  /** 100,000 when there are as many or more. */
  pending: number
  feedback_new: number
}

/** Counts what is there now. Each is one step in an index, or a table that stays small. */
export function countHouse(db: Db): HouseCounts & { schema: number } {
  const counts = db
    .query<HouseCounts, []>(
      `SELECT (SELECT count(*) FROM customers WHERE removed_at IS NULL) AS customers,
              (SELECT count(*) FROM api_keys WHERE revoked_at IS NULL) AS keys,
              (SELECT count(*) FROM monitors WHERE removed_at IS NULL) AS monitors,
              (SELECT count(*) FROM monitors WHERE removed_at IS NULL AND active = 0) AS monitors_paused,
              (SELECT count(*) FROM webhooks WHERE deleted_at IS NULL) AS webhooks,
              (SELECT count(*) FROM webhooks WHERE deleted_at IS NULL AND paused_at IS NOT NULL) AS webhooks_paused,
              (SELECT count(*) FROM streams WHERE next_check_at IS NOT NULL) AS streams,
              (SELECT count(*) FROM (SELECT 1 FROM ${pendingDeliveries('row')} LIMIT ${PENDING_MAX})) AS pending,
              (SELECT count(*) FROM feedback WHERE status = 'new') AS feedback_new`,
    )
    .get()
  if (counts === null) throw new Error('a count came to nothing')
  return { ...counts, schema: schemaVersion(db) }
}

/** A customer as its operator sees it. Money is micro-dollars, instants are epoch ms. */
export type CustomerSums = {
  id: string
  name: string
  plan: string
  balance_micros: number
  unlimited: number
  created_at: number
  monitors: number
  /** Metered calls in the hours that begin since then. */
  requests: number
}

/** Customers, oldest first, with what they have and how much they called since an instant; at most `limit`. */
export function listCustomerSums(db: Db, since: number, limit: number): CustomerSums[] {
  return db
    .query<CustomerSums, [{ since: number; limit: number }]>(
      `SELECT c.id, c.name, c.plan, c.balance_micros, c.unlimited, c.created_at,
              (SELECT count(*) FROM monitors m WHERE m.customer_id = c.id AND m.removed_at IS NULL) AS monitors,
              (SELECT coalesce(sum(calls), 0) FROM usage_hours u
                WHERE u.customer_id = c.id AND u.hour_at > $since) AS requests
         FROM customers c WHERE c.removed_at IS NULL ORDER BY c.created_at, c.id LIMIT $limit`,
    )
    .all({ since, limit })
}
