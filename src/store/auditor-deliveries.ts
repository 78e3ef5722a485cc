import type { Db } from './db.ts'
import type { Parts } from './parts.ts'

/** Deliveries looked at in one go: a matter of milliseconds. */
const AT_ONCE = 250

type Looked = { id: string; created_at: number; is_unsaid: number; is_many: number }

/** Of some deliveries, those that were delivered though nobody said yes, and those attempted more often than may be. */
type Wrong = { unsaid: string[]; many: string[] }

/** Looks at a customer's deliveries since then, a part at a time. */
export function* findWrong(
  db: Db,
  customer_id: string,
  { since_at, attempts_max }: { since_at: number; attempts_max: number },
): Parts<Wrong> {
  const wrong: Wrong = { unsaid: [], many: [] }
  let after = { created_at: since_at - 1, id: '' }
  for (;;) {
    const rows = listAfter(db, { customer_id, attempts_max, ...after })
    for (const { id, is_unsaid, is_many } of rows) {
      if (is_unsaid) wrong.unsaid.push(id)
      if (is_many) wrong.many.push(id)
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < AT_ONCE) return wrong
    after = { created_at: last.created_at, id: last.id }
    yield
  }
}

type After = { customer_id: string; created_at: number; id: string; attempts_max: number }

// In the order of an index that begins with the customer, so that no part reads more than its own rows.
const listAfter = (db: Db, after: After): Looked[] =>
  db
    .query<Looked, [After]>(
      `SELECT d.id, d.created_at,
              d.status = 'delivered' AND NOT EXISTS
                (SELECT 1 FROM attempts a WHERE a.delivery_row = d.row AND a.round = d.round AND a.error IS NULL)
                AS is_unsaid,
              (SELECT count(*) FROM attempts a WHERE a.delivery_row = d.row) > $attempts_max
                AND EXISTS (SELECT 1 FROM attempts a WHERE a.delivery_row = d.row
                             GROUP BY a.round HAVING count(*) > $attempts_max) AS is_many
         FROM deliveries d
        WHERE d.customer_id = $customer_id AND (d.created_at, d.id) > ($created_at, $id)
        ORDER BY d.created_at, d.id LIMIT ${AT_ONCE}`,
    )
    .all(after)
