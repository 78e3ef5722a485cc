import type { WebhookKind } from '../../src/core/delivery/target.ts'
import type { Db } from '../../src/store/db/connection.ts'
import { insertWebhook } from '../../src/store/delivery/webhooks.ts'

/** Puts into a new database who a delivery is of: customer `cus_1`, monitor `mon_1`, and target `wh_1` of that kind. */
export function putTarget(db: Db, kind: WebhookKind = 'webhook'): void {
  db.run("INSERT INTO customers VALUES ('cus_1', 'ann', 'entry', 0, 0, 0, NULL)")
  db.run(`INSERT INTO monitors (id, customer_id, filter_spec, cadence_s, active_since, created_at, updated_at)
          VALUES ('mon_1', 'cus_1', '{}', 60, 0, 0, 0)`)
  insertWebhook(db, {
    id: 'wh_1',
    customer_id: 'cus_1',
    kind,
    url: 'https://hooks.example.com/',
    secret: new Uint8Array(1),
    created_at: 0,
  })
}
