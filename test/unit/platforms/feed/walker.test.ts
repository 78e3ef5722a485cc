import { describe, expect, test } from 'bun:test'

import * as fc from 'fast-check'

import type { FeedEntry } from '../../../../src/platforms/feed/document.ts'
import { listedOf } from '../../../../src/platforms/feed/identity.ts'
import {
  type FeedState,
  judge,
  type Judged,
  NEW_FEED,
  pollEvery,
  seenSame,
} from '../../../../src/platforms/feed/walker.ts'
import { cases } from '../../../support/long-form.ts'

const START = Date.UTC(2026, 10, 28)
const MINUTE = 60_000

type Row = { n: number; at?: number | null; text?: string; link?: string; title?: string }

const entryOf = ({
  n,
  at = START + n * MINUTE,
  text = `text ${n}`,
  link = `https://blog.example/a${n}`,
  title = `title ${n}`,
}: Row): FeedEntry => ({
  id: `tag:${n}`,
  link,
  discussion: '',
  title,
  author: 'ann',
  html: text,
  base: 'https://blog.example/',
  published: at,
  updated: null,
  categories: [],
  comments: 0,
})

const lookAt = (rows: readonly (Row | number)[], as_of: number, is_cut = false) => ({
  listed: listedOf(
    rows.map((it) => entryOf(typeof it === 'number' ? { n: it } : it)),
    'blog.example',
  ),
  as_of,
  is_cut,
})

const numberOf = ({ entry }: { entry: FeedEntry }): number => Number(entry.id.slice(4))

/** Judges lists one after the other, one minute after their newest row at the earliest. */
function walk(...lists: readonly (Row | number)[][]): Judged & { numbers: number[] } {
  let state: FeedState = NEW_FEED
  let judged: Judged | null = null
  let as_of = START + 1000 * MINUTE
  for (const rows of lists) {
    as_of += 10 * MINUTE
    judged = judge(state, lookAt(rows, as_of))
    if (judged === null) throw new Error('the list is empty')
    state = judged.state
  }
  if (judged === null) throw new Error('no list')
  return { ...judged, numbers: judged.fresh.map(numberOf) }
}

const numbered = (n: number): Row => ({
  n,
  link: `https://forum.example/viewtopic.php?p=${n}#p${n}`,
})

const later = (n: number): Row => ({ n, at: START + (n + 500) * MINUTE })

const thread = (n: number, at: number): Row => ({
  n,
  at: START + at * MINUTE,
  link: `https://forum.example/threads/x.${n}/`,
})

const counted = (text: string): Row => ({ n: 1, text })

const restyled = (n: number): Row => ({ n, text: `<div>text ${n}</div>` })

const moved = (n: number): Row => ({
  n: n + 100,
  at: START + n * MINUTE,
  link: `https://blog.example/a${n}`,
  title: `title ${n}`,
})

describe('a poll of a feed', () => {
  test('proves nothing of the past when it is the first', () => {
    expect(walk([3, 2, 1])).toMatchObject({
      numbers: [],
      is_complete: true,
      gap: null,
      partial: null,
    })
  })

  test('is complete while it overlaps the one before', () => {
    expect(walk([3, 2, 1], [5, 4, 3])).toMatchObject({
      numbers: [4, 5],
      is_complete: true,
      gap: null,
    })
  })

  test('is complete when nothing has changed', () => {
    const { state, is_complete } = walk([3, 2, 1], [3, 2, 1])
    expect([is_complete, state.verified_until]).toEqual([true, START + 1020 * MINUTE])
  })

  test('has a gap when the window has rolled over', () => {
    const found = walk([3, 2, 1], [9, 8, 7])
    expect(found).toMatchObject({
      numbers: [7, 8, 9],
      is_complete: false,
      gap: { from_at: START + 3 * MINUTE, until_at: START + 7 * MINUTE, missed: null },
    })
  })

  test('estimates a gap by the numbers of posts', () => {
    const found = walk([3, 2, 1].map(numbered), [9, 8, 7].map(numbered))
    expect(found.gap?.missed).toBe(3)
  })

  test('moves the proof on with the next anchor after a gap', () => {
    const after = walk([3, 2, 1], [9, 8, 7])
    expect(after.state.verified_until).toBe(START + 1010 * MINUTE)
    expect(walk([3, 2, 1], [9, 8, 7], [10, 9, 8]).state.verified_until).toBe(START + 1030 * MINUTE)
  })

  test('does not take a pinned entry for an anchor', () => {
    expect(walk([1, 5, 4, 3], [1, 9, 8, 7]).is_complete).toBe(false)
    expect(walk([1, 5, 4, 3], [1, 6, 5, 4])).toMatchObject({ is_complete: true, numbers: [6] })
  })

  test('does not take entries of the future for an anchor', () => {
    const future = { n: 99, at: START + 5000 * MINUTE }
    expect(walk([future, 5, 4, 3], [future, 9, 8, 7]).is_complete).toBe(false)
    expect(walk([future, 5, 4, 3], [future, 6, 5, 4])).toMatchObject({
      is_complete: true,
      numbers: [6],
    })
  })

  test('gives an entry that was approved late', () => {
    const found = walk([5, 4, 2], [6, 5, 4, 3, 2])
    expect(found).toMatchObject({ numbers: [3, 6], is_complete: true })
    expect(found.late.size).toBe(1)
  })

  test('does not give what a deletion pulls in from below', () => {
    expect(walk([5, 4, 3], [5, 3, 2])).toMatchObject({ numbers: [], is_complete: true })
  })

  test('is of a selection when many entries left out come back', () => {
    expect(walk([9, 8, 7, 6, 5, 4], [9, 5, 4])).toMatchObject({ partial: 'order_is_not_arrival' })
    expect(walk([5, 4, 3], [5, 3], [5, 4, 3])).toMatchObject({ partial: 'order_is_not_arrival' })
  })

  test('proves nothing where entries stand by rank', () => {
    expect(walk([2, 5, 1, 4], [4, 2, 5, 1])).toMatchObject({
      is_complete: false,
      partial: 'order_is_not_arrival',
    })
  })

  test('proves nothing after a new order until two polls agree', () => {
    const before = [8, 7, 6, 5, 4, 3]
    const turned = [5, 8, 3, 7, 4, 6]
    expect(walk(before, turned).partial).not.toBeNull()
    expect(walk(before, turned, before).partial).not.toBeNull()
    expect(walk(before, turned, before, before, before).partial).toBeNull()
  })

  test('proves nothing when all times have moved', () => {
    expect(walk([4, 3, 2, 1], [4, 3, 2, 1].map(later))).toMatchObject({
      numbers: [],
      is_complete: false,
    })
  })

  test('changes nothing when the list is empty where entries were', () => {
    const { state } = walk([3, 2, 1])
    expect(judge(state, lookAt([], START + 2000 * MINUTE))).toBeNull()
  })

  test('is complete after an empty list with fewer entries than any list has', () => {
    expect(walk([], [1])).toMatchObject({ numbers: [1], is_complete: true })
    expect(walk([], [5, 4, 3, 2, 1])).toMatchObject({
      numbers: [1, 2, 3, 4, 5],
      is_complete: false,
    })
  })

  test('reads a list that begins with the oldest, once its head was seen to leave', () => {
    expect(walk([1, 2, 3], [1, 2, 3, 4])).toMatchObject({ numbers: [4], is_complete: false })
    expect(walk([1, 2, 3], [2, 3, 4], [3, 4, 5])).toMatchObject({ numbers: [5], is_complete: true })
  })

  test('gives new threads of a list by last reply, and no old ones', () => {
    const found = walk(
      [thread(40, 10), thread(30, 9), thread(20, 8)],
      [thread(41, 14), thread(30, 13), thread(7, 12), thread(40, 10)],
    )
    expect(found).toMatchObject({ numbers: [41], is_complete: true })
  })

  test('sees an edit, and none in counters or a new template', () => {
    expect(walk([3, 2, 1], [3, { n: 2, text: 'other' }, 1]).edited.map(numberOf)).toEqual([2])
    expect(
      walk(
        [2, counted('x<small>2 posts - 1 participant</small>')],
        [2, counted('x<small>9 posts - 4 participants</small>')],
      ).edited,
    ).toEqual([])
    expect(walk([4, 3, 2, 1], [4, 3, 2, 1].map(restyled)).edited).toEqual([])
  })

  test('does not give entries again whose ids have moved', () => {
    expect(walk([3, 2, 1], [3, 2, 1].map(moved)).numbers).toEqual([])
  })

  test('needs an anchor in a document that is cut', () => {
    const { state } = walk([3, 2, 1])
    expect(judge(state, lookAt([5, 4], START + 1100 * MINUTE, true))?.is_complete).toBe(false)
    expect(judge(state, lookAt([4, 3], START + 1100 * MINUTE, true))?.is_complete).toBe(true)
  })

  test('moves the proof on when the site says that nothing has changed', () => {
    const { state } = walk([3, 2, 1])
    expect(seenSame(state, START + 2000 * MINUTE).verified_until).toBe(START + 2000 * MINUTE)
    const { state: open } = walk([3, 2, 1], [9, 8, 7])
    expect(seenSame(open, START + 2000 * MINUTE).verified_until).toBe(START + 1010 * MINUTE)
  })
})

describe('the interval of a feed', () => {
  const NOTHING = { ttl_s: null, fresh_s: 0, skip_hours: [], skip_days: [] }
  const bounds = { cadence_s: 900, own_s: null, now: START }
  const every = (third_ms: number | null, hints = {}, over = {}) =>
    pollEvery({ third_ms }, { ...NOTHING, ...hints }, { ...bounds, ...over }) / 1000

  test('is that of the monitors, or shorter for a window that turns over faster', () => {
    expect([every(null), every(3_600_000), every(300_000), every(1000)]).toEqual([
      900, 900, 300, 60,
    ])
  })

  test('follows the hints of the site, unless the window would roll over', () => {
    expect([every(null, { ttl_s: 3600 }), every(300_000, { ttl_s: 3600 })]).toEqual([3600, 300])
    expect(every(300_000, { fresh_s: 600 })).toBe(600)
    expect(every(null, {}, { own_s: 120 })).toBe(120)
  })

  test('is an hour at most in hours that the site skips', () => {
    expect(every(null, { skip_hours: [0] })).toBe(3600)
    expect(every(null, { skip_days: ['saturday'] })).toBe(3600)
    expect(every(300_000, { skip_hours: [0] })).toBe(300)
  })
})

type Event = {
  kind: 'post' | 'poll' | 'pin' | 'burst' | 'delete' | 'edit' | 'restore' | 'approve'
  n: number
}

const event: fc.Arbitrary<Event> = fc.record({
  kind: fc.constantFrom(
    ...([
      'post',
      'post',
      'post',
      'post',
      'poll',
      'poll',
      'poll',
      'pin',
      'burst',
      'delete',
      'edit',
      'restore',
      'approve',
    ] as const),
  ),
  n: fc.nat(20),
})

/** A site with its own ledger of what it has listed, and when. */
function siteOf(size: number) {
  type Post = { n: number; at: number; listed_at: number; is_shown: boolean; text: string }
  const posts: Post[] = []
  let now = START
  let pinned: Post | null = null
  const pins = new Set<number>()
  const shown = () => posts.filter((it) => it.is_shown).toSorted((a, b) => b.at - a.at)
  const windowOf = () => {
    const list = shown().slice(0, size)
    return pinned?.is_shown === true ? [pinned, ...list.filter((it) => it !== pinned)] : list
  }
  const post = (written = now) => {
    now += MINUTE
    posts.push({
      n: posts.length,
      at: written === now - MINUTE ? now : written,
      listed_at: now,
      is_shown: true,
      text: 'a',
    })
  }
  return {
    posts,
    pinned: pins,
    now: () => now,
    windowOf,
    do(it: Event) {
      now += 1000
      if (it.kind === 'post') post()
      else if (it.kind === 'burst') for (let n = 0; n < it.n; n++) post()
      else if (it.kind === 'pin') {
        pinned = shown()[size >> 1] ?? null
        if (pinned !== null) pins.add(pinned.n)
      } else if (it.kind === 'approve') {
        // Written a few minutes ago, and within the window.
        const at = (windowOf().at(-1)?.at ?? now) + 1000
        posts.push({ n: posts.length, at, listed_at: now, is_shown: true, text: 'a' })
      } else if ('n' in it) {
        const found = windowOf()[it.n % Math.max(1, windowOf().length)]
        if (found === undefined) return
        if (it.kind === 'edit') found.text += 'b'
        else if (it.kind === 'delete') found.is_shown = false
        else
          for (const hidden of posts.filter((at) => !at.is_shown).slice(-1)) hidden.is_shown = true
      }
    },
  }
}

test('no history of a site makes a poll claim what was not read', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 3, max: 12 }),
      fc.array(event, { minLength: 5, maxLength: 80 }),
      (size, events) => {
        const site = siteOf(size)
        for (let n = 0; n < size + 2; n++) site.do({ kind: 'post', n: 0 })
        let state: FeedState = NEW_FEED
        const given = new Set<number>()
        const gaps: { from: number; until: number }[] = []
        let claimed = 0
        let polled = 0
        const excused = new Set<number>()
        let from = 0
        for (const it of [...events, { kind: 'poll' as const, n: 0 }]) {
          site.do(it)
          if (it.kind !== 'poll') continue
          const list = site.windowOf()
          const bottom = state.window?.findLast(([, at_s]) => at_s !== null)?.[1] ?? 0
          // What was approved below the end of the list, or has left it before a poll, no reader can know.
          for (const post of site.posts)
            if (post.listed_at > polled && post.at < post.listed_at)
              if (!list.includes(post) || post.at <= (bottom + 1) * 1000) excused.add(post.n)
          polled = site.now()
          const judged = judge(
            state,
            lookAt(
              list.map(({ n, at, text }) => ({ n, at, text })),
              site.now(),
            ),
          )
          if (judged === null) continue
          if (state.window === null) {
            from = site.now()
            for (const { n, is_shown } of site.posts) if (is_shown) given.add(n)
          }
          for (const fresh of judged.fresh) {
            // Nothing is new twice, but for what is pinned on top: it looks like a post of long ago that is published now.
            const n = numberOf(fresh)
            expect(given.has(n) && !site.pinned.has(n)).toBe(false)
            given.add(n)
          }
          if (judged.gap !== null)
            gaps.push({ from: judged.gap.from_at ?? 0, until: judged.gap.until_at ?? site.now() })
          if (judged.is_complete) claimed = judged.state.verified_until ?? claimed
          ;({ state } = judged)
          const isKnown = ({ n, at, listed_at }: (typeof site.posts)[number]) =>
            given.has(n) ||
            excused.has(n) ||
            gaps.some((gap) =>
              [at, listed_at].some((time) => gap.from <= time && time <= gap.until),
            )
          // All that a poll could have seen: shown now, in the window or above its end, listed before the claim.
          const oldest = list.at(-1)?.at ?? Infinity
          const missed = site.posts.filter(
            (post) =>
              post.is_shown &&
              post.listed_at > from &&
              post.listed_at <= claimed &&
              post.at > oldest &&
              !isKnown(post),
          )
          expect(missed).toEqual([])
        }
      },
    ),
    { numRuns: cases({ short: 300, long: 20_000 }) },
  )
})

test('entries keep their ids when a site moves to https', () => {
  const links = ['http://blog.example/a', 'https://blog.example/a']
  const [before, after] = links.map((link) =>
    listedOf([{ ...entryOf({ n: 1, link }), id: '' }], 'blog.example').map(({ id }) => id),
  )

  expect(after).toEqual(before ?? [])
  expect(after).toHaveLength(1)
})
