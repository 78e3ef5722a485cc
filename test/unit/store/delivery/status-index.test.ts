import { expect, test } from 'bun:test'

import type { Db } from '../../../../src/store/db/connection.ts'
import { listDeliveries } from '../../../../src/store/delivery/deliveries.ts'
import { webhookHealth } from '../../../../src/store/delivery/health.ts'
import { redeliver } from '../../../../src/store/delivery/redeliver.ts'
import { memoryDb } from '../../../support/memory-db.ts'

// A customer with a million delivered deliveries asks every minute for the missed ones. A full scan would block the
// daemon.

/** SQLite's query plans for the queries of `work` on deliveries. */
function plansOf(work: (db: Db) => void, tables = /\b(?:deliveries|d) USING/): string {
  using db = memoryDb()
  const statements = new Set<string>()
  const query = db.query.bind(db)
  Object.assign(db, { query: (sql: string) => (statements.add(sql), query(sql)) })
  work(db)
  return [...statements]
    .flatMap((sql) => query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`).all())
    .map(({ detail }) => detail)
    .filter((it) => tables.test(it))
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
    expect(plans).not.toContain('customer_id=?')
  } else expect(plans).toContain(MISSED)
})

const QUERY = { customer_id: 'cus_1', before: 9, since: 1, limit: 50 }

test.each([
  [{ webhook_id: 'wh_1' }, 'deliveries_webhook (webhook_id=? AND created_at>? AND created_at<?)'],
  [
    { webhook_id: 'wh_1', monitor_id: 'mon_1' },
    'deliveries_webhook (webhook_id=? AND created_at>? AND created_at<?)',
  ],
  [{ monitor_id: 'mon_1' }, 'deliveries_monitor (monitor_id=? AND created_at>? AND created_at<?)'],
  [{}, 'deliveries_customer (customer_id=? AND created_at>? AND created_at<?)'],
  [{ webhook_id: 'wh_1', status: 'dead' }, MISSED],
  [{ webhook_id: 'wh_1', status: 'delivered' }, 'deliveries_webhook (webhook_id=?'],
  [{ webhook_id: 'wh_1', retrying: true }, 'deliveries_due (webhook_id=?'],
  [{ webhook_id: 'wh_1', id_prefix: 'dlv_abcd' }, 'sqlite_autoindex_deliveries_1 (id>? AND id<?)'],
] as const)('a list of %j reads an index in the order of the list', (filters, index) => {
  const plans = plansOf((db) => listDeliveries(db, { ...QUERY, ...filters }))
  expect(plans).toContain(index)
  expect(plans).not.toContain('SCAN')
})

test('the health of targets reads indexes alone', () => {
  const plans = plansOf((db) => webhookHealth(db, 'cus_1', 0), /\b(?:deliveries|d|w|h|a)\b/)
  expect(plans).toContain('w USING INDEX webhooks_customer')
  expect(plans).toContain('h USING PRIMARY KEY (webhook_id=? AND hour>? AND hour<?)')
  expect(plans).toContain('deliveries_due (webhook_id=?')
  expect(plans).toContain('a USING PRIMARY KEY (delivery_row=? AND n=?)')
  expect(plans).not.toContain('SCAN w')
  expect(plans).not.toContain('SCAN d')
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
