// Goal: no query of the inbox reads or sorts a whole table, however many items it has. Method: the plan of every statement
// that a call runs, on a database without statistics.
import { expect, test } from 'bun:test'

import { type InboxFilter, NO_FILTER, spanOf } from '../../../../src/core/inbox/filter.ts'
import type { Db } from '../../../../src/store/db/connection.ts'
import {
  changeInbox,
  inboxVersion,
  listInboxActions,
  undoInbox,
} from '../../../../src/store/inbox/actions.ts'
import { countFiltered, countInbox, listLabels } from '../../../../src/store/inbox/counts.ts'
import { eraseInbox, pruneInbox } from '../../../../src/store/inbox/items.ts'
import {
  findInbox,
  listInbox,
  listInboxMatches,
  listMonitorMatches,
} from '../../../../src/store/inbox/list.ts'
import { createInboxStore } from '../../../support/inbox-fixture.ts'
import { postOf } from '../../../support/items.ts'

/** Runs work and returns the plans of its statements: one line for each step. */
function plansOf(work: (db: Db) => void): string[] {
  using store = createInboxStore()
  store.match(postOf({ id: 'k1', name: 't3_k1', title: 'a kitten' }))
  const seen = new Set<string>()
  const spy = new Proxy(store.db, {
    get(db, name) {
      if (name === 'query')
        return (sql: string) => {
          seen.add(sql)
          return db.query(sql)
        }
      const value: unknown = Reflect.get(db, name, db)
      return typeof value === 'function' ? value.bind(db) : value
    },
  })
  work(spy)
  expect(seen.size).toBeGreaterThan(0)
  return [...seen].flatMap((sql) =>
    store.db
      .query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => detail),
  )
}

/** Steps that read a table without an index, or sort rows. */
const isCostly = (step: string): boolean =>
  (step.startsWith('SCAN') && !/^SCAN (?:json_each|k |k$|value|CONSTANT|\(subquery)/.test(step)) ||
  step.includes('TEMP B-TREE')

const actor = { customer_id: 'ann', key_id: 'key_ann1', id: 'act_1', now: 0 }
const of = (filter: Partial<InboxFilter>) => ({ ...NO_FILTER, ...filter })

const FILTERS: [string, string, Partial<InboxFilter>][] = [
  ['everything', 'inbox_items_time', {}],
  ['a state', 'inbox_items_state', { state: ['unread'] }],
  ['states', 'inbox_items_time', { state: ['unread', 'read'] }],
  ['a monitor and a state', 'monitor_id=? AND matched_at', { monitor: 'mon_1', state: ['read'] }],
  ['starred items', 'inbox_items_starred', { starred: true }],
  ['items without a star', 'inbox_items_time', { starred: false }],
  ['a label and a state', 'inbox_items_label', { label: 'ann', state: ['read'] }],
  ['an author', 'inbox_items_author', { author: 'jane', source: '~' }],
  ['a place', 'inbox_items_place', { place: 'cats' }],
  ['a time', 'inbox_items_time', { from: 1, to: 2 }],
]

test.each(FILTERS)('a list of %s reads %s in order', (_, index, filter) => {
  const plan = plansOf((db) =>
    listInbox(db, {
      customer_id: 'ann',
      filter: of(filter),
      span: spanOf(of(filter), { matched_at: 5, row: 5 }),
      limit: 10,
      examined: 100,
    }),
  )

  expect(plan.filter(isCostly)).toEqual([])
  expect(plan.join('\n')).toContain(index)
  // The instant bounds the scan from both sides.
  expect(plan.filter((step) => /matched_at[<>]\?/.test(step)).length).toBeGreaterThan(0)
})

test.each<[string, (db: Db) => void]>([
  ['counting', (db) => void [countInbox(db, 'ann'), listLabels(db, 'ann')]],
  ['changing ids', (db) => void changeInbox(db, actor, { ids: ['t3_k1'] }, { state: 'read' })],
  [
    'changing a filter',
    (db) => void changeInbox(db, actor, { filter: NO_FILTER, after: null }, { starred: true }),
  ],
  [
    'undoing',
    (db) => {
      changeInbox(db, actor, { ids: ['t3_k1'] }, { state: 'read' })
      undoInbox(db, { ...actor, id: 'act_2' }, 'act_1')
    },
  ],
  [
    'the history',
    (db) => void listInboxActions(db, { customer_id: 'ann', key_id: null, before: 9, limit: 9 }),
  ],
  ['live changes', (db) => void inboxVersion(db, 'ann')],
  [
    'the effect of a mute',
    (db) =>
      void listMonitorMatches(db, {
        customer_id: 'ann',
        filter: { ...NO_FILTER, monitor: 'mon_cats' },
        span: spanOf(NO_FILTER, null),
        limit: 9,
        examined: 9,
      }),
  ],
  ['an erasure', (db) => void eraseInbox(db, { gone: '["t3_k1"]', authors: '[]' })],
  ['the retention', (db) => void pruneInbox(db, { customer_id: 'ann', before_at: 9, limit: 9 })],
])('%s scans and sorts nothing', (_, work) => {
  expect(plansOf(work).filter(isCostly)).toEqual([])
})

test('a page sorts only the items and monitors that it shows', () => {
  const plan = plansOf((db) => {
    const [item] = findInbox(db, 'ann', ['t3_k1'], spanOf(NO_FILTER, null).below)
    listInboxMatches(db, [item?.row ?? 0])
    countFiltered(db, 'ann', of({ monitor: 'mon_cats' }))
  })

  expect(plan.filter((step) => step.startsWith('SCAN')).filter(isCostly)).toEqual([])
})
