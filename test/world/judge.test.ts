import { describe, expect, test } from 'bun:test'

import { deliveredShare, estimateFault, failuresOf, judgeWorld, speaksFor } from './judge.ts'
import type { Claim, Delivery, Facts, JudgeInput, Pair } from './judge.ts'
import { makeRandom, parseSearch, planItems } from './plan.ts'
import { answerListing, observableSpans, simulateNaive, without } from './view.ts'
import type { Condition, Feed, World } from './view.ts'

const COMPLETE: Claim = {
  status: 'complete',
  reason: null,
  auditedUntilMs: 100_000,
  covered: [],
  healed: [],
}

const pair = (name: string, change: Partial<Pair> = {}): Pair => ({
  monitorId: 'm',
  name,
  place: 'alpha',
  note: '',
  createdMs: 50_000,
  shownFromMs: 50_000,
  observableMs: 60_000,
  category: 'place',
  ...change,
})

const delivery = (name: string, change: Partial<Delivery> = {}): Delivery => ({
  atMs: 55_000,
  deliveryId: `d-${name}`,
  monitorId: 'm',
  names: [name],
  body: `body of ${name}`,
  signed: true,
  ...change,
})

const judge = (pairs: Pair[], deliveries: Delivery[], claim: Claim = COMPLETE) => {
  const input: JudgeInput = {
    cadenceMs: 3000,
    auditIntervalMs: 60_000,
    endMs: 200_000,
    monitors: [
      {
        id: 'm',
        label: 'a monitor',
        startMs: 0,
        claim,
        verdictOn: (name) =>
          name.startsWith('bad') ? 'no-match' : name.startsWith('old') ? 'before-start' : 'match',
      },
    ],
    pairs,
    deliveries,
  }
  return judgeWorld(input)
}

describe('a loss', () => {
  test('is silent when health speaks for its time', () => {
    const verdict = judge([pair('a'), pair('b')], [delivery('a')])
    expect(verdict.pairs).toBe(2)
    expect(verdict.delivered).toBe(1)
    expect(verdict.silent.map((loss) => loss.name)).toEqual(['b'])
    expect(verdict.reported).toBe(0)
    expect(deliveredShare(verdict)).toBe(0.5)
  })

  test('is silent under a daemon without audited_until that reads complete', () => {
    const verdict = judge([pair('a')], [], { ...COMPLETE, auditedUntilMs: undefined })
    expect(verdict.silent).toHaveLength(1)
  })

  test('is reported when created after audited_until, or when nothing was audited', () => {
    for (const auditedUntilMs of [49_999, null]) {
      const verdict = judge([pair('a')], [], { ...COMPLETE, auditedUntilMs })
      expect(verdict.silent).toHaveLength(0)
      expect(verdict.reported).toBe(1)
    }
  })

  test('is reported when health is not complete, and vague without a gap around it', () => {
    const degraded = { ...COMPLETE, status: 'degraded' }
    expect(judge([pair('a')], [], degraded)).toMatchObject({ reported: 1, vague: 1 })
    const covered: [number, number][] = [[40_000, 60_000]]
    expect(judge([pair('a')], [], { ...degraded, covered })).toMatchObject({
      reported: 1,
      vague: 0,
    })
  })

  test('is withdrawn when the only gap around it is healed', () => {
    const healed: [number, number][] = [[40_000, 60_000]]
    const claim = { ...COMPLETE, status: 'degraded', healed }
    expect(judge([pair('a')], [], claim).withdrawn).toBe(1)
    expect(judge([pair('a')], [delivery('a')], claim).withdrawn).toBe(0)
    expect(judge([pair('a', { category: 'beyond', observableMs: 500 })], [], claim).withdrawn).toBe(
      1,
    )
  })

  test('beyond reach is no pair, but silent when health speaks for it', () => {
    const beyond = pair('a', { category: 'beyond', observableMs: 500 })
    expect(judge([beyond], [])).toMatchObject({ pairs: 0, delivered: 0 })
    expect(judge([beyond], []).beyondSilent).toHaveLength(1)
    expect(judge([beyond], [delivery('a')]).beyondSilent).toHaveLength(0)
    expect(judge([beyond], [], { ...COMPLETE, status: 'degraded' }).beyondSilent).toHaveLength(0)
  })

  test('by an unsigned delivery is a loss', () => {
    const verdict = judge([pair('a')], [delivery('a', { signed: false })])
    expect(verdict.silent).toHaveLength(1)
    expect(verdict.unsigned).toHaveLength(1)
  })

  test('is not counted when it was shown too short or too late', () => {
    const short = pair('a', { observableMs: 5000 })
    const late = pair('b', { shownFromMs: 190_000, observableMs: 10_000 })
    const edited = pair('c', { category: 'edited', observableMs: 100_000 })
    expect(judge([short, late, edited], []).pairs).toBe(0)
  })
})

describe('a delivery', () => {
  test('without a match is a false match', () => {
    expect(judge([], [delivery('bad')]).falseMatches).toEqual(['m bad'])
    expect(judge([], [delivery('a', { monitorId: 'other' })]).falseMatches).toHaveLength(1)
    expect(judge([], [delivery('a', { names: [] })]).falseMatches).toHaveLength(1)
  })

  test('for an item created before the start is early', () => {
    expect(judge([], [delivery('old')]).early).toEqual(['m old'])
  })

  test('under two ids is a duplicate', () => {
    const twice = [delivery('a'), delivery('a', { deliveryId: 'another' })]
    expect(judge([pair('a')], twice).duplicates).toEqual(['m a'])
  })

  test('sent again with the same body is a repeat, with another body unstable', () => {
    expect(judge([pair('a')], [delivery('a'), delivery('a')])).toMatchObject({
      repeats: 1,
      unstable: [],
      duplicates: [],
    })
    const changed = [delivery('a'), delivery('a', { body: 'another' })]
    expect(judge([pair('a')], changed).unstable).toEqual(['d-a'])
  })
})

test('a claim speaks up to audited_until and only when complete', () => {
  expect(speaksFor(COMPLETE, 100_000)).toBe(true)
  expect(speaksFor(COMPLETE, 100_001)).toBe(false)
  expect(speaksFor({ ...COMPLETE, status: 'partial' }, 1)).toBe(false)
})

test('an estimate is wrong beyond a factor of three, a floor above the truth', () => {
  const one = { label: 'x', truth: 100, estimate: 100, floor: 5, listed: 5 }
  expect(estimateFault(one)).toBeNull()
  expect(estimateFault({ ...one, estimate: 301 })).toContain('estimate 301')
  expect(estimateFault({ ...one, estimate: 33 })).toContain('estimate 33')
  expect(estimateFault({ ...one, truth: 20, estimate: 900 })).toBeNull()
  expect(estimateFault({ ...one, floor: 6 })).toContain('floor 6')
})

test('every bar can fail', () => {
  const good: Facts = {
    verdict: judge([pair('a')], [delivery('a')]),
    deliveredShare: 1,
    overRate: 0,
    ratio: 0.5,
    missed: 0,
    naiveMissed: 0,
    statuses: { complete: 2 },
    auditLagS: 70,
    estimates: [],
    measures: { 'pause after blank (s)': 4, 'reads in outage': 'degraded' },
    monitors: 2,
    cadenceS: 3,
    auditS: 60,
    skewed: false,
    staysComplete: true,
    pauseBarS: 10,
  }
  expect(failuresOf(good)).toEqual([])
  const worse: Partial<Facts>[] = [
    { verdict: judge([pair('a')], []) },
    { verdict: judge([pair('a', { category: 'beyond' })], []) },
    { verdict: judge([], [delivery('bad')]) },
    { verdict: judge([], [delivery('old')]) },
    { verdict: judge([], [delivery('a'), delivery('a', { deliveryId: 'b' })]) },
    { verdict: judge([], [delivery('a'), delivery('a', { body: 'b' })]) },
    { verdict: judge([], [delivery('a', { signed: false })]) },
    { deliveredShare: 0.979 },
    { overRate: 1 },
    { ratio: 0.61 },
    { missed: 1 },
    { statuses: { complete: 1, partial: 1 } },
    { auditLagS: 121 },
    { auditLagS: null },
    { measures: { 'pause after blank (s)': 11 } },
    { measures: { 'requests a minute unreachable': 21 } },
    { measures: { 'first answer after recovery (s)': 63 } },
    { measures: { 'first poll after that (s)': 4 } },
    { measures: { 'reads in outage': 'degraded unknown' } },
    { measures: { 'platform events': 'platform.unreachable' } },
    { estimates: [{ label: 'x', truth: 50, estimate: 500, floor: 0, listed: 0 }] },
  ]
  for (const change of worse) expect(failuresOf({ ...good, ...change })).toHaveLength(1)
})

const worldOf = (conditions: Condition[], rows: number): World => {
  const bursts = [{ place: 'alpha', atMs: 0, rows, overMs: 900, lateMs: 0 }]
  const content = { places: [], bursts, pinned: [], idJitterMs: 0 }
  const items = planItems(content, 5, 100_000)
  return {
    seed: 5,
    startMs: 1_700_000_000_000,
    content,
    items,
    byName: new Map(items.map((item) => [item.name, item])),
    conditions,
    mergedRefusal: 'drop',
    orderById: false,
    lists: new Map(),
  }
}

const ALPHA: Feed = { type: 'places', places: ['alpha'], kind: 'post' }

describe('the platform', () => {
  test('shows a listing page by page, each row once, newest first, and no more than 1,000', () => {
    const world = worldOf([], 1200)
    const names: string[] = []
    let after: string | null = null
    for (let page = 0; page < 20; page += 1) {
      const answer = answerListing(world, ALPHA, { limit: 100, after, before: null }, 5000, 'x')
      names.push(...answer.rows.map((item) => item.name))
      after = answer.after
      if (after === null) break
    }
    expect(names).toHaveLength(1000)
    expect(new Set(names).size).toBe(1000)
    expect(world.byName.get(names[0] ?? '')?.createdMs).toBeGreaterThan(880)
  })

  test('answers the same plan for the same seed', () => {
    expect(worldOf([], 50).items).toEqual(worldOf([], 50).items)
    expect(makeRandom(1)()).not.toBe(makeRandom(2)())
  })

  test('counts the time in which a row is out of reach, hidden or unreachable as unobservable', () => {
    const deep = worldOf([], 1500)
    const [oldest] = deep.items
    if (oldest === undefined) throw new Error('no items')
    const [span] = observableSpans(deep, ALPHA, oldest, 0, 60_000, [])
    expect(span?.[1]).toBeLessThan(900)
    const away: Condition = { type: 'unreachable', how: 'refuse', fromMs: 2000, untilMs: 4000 }
    const few = worldOf([away], 5)
    const [first] = few.items
    if (first === undefined) throw new Error('no items')
    const spans = observableSpans(few, ALPHA, first, 0, 9000, [[5000, 6000]])
    expect(spans).toEqual([
      [first.createdMs, 2000],
      [4000, 5000],
      [6000, 9000],
    ])
    expect(without([0, 10], [[0, 10]])).toEqual([])
  })

  test('leaves a missing place out of merged answers only', () => {
    const world = worldOf([{ type: 'missing', place: 'alpha', fromMs: 0, untilMs: 9000 }], 5)
    const both: Feed = { type: 'places', places: ['alpha', 'bravo'], kind: 'post' }
    const page = { limit: 100, after: null, before: null }
    expect(answerListing(world, both, page, 5000, 'x').rows).toHaveLength(0)
    expect(answerListing(world, ALPHA, page, 5000, 'x').rows).toHaveLength(5)
  })

  test('shows a naive stream the newest 100 alone', () => {
    const world = worldOf([], 250)
    const naive = simulateNaive(world, [{ feed: ALPHA, fromMs: 0 }], 3000, 30_000, [])
    expect(naive.requests).toBe(10)
    expect([...naive.yielded.values()][0]?.size).toBeGreaterThanOrEqual(100)
    expect([...naive.yielded.values()][0]?.size).toBeLessThan(200)
  })

  test('reads its search language', () => {
    const item = { words: ['a', 'grinder', 'cup'], author: 'ann', place: 'alpha' }
    for (const query of ['grinder', '(kettle OR grinder) AND author:ann', 'grinder -kettle']) {
      expect(parseSearch(query)(item)).toBe(true)
    }
    for (const query of ['', 'kettle', 'NOT grinder', '"grinder a"', 'author:bob AND grinder']) {
      expect(parseSearch(query)(item)).toBe(false)
    }
  })
})
