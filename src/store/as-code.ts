import type { WebhookKind } from '../core/webhook-kind.ts'
import type { Db } from './db.ts'

/** A target as its customer has set it, which is not always as it is: one may wait for its reader's yes. */
export type SetWebhook = {
  id: string
  name: string | null
  kind: WebhookKind
  url: string
  active: boolean
  ordered: boolean
  max_per_second: number | null
}

type Row = Omit<SetWebhook, 'active' | 'ordered'> & { active: number; ordered: number }

/** A customer's targets as they are set, oldest first. */
export function listSetWebhooks(db: Db, customer_id: string): SetWebhook[] {
  return db
    .query<Row, [{ customer_id: string }]>(
      `SELECT id, name, kind, url, active, ordered, max_per_second FROM webhooks
        WHERE customer_id = $customer_id AND deleted_at IS NULL ORDER BY created_at, id`,
    )
    .all({ customer_id })
    .map((row) => ({ ...row, active: row.active === 1, ordered: row.ordered === 1 }))
}

/** Whether an id is taken already, by whatever and whomever; what was removed keeps its id too. */
export function isTaken(db: Db, what: 'webhooks' | 'monitors', id: string): boolean {
  return (
    db.query<unknown, [{ id: string }]>(`SELECT 1 FROM ${what} WHERE id = $id`).get({ id }) !== null
  )
}
