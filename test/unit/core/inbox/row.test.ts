import { expect, test } from 'bun:test'

import { eraseRow } from '../../../../src/core/forum/purge.ts'
import { arrivalOf } from '../../../../src/core/inbox/arrival.ts'
import {
  judgementOfRow,
  rowsOfBody,
  searchableText,
  toInboxText,
} from '../../../../src/core/inbox/row.ts'
import { commentOf, postOf } from '../../../support/items.ts'

const row = (fields: object): Record<string, unknown> => ({
  ...postOf({ title: 'A kitten', text: 'It *sleeps*.', author: 'Jane', subforum: 'u_Jane' }),
  enrichment: { relevance: { score: 0.5, matched_terms: ['kitten'] } },
  ...fields,
})

const scoreOf = (fields: object) =>
  toInboxText(row({ upvotes: 1, ...fields }), [], 'subforum').score

test('a score that the platform hides is not shown', () => {
  expect([scoreOf({}), scoreOf({ score_hidden: true })]).toEqual([1, null])
})

test('the place has the name of the configured word', () => {
  const { subforum, ...rest } = row({})

  expect(toInboxText({ ...rest, room: subforum }, [], 'room').place).toBe('u_Jane')
})

test('a comment has the title of its thread, and its own text', () => {
  const comment = { ...commentOf({ body: 'It is > mine', link_title: 'A thread' }) }

  expect(toInboxText(comment, ['mine'], 'subforum')).toMatchObject({
    kind: 'comment',
    title: 'A thread',
    excerpt: 'It is > mine',
    highlights: [{ in: 'excerpt', start: 8, end: 12 }],
  })
  expect(searchableText(comment)).toContain('A thread\nIt is')
})

test('a verdict belongs to the row of its monitor, and goes with the content', () => {
  const judged = row({ judgement: { score: 0.8, min_score: 0.5, reason: 'asks', model: 'm' } })
  const erased = eraseRow(judged, { items: new Set(['t3_p1']), authors: new Set() }, 'subforum')

  expect(judgementOfRow(judged)).toEqual({ score: 0.8, min_score: 0.5, reason: 'asks' })
  expect(judgementOfRow(row({}))).toBeNull()
  expect(judgementOfRow({ ...erased })).toBeNull()
  expect(JSON.stringify(toInboxText({ ...erased }, ['kitten'], 'subforum'))).not.toMatch(
    /kitten|Jane|asks|sleeps/,
  )
})

test('an erased row arrives without its author', () => {
  const erased = eraseRow(row({}), { items: new Set(['t3_p1']), authors: new Set() }, 'subforum')

  expect(arrivalOf('meta/t3_p1', row({}), 'subforum')).toEqual({
    item_id: 'meta/t3_p1',
    source: 'meta',
    place: 'u_jane',
    author: 'jane',
  })
  expect(arrivalOf('t3_p1', erased, 'subforum').author).toBeNull()
  expect(arrivalOf('t3_p1', row({ author: '[deleted]' }), 'subforum').author).toBeNull()
})

test.each([{}, { title: 1, text: [], enrichment: 'x', upvotes: 'many' }, { items: null }])(
  'a stored row of another form, %j, is shown as far as it can be read',
  (odd) => {
    expect(toInboxText(odd, [], 'subforum')).toMatchObject({
      title: null,
      excerpt: '',
      score: null,
    })
  },
)

test('rows of a body are found by the keys of their items', () => {
  const items = [row({}), { ...row({}), source: 'meta' }, { title: 'without a name' }]
  const body = new TextEncoder().encode(JSON.stringify({ items }))

  expect([...rowsOfBody(body).keys()]).toEqual(['t3_p1', 'meta/t3_p1'])
  expect(rowsOfBody(new TextEncoder().encode('{"items":7}')).size).toBe(0)
})
