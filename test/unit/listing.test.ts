import { describe, expect, test } from 'bun:test'

import * as fc from 'fast-check'

import {
  formatCursor,
  listingStatus,
  readCursor,
  type Shelf,
  turnPage,
} from '../../src/core/listing.ts'

describe('a cursor', () => {
  test('comes back as it was issued', () => {
    const id = fc.stringMatching(/^t3_[a-z0-9]{1,13}$/)
    fc.assert(
      fc.property(id, fc.option(fc.nat({ max: 9_999_999 })), (native, depth) => {
        expect(readCursor(formatCursor({ native, depth }))).toEqual({ native, depth })
      }),
    )
  })

  test('of the platform itself is taken, its depth unknown', () => {
    expect(readCursor('t3_abc')).toEqual({ native: 't3_abc', depth: null })
    expect(readCursor('rb_1x')).toEqual({ native: 'rb_1x', depth: null })
  })

  test('that is opaque is taken when it carries a depth, because then we issued it', () => {
    expect(readCursor('eyJhIjoxfQ==~25')).toEqual({ native: 'eyJhIjoxfQ==', depth: 25 })
    expect(readCursor('eyJhIjoxfQ==')).toBeNull()
  })

  test.each([
    'abc',
    't3_',
    't3_ABC',
    't3_a b',
    't3_abc~',
    't3_abc~x',
    't3_abc~-1',
    't3_abc~12345678',
    '~5',
    't3_abc&limit=1~5',
    't3_abc%26~5',
    ' t3_abc',
    't3_abc\n',
    '../x',
    `t3_${'a'.repeat(17)}`,
  ])('written as %p is none', (text) => {
    expect(readCursor(text)).toBeNull()
  })

  test('is looked for in any text without throwing', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const cursor = readCursor(text)
        if (cursor !== null) expect(formatCursor(cursor)).toBe(text.replace(/~0+(?=\d)/, '~'))
      }),
    )
  })
})

describe('listing_status', () => {
  test.each<[Shelf, number | null, string]>([
    ['chronological', 0, 'complete'],
    ['chronological', 1, 'complete'],
    ['chronological', 899, 'complete'],
    ['chronological', 900, 'truncated'],
    ['chronological', 1000, 'truncated'],
    ['chronological', null, 'unknown'],
    ['ranked', 0, 'unknown'],
    ['ranked', 1, 'complete'],
    ['ranked', 899, 'complete'],
    ['ranked', 900, 'truncated'],
    ['ranked', null, 'unknown'],
    ['search', 0, 'unknown'],
    ['search', 1, 'complete'],
    ['search', 224, 'complete'],
    ['search', 225, 'unknown'],
    ['search', 899, 'unknown'],
    ['search', 900, 'truncated'],
    ['search', null, 'unknown'],
    ['user', 0, 'unknown'],
    ['user', 1, 'complete'],
    ['user', 899, 'complete'],
    ['user', 900, 'truncated'],
    ['user', null, 'unknown'],
  ])('of a %s listing that ended after %p rows is %s', (shelf, seen, status) => {
    expect(listingStatus(shelf, seen)).toBe(status as never)
  })
})

describe('the end of a page', () => {
  test('counts what was seen before it', () => {
    const turn = turnPage('ranked', { native: 't3_a', depth: 100 }, { rows: 62, after: 't3_b' })
    expect(turn).toEqual({ after: 't3_b~162' })
  })

  test('leaves an unknown depth unknown, to the last page', () => {
    const bare = { native: 't3_a', depth: null }
    expect(turnPage('ranked', bare, { rows: 25, after: 't3_b' })).toEqual({ after: 't3_b' })
    expect(turnPage('ranked', bare, { rows: 3, after: null })).toEqual({
      after: null,
      listing_status: 'unknown',
    })
  })

  test('goes on after an empty page that has a cursor', () => {
    expect(turnPage('user', null, { rows: 0, after: 't3_b' })).toEqual({ after: 't3_b~0' })
  })

  test('is the end when the platform would send us round in a circle', () => {
    const turn = turnPage('ranked', { native: 't3_a', depth: 25 }, { rows: 25, after: 't3_a' })
    expect(turn).toEqual({ after: null, listing_status: 'unknown' })
  })

  test('tells a listing of ten pages that the wall was reached', () => {
    let cursor = null
    for (let number = 1; number < 10; number++) {
      const { after } = turnPage('chronological', cursor, { rows: 99, after: `t3_${number}` })
      cursor = readCursor(after ?? '')
    }
    expect(turnPage('chronological', cursor, { rows: 99, after: null })).toEqual({
      after: null,
      listing_status: 'truncated',
    })
  })
})
