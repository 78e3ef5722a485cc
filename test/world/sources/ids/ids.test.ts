/** Planted faults: a reader that misses one item, and a log that lacks one delivery, are noticed. */
import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

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
  updatesAt,
} from './hackernews.ts'
import { planLemmy } from './lemmy-plan.ts'
import { answerLemmy } from './lemmy-wire.ts'
import type { Version } from './lemmy-wire.ts'
import { lemmyMonitors, lemmyTruth } from './lemmy.ts'

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

const BASE = 'http://127.0.0.1:1'

/** Asks for every id at every cadence. */
const readLemmy = (seed: number, version: Version, hiddenName: string) => {
  const plan = {
    seed,
    contentMs: CONTENT_MS,
    postGapMs: 7000,
    commentGapMs: 3500,
    unruly: true,
    settled: false,
  }
  const { posts, comments } = planLemmy(plan)
  const all = [...posts, ...comments]
  const truth = all.map((item) => lemmyTruth(item, { version, tokenEndsMs: -Infinity }))
  const items = new Map(all.map((item, index) => [truth[index] as TruthItem, item]))
  const reads = new Map<string, number>()
  const site = { version, startMs: START_MS, limit: 180, base: BASE, posts, comments }
  for (let nowMs = 0; nowMs < END_MS; nowMs += CADENCE_MS) {
    for (const [{ name }, item] of items) {
      if (reads.has(name) || name === hiddenName || item.publishedMs < 0) continue
      // By its id an item of 0.19 is read that no list of a hidden community has.
      if (version === 3 && item.community.sort === 'unlisted') continue
      const url = new URL(`${BASE}/api/v${version}/${item.kind}?id=${item.id}`)
      const { status, body } = answerLemmy({ ...site, nowMs }, url)
      if (status !== 200 || /"(?:removed|deleted)":true/.test(JSON.stringify(viewOf(body))))
        continue
      reads.set(name, nowMs)
    }
  }
  return { truth, reads, monitors: lemmyMonitors(items), posts, comments }
}

/** An item in an answer and the post above it, without their community. */
const viewOf = (body: unknown): unknown => {
  const views: unknown = typeof body === 'object' && body !== null ? Object.values(body)[0] : null
  if (typeof views !== 'object' || views === null) return null
  return [Reflect.get(views, 'comment'), Reflect.get(views, 'post')]
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

describe.each([3, 4] as const)('Lemmy v%d', (version) => {
  const { truth, reads, monitors, posts } = readLemmy(7, version, '')
  const everything = monitor(monitors, 'everything')

  test('a reader of every id misses nothing and delivers nothing false', () => {
    const verdict = verdictOn(truth, everything, reads)
    expect(verdict.pairs.fresh).toBeGreaterThan(10)
    expect(verdict.pairs.late).toBeGreaterThan(3)
    expect(lostNames(verdict)).toEqual([])
    expect(verdict.falseDeliveries).toEqual([])
  })

  test('a hidden item and a delivery taken from the log are silent misses', () => {
    const sure = verdictOn(truth, everything, new Map())
    const victim = sure.silent.find((loss) => loss.name.startsWith('t1'))?.name ?? ''
    const hidden = readLemmy(7, version, victim)
    expect(lostNames(verdictOn(truth, everything, hidden.reads))).toEqual([victim])
    expect(lostNames(verdictOn(truth, everything, without(reads, victim)))).toEqual([victim])
  })

  test('a private post is in no answer, and its delivery is false', () => {
    const secret = posts.find((post) => post.community.sort === 'private')
    const name = `t3_${secret?.id ?? 0}`
    expect(reads.has(name)).toBe(false)
    const wrong = new Map([...reads, [name, END_MS] as const])
    expect(verdictOn(truth, everything, wrong).falseDeliveries).toHaveLength(1)
  })

  test('pages follow each other by cursor, and a cursor to a purged post fails', () => {
    const site = { version, startMs: START_MS, limit: 180, base: BASE, posts, comments: [] }
    const ask = (query: string, nowMs = END_MS) =>
      answerLemmy(
        { ...site, nowMs },
        new URL(`${BASE}/api/v${version}/post/list?sort=New&${query}`),
      )
    const seen: number[] = []
    let cursor = ''
    do {
      const page = ask(`limit=3${cursor}`)
      seen.push(...page.ids)
      const next: unknown = Reflect.get(Object(page.body), 'next_page')
      cursor = typeof next === 'string' ? `&page_cursor=${next}` : ''
    } while (cursor !== '')
    expect(seen).toEqual([...ask('limit=50').ids])
    expect(new Set(seen).size).toBe(seen.length)
    const purged = posts.find((post) => post.states.some((state) => state.mark === 'purged'))
    const token =
      version === 3
        ? `P${(purged?.id ?? 1).toString(16)}`
        : Buffer.from(`k=${purged?.id ?? 1};`).toString('base64url')
    expect(ask(`limit=3&page_cursor=${token}`).status).toBe(400)
  })
})

test('updates lists the newest changes only', () => {
  const { items } = readHackerNews(1, 0)
  const listed = updatesAt(items, CONTENT_MS)
  expect(listed).toHaveLength(30)
  expect(Math.min(...listed)).toBeGreaterThan(FIRST_ID)
})

const RECORDED = process.env['FORUMD_SOURCES'] ?? ''
/** Fields of people, pictures and counts that no test needs. */
const LEFT_OUT =
  /banner|avatar|bio|display_name|description|icon|embed|url|report|refreshed|count|users_|subscri|_actions|saved|local_removed|banned|distinguished|\.comments$|removed|creator_is|locked/

/** The paths of the fields of a JSON value, such as `post.ap_id`. */
const fieldsOf = (value: unknown, path = ''): string[] => {
  if (Array.isArray(value)) return fieldsOf(value[0], path)
  if (typeof value !== 'object' || value === null) return [path.slice(1)]
  return Object.entries(value).flatMap(([name, inner]) => fieldsOf(inner, `${path}.${name}`))
}

const recorded = (file: string): unknown => JSON.parse(readFileSync(join(RECORDED, file), 'utf8'))

describe.if(existsSync(join(RECORDED, 'lemmy')))('answers have the fields of recorded ones', () => {
  test.each([
    [4, 'post', 'getPostsResponseV4'],
    [4, 'comment', 'getCommentsResponseV4'],
    [3, 'comment', 'getCommentsResponseV3'],
  ] as const)('Lemmy v%d, list of %ss', (version, kind, file) => {
    const { posts, comments } = readLemmy(7, version, '')
    const site = { version, startMs: START_MS, nowMs: END_MS, limit: 180, base: BASE }
    const url = new URL(`${BASE}/api/v${version}/${kind}/list?limit=50`)
    const mine = fieldsOf(answerLemmy({ ...site, posts, comments }, url).body)
    const wanted = fieldsOf(recorded(`lemmy/shadone_LemmyKit__${file}.json`))
    const needed = wanted.filter((field) => !LEFT_OUT.test(field))
    expect(needed.length).toBeGreaterThan(20)
    expect(mine).toEqual(expect.arrayContaining(needed))
  })

  test('Hacker News, a story', () => {
    const { items } = readHackerNews(1, 0)
    const story = items.find((item) => item.type === 'story' && item.id % 3 === 0)
    const mine = fieldsOf(answerHackerNews(items, `/v0/item/${story?.id ?? 0}.json`, END_MS))
    const wanted = fieldsOf(
      recorded('hackernews/HackerNews_API__readme_01__v0_item_8863.json.json'),
    )
    expect(mine).toEqual(expect.arrayContaining(wanted.filter((field) => field !== 'kids')))
  })
})
