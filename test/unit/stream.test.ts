import { describe, expect, test } from 'bun:test'

import { estimateMissed, gapOf } from '../../src/core/gap.ts'
import {
  ANCHORS_MAX,
  headAfter,
  type Look,
  PAGES_MAX,
  sight,
  startLook,
} from '../../src/core/sight.ts'
import { rateOf, type Row, settleRows, smooth } from '../../src/core/stream-rows.ts'
import { nextDueAt, streamKey } from '../../src/core/stream.ts'

/** Rows `from` down to `to`, newest first; the number is the id and the second of creation. */
const rows = (from: number, to: number): Row[] =>
  Array.from({ length: from - to + 1 }, (_, i) => row(from - i))
const row = (n: number, sticky = false): Row => ({ id: `t3_${n}`, created_at: n * 1000, sticky })
const page = (found: Row[], after: string | null = found.at(-1)?.id ?? null) => ({
  rows: found,
  after,
})
/** A check whose last one ended with these rows on top. */
const after = (seen: Row[], more: Partial<Look> = {}): Look => ({
  ...startLook({
    head: {
      anchors: seen.slice(0, ANCHORS_MAX).map(({ id }) => id),
      head_created_at: seen[0]?.created_at ?? null,
    },
    floor_at: null,
    believing: false,
  }),
  ...more,
})
const first = (floor_at: number | null = null) =>
  startLook({ head: null, floor_at, believing: false })

describe('reaching the head', () => {
  test('the first check ever reaches by definition', () => {
    expect(sight(first(), page(rows(100, 1))).kind).toBe('reached')
  })

  test.each([
    ['posts', 899, 'reached'],
    ['posts', 900, 'cut'],
    ['search', 224, 'reached'],
    ['search', 225, 'cut'],
    // All of a thread comes at once, however much it is.
    ['thread', 5000, 'reached'],
  ] as const)('of %s that end after %i rows the last may be where a monitor begins', (...one) => {
    const [kind, count, expected] = one
    const look = startLook({ head: null, floor_at: 0, believing: false, kind })
    expect(sight(look, page(rows(count, 1), null)).kind).toBe(expected)
  })

  test('one row that the last check ended with is enough', () => {
    expect(sight(after(rows(100, 1)), page(rows(103, 100))).kind).toBe('reached')
  })

  test('a pinned row proves nothing', () => {
    const pinned = row(50, true)
    const look = after([pinned, ...rows(100, 1)])

    expect(sight(look, page([pinned, ...rows(300, 202)])).kind).toBe('onward')
  })

  test('a pinned row makes no page an old one', () => {
    const look = after(rows(100, 51))

    expect(sight(look, page([row(50, true), ...rows(300, 202)])).kind).toBe('onward')
  })

  test('forty-nine deleted anchors still leave one', () => {
    expect(sight(after(rows(100, 51)), page([...rows(103, 101), row(51)])).kind).toBe('reached')
  })

  test('an instant older than the head proves nothing', () => {
    // Everything the head knew is gone; what is older has never been an anchor.
    const believing = after(rows(100, 51), { believing: true })
    expect(sight(believing, page(rows(50, 1))).kind).toBe('onward')
  })

  test('a monitor that begins earlier makes the check read further', () => {
    const look = after(rows(200, 151), { floor_at: 60_000 })

    const one = sight(look, page(rows(205, 106)))
    expect(one).toMatchObject({ kind: 'onward', look: { met: true, after: 't3_109' } })
    expect(sight(one.look, page(rows(108, 6))).kind).toBe('reached')
  })

  test('of the second in which a monitor begins there may be more below', () => {
    const look = after(rows(100, 51), { floor_at: 60_000 })

    expect(sight(look, page(rows(159, 60))).kind).toBe('onward')
    expect(sight(look, page(rows(158, 59))).kind).toBe('reached')
  })

  test('a short listing that ends is all there is for a monitor that begins before it', () => {
    expect(sight(first(0), page(rows(3, 1), null)).kind).toBe('reached')
  })

  test('after an empty listing whatever is there now is new, if its end was seen', () => {
    expect(sight(after([]), page(rows(2, 1), null)).kind).toBe('reached')
    expect(sight(after([]), page(rows(100, 1))).kind).toBe('onward')
    // So many are as many as are ever listed.
    expect(sight(after([]), page(rows(900, 1), null)).kind).toBe('cut')
  })

  test('nothing where there was to be more is asked for again, and is the end when it stays so', () => {
    const seeking = after(rows(100, 51), { lost: ['t3_1'] })
    let one = sight(seeking, page(rows(200, 101)))
    one = sight(one.look, page(rows(103, 60)))
    expect(one).toMatchObject({ kind: 'onward', look: { met: true } })

    const empty = { rows: [], after: null }
    const again = sight(one.look, empty)
    expect(again).toMatchObject({ kind: 'again', look: { healed: false, after: 't3_63' } })
    expect(sight(again.look, page(rows(62, 1)))).toMatchObject({ look: { healed: true } })
    const still = sight(again.look, empty)
    expect(still.kind).toBe('again')
    expect(sight(still.look, empty)).toMatchObject({ kind: 'reached', look: { healed: true } })
  })

  test('what was lost and is found again ends a check as well', () => {
    const seeking = after(rows(100, 51), { lost: ['t3_60'] })

    expect(sight(seeking, page(rows(120, 55)))).toMatchObject({
      kind: 'reached',
      look: { healed: true },
    })
  })

  test('an empty page with a cursor is not the end', () => {
    expect(sight(after(rows(10, 1)), { rows: [], after: 't3_x' })).toMatchObject({
      kind: 'onward',
      look: { after: 't3_x' },
    })
  })
})

describe('a check that has to be cut', () => {
  test('after twelve pages without an anchor it overflows', () => {
    let look = after(rows(5, 1))
    const kinds: string[] = []
    for (let i = 0; i < PAGES_MAX; i++) {
      const top = 10_000 - i * 97
      const sighting = sight(look, page(rows(top, top - 99)))
      kinds.push(sighting.kind === 'cut' ? sighting.reason : sighting.kind)
      look = sighting.look
    }

    expect(kinds).toEqual([
      ...Array.from({ length: PAGES_MAX - 1 }, () => 'onward'),
      'poll_overflow',
    ])
    expect(gapOf(look)).toEqual({ from_at: 5_000, until_at: (10_000 - 1166) * 1000 })
  })

  test('what was read beyond where the head was is no gap', () => {
    const { look } = sight(after(rows(100, 51), { believing: true }), page(rows(50, 1)))

    expect(gapOf(look)).toEqual({ from_at: 1_000, until_at: 1_000 })
  })

  test('where the head was met, what is missing is what a monitor begins with', () => {
    const { look } = sight(after(rows(200, 151), { floor_at: 10_000 }), page(rows(205, 106)))

    expect(gapOf(look)).toEqual({ from_at: 10_000, until_at: 106_000 })
  })

  test('a listing that ends without an anchor is exhausted', () => {
    expect(sight(after(rows(5, 1)), page(rows(100, 50), null))).toMatchObject({
      kind: 'cut',
      reason: 'listing_exhausted',
    })
  })

  test('a cursor whose row is gone is replaced by the row before it, then given up', () => {
    const one = sight(after(rows(5, 1)), page(rows(300, 201)))
    const again = page(rows(301, 202))

    const two = sight(one.look, again)
    expect(two).toMatchObject({ kind: 'again', look: { after: 't3_205' } })
    const three = sight(two.look, again)
    expect(three).toMatchObject({ kind: 'again', look: { after: 't3_206' } })
    expect(sight(three.look, again)).toMatchObject({ kind: 'cut', reason: 'page_restart' })
  })

  test('a restart is over when the row before the cursor works', () => {
    const one = sight(after(rows(5, 1)), page(rows(300, 201)))
    const two = sight(one.look, page(rows(301, 202)))

    expect(sight(two.look, page(rows(201, 102)))).toMatchObject({
      kind: 'onward',
      look: { tries: 0 },
    })
  })

  test('a further page of an older copy is seen by what it does not show again', () => {
    const one = sight(after(rows(5, 1)), page(rows(300, 201)))
    const old = page(rows(150, 51))

    const two = sight(one.look, old)
    expect(two).toMatchObject({ kind: 'again', look: { after: 't3_205', pages: 1 } })
    expect(sight(two.look, page(rows(204, 105))).kind).toBe('onward')
    const three = sight(two.look, old)
    expect(sight(three.look, old)).toMatchObject({ kind: 'cut', reason: 'page_restart' })
  })

  test('a further page with nothing but what it has to show again is the end', () => {
    const one = sight(after([]), page(rows(100, 1)))

    expect(sight(one.look, page(rows(3, 1), null)).kind).toBe('reached')
  })

  test('a page that brings nothing new is a restart too', () => {
    const one = sight(after(rows(5, 1)), page(rows(300, 201)))

    expect(sight(one.look, page(rows(210, 201))).kind).toBe('again')
  })

  test('a further page that ends above where the last one did is no end', () => {
    const one = sight(after(rows(5, 1)), page(rows(300, 201)))

    expect(sight(one.look, page(rows(204, 202), null)).kind).toBe('again')
  })

  test('a further page may begin within the second in which the last one ended', () => {
    const one = sight(after(rows(5, 1)), page(rows(300, 201)))
    const twin = { ...row(200), created_at: 201_000 }

    expect(sight(one.look, page([...rows(203, 201), twin, ...rows(199, 100)])).kind).toBe('onward')
  })

  test('nothing where there was something is asked for again before it is believed', () => {
    const one = sight(after(rows(5, 1)), page([]))
    expect(one.kind).toBe('again')
    expect(sight(one.look, page([])).kind).toBe('empty')
  })

  test('nothing where there never was something is nothing', () => {
    expect(sight(after([]), page([])).kind).toBe('reached')
    expect(sight(first(), page([])).kind).toBe('reached')
  })
})

describe('an old copy from a cache', () => {
  const old = page(rows(94, 1))

  test('is asked for again with other limits, and is then no check at all', () => {
    const one = sight(after(rows(100, 51)), old)
    expect(one).toMatchObject({ kind: 'again', look: { limit: 90, pages: 0 } })
    const two = sight(one.look, old)
    expect(two).toMatchObject({ kind: 'again', look: { limit: 80 } })
    expect(sight(two.look, old).kind).toBe('stale')
  })

  test('makes only the page smaller that is asked for again', () => {
    const one = sight(after(rows(100, 51)), old)

    expect(sight(one.look, page(rows(300, 211)))).toMatchObject({
      kind: 'onward',
      look: { limit: 100 },
    })
  })

  test('may be so old that it knows no anchor at all', () => {
    expect(sight(after(rows(100, 51)), page(rows(40, 1))).kind).toBe('again')
    // Where there have never been more than a few rows, they may well be gone.
    expect(sight(after(rows(100, 96)), page(rows(40, 1), null)).kind).toBe('cut')
  })

  test('leaves the head where it was, even when it is believed and holds no anchor', () => {
    const look = after(rows(2000, 1951), { believing: true })
    const read = sight(look, page(rows(1500, 1), null))

    expect(read).toMatchObject({ kind: 'cut', reason: 'listing_exhausted' })
    expect(headAfter(read.look, false)).toEqual(look.head!)
  })

  test('is believed when nothing else has come for long', () => {
    expect(sight(after(rows(100, 51), { believing: true }), old).kind).toBe('reached')
  })

  test('is no such thing when its newest row is of the very second of the head', () => {
    const twin = { ...row(101), created_at: 100_000 }

    expect(sight(after(rows(100, 51)), page([twin, ...rows(94, 1)])).kind).toBe('reached')
  })

  test('is no such thing when only the newest row was deleted', () => {
    expect(sight(after(rows(100, 51)), page(rows(99, 1))).kind).toBe('reached')
  })
})

test('a pinned row makes nobody above it pinned', () => {
  expect(settleRows([row(5), row(9, true), row(3)])[0]).toEqual(row(5))
})

describe('where the next check begins', () => {
  test('fifty ids, none of them pinned', () => {
    const { look } = sight(after(rows(5, 1)), page([row(2000, true), ...rows(103, 4)]))
    const head = headAfter(look, true)

    expect(head.anchors).toHaveLength(ANCHORS_MAX)
    expect(head.anchors[0]).toBe('t3_103')
    expect(head.head_created_at).toBe(103_000)
  })

  test('a short page leaves older anchors good', () => {
    const { look } = sight(after(rows(60, 11)), page([row(61), row(60)]))

    expect(headAfter(look, true).anchors.slice(0, 4)).toEqual(['t3_61', 't3_60', 't3_59', 't3_58'])
  })

  test('after a cut only rows that were read count', () => {
    const { look } = sight(after(rows(5, 1)), page(rows(100, 99), null))

    expect(headAfter(look, false).anchors).toEqual(['t3_100', 't3_99'])
  })

  test('the head never moves back', () => {
    const { look } = sight(after(rows(100, 51)), page(rows(98, 1)))

    expect(headAfter(look, true).head_created_at).toBe(100_000)
  })

  test('a check that read nothing leaves it alone', () => {
    const look = after(rows(5, 1))

    expect(headAfter(look, false)).toEqual(look.head!)
  })
})

/** An expected number, made to lean high: two deviations and two more. */
const leaning = (mu: number) => Math.ceil(mu + 2 * Math.sqrt(mu) + 2)

describe('how much was missed', () => {
  const unknown = { recent: null, usual: [null] }

  test('the estimate leans high: 1.15 of the highest usual rate, two deviations and two', () => {
    // 100 s at 1 a second, the one in which it ends included: mu 115.
    const gap = { from_at: 0, until_at: 99_000 }
    expect(estimateMissed(gap, { recent: 0.2, usual: [0.2, 1, null] })).toBe(leaning(115))
  })

  test('a rate that was higher just before is believed for ten minutes, and alone for all of the gap', () => {
    const gap = { from_at: 0, until_at: 7_199_000 }
    expect(estimateMissed(gap, { recent: 3, usual: [1] })).toBe(leaning(1.15 * (7200 + 2 * 600)))
    expect(estimateMissed(gap, { recent: 3, usual: [null] })).toBe(leaning(1.15 * 3 * 7200))
  })

  test('a crowd above the gap is thought to reach a little into it, however long that is', () => {
    // A hundred a second for ten seconds.
    const crowd = Array.from({ length: 1000 }, (_, i) => ({
      id: `t3_${i}`,
      created_at: 10_000_000 - i * 10,
      sticky: false,
    }))
    const until_at = 10_000_000 - 9_990
    const short = estimateMissed({ from_at: until_at - 4_000, until_at }, unknown, crowd) ?? 0
    const long = estimateMissed({ from_at: 0, until_at }, unknown, crowd) ?? 0

    expect(short).toBeGreaterThanOrEqual(500)
    expect(short).toBeLessThan(700)
    expect(long).toBeLessThan(10_000)
  })

  test('what is missing within one second of a crowd is not nothing', () => {
    const crowd = Array.from({ length: 1000 }, (_, i) => ({
      id: `t3_${i}`,
      created_at: 50_000 - Math.floor(i / 40) * 1000,
      sticky: false,
    }))
    const gap = { from_at: 26_000, until_at: 26_000 }

    expect(estimateMissed(gap, unknown, crowd)).toBeGreaterThanOrEqual(40)
  })

  test('it is unknown when no rate or no end is known', () => {
    expect(estimateMissed({ from_at: 0, until_at: 100_000 }, unknown)).toBeNull()
    expect(
      estimateMissed({ from_at: null, until_at: 100_000 }, { recent: 1, usual: [] }),
    ).toBeNull()
  })

  test('the rate of one look is rows over time, and unknown for a single row', () => {
    expect(rateOf(rows(100, 1))).toBe(1)
    expect(rateOf(rows(1, 1))).toBeNull()
    expect(rateOf([row(5), row(5)])).toBeNull()
  })

  test('the rate over many looks follows slowly', () => {
    expect(smooth(null, 2)).toBe(2)
    expect(smooth(1, 2)).toBeCloseTo(1.2)
  })
})

describe('whose turn it is', () => {
  test('places are one stream whatever their case; searches are as written', () => {
    expect(streamKey({ kind: 'posts', place: 'Cats' })).toBe('posts:cats')
    expect(streamKey({ kind: 'search', place: '"A" OR b' })).toBe('search:"A" OR b')
  })

  test('a stream is due once in every interval, in a phase of its own', () => {
    const start = Date.parse('2026-01-01T00:00:00Z')
    const due = nextDueAt('posts:cats', 60_000, start)
    expect(due).toBeGreaterThan(start)
    expect(due).toBeLessThanOrEqual(start + 60_000)
    expect(nextDueAt('posts:cats', 60_000, due)).toBe(due + 60_000)
    expect(nextDueAt('posts:cats', 60_000, due - 1)).toBe(due)

    const phases = new Set(
      Array.from({ length: 50 }, (_, i) => nextDueAt(`posts:sub${i}`, 60_000, start) - start),
    )
    expect(phases.size).toBeGreaterThan(40)
  })
})
