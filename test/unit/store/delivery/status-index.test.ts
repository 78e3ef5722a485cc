import { expect, test } from 'bun:test'

import { type Db, openDb } from '../../../../src/store/db/connection.ts'
import { listDeliveries } from '../../../../src/store/delivery/deliveries.ts'
import { redeliver } from '../../../../src/store/delivery/redeliver.ts'

// A customer with a million delivered deliveries asks every minute for the missed ones. A full scan would block the
// daemon.

/** SQLite's query plans for the queries of `work` on deliveries. */
function plansOf(work: (db: Db) => void): string {
  using db = openDb(':memory:', { create: true })
  const statements = new Set<string>()
  const query = db.query.bind(db)
  Object.assign(db, { query: (sql: string) => (statements.add(sql), query(sql)) })
  work(db)
  return [...statements]
    .flatMap((sql) => query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`).all())
    .map(({ detail }) => detail)
    .filter((it) => /\b(?:deliveries|d) USING/.test(it))
    .join('\n')
}

const MISSED_OR_WAITING = ['pending', 'failed', 'dead', 'suppressed'] as const
const MISSED = 'deliveries_missed (customer_id=? AND status=?'

test.each(
  MISSED_OR_WAITING.flatMap((status) => [null, 'mon_1'].map((it) => [status, it] as const)),
)('a list of %s for the monitor %j uses an index with the status', (status, monitor_id) => {
  const plans = plansOf((db) =>
    listDeliveries(db, { customer_id: 'cus_1', monitor_id, status, before: 1, limit: 50 }),
  )
  if (status === 'pending') {
    expect(plans).toContain('INDEX deliveries_due')
    expect(plans).toContain('INDEX deliveries_leased')
    expect(plans).not.toContain('customer_id=?')
  } else expect(plans).toContain(MISSED)
})

test.each(['cus_1', null])(
  'redelivery of failed and dead deliveries uses the index, for %j',
  (customer_id) => {
    const which = { since: 0, until: 1, statuses: ['failed', 'dead'], webhook_id: null } as const
    const plans = plansOf((db) =>
      redeliver(db, { customer_id, which, dry_run: true, rows_max: 10, now: 0 }),
    )

    expect(plans).toContain(MISSED)
  },
)
