import { expect, test } from 'bun:test'

import { DRAFT_STATES } from '../../../src/core/draft.ts'
import { ACCOUNT_STATES } from '../../../src/core/pool.ts'
import { STREAM_KINDS } from '../../../src/core/stream.ts'
import { WEBHOOK_KINDS } from '../../../src/core/webhook-kind.ts'
import type { AccountSecrets } from '../../../src/store/accounts.ts'
import { openDb } from '../../../src/store/db.ts'
import { DELIVERY_STATUSES } from '../../../src/store/deliveries.ts'
import { FEEDBACK_STATUSES, FEEDBACK_TYPES } from '../../../src/store/feedback.ts'
import { PAYMENT_KINDS } from '../../../src/store/payments.ts'

// A word that the code knows and the database refuses would be found out by whoever uses it first.

const ACCOUNT_KINDS: Record<AccountSecrets['kind'], true> = { session: true, oauth: true }

/** Each vocabulary of the code, by the column that keeps its words. */
const KNOWN: Record<string, readonly string[]> = {
  'accounts.kind': Object.keys(ACCOUNT_KINDS),
  'accounts.state': ACCOUNT_STATES,
  'deliveries.status': DELIVERY_STATUSES,
  'drafts.state': DRAFT_STATES,
  'feedback.status': FEEDBACK_STATUSES,
  'feedback.type': FEEDBACK_TYPES,
  // Told to the operator, or given up: no part of the interface, known to its own file alone.
  'operator_events.status': ['pending', 'delivered', 'dead'],
  'payments.kind': PAYMENT_KINDS,
  'streams.kind': STREAM_KINDS,
  'webhooks.kind': WEBHOOK_KINDS,
}

/** Each closed list of words in the schema, by its column. */
function kept(): Record<string, string[]> {
  using db = openDb(':memory:', { create: true })
  const tables = db
    .query<{ name: string; sql: string }, []>(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY name",
    )
    .all()
  return Object.fromEntries(
    tables.flatMap(({ name, sql }) =>
      [...sql.matchAll(/CHECK \((\w+) IN \(('[^)]*)\)\)/g)].map(([, column = '', words = '']) => [
        `${name}.${column}`,
        [...words.matchAll(/'(\w+)'/g)].map(([, word = '']) => word),
      ]),
    ),
  )
}

test('the words that the database takes are the words that the code knows', () => {
  expect(kept()).toEqual(
    Object.fromEntries(Object.entries(KNOWN).map(([column, words]) => [column, [...words]])),
  )
})
