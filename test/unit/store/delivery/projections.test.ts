import { expect, test } from 'bun:test'

import { encodeItem } from '../../../../src/core/archive/rows.ts'
import { deliveryBody, envelope } from '../../../../src/core/delivery/envelope.ts'
import { fromRow, rowOf } from '../../../../src/core/enrichment/enrich.ts'
import { parseFilterSpec } from '../../../../src/core/filter/parse.ts'
import type { Item } from '../../../../src/core/forum/items.ts'
import { createNaming } from '../../../../src/core/forum/naming.ts'
import { transact } from '../../../../src/store/db/connection.ts'
import { insertMessages, reserveMessages } from '../../../../src/store/delivery/messages.ts'
import {
  archivedOf,
  catchUp,
  countUnread,
  listUnread,
  projectMatches,
} from '../../../../src/store/delivery/projections.ts'
import { eraseItems } from '../../../../src/store/erasure/erase.ts'
import { insertMatches } from '../../../../src/store/monitoring/matches.ts'
import { commentOf, postOf } from '../../../support/items.ts'
import { memoryDb } from '../../../support/memory-db.ts'
import { putTarget } from '../../../support/target-row.ts'

const words = createNaming({ platform: 'board', community: 'room' })
const spec = parseFilterSpec({ room: 'cats', include_any: ['kitten'] }, words)

/** A database with the matches of items, which no projection has read. */
function matched(...items: Item[]) {
  const db = memoryDb()
  putTarget(db)
  const deps = { db, instance_id: 'ins_1', words, clock_offset_ms: () => 0 }
  transact(db, () => {
    const first = reserveMessages(db, items.length)
    insertMatches(
      db,
      items.map(({ name }, at) => ({
        monitor_id: 'mon_1',
        item_id: name,
        message: first + at,
        feed_id: 1,
        matched_at: 1000,
      })),
    )
    insertMessages(
      db,
      items.map((item, at) => ({
        row: first + at,
        monitor_id: 'mon_1',
        is_pulled: true,
        matched_at: 1000,
        body: envelope({
          delivery_id: `dlv_${at}`,
          monitor_id: 'mon_1',
          items: [rowOf(words, spec, item).row],
          grouped: false,
        }),
      })),
    )
  })
  return { db, deps }
}

const inbox = (db: ReturnType<typeof memoryDb>) =>
  db.query('SELECT item_id, place, author, matched_at FROM inbox_items ORDER BY row').all()

test('kept items and inbox hold what messages say, once', () => {
  const { db, deps } = matched(postOf({ name: 't3_a', subforum: 'cats', author: 'ann' }))
  catchUp(deps)
  catchUp(deps)

  expect(inbox(db)).toEqual([{ item_id: 't3_a', place: 'cats', author: 'ann', matched_at: 1000 }])
  expect(db.query('SELECT item_id, author FROM kept_items').all()).toEqual([
    { item_id: 't3_a', author: 'ann' },
  ])
  expect(countUnread(db, 'inbox')).toBe(0)
})

test('an item that is erased before it is projected reaches neither inbox nor archive', () => {
  const secret = 'a kitten that must go'
  const { db, deps } = matched(
    postOf({ name: 't3_a', title: secret, author: 'ann', subforum: 'cats' }),
    postOf({ name: 't3_b', title: 'another kitten', author: 'bob', subforum: 'cats' }),
    commentOf({ name: 't1_c', post_id: 'a', link_title: secret, author: 'bob', subforum: 'cats' }),
  )
  eraseItems(deps, [{ item_id: 't3_a', reason: 'author' }], 2000)
  catchUp(deps)

  expect(inbox(db)).toMatchObject([
    { item_id: 't3_a', author: null },
    { item_id: 't3_b', author: 'bob' },
    { item_id: 't1_c', author: 'bob' },
  ])
  expect(db.query('SELECT item_id FROM kept_items ORDER BY 1').values()).toEqual([
    ['t1_c'],
    ['t3_b'],
  ])
  const archived = listUnread(db, 'archive', 9).flatMap((it) => archivedOf(it, words.community))
  expect(archived.map(({ item_id }) => item_id)).toEqual(['t3_b', 't1_c'])
  expect(Buffer.from(db.serialize()).includes(secret)).toBe(false)
})

test('a step reads as much content as it may, and the next one goes on', () => {
  const posts = Array.from({ length: 12 }, (_, n) =>
    postOf({ name: `t3_${n}`, subforum: 'cats', text: `kitten ${'x'.repeat(200_000)}` }),
  )
  const { db, deps } = matched(...posts)
  expect(listUnread(db, 'archive', 100).map(({ row }) => row)).toEqual([1, 2, 3, 4, 5, 6])
  expect(projectMatches(deps)).toBe(true)
  expect(countUnread(db, 'inbox')).toBe(6)
  expect(projectMatches(deps)).toBe(false)
  expect(inbox(db)).toHaveLength(12)
})

test.each([
  [
    'post',
    postOf({
      name: 't3_a',
      subforum: 'cats',
      crosspost_origin: { id: 'b', subforum: 'dogs', permalink: '/r/dogs' },
    }),
  ],
  ['comment', { ...commentOf({ name: 't1_a', subforum: 'cats' }), source: 'meta' }],
] as const)('the archive gets the %s that was matched, from its message', (_, item) => {
  const { db } = matched(item)
  const [archived] = listUnread(db, 'archive', 1).flatMap((it) => archivedOf(it, words.community))

  expect(archived?.item).toBe(encodeItem(item))
  expect(fromRow({ ...rowOf(words, spec, item).row }, words.community)).toEqual(item)
})

test('a body with the id of a delivery spliced in is the body that is made for it', () => {
  const content = {
    monitor_id: 'mon_1',
    items: [{ title: 'of "delivery_id":"dlv_0"' }],
    grouped: false,
  }
  const suppressed = { reason: 'stale_item', oldest_age_s: 9, threshold_s: 5 } as const
  const stored = envelope({ ...content, delivery_id: 'dlv_pulled' })
  const own = { ...content, delivery_id: 'dlv_1' }

  expect(deliveryBody(stored, 'dlv_1', null)).toEqual(Buffer.from(envelope(own)))
  expect(deliveryBody(stored, 'dlv_1', JSON.stringify(suppressed))).toEqual(
    Buffer.from(envelope({ ...own, suppressed })),
  )
})
