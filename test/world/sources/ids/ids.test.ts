/** Planted faults: a reader that misses one item, and a log that lacks one delivery, are noticed. */
import { describe, expect, test } from 'bun:test'

import { judgeSource } from '../judge.ts'
import type { JudgeInput, Received, SourceClaim, SourceVerdict } from '../judge.ts'
import { boundsOf } from '../source-world.ts'
import type { SourceMonitor, TruthItem } from '../source-world.ts'
import {
  answerHackerNews,
  FIRST_ID,
  hackerNewsMonitors,
  hackerNewsTruth,
  planHackerNews,
} from './hackernews.ts'

const END_MS = 200_000
const CONTENT_MS = 110_000
const CADENCE_MS = 3000
const START_MS = Date.UTC(2026, 10, 23, 12)
const SEEDS = [1, 2, 3]

const CLAIM: SourceClaim = {
  status: 'complete',
  reason: null,
  auditedUntilMs: END_MS,
  sinceMs: 0,
  gaps: [],
  changes: null,
}

const monitor = (found: readonly SourceMonitor[], label: string): SourceMonitor => {
  const one = found.find((each) => each.label === label)
  if (one === undefined) throw new Error(`no monitor ${label}`)
  return one
}

/** The verdict on a reader that delivered `names` once each, when it read them. */
const verdictOn = (
  items: readonly TruthItem[],
  one: SourceMonitor,
  reads: ReadonlyMap<string, number>,
  claim = CLAIM,
): SourceVerdict => {
  const deliveries: Received[] = [...reads].map(([name, atMs]) => ({
    atMs,
    deliveryId: `d-${name}`,
    monitorId: 'm',
    names: [name],
    body: name,
    signed: true,
  }))
  const input: JudgeInput = {
    truth: { items, holes: [], pauses: [] },
    watched: [{ id: 'm', startMs: 0, monitor: one, claim }],
    samples: [],
    deliveries,
    log: [],
    limits: {},
    down: [],
    bounds: boundsOf(CADENCE_MS, 0),
    cadenceMs: CADENCE_MS,
    skewMs: 0,
    endMs: END_MS,
  }
  return judgeSource(input)
}

const without = (reads: ReadonlyMap<string, number>, name: string): Map<string, number> =>
  new Map([...reads].filter(([each]) => each !== name))

const isLive = (value: unknown): value is { id: number; type: string } =>
  typeof value === 'object' &&
  value !== null &&
  !('dead' in value) &&
  !('deleted' in value) &&
  'type' in value &&
  value.type !== 'pollopt' &&
  Reflect.get(value, 'text') !== '[delayed]'

/** Reads every id at every cadence, as no client could afford. */
const readHackerNews = (seed: number, hiddenId: number) => {
  const plan = { seed, contentMs: CONTENT_MS, meanGapMs: 2400, unruly: true, settled: false }
  const items = planHackerNews(plan, START_MS)
  const reads = new Map<string, number>()
  for (let atMs = 0; atMs < END_MS; atMs += CADENCE_MS) {
    const most = Number(answerHackerNews(items, '/v0/maxitem.json', atMs))
    for (let id = FIRST_ID; id <= most; id += 1) {
      const name = `${items[id - FIRST_ID]?.type === 'comment' ? 't1' : 't3'}_${id}`
      const item = items[id - FIRST_ID]
      if (reads.has(name) || id === hiddenId || item === undefined || item.createdMs < 0) continue
      if (isLive(answerHackerNews(items, `/v0/item/${id}.json`, atMs))) reads.set(name, atMs)
    }
  }
  const truth = items.filter((item) => item.type !== 'pollopt').map((item) => hackerNewsTruth(item))
  return { items, truth, reads }
}

const lostNames = (verdict: SourceVerdict): string[] => verdict.silent.map((loss) => loss.name)

describe.each(SEEDS)('Hacker News, seed %d', (seed) => {
  const { truth, reads } = readHackerNews(seed, 0)
  const everything = monitor(
    hackerNewsMonitors(() => true),
    'everything',
  )
  const expected = truth.filter(
    (item) =>
      reads.has(item.name) &&
      item.states.length === 1 &&
      item.createdMs > 25_000 &&
      item.createdMs < CONTENT_MS - 40_000,
  )
  const victim = expected[Math.floor(expected.length / 2)]

  test('a reader of every id misses nothing and delivers nothing false', () => {
    const verdict = verdictOn(truth, everything, reads)
    expect(verdict.pairs.fresh).toBeGreaterThan(10)
    expect(verdict.pairs.late).toBeGreaterThan(3)
    expect(lostNames(verdict)).toEqual([])
    expect(verdict.falseDeliveries).toEqual([])
  })

  test('an item hidden from the reader is a silent miss', () => {
    const hidden = readHackerNews(seed, victim?.gapId ?? 0)
    expect(lostNames(verdictOn(hidden.truth, everything, hidden.reads))).toEqual([
      victim?.name ?? '',
    ])
  })

  test('a delivery taken from the log is a silent miss, unless a gap names its id', () => {
    const rest = without(reads, victim?.name ?? '')
    expect(lostNames(verdictOn(truth, everything, rest))).toEqual([victim?.name ?? ''])
    const id = victim?.gapId ?? 0
    const gap = { fromMs: 0, untilMs: 0, fromId: id, toId: id, healed: false }
    const claim = { ...CLAIM, status: 'degraded', gaps: [gap] }
    expect(verdictOn(truth, everything, rest, claim).reported).toHaveLength(1)
  })

  test('a dead item, a poll option and an unknown one are false deliveries', () => {
    const { items } = readHackerNews(seed, 0)
    const dead = items.find((item) => item.note === 'born dead')
    const option = items.find((item) => item.type === 'pollopt')
    const names = [dead, option].flatMap((item) => (item === undefined ? [] : [`t3_${item.id}`]))
    const wrong = new Map([...names, 't3_1'].map((name) => [name, END_MS]))
    expect(verdictOn(truth, everything, wrong).falseDeliveries).toHaveLength(names.length + 1)
  })
})
