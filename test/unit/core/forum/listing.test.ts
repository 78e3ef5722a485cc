import { describe, expect, test } from 'bun:test'

import * as fc from 'fast-check'

import {
  endPage,
  formatCursor,
  type ListingKind,
  listingStatus,
  readCursor,
} from '../../../../src/core/forum/listing.ts'

describe('a cursor', () => {
  test('reads back as it was issued', () => {
    const id = fc.stringMatching(/^t3_[a-z0-9]{1,13}$/)
    fc.assert(
      fc.property(id, fc.option(fc.nat({ max: 9_999_999 })), (native, depth) => {
        expect(readCursor(formatCursor({ native, depth }))).toEqual({ native, depth })
      }),
    )
  })

  test('below a pinned row is parsed as it was issued', () => {
    const cursor = { native: 't3_a', depth: 1, in_pinned: true }
    expect(readCursor(formatCursor(cursor))).toEqual(cursor)
  })

  test('in the platform’s own form is accepted without a depth', () => {
    expect(readCursor('t3_abc')).toEqual({ native: 't3_abc', depth: null })
    expect(readCursor('rb_1x')).toEqual({ native: 'rb_1x', depth: null })
  })

  test('that is opaque is accepted with a depth, which proves that forumd issued it', () => {
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
  ])('written as %p is refused', (text) => {
    expect(readCursor(text)).toBeNull()
  })

  test('parses or is refused without throwing, for any text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const cursor = readCursor(text)
        if (cursor !== null) expect(formatCursor(cursor)).toBe(text.replace(/~0+(?=\d)/, '~'))
      }),
    )
  })
})

describe('listing_status', () => {
  test.each<[ListingKind, number | null, string]>([
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
  ])('of a %s listing that ended after %p rows is %s', (kind, seen, status) => {
    expect(listingStatus(kind, seen)).toBe(status as never)
  })
})

describe('the end of a page', () => {
  test('a listing that lacks rows on every page is unknown', () => {
    const page = { rows: 3, after: null, lacks_some: true }
    expect(endPage('chronological', null, page)).toEqual({ after: null, listing_status: 'unknown' })
  })

  test('counts the rows before it', () => {
    const turn = endPage('ranked', { native: 't3_a', depth: 100 }, { rows: 62, after: 't3_b' })
    expect(turn).toEqual({ after: 't3_b~162' })
  })

  test('keeps an unknown depth unknown, to the last page', () => {
    const bare = { native: 't3_a', depth: null }
    expect(endPage('ranked', bare, { rows: 25, after: 't3_b' })).toEqual({ after: 't3_b' })
    expect(endPage('ranked', bare, { rows: 3, after: null })).toEqual({
      after: null,
      listing_status: 'unknown',
    })
  })

  test('continues after an empty page with a cursor', () => {
    expect(endPage('user', null, { rows: 0, after: 't3_b' })).toEqual({ after: 't3_b~0' })
  })

  test('is unknown if nothing follows a cursor, whose row has left the listing', () => {
    const nothing = { rows: 0, after: null }
    const near = endPage('chronological', { native: 't3_a', depth: 25 }, nothing)
    const far = endPage('chronological', { native: 't3_a', depth: 950 }, nothing)

    expect(near).toEqual({ after: null, listing_status: 'unknown' })
    expect(far).toEqual({ after: null, listing_status: 'truncated' })
  })

  test('is reported if the platform repeats the cursor', () => {
    const turn = endPage('ranked', { native: 't3_a', depth: 25 }, { rows: 25, after: 't3_a' })
    expect(turn).toEqual({ after: null, listing_status: 'unknown' })
  })

  test('after ten pages reports that the limit was reached', () => {
    let cursor = null
    for (let number = 1; number < 10; number++) {
      const { after } = endPage('chronological', cursor, { rows: 99, after: `t3_${number}` })
      cursor = readCursor(after ?? '')
    }
    expect(endPage('chronological', cursor, { rows: 99, after: null })).toEqual({
      after: null,
      listing_status: 'truncated',
    })
  })
})
