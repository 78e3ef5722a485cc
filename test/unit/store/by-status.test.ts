import { expect, test } from 'bun:test'

import { type Db, openDb } from '../../../src/store/db.ts'
import { listDeliveries } from '../../../src/store/deliveries.ts'
import { redeliver } from '../../../src/store/redeliver.ts'

// A customer has a million deliveries that arrived, and asks every minute for what did not: the daemon answers nobody
// else while it looks for that.

/** How SQLite goes about what `work` asks about deliveries. */
function plansOf(work: (db: Db) => void): string {
  using db = openDb(':memory:', { create: true })
  const asked = new Set<string>()
  const query = db.query.bind(db)
  Object.assign(db, { query: (sql: string) => (asked.add(sql), query(sql)) })
  work(db)
  return [...asked]
    .flatMap((sql) => query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`).all())
    .map(({ detail }) => detail)
    .filter((it) => /\b(?:deliveries|d) USING/.test(it))
    .join('\n')
}

const MISSED_OR_WAITING = ['pending', 'failed', 'dead', 'suppressed'] as const
const MISSED = 'deliveries_missed (customer_id=? AND status=?'

test.each(
  MISSED_OR_WAITING.flatMap((status) => [null, 'mon_1'].map((it) => [status, it] as const)),
)(
  'a list of %s, of the monitor %j, goes by an index that knows the status',
  (status, monitor_id) => {
    const plans = plansOf((db) =>
      listDeliveries(db, { customer_id: 'cus_1', monitor_id, status, before: 1, limit: 50 }),
    )
    if (status === 'pending') {
      expect(plans).toContain('INDEX deliveries_due')
      expect(plans).toContain('INDEX deliveries_leased')
      expect(plans).not.toContain('customer_id=?')
    } else expect(plans).toContain(MISSED)
  },
)

test.each(['cus_1', null])('so does a new round of what failed and died, for %j', (customer_id) => {
  const which = { since: 0, until: 1, statuses: ['failed', 'dead'], webhook_id: null } as const
  const plans = plansOf((db) =>
    redeliver(db, { customer_id, which, dry_run: true, rows_max: 10, now: 0 }),
  )

  expect(plans).toContain(MISSED)
})
