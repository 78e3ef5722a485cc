import { describe, expect, test } from 'bun:test'

import {
  advance,
  ANCHOR_IDS_MAX,
  type FeedRow,
  markPinned,
  nextCheckpoint,
  PAGES_MAX,
  type PollState,
  smooth,
  startPoll,
} from '../../../../src/core/polling/cursor.ts'
import { feedKey, nextPollAt } from '../../../../src/core/polling/feed.ts'
import { gapOf } from '../../../../src/core/polling/gap.ts'

/** Rows `from` down to `to`, newest first; the number is both the id and the second of creation. */
const rows = (from: number, to: number): FeedRow[] =>
  Array.from({ length: from - to + 1 }, (_, i) => row(from - i))
const row = (n: number, sticky = false): FeedRow => ({
  id: `t3_${n}`,
  created_at: n * 1000,
  sticky,
})
const page = (found: FeedRow[], after: string | null = found.at(-1)?.id ?? null) => ({
  rows: found,
  after,
})
/** Poll whose checkpoint has these rows on top. */
const after = (seen: FeedRow[], more: Partial<PollState> = {}): PollState => ({
  ...startPoll({
    checkpoint: {
      anchor_ids: seen.slice(0, ANCHOR_IDS_MAX).map(({ id }) => id),
      checkpoint_at: seen[0]?.created_at ?? null,
    },
    backfill_since: null,
    accept_stale: false,
  }),
  ...more,
})
const first = (backfill_since: number | null = null) =>
  startPoll({ checkpoint: null, backfill_since, accept_stale: false })

describe('reaching the checkpoint', () => {
  test('the first poll always overlaps', () => {
    expect(advance(first(), page(rows(100, 1))).kind).toBe('complete')
  })

  test.each([
    ['posts', 899, 'complete'],
    ['posts', 900, 'truncated'],
    ['search', 224, 'complete'],
    ['search', 225, 'truncated'],
    // A thread is listed completely, at any size.
    ['thread', 5000, 'complete'],
  ] as const)(
    'distinguishes a complete listing of %s from one at its limit, after %i rows',
    (...one) => {
      const [kind, count, expected] = one
      const state = startPoll({ checkpoint: null, backfill_since: 0, accept_stale: false, kind })
      expect(advance(state, page(rows(count, 1), null)).kind).toBe(expected)
    },
  )

  test('a run of five known rows joins the checkpoint, and a single row at the end of the page does not', () => {
    expect(advance(after(rows(100, 1)), page(rows(103, 100))).kind).toBe('next_page')
    expect(advance(after(rows(100, 1)), page(rows(103, 96))).kind).toBe('complete')
  })

  test('a row added below the newest known one is read before the checkpoint counts as reached', () => {
    // The last poll ended with t3_100 on top; t3_99 of the same second appeared below it, with newer rows above.
    const head = after([row(100), ...rows(98, 50)])
    const newest = advance(head, page(rows(199, 100)))
    const second = advance(newest.state, page(rows(102, 60)))

    expect(newest.kind).toBe('next_page')
    expect(second.kind).toBe('complete')
    expect(second.state.rows.map(({ id }) => id)).toContain('t3_99')
  })

  test('a checkpoint of few rows is reached when all of them are found', () => {
    expect(advance(after(rows(3, 1)), page(rows(5, 1), null)).kind).toBe('complete')
  })

  test('a pinned row is no evidence', () => {
    const pinned = row(50, true)
    const state = after([pinned, ...rows(100, 1)])

    expect(advance(state, page([pinned, ...rows(300, 202)])).kind).toBe('next_page')
  })

  test('an old pinned row does not make a page stale', () => {
    const state = after(rows(100, 51))

    expect(advance(state, page([row(50, true), ...rows(300, 202)])).kind).toBe('next_page')
  })

  test('with forty-nine of fifty ids deleted, the last one suffices together with older known rows', () => {
    const read = page([...rows(103, 101), ...rows(51, 40)])
    const seen = new Set(rows(50, 40).map(({ id }) => id))

    expect(advance(after(rows(100, 51)), { ...read, seen }).kind).toBe('complete')
    expect(advance(after(rows(100, 51)), read).kind).toBe('next_page')
  })

  test('a row older than the checkpoint is no evidence', () => {
    // All ids of the checkpoint are gone; older rows were never part of it.
    const accepting = after(rows(100, 51), { accept_stale: true })
    expect(advance(accepting, page(rows(50, 1))).kind).toBe('next_page')
  })

  test('a monitor with an earlier start makes the poll read further', () => {
    const state = after(rows(200, 151), { backfill_since: 60_000 })

    const one = advance(state, page(rows(205, 106)))
    expect(one).toMatchObject({ kind: 'next_page', state: { overlapped: true, after: 't3_109' } })
    expect(advance(one.state, page(rows(108, 6))).kind).toBe('complete')
  })

  test('more items of the second of the backfill limit may follow on the next page', () => {
    const state = after(rows(100, 51), { backfill_since: 60_000 })

    expect(advance(state, page(rows(159, 60))).kind).toBe('next_page')
    expect(advance(state, page(rows(158, 59))).kind).toBe('complete')
  })

  test('a short complete listing covers any backfill limit', () => {
    expect(advance(first(0), page(rows(3, 1), null)).kind).toBe('complete')
  })

  test('after an empty checkpoint all rows are new, if the listing is complete', () => {
    expect(advance(after([]), page(rows(2, 1), null)).kind).toBe('complete')
    expect(advance(after([]), page(rows(100, 1))).kind).toBe('next_page')
    // As many rows as the platform lists at most: the listing may be incomplete.
    expect(advance(after([]), page(rows(900, 1), null)).kind).toBe('truncated')
  })

  test('an unexpected empty page is requested again, and heals no gap if it stays empty', () => {
    const seeking = after(rows(100, 51), { gap_ids: ['t3_1'] })
    let one = advance(seeking, page(rows(200, 101)))
    one = advance(one.state, page(rows(103, 60)))
    expect(one).toMatchObject({ kind: 'next_page', state: { overlapped: true } })

    const empty = { rows: [], after: null }
    const again = advance(one.state, empty)
    expect(again).toMatchObject({ kind: 'retry', state: { gap_closed: false, after: 't3_64' } })
    expect(advance(again.state, page(rows(62, 1)))).toMatchObject({ state: { gap_closed: true } })
    const still = advance(again.state, empty)
    expect(still.kind).toBe('retry')
    expect(advance(still.state, empty)).toMatchObject({
      kind: 'complete',
      state: { gap_closed: false },
    })
  })

  test('a poll that closes an earlier gap is complete', () => {
    const seeking = after(rows(100, 51), { gap_ids: ['t3_60'] })

    expect(advance(seeking, page(rows(120, 55)))).toMatchObject({
      kind: 'complete',
      state: { gap_closed: true },
    })
  })

  test('an empty page with a cursor is not the end', () => {
    expect(advance(after(rows(10, 1)), { rows: [], after: 't3_x' })).toMatchObject({
      kind: 'next_page',
      state: { after: 't3_x' },
    })
  })
})

describe('a truncated poll', () => {
  test('overflows after twelve pages without a known id', () => {
    let state = after(rows(5, 1))
    const kinds: string[] = []
    for (let i = 0; i < PAGES_MAX; i++) {
      const top = 10_000 - i * 97
      const step = advance(state, page(rows(top, top - 99)))
      kinds.push(step.kind === 'truncated' ? step.reason : step.kind)
      state = step.state
    }

    expect(kinds).toEqual([
      ...Array.from({ length: PAGES_MAX - 1 }, () => 'next_page'),
      'poll_overflow',
    ])
    expect(gapOf(state)).toEqual({ from_at: 5_000, until_at: (10_000 - 1166) * 1000 })
  })

  test('has no gap below the checkpoint', () => {
    const { state } = advance(after(rows(100, 51), { accept_stale: true }), page(rows(50, 1)))

    expect(gapOf(state)).toEqual({ from_at: 1_000, until_at: 1_000 })
  })

  test('that reached the checkpoint misses only rows above the backfill limit', () => {
    const { state } = advance(
      after(rows(200, 151), { backfill_since: 10_000 }),
      page(rows(205, 106)),
    )

    expect(gapOf(state)).toEqual({ from_at: 10_000, until_at: 106_000 })
  })

  test('is exhausted when the listing ends without a known id', () => {
    expect(advance(after(rows(5, 1)), page(rows(100, 50), null))).toMatchObject({
      kind: 'truncated',
      reason: 'listing_exhausted',
    })
  })

  test('replaces a deleted cursor row by the row before it, and then gives up', () => {
    const one = advance(after(rows(5, 1)), page(rows(300, 201)))
    const again = page(rows(301, 202))

    const two = advance(one.state, again)
    expect(two).toMatchObject({ kind: 'retry', state: { after: 't3_205' } })
    const three = advance(two.state, again)
    expect(three).toMatchObject({ kind: 'retry', state: { after: 't3_206' } })
    expect(advance(three.state, again)).toMatchObject({ kind: 'truncated', reason: 'page_restart' })
  })

  test('goes on with the row before a cursor after which the platform lists nothing', () => {
    const one = advance(after(rows(5, 1)), page(rows(300, 201)))
    const empty = { rows: [], after: null }

    const two = advance(one.state, empty)
    expect(two).toMatchObject({ kind: 'retry', state: { after: 't3_205' } })
    expect(advance(two.state, page(rows(204, 105))).kind).toBe('next_page')
    const three = advance(two.state, empty)
    expect(advance(three.state, empty)).toMatchObject({
      kind: 'truncated',
      reason: 'page_restart',
    })
  })

  test('continues when the row before the cursor works', () => {
    const one = advance(after(rows(5, 1)), page(rows(300, 201)))
    const two = advance(one.state, page(rows(301, 202)))

    expect(advance(two.state, page(rows(201, 102)))).toMatchObject({
      kind: 'next_page',
      state: { tries: 0 },
    })
  })

  test('recognises a further page of an older copy by rows that it does not repeat', () => {
    const one = advance(after(rows(5, 1)), page(rows(300, 201)))
    const old = page(rows(150, 51))

    const two = advance(one.state, old)
    expect(two).toMatchObject({ kind: 'retry', state: { after: 't3_205', pages: 1 } })
    expect(advance(two.state, page(rows(204, 105))).kind).toBe('next_page')
    const three = advance(two.state, old)
    expect(advance(three.state, old)).toMatchObject({ kind: 'truncated', reason: 'page_restart' })
  })

  test('ends at a further page with repeated rows only', () => {
    const one = advance(after([]), page(rows(100, 1)))

    expect(advance(one.state, page(rows(3, 1), null)).kind).toBe('complete')
  })

  test('treats a page without new rows as a restart', () => {
    const one = advance(after(rows(5, 1)), page(rows(300, 201)))

    expect(advance(one.state, page(rows(210, 201))).kind).toBe('retry')
  })

  test('does not end at a further page that stops above the previous one', () => {
    const one = advance(after(rows(5, 1)), page(rows(300, 201)))

    expect(advance(one.state, page(rows(204, 202), null)).kind).toBe('retry')
  })

  test('continues with a page that begins within the second in which the previous one ended', () => {
    const one = advance(after(rows(5, 1)), page(rows(300, 201)))
    const twin = { ...row(200), created_at: 201_000 }

    expect(advance(one.state, page([...rows(203, 201), twin, ...rows(199, 100)])).kind).toBe(
      'next_page',
    )
  })

  test('requests an unexpected empty page again before it accepts it', () => {
    const one = advance(after(rows(5, 1)), page([]))
    expect(one.kind).toBe('retry')
    expect(advance(one.state, page([])).kind).toBe('empty')
  })

  test('accepts an empty page where the listing was empty before', () => {
    expect(advance(after([]), page([])).kind).toBe('complete')
    expect(advance(first(), page([])).kind).toBe('complete')
  })
})

describe('a stale page', () => {
  const old = page(rows(94, 1))

  test('is requested again with other limits, and then discarded', () => {
    const one = advance(after(rows(100, 51)), old)
    expect(one).toMatchObject({ kind: 'retry', state: { limit: 90, pages: 0 } })
    const two = advance(one.state, old)
    expect(two).toMatchObject({ kind: 'retry', state: { limit: 80 } })
    expect(advance(two.state, old).kind).toBe('stale')
  })

  test('reduces only the page that is requested again', () => {
    const one = advance(after(rows(100, 51)), old)

    expect(advance(one.state, page(rows(300, 211)))).toMatchObject({
      kind: 'next_page',
      state: { limit: 100 },
    })
  })

  test('may be too old to contain any known id', () => {
    expect(advance(after(rows(100, 51)), page(rows(40, 1))).kind).toBe('retry')
    // With few rows ever, all of them may have been deleted.
    expect(advance(after(rows(100, 96)), page(rows(40, 1), null)).kind).toBe('truncated')
  })

  test('leaves the checkpoint unchanged, even if it is accepted and contains no known id', () => {
    const state = after(rows(2000, 1951), { accept_stale: true })
    const read = advance(state, page(rows(1500, 1), null))

    expect(read).toMatchObject({ kind: 'truncated', reason: 'listing_exhausted' })
    expect(nextCheckpoint(read.state, false)).toEqual(state.checkpoint!)
  })

  test('is accepted when no other page was returned for a long time', () => {
    expect(advance(after(rows(100, 51), { accept_stale: true }), old).kind).toBe('complete')
  })

  test('is not assumed when its newest row is of the second of the checkpoint', () => {
    const twin = { ...row(101), created_at: 100_000 }

    expect(advance(after(rows(100, 51)), page([twin, ...rows(94, 1)])).kind).toBe('complete')
  })

  test('is not assumed when only the newest row was deleted', () => {
    expect(advance(after(rows(100, 51)), page(rows(99, 1))).kind).toBe('complete')
  })
})

test('a pinned row does not mark the rows above it as pinned', () => {
  expect(markPinned([row(5), row(9, true), row(3)])[0]).toEqual(row(5))
})

describe('the next checkpoint', () => {
  test('has fifty ids, none of them pinned', () => {
    const { state } = advance(after(rows(5, 1)), page([row(2000, true), ...rows(103, 4)]))
    const head = nextCheckpoint(state, true)

    expect(head.anchor_ids).toHaveLength(ANCHOR_IDS_MAX)
    expect(head.anchor_ids[0]).toBe('t3_103')
    expect(head.checkpoint_at).toBe(103_000)
  })

  test('keeps older ids after a short page', () => {
    const { state } = advance(after(rows(60, 11)), page([row(61), row(60)]))

    expect(nextCheckpoint(state, true).anchor_ids.slice(0, 4)).toEqual([
      't3_61',
      't3_60',
      't3_59',
      't3_58',
    ])
  })

  test('has only rows that were read after a truncated poll', () => {
    const { state } = advance(after(rows(5, 1)), page(rows(100, 99), null))

    expect(nextCheckpoint(state, false).anchor_ids).toEqual(['t3_100', 't3_99'])
  })

  test('never moves back', () => {
    const { state } = advance(after(rows(100, 51)), page(rows(98, 1)))

    expect(nextCheckpoint(state, true).checkpoint_at).toBe(100_000)
  })

  test('is unchanged after a poll without rows', () => {
    const state = after(rows(5, 1))

    expect(nextCheckpoint(state, false)).toEqual(state.checkpoint!)
  })
})

describe('the arrival rate', () => {
  test('follows the rates of many polls slowly', () => {
    expect(smooth(null, 2)).toBe(2)
    expect(smooth(1, 2)).toBeCloseTo(1.2)
  })
})

describe('scheduling', () => {
  test('a subforum is one feed in any case; searches are case-sensitive', () => {
    expect(feedKey({ kind: 'posts', place: 'Cats' })).toBe('posts:cats')
    expect(feedKey({ kind: 'search', place: '"A" OR b' })).toBe('search:"A" OR b')
  })

  test('a feed is due once in every interval, with a phase of its own', () => {
    const start = Date.parse('2026-01-01T00:00:00Z')
    const due = nextPollAt('posts:cats', 60_000, start)
    expect(due).toBeGreaterThan(start)
    expect(due).toBeLessThanOrEqual(start + 60_000)
    expect(nextPollAt('posts:cats', 60_000, due)).toBe(due + 60_000)
    expect(nextPollAt('posts:cats', 60_000, due - 1)).toBe(due)

    const phases = new Set(
      Array.from({ length: 50 }, (_, i) => nextPollAt(`posts:sub${i}`, 60_000, start) - start),
    )
    expect(phases.size).toBeGreaterThan(40)
  })
})
