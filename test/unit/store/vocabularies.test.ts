import { expect, test } from 'bun:test'

import { ACCOUNT_STATES } from '../../../src/core/accounts/status.ts'
import { ERASURE_REASONS } from '../../../src/core/delivery/envelope.ts'
import { DRAFT_STATES } from '../../../src/core/forum/draft.ts'
import { INBOX_STATES } from '../../../src/core/inbox/filter.ts'
import { FEED_KINDS } from '../../../src/core/polling/feed.ts'
import type { AccountSecrets } from '../../../src/store/accounts/accounts.ts'
import { FEEDBACK_STATUSES, FEEDBACK_TYPES } from '../../../src/store/customers/feedback.ts'
import { PAYMENT_KINDS } from '../../../src/store/customers/ledger.ts'
import {
  ALARM_EVENTS,
  DELIVERY_STATUSES,
  ITEM_EVENTS,
} from '../../../src/store/delivery/deliveries.ts'
import { INBOX_ACTIONS } from '../../../src/store/inbox/actions.ts'
import { ALARM_KINDS } from '../../../src/store/monitoring/alarms.ts'
import { FOUND_BY } from '../../../src/store/monitoring/matches.ts'
import { MONITOR_PAUSE_REASONS } from '../../../src/store/monitoring/monitors.ts'
import { JUDGEMENT_OUTCOMES } from '../../../src/store/relevance/judgements.ts'
import { memoryDb } from '../../support/memory-db.ts'

// The code and the CHECK constraints must allow the same words; otherwise an insert would fail in production.

const ACCOUNT_KINDS: Record<AccountSecrets['kind'], true> = { session: true, oauth: true }

/** Each vocabulary of the code, by the column that stores its words. */
const VOCABULARIES: Record<string, readonly string[]> = {
  'accounts.kind': Object.keys(ACCOUNT_KINDS),
  "accounts.status ->> '$.state'": ACCOUNT_STATES,
  'alarms.kind': ALARM_KINDS,
  'deliveries.status': DELIVERY_STATUSES,
  'drafts.state': DRAFT_STATES,
  'feedback.status': FEEDBACK_STATUSES,
  'feedback.type': FEEDBACK_TYPES,
  // Internal states of operator events, not part of the API.
  'operator_events.status': ['pending', 'delivered', 'dead'],
  'loop_state.loop': ['projection', 'claims', 'pace'],
  'messages.event': [...ALARM_EVENTS, ...ITEM_EVENTS],
  'judgements.outcome': JUDGEMENT_OUTCOMES,
  'monitors.pause_reason': MONITOR_PAUSE_REASONS,
  'payments.kind': PAYMENT_KINDS,
  'feeds.kind': FEED_KINDS,
  'feed_items.found_by': FOUND_BY,
  'inbox_actions.kind': INBOX_ACTIONS,
  'inbox_items.state': INBOX_STATES,
  'item_tombstones.reason': ERASURE_REASONS,
}

/** Each closed list of words in the schema, by its column. */
function storedVocabularies(): Record<string, string[]> {
  using db = memoryDb()
  const tables = db
    .query<{ name: string; sql: string }, []>(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY name",
    )
    .all()
  return Object.fromEntries(
    tables.flatMap(({ name, sql }) =>
      [...sql.matchAll(/CHECK \((\w+(?: ->> '[$.\w]+')?) IN \(('[^)]*)\)\)/g)].map(
        ([, column = '', words = '']) => [
          `${name}.${column}`,
          [...words.matchAll(/'([\w.]+)'/g)].map(([, word = '']) => word),
        ],
      ),
    ),
  )
}

test('the database accepts exactly the words that the code uses', () => {
  expect(storedVocabularies()).toEqual(
    Object.fromEntries(Object.entries(VOCABULARIES).map(([column, words]) => [column, [...words]])),
  )
})
