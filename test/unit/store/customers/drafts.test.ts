import { expect, test } from 'bun:test'

import { afterWrite } from '../../../../src/core/forum/draft.ts'
import {
  DRAFTS_OPEN_MAX,
  endDraft,
  findDraft,
  insertDraft,
  moveDraft,
} from '../../../../src/store/customers/drafts.ts'
import type { Db } from '../../../../src/store/db/connection.ts'
import { addCustomer, addKey } from '../../../support/customers.ts'
import { memoryDb } from '../../../support/memory-db.ts'

const NOW = 1_700_000_000_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

function opened(): Db {
  const db = memoryDb()
  for (const n of [1, 2]) {
    addCustomer(db, `cus_${n}`)
    addKey(db, `cus_${n}`, { token: `fk_${n}`, id: `key_${n}` })
  }
  return db
}

/** Inserts a draft of the first customer that expires an hour after its creation. */
const put = (db: Db, id: string, created_at = NOW, n = 1) =>
  insertDraft(db, {
    id,
    customer_id: `cus_${n}`,
    key_id: `key_${n}`,
    action: 'comment',
    body: {},
    source: null,
    created_at,
    expires_at: created_at + HOUR_MS,
  })

const fill = (db: Db) => {
  for (let n = 0; n < DRAFTS_OPEN_MAX; n++) put(db, `drf_${n}`)
}

test('a running draft does not count toward the limit', () => {
  using db = opened()
  fill(db)
  moveDraft(db, 'drf_0', { to: 'running', now: NOW })

  expect(put(db, 'drf_more')).toBe(true)
})

test('ended drafts and those of other customers do not count toward the limit', () => {
  using db = opened()
  fill(db)

  expect(put(db, 'drf_other', NOW, 2)).toBe(true)
  expect(put(db, 'drf_later', NOW + HOUR_MS)).toBe(true)
})

test('a draft is deleted after thirty days, unless it is running', () => {
  using db = opened()
  for (const id of ['drf_over', 'drf_running']) put(db, id)
  moveDraft(db, 'drf_running', { to: 'running', now: NOW })
  const retainedDrafts = () =>
    ['drf_over', 'drf_running'].filter((id) => findDraft(db, id, 'cus_1') !== null)

  put(db, 'drf_2', NOW + 30 * DAY_MS)
  expect(retainedDrafts()).toEqual(['drf_over', 'drf_running'])
  put(db, 'drf_3', NOW + 30 * DAY_MS + 1)
  expect(retainedDrafts()).toEqual(['drf_running'])
})

test('an ended draft is not approved', () => {
  using db = opened()
  put(db, 'drf_1')

  expect(moveDraft(db, 'drf_1', { to: 'running', now: NOW + HOUR_MS })).toBe(false)
})

test('a draft whose write could not start can be claimed by any process again', () => {
  using db = opened()
  put(db, 'drf_1')
  moveDraft(db, 'drf_1', { to: 'running', account: 'main', now: NOW })
  endDraft(db, 'drf_1', { state: 'waiting', answer: {} })

  expect(findDraft(db, 'drf_1', null)).toMatchObject({
    state: 'waiting',
    account: null,
    decided_at: null,
  })
})

test('an answer for a draft that is not running is not stored', () => {
  using db = opened()
  put(db, 'drf_1')
  endDraft(db, 'drf_1', { state: 'done', answer: {} })

  expect(findDraft(db, 'drf_1', null)).toMatchObject({ state: 'waiting', answer: null })
})

test('a draft waits again only after a write that certainly did nothing', () => {
  const ends = [200, 402, 429, 503, 500, 502, 504].map((status) => afterWrite(status, null))

  expect(ends).toEqual(['done', 'waiting', 'waiting', 'waiting', 'failed', 'failed', 'failed'])
})
