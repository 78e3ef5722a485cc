// Goal: the inbox keeps nothing of an item longer than its match, nor after a purge.
import { expect, test } from 'bun:test'

import { createRing } from '../../../../src/core/base/secrets.ts'
import { NO_FILTER, spanOf } from '../../../../src/core/inbox/filter.ts'
import { runNow } from '../../../../src/store/db/chunked.ts'
import {
  changeInbox,
  listInboxActions,
  pruneInboxActions,
  undoInbox,
} from '../../../../src/store/inbox/actions.ts'
import { listInbox } from '../../../../src/store/inbox/list.ts'
import { pruneOld, purge } from '../../../../src/store/maintenance/retention.ts'
import { createInboxStore } from '../../../support/inbox-fixture.ts'
import { postOf } from '../../../support/items.ts'

const DAY_MS = 86_400_000
const ring = createRing(new Uint8Array(32), (count) => new Uint8Array(count))
const post = (n: number, author = 'jane') =>
  postOf({ id: `k${n}`, name: `t3_k${n}`, title: `a kitten ${n}`, author, subforum: `u_${author}` })

type Store = ReturnType<typeof createInboxStore>
const idsOf = ({ db }: Store) =>
  listInbox(db, {
    customer_id: 'ann',
    filter: NO_FILTER,
    span: spanOf(NO_FILTER, null),
    limit: 100,
    examined: 100,
  }).rows.map(({ item_id }) => item_id)

const rowsOf = ({ db }: Store, table: string) => db.query(`SELECT * FROM ${table}`).all()

test('items leave the inbox with their matches, unless a monitor has matched them since', () => {
  using store = createInboxStore()
  store.match([post(1), post(2)])
  store.advance(10 * DAY_MS)
  store.match(post(3))
  store.match(post(1), 'mon_all')
  const old = { before_at: 0, keep: 1 }

  runNow(pruneOld(store.db, { ...old, matches_before_at: store.now() - DAY_MS }))

  expect(idsOf(store)).toEqual(['t3_k3', 't3_k1'])
  expect(rowsOf(store, 'inbox_matches').length).toBe(3)

  runNow(pruneOld(store.db, { ...old, matches_before_at: store.now() + DAY_MS }))

  expect(idsOf(store)).toEqual([])
  expect(rowsOf(store, 'inbox_matches')).toEqual([])
})

test('matches are kept for ever only if there is no retention', () => {
  using store = createInboxStore()
  store.match(post(1))

  runNow(pruneOld(store.db, { before_at: store.now() + DAY_MS, matches_before_at: 0, keep: 1 }))

  expect(idsOf(store)).toEqual(['t3_k1'])
})

test.each([
  ['an author', { by: 'author' as const, source: null, name: 'jane', posts: new Set(['k1']) }],
  ['an item', { by: 'item' as const, source: null, id: 'k1', kind: 'post' as const }],
])('a purge of %s leaves no name of the author in the inbox', (_, purged) => {
  using store = createInboxStore()
  store.match(post(1))
  store.match(post(2, 'bob'))

  purge(store.db, {
    purged,
    words: { community: 'subforum', home: 'forum' },
    ring,
    now: store.now(),
  })

  const stored = JSON.stringify(rowsOf(store, 'inbox_items'))
  expect(stored).not.toContain('jane')
  expect(stored).toContain('bob')
  expect(idsOf(store)).toEqual(['t3_k2', 't3_k1'])
})

test('the history loses its former states after a day, and its rows with the matches', () => {
  using store = createInboxStore()
  store.match(post(1))
  const actor = (id: string) => ({
    customer_id: 'ann',
    key_id: 'key_ann1',
    id,
    now: store.now(),
  })
  const change = (id: string, label: string) =>
    changeInbox(store.db, actor(id), { ids: ['t3_k1'] }, { label })
  change('act_1', 'one')
  store.advance(2 * DAY_MS)
  change('act_2', 'two')

  pruneInboxActions(store.db, { before_at: 0, now: store.now() })

  expect(undoInbox(store.db, actor('act_3'), 'act_1')).toBe('too_old')
  expect(JSON.stringify(rowsOf(store, 'inbox_actions'))).toContain('two')
  expect(undoInbox(store.db, actor('act_4'), 'act_2')).toEqual({ restored: 1, skipped: 0 })

  pruneInboxActions(store.db, { before_at: store.now() - DAY_MS, now: store.now() })

  const left = listInboxActions(store.db, {
    customer_id: 'ann',
    key_id: null,
    before: 99,
    limit: 9,
  })
  expect(left.map(({ id }) => id)).toEqual(['act_4', 'act_2'])
})
