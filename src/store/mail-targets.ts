import { type Db, transact } from './db.ts'
import { tellEndedTo } from './ended.ts'
import { pendingDeliveries } from './pending.ts'

/** Whether a target of kind email still waits for its reader to say yes. */
export function awaitsConfirmation(db: Db, webhook_id: string): boolean {
  return (
    db
      .query('SELECT 1 FROM webhooks WHERE id = $webhook_id AND awaits_confirmation = 1')
      .get({ webhook_id }) !== null
  )
}

/** Takes a target into service because its reader said yes. Its address; null when it is gone. */
export function confirmTarget(db: Db, webhook_id: string): string | null {
  return transact(db, () => {
    const row = db
      .query<{ url: string; awaited: number }, [{ webhook_id: string }]>(
        'SELECT url, awaits_confirmation AS awaited FROM webhooks WHERE id = $webhook_id AND deleted_at IS NULL',
      )
      .get({ webhook_id })
    if (row === null) return null
    if (row.awaited === 1) {
      db.query('UPDATE webhooks SET awaits_confirmation = 0 WHERE id = $webhook_id').run({
        webhook_id,
      })
      // No trigger tells of it: since when mail may go there, and that what was matched before was not for this reader.
      db.query(
        `INSERT INTO audit (at, kind, subject, detail) VALUES (CAST(unixepoch('subsec') * 1000 AS INTEGER),
           'webhook.changed', $webhook_id, json_object('confirmed', json('true')))`,
      ).run({ webhook_id })
    }
    return row.url
  })
}

/** How many targets of kind email were made since then: by a customer, and for an address whoever made them. */
export function countMailTargets(
  db: Db,
  query: { customer_id: string; url: string; since_at: number },
): { by_customer: number; for_address: number } {
  return (
    db
      .query<{ by_customer: number; for_address: number }, [typeof query]>(
        `SELECT count(*) FILTER (WHERE customer_id = $customer_id) AS by_customer,
                count(*) FILTER (WHERE url = $url) AS for_address
           FROM webhooks WHERE kind = 'email' AND created_at > $since_at`,
      )
      .get(query) ?? { by_customer: 0, for_address: 0 }
  )
}

/** What a reader of mail may stop: a monitor's way to one target. */
export type Subscription = { url: string; monitor_name: string | null; stopped: boolean }

type Pair = { webhook_id: string; monitor_id: string }

/** A subscription; null when the target or the monitor is gone. */
export function findSubscription(db: Db, pair: Pair): Subscription | null {
  const row = db
    .query<{ url: string; name: string | null; stopped: number }, [Pair]>(
      `SELECT w.url, m.name, EXISTS (SELECT 1 FROM unsubscribed
               WHERE webhook_id = $webhook_id AND monitor_id = $monitor_id) AS stopped
         FROM webhooks w JOIN monitors m ON m.customer_id = w.customer_id
        WHERE w.id = $webhook_id AND m.id = $monitor_id
          AND w.deleted_at IS NULL AND m.removed_at IS NULL`,
    )
    .get(pair)
  return row && { url: row.url, monitor_name: row.name, stopped: row.stopped === 1 }
}

/** Stops what a monitor sends to a target; what waits on this way fails as webhook_paused. Doing it twice is doing it once. */
export function unsubscribe(db: Db, pair: Pair, now: number): void {
  transact(db, () => {
    db.query(
      `INSERT OR IGNORE INTO unsubscribed (webhook_id, monitor_id, unsubscribed_at)
       VALUES ($webhook_id, $monitor_id, $now)`,
    ).run({ ...pair, now })
    const { changes: count } = db
      .query(
        // What is on its way at this moment may still arrive, but is not tried again.
        `UPDATE deliveries SET status = 'failed', last_error = 'webhook_paused', next_attempt_at = NULL, lease = NULL
          WHERE row IN (SELECT row FROM ${pendingDeliveries('row, webhook_id, monitor_id')}
                         WHERE webhook_id = $webhook_id AND monitor_id = $monitor_id)`,
      )
      .run(pair)
    tellEndedTo(db, pair.webhook_id, { status: 'failed', count })
  })
}

/** The targets whose reader wants no more from a monitor. */
export function listUnsubscribed(db: Db, monitor_id: string): Set<string> {
  const rows = db
    .query<{ webhook_id: string }, [{ monitor_id: string }]>(
      'SELECT webhook_id FROM unsubscribed WHERE monitor_id = $monitor_id',
    )
    .all({ monitor_id })
  return new Set(rows.map(({ webhook_id }) => webhook_id))
}
