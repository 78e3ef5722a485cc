/** The judge must notice planted faults: a small reader of the simulated forum, with and without them. */
import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { itemsOf, MONITORS, planForum, slugOf, SOURCE } from './discourse-plan.ts'
import { Site } from './discourse-site.ts'
import { SCENARIOS } from './discourse.ts'
import { failuresOf, judgeSource } from './judge.ts'
import type { JudgeInput, Received, SourceClaim } from './judge.ts'
import { boundsOf } from './source-world.ts'
import type { ItemState, LoggedRequest, TruthItem } from './source-world.ts'

const CADENCE_MS = 3000
const CONTENT_MS = 90_000
const END_MS = 180_000
const LABELS = ['keywords', 'topics', 'category', 'author', 'regex']

type Row = {
  readonly id: number
  readonly topic_id: number
  readonly post_number: number
  readonly username: string
  readonly topic_title: string
  readonly raw: string
  readonly category_id: number
}

const isRows = (value: unknown): value is { latest_posts: Row[] } =>
  typeof value === 'object' && value !== null && 'latest_posts' in value

const rowsOf = async (url: string): Promise<Row[]> => {
  const value: unknown = await (await fetch(url)).json()
  if (!isRows(value)) throw new Error('no rows')
  return value.latest_posts
}

const siteOf = (scenario: string, seed: number): Site => {
  const content = SCENARIOS[scenario]
  if (content === undefined) throw new Error(`no scenario ${scenario}`)
  return new Site(planForum(content, seed, CONTENT_MS), 0, content.oldListing ?? false)
}

const CLAIM: SourceClaim = {
  status: 'complete',
  reason: null,
  auditedUntilMs: END_MS,
  sinceMs: 0,
  gaps: [],
  changes: null,
}

/** A reader of the site over HTTP, through a proxy that hides the post `hidden`. */
const readThrough = async (site: Site, hidden: number | null): Promise<JudgeInput> => {
  let nowMs = 0
  const origin = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => Response.json(site.answer(new URL(request.url), nowMs).body),
  })
  const proxy = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url)
      const rows = await rowsOf(`http://127.0.0.1:${origin.port}${pathname}${search}`)
      return Response.json({ latest_posts: rows.filter((row) => row.id !== hidden) })
    },
  })
  const monitors = MONITORS.filter((one) => LABELS.includes(one.label))
  const deliveries: Received[] = []
  const log: LoggedRequest[] = []
  const seen = new Set<number>()
  let last = 0
  try {
    for (nowMs = 0; nowMs < END_MS; nowMs += CADENCE_MS) {
      const base = `http://127.0.0.1:${proxy.port}/posts.json`
      let rows = await rowsOf(base)
      const fresh: Row[] = []
      let head = last
      while (rows.length > 0) {
        log.push({
          atMs: nowMs,
          source: SOURCE,
          path: '/posts.json',
          status: 200,
          note: '',
          ids: [],
        })
        fresh.push(...rows.filter((row) => row.id > last && !seen.has(row.id)))
        head = Math.max(head, ...rows.map((row) => row.id))
        const lowest = Math.min(...rows.map((row) => row.id))
        if (last === 0 || lowest <= last) break
        rows = await rowsOf(`${base}?before=${lowest}`)
      }
      const first = last === 0
      last = head
      for (const row of fresh) {
        seen.add(row.id)
        if (first) continue
        const name = row.post_number === 1 ? `t3_${row.topic_id}` : `t1_${row.id}`
        for (const { label } of monitors.filter((one) => matchesRow(one, row))) {
          const body = JSON.stringify({ source: SOURCE, name })
          deliveries.push({
            atMs: nowMs,
            deliveryId: `${label} ${name}`,
            monitorId: label,
            names: [name],
            body,
            signed: true,
          })
        }
      }
    }
  } finally {
    await proxy.stop(true)
    await origin.stop(true)
  }
  return {
    truth: { items: itemsOf(site.forum), holes: [], pauses: [] },
    watched: monitors.map((monitor) => ({
      id: monitor.label,
      startMs: 1000,
      monitor,
      claim: CLAIM,
    })),
    samples: [],
    deliveries,
    log,
    limits: { [SOURCE]: 60 },
    down: [],
    bounds: boundsOf(CADENCE_MS, 0),
    cadenceMs: CADENCE_MS,
    skewMs: 0,
    endMs: END_MS,
  }
}

const matchesRow = (monitor: (typeof MONITORS)[number], row: Row): boolean => {
  const state: ItemState = {
    fromMs: 0,
    visible: true,
    places: [slugOf(row.category_id)],
    author: row.username,
    title: row.topic_title,
    text: row.raw,
  }
  const kind = row.post_number === 1 ? 'post' : 'comment'
  const item: TruthItem = {
    source: SOURCE,
    name: '',
    kind,
    gapId: row.id,
    createdMs: 0,
    states: [state],
    note: '',
  }
  return monitor.matches(item, state) === 'yes'
}

const faultsOf = (input: JudgeInput): string[] => failuresOf(judgeSource(input), input, true)

const honest = await readThrough(siteOf('quiet', 5), null)

/** A delivered pair of a post in the middle of the run. */
const first = <T>(list: readonly T[]): T => {
  const [one] = list
  if (one === undefined) throw new Error('an empty list')
  return one
}

const someDelivery = (): Received => {
  const found = honest.deliveries[Math.floor(honest.deliveries.length / 2)]
  if (found === undefined) throw new Error('nothing was delivered')
  return found
}

const itemNamed = (name: string): TruthItem => {
  const found = honest.truth.items.find((item) => item.name === name)
  if (found === undefined) throw new Error(`no ${name}`)
  return found
}

test('an honest reader of a quiet forum holds every bar', () => {
  expect(honest.deliveries.length).toBeGreaterThan(5)
  expect(faultsOf(honest)).toEqual([])
})

test('a post that a proxy hides from the reader is a silent miss, and the only one', async () => {
  const { gapId, name } = itemNamed(someDelivery().names[0] ?? '')
  const verdict = judgeSource(await readThrough(siteOf('quiet', 5), gapId))
  expect(new Set(verdict.silent.map((loss) => loss.name))).toEqual(new Set([name]))
})

test('one delivery missing from the log of the receiver is a silent miss', () => {
  const gone = someDelivery()
  const verdict = judgeSource({
    ...honest,
    deliveries: honest.deliveries.filter((one) => one !== gone),
  })
  expect(verdict.silent.map((loss) => [loss.label, loss.name])).toEqual([
    [gone.monitorId, gone.names[0] ?? ''],
  ])
})

test('an edit that may be among the changes which health counts as unread is reported, a new item is not', () => {
  const one = first(honest.watched)
  const item = first(honest.truth.items)
  const state = { ...first(item.states), visible: true, fromMs: 20_000 }
  const edited = [state, { ...state, fromMs: 60_000, text: 'edited' }]
  const judged = (changes: SourceClaim['changes'], states = edited) => {
    const matches = (_: TruthItem, { text }: { text: string }) =>
      states.length === 1 || text === 'edited' ? ('yes' as const) : ('no' as const)
    const { silent, reported } = judgeSource({
      ...honest,
      truth: { ...honest.truth, items: [{ ...item, createdMs: 20_000, states }] },
      watched: [{ ...one, monitor: { ...one.monitor, matches }, claim: { ...CLAIM, changes } }],
      deliveries: [],
    })
    return [silent.length, reported.length]
  }
  expect(judged(null)).toEqual([1, 0])
  expect(judged({ oldestMs: 110_000, dropped: 0 })).toEqual([0, 1])
  expect(judged({ oldestMs: null, dropped: 1 })).toEqual([0, 1])
  expect(judged({ oldestMs: 130_000, dropped: 0 })).toEqual([1, 0])
  expect(judged({ oldestMs: null, dropped: 1 }, [state])).toEqual([1, 0])
})

test('a loss that a gap names by id is reported, and one outside the gap is not', () => {
  const gone = someDelivery()
  const { gapId } = itemNamed(gone.names[0] ?? '')
  const judged = (fromId: number, toId: number) => {
    const gap = { fromMs: 0, untilMs: END_MS, fromId, toId, healed: false }
    const claim = { ...CLAIM, status: 'degraded', gaps: [gap] }
    const watched = honest.watched.map((one) => ({ ...one, claim }))
    const deliveries = honest.deliveries.filter((one) => one !== gone)
    return judgeSource({ ...honest, watched, deliveries })
  }
  expect(judged(gapId, gapId)).toMatchObject({ reported: [{ gapId }], vague: [], silent: [] })
  expect(judged(gapId + 1, gapId + 9)).toMatchObject({
    reported: [],
    vague: [{ gapId }],
    silent: [],
  })
})

test('an invented match, a second id, a changed body and a bad signature are noticed', () => {
  const one = someDelivery()
  const other = honest.truth.items.find((item) => item.createdMs > 5000 && item.kind === 'comment')
  const judged = (more: Partial<Received>) =>
    judgeSource({ ...honest, deliveries: [...honest.deliveries, { ...one, ...more }] })
  const invented = { monitorId: 'topics', deliveryId: 'new', names: [other?.name ?? ''] }
  expect(judged(invented).falseDeliveries).toHaveLength(1)
  expect(judged({ deliveryId: 'new', names: ['t1_1'] }).falseDeliveries).toHaveLength(1)
  expect(judged({ deliveryId: 'new' }).duplicates).toHaveLength(1)
  expect(judged({ body: '{}' }).unstable).toHaveLength(1)
  expect(judged({}).repeats).toBe(1)
  expect(judged({ deliveryId: 'new', signed: false }).unsigned).toHaveLength(1)
})

test('a claim of health before a post was read, and too many requests, are noticed', () => {
  const one = someDelivery()
  const shownMs = itemNamed(one.names[0] ?? '').createdMs
  const sample = {
    atMs: shownMs + 4000,
    monitorId: one.monitorId,
    claim: { ...CLAIM, auditedUntilMs: shownMs + 3500 },
  }
  const late = honest.deliveries.map((other) =>
    other === one ? { ...one, atMs: shownMs + 20_000 } : other,
  )
  expect(judgeSource({ ...honest, samples: [sample] }).premature).toEqual([])
  expect(judgeSource({ ...honest, samples: [sample], deliveries: late }).premature).toHaveLength(1)
  expect(judgeSource({ ...honest, limits: { [SOURCE]: 10 } }).overLimit).toBeGreaterThan(0)
  const truth = { ...honest.truth, pauses: [[30_000, 40_000] as const] }
  expect(judgeSource({ ...honest, truth }).inPause).toBeGreaterThan(0)
})

test('a post that is hidden and shown again, and one that is edited into matching, are expected', () => {
  const now = siteOf('relisted', 7)
  const item = itemsOf(now.forum).find((one) => one.note.includes('shown again'))
  expect(item?.states.map((state) => state.visible)).toContain(false)
  expect(item?.states.at(-1)?.visible).toBe(true)
  const edited = itemsOf(siteOf('edits', 7).forum).find((one) => one.note.startsWith('edited'))
  expect(edited?.states.at(-1)?.text).toContain('grinder')
})

const ids = (value: unknown): number[] =>
  isRows(value) ? value.latest_posts.map((row) => row.id) : []
const page = (site: Site, query: string) =>
  ids(site.answer(new URL(`http://forum/posts.json${query}`), CONTENT_MS).body)

test('pages of fifty go down by id; an older server has windows of ids that include their edge', () => {
  const site = siteOf('id-gaps', 3)
  const newest = page(site, '')
  expect(newest).toHaveLength(50)
  expect(newest).toEqual(newest.toSorted((a, b) => b - a))
  const second = page(site, `?before=${newest.at(-1)}`)
  expect(Math.max(...second)).toBeLessThan(Math.min(...newest))
  const old = siteOf('old-listing', 3)
  const edge = Math.min(...page(old, '?before=20080'))
  expect(page(old, `?before=${edge}`)).toContain(edge)
  expect(page(old, '?before=20080').every((id) => id > 20_030 && id <= 20_080)).toBe(true)
})

const RECORDED = join(
  process.env['FORUMD_SOURCES'] ?? '',
  'discourse/XertroV_discourse-rss-auto-archive-linked-content__posts.json',
)
/** Fields of plugins and of writers' permissions that the forum leaves out. */
const LEFT_OUT =
  /^(can_|accepted_|topic_accepted|excerpt|truncated|mentioned|reviewable|readers|name$)/

test.if(existsSync(RECORDED))('rows have the fields of a recorded listing', () => {
  const recorded: unknown = JSON.parse(readFileSync(RECORDED, 'utf8'))
  const body = siteOf('quiet', 5).answer(new URL('http://forum/posts.json'), CONTENT_MS).body
  if (!isRows(recorded) || !isRows(body)) throw new Error('no rows')
  const wanted = Object.keys(recorded.latest_posts[0] ?? {}).filter((key) => !LEFT_OUT.test(key))
  expect(Object.keys(body.latest_posts[0] ?? {})).toEqual(expect.arrayContaining(wanted))
})
