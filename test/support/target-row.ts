import type { WebhookKind } from '../../src/core/delivery/target.ts'
import type { Db } from '../../src/store/db/connection.ts'
import { insertWebhook } from '../../src/store/delivery/webhooks.ts'
import { addCustomer } from './customers.ts'

/** Adds a monitor of everything. */
export function addMonitor(db: Db, id: string, customer_id = 'cus_1'): void {
  db.query(
    `INSERT INTO monitors (id, customer_id, filter_spec, cadence_s, active_since, created_at, updated_at)
     VALUES (?, ?, '{}', 60, 0, 0, 0)`,
  ).run(id, customer_id)
}

type Target = { customer_id?: string; kind?: WebhookKind; at?: number }

/** Adds a target that a test delivers to by itself. */
export const addTarget = (
  db: Db,
  id: string,
  { customer_id = 'cus_1', kind = 'webhook', at = 0 }: Target = {},
) =>
  insertWebhook(db, {
    id,
    customer_id,
    kind,
    url: 'https://hooks.example.com/',
    secret: new Uint8Array(1),
    created_at: at,
  })

/** Puts into a new database who a delivery is of: customer `cus_1`, monitor `mon_1`, and target `wh_1` of that kind. */
export function putTarget(db: Db, kind: WebhookKind = 'webhook'): void {
  addCustomer(db, 'cus_1', { name: 'ann' })
  addMonitor(db, 'mon_1')
  addTarget(db, 'wh_1', { kind })
}
