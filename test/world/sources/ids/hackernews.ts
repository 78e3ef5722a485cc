import { makeRandom, pick } from '../../plan.ts'
import type { Random } from '../../plan.ts'
import { boundsOf } from '../source-world.ts'
import type { ItemState, Match, SourceMonitor, SourceWorld, TruthItem } from '../source-world.ts'
/**
 * Hacker News after its documentation (github.com/HackerNews/API) and recorded answers: ids without
 * holes, `maxitem` ahead of the items, `updates` as a short window, and null for all that is not there.
 */
import { between, gapMs, holesOf, serveWithFaults } from './server.ts'
import type { Fault, FaultKind, Shown } from './server.ts'

type Type = 'story' | 'comment' | 'job' | 'poll' | 'pollopt'
type Wire = Readonly<Record<string, unknown>>

export type HackerNewsItem = {
  readonly id: number
  readonly type: Type
  readonly parent: number | null
  readonly place: string
  readonly author: string
  readonly note: string
  /** The time at which `maxitem` reached the id. */
  readonly takenMs: number
  readonly createdMs: number
  readonly states: readonly ItemState[]
  /** The wire object of each state; before the first there is none. */
  readonly wires: readonly { readonly fromMs: number; readonly wire: Wire }[]
  /** Times of a change that `updates` lists. */
  readonly changes: readonly number[]
}

export type HackerNewsPlan = {
  readonly seed: number
  /** The end of writing. */
  readonly contentMs: number
  /** The mean time between two items. */
  readonly meanGapMs: number
  /** Items are late, null, dead, deleted, delayed and edited. */
  readonly unruly: boolean
  /** Each id has an item within seconds, so that health can speak of the present. */
  readonly settled: boolean
}

const SOURCE = 'hn'
const WORD = 'zorblax'
const HISTORY_MS = 100_000
export const FIRST_ID = 46_012_340
const UPDATES_LENGTH = 30
const UPDATES_EVERY_MS = 15_000
const ANNOUNCED_MS = 30_000
const ASKED_LATER_MS = [20_000, 60_000] as const
const WORDS = 'rust kernel latency compiler garden sailing paper model chart battery'.split(' ')
const AUTHORS = Array.from({ length: 25 }, (_, index) => `Hacker_${index}`)
const TITLE_START: Readonly<Record<string, string>> = { ask: 'Ask HN: ', show: 'Show HN: ' }

const sentence = (random: Random): string =>
  Array.from({ length: 7 }, () => pick(random, WORDS)).join(' ')

const placeOf = (random: Random): string => {
  const drawn = random()
  return drawn < 0.5 ? 'story' : drawn < 0.75 ? 'ask' : drawn < 0.93 ? 'show' : 'job'
}

/** The lag between the taking of an id and its first answer; null: it never has one. */
const lagOf = (
  random: Random,
  { unruly, settled }: HackerNewsPlan,
): { lagMs: number | null; note: string } => {
  const drawn = random() * (unruly ? (settled ? 0.88 : 1) : 0.62)
  if (drawn < 0.62) return { lagMs: between(random, 0, 1000), note: '' }
  if (drawn < 0.88) return { lagMs: between(random, 1000, 10_000), note: 'lagging' }
  if (drawn < 0.95) return { lagMs: between(random, 10_000, 60_000), note: 'null for up to 60 s' }
  if (drawn < 0.975) return { lagMs: between(random, 60_000, 130_000), note: 'null for over 60 s' }
  return { lagMs: null, note: 'null for ever' }
}

type Step = { fromMs: number; visible: boolean; text: string; mark: Wire; retitled?: boolean }
type Life = { readonly note: string; readonly steps: readonly Step[] }

/** The states of an item from its first answer at `readMs` on. The site lets no story with replies be deleted. */
const lifeOf = (
  random: Random,
  { readMs, text, titled }: { readMs: number; text: string; titled: boolean },
  unruly: boolean,
): Life => {
  const live: Step = { fromMs: readMs, visible: true, text, mark: {} }
  const dead: Step = { ...live, visible: false, mark: { dead: true } }
  const deleted: Step = titled ? dead : { ...dead, mark: { deleted: true } }
  const fromMs = readMs + between(random, ...ASKED_LATER_MS)
  const drawn = unruly ? random() : 0
  if (drawn < 0.62) return { note: '', steps: [live] }
  if (drawn < 0.67) return { note: 'born dead', steps: [dead] }
  if (drawn < 0.73) return { note: 'born dead, vouched for', steps: [dead, { ...live, fromMs }] }
  if (drawn < 0.78) return { note: 'killed', steps: [live, { ...dead, fromMs }] }
  if (drawn < 0.83) return { note: 'deleted', steps: [live, { ...deleted, fromMs }] }
  if (drawn < 0.86) return { note: 'born deleted', steps: [deleted] }
  if (drawn < 0.9) {
    const delayed: Step = { ...live, visible: false, text: '[delayed]' }
    return { note: 'delayed', steps: [delayed, { ...live, fromMs }] }
  }
  if (drawn < 0.95)
    return { note: 'edited', steps: [live, { ...live, fromMs, text: `${text} ${WORD}` }] }
  return { note: 'retitled', steps: [live, { ...live, fromMs, retitled: true }] }
}

type Draft = Pick<HackerNewsItem, 'id' | 'takenMs' | 'type' | 'parent' | 'place' | 'author'>

const ENDING = "It's all."

const titleOf = (title: string, { retitled }: Step): string =>
  retitled === true && title !== '' ? `${title} ${WORD}` : title

const linkOf = ({ id, type }: Draft): string | null =>
  type === 'story' && id % 3 === 0 ? `https://news.example/${id}?a=%20b&c=#d` : null

const wireOf = (draft: Draft, createdS: number, title: string, score: number, step: Step): Wire => {
  const { id, type, parent } = draft
  const above = type === 'pollopt' ? 'poll' : 'parent'
  const base = { id, time: createdS, type, ...(parent === null ? {} : { [above]: parent }) }
  if (step.mark['deleted'] === true) return { ...base, deleted: true }
  const text = step.text === '[delayed]' ? step.text : `${step.text}<p>It&#x27;s all.`
  return {
    ...base,
    by: draft.author,
    text,
    ...(title === '' ? {} : { title, score }),
    ...(linkOf(draft) === null ? {} : { url: linkOf(draft) }),
    ...step.mark,
  }
}

const finish = (
  draft: Draft,
  plan: HackerNewsPlan,
  random: Random,
  startMs: number,
): HackerNewsItem => {
  const { lagMs, note } = lagOf(random, plan)
  const titled = draft.type !== 'comment' && draft.type !== 'pollopt'
  const title = titled ? `${TITLE_START[draft.place] ?? ''}${sentence(random)}` : ''
  const text = random() < 0.4 ? `${sentence(random)} ${WORD}.` : sentence(random)
  const old = draft.takenMs < -20_000
  const readMs = draft.takenMs + (old ? 0 : (lagMs ?? 0))
  const life = lifeOf(random, { readMs, text, titled }, plan.unruly)
  const steps = !old && lagMs === null ? [] : life.steps
  const score = between(random, 1, 90)
  const createdS = Math.floor((startMs + draft.takenMs) / 1000)
  return {
    ...draft,
    note: [old ? 'from before' : note, steps.length === 0 ? '' : life.note]
      .filter((one) => one !== '')
      .join(', '),
    createdMs: createdS * 1000 - startMs,
    states: steps.map((step) => ({
      fromMs: step.fromMs,
      visible: step.visible,
      places: [draft.place],
      author: draft.author,
      title: titleOf(title, step),
      text: step.text,
      body: `${step.text} ${ENDING}`,
      over18: false,
      ...(titled ? { link: linkOf(draft) } : {}),
    })),
    wires: steps.map((step) => ({
      fromMs: step.fromMs,
      wire: wireOf(draft, createdS, titleOf(title, step), score, step),
    })),
    changes: steps.map((step) => step.fromMs),
  }
}

/** All items of a world, by id. */
export const planHackerNews = (plan: HackerNewsPlan, startMs: number): HackerNewsItem[] => {
  const random = makeRandom(plan.seed)
  const items: HackerNewsItem[] = []
  const parents: Draft[] = []
  let options = 0
  const next = () => gapMs(random, plan.meanGapMs)
  for (let takenMs = -HISTORY_MS; takenMs < plan.contentMs; takenMs += next()) {
    const drawn = random()
    const poll = options > 0 ? parents.at(-1) : undefined
    options = Math.max(0, options - 1)
    const isComment = poll === undefined && parents.length > 3 && drawn < 0.72
    // A reply to one of the newest items can be readable before its parent is.
    const above = isComment ? pick(random, parents.slice(random() < 0.4 ? -2 : -40)) : poll
    const place = above?.place ?? placeOf(random)
    const top: Type = place === 'job' ? 'job' : place === 'story' && drawn > 0.96 ? 'poll' : 'story'
    const type: Type = poll !== undefined ? 'pollopt' : isComment ? 'comment' : top
    const author = pick(random, AUTHORS)
    const id = FIRST_ID + items.length
    const draft: Draft = { id, takenMs, type, parent: above?.id ?? null, place, author }
    if (type === 'poll') options = 2
    if (type !== 'job' && type !== 'pollopt') parents.push(draft)
    items.push(finish(draft, plan, random, startMs))
  }
  return items
}

/** The ids that changed last, newest first: new ones, new text or flags, a new reply below. */
export const updatesAt = (items: readonly HackerNewsItem[], atMs: number): number[] => {
  const changed: (readonly [number, number])[] = []
  for (const { id, parent, changes } of items) {
    for (const [index, changedMs] of changes.entries()) {
      if (changedMs > atMs || changedMs < atMs - 300_000) continue
      changed.push([changedMs, id])
      if (parent !== null && index === 0) changed.push([changedMs, parent])
    }
  }
  const ids = changed.toSorted((a, b) => b[0] - a[0]).map(([, id]) => id)
  return [...new Set(ids)].slice(0, UPDATES_LENGTH)
}

/** Tests whether `updates` listed a change for `ANNOUNCED_MS`, outside of faults. */
const isAnnounced = (
  items: readonly HackerNewsItem[],
  id: number,
  changedMs: number,
  faults: readonly Fault[],
): boolean => {
  const firstMs = Math.ceil(changedMs / UPDATES_EVERY_MS) * UPDATES_EVERY_MS
  for (let atMs = firstMs; atMs < firstMs + ANNOUNCED_MS; atMs += UPDATES_EVERY_MS) {
    const untilMs = atMs + UPDATES_EVERY_MS
    if (faults.some((fault) => fault.fromMs < untilMs && atMs < fault.untilMs + 5000)) return false
    if (!updatesAt(items, atMs).includes(id)) return false
  }
  return true
}

const LIST = /^\/v0\/(new|top|best|ask|show|job)stories\.json$/
const ITEM = /^\/v0\/item\/(\d+)\.json$/

/** The JSON value for a reader at `nowMs`. */
export const answerHackerNews = (
  items: readonly HackerNewsItem[],
  path: string,
  nowMs: number,
): unknown => {
  const wireNow = (item: HackerNewsItem | undefined) =>
    item?.wires.findLast((one) => one.fromMs <= nowMs)?.wire ?? null
  if (path === '/v0/maxitem.json') {
    return items.findLast((item) => item.takenMs <= nowMs)?.id ?? FIRST_ID
  }
  const id = ITEM.exec(path)?.[1]
  if (id !== undefined) {
    const wire = wireNow(items[Number(id) - FIRST_ID])
    if (wire === null) return null
    const below = items.filter((one) => one.parent === Number(id) && wireNow(one) !== null)
    const kids = below.filter((one) => one.type === 'comment').map((one) => one.id)
    const parts = below.filter((one) => one.type === 'pollopt').map((one) => one.id)
    return {
      ...wire,
      ...(kids.length === 0 ? {} : { kids: kids.toReversed() }),
      ...(parts.length === 0 ? {} : { parts }),
      ...(wire['type'] === 'story' || parts.length > 0 ? { descendants: kids.length } : {}),
    }
  }
  if (path === '/v0/updates.json') {
    const atMs = Math.floor(nowMs / UPDATES_EVERY_MS) * UPDATES_EVERY_MS
    return { items: updatesAt(items, atMs), profiles: ['Hacker_1'] }
  }
  const list = LIST.exec(path)?.[1]
  if (list === undefined) return null
  return items
    .filter((item) => ['story', 'job', 'poll'].includes(item.type))
    .filter((item) => item.states.findLast((one) => one.fromMs <= nowMs)?.visible === true)
    .filter((item) => !['ask', 'show', 'job'].includes(list) || item.place === list)
    .map((item) => item.id)
    .toReversed()
    .slice(0, 500)
}

export const hackerNewsTruth = (item: HackerNewsItem): TruthItem => ({
  source: SOURCE,
  name: `${item.type === 'comment' ? 't1' : 't3'}_${item.id}`,
  kind: item.type === 'comment' ? 'comment' : 'post',
  gapId: item.id,
  createdMs: item.createdMs,
  states: item.states,
  note: [item.type, item.note].filter((one) => one !== '').join(': '),
})

const says = (state: ItemState): boolean => `${state.title} ${state.text}`.includes(WORD)

export const hackerNewsMonitors = (
  announced: (item: TruthItem, state: ItemState) => boolean,
): SourceMonitor[] => {
  const worded = (item: TruthItem, state: ItemState): Match => {
    if (!says(state)) return 'no'
    return announced(item, state) ? 'yes' : 'either'
  }
  const all = { source: SOURCE, kind: 'both' }
  return [
    { label: 'everything', spec: all, addAtMs: 0, matches: () => 'yes' },
    {
      label: 'word',
      spec: { ...all, include_any: [WORD] },
      addAtMs: 0,
      matches: worded,
    },
    {
      label: 'ask posts with the word',
      spec: { source: SOURCE, subforum: 'ask', include_any: [WORD] },
      addAtMs: 0,
      matches: (item, state) =>
        item.kind === 'post' && state.places.includes('ask') ? worded(item, state) : 'no',
    },
    {
      label: 'one author',
      spec: { ...all, author: ['Hacker_3', 'Hacker_7'] },
      addAtMs: 12_000,
      matches: (_, state) => (['Hacker_3', 'Hacker_7'].includes(state.author) ? 'yes' : 'no'),
    },
  ]
}

const faultsOf = (random: Random, contentMs: number): Fault[] => {
  const kinds: readonly FaultKind[] = ['error', 'null', 'down', 'stale', 'slow', 'browsers']
  const lengths = { error: 12_000, null: 10_000, down: 7000, stale: 25_000, slow: 15_000 }
  const slot = Math.max(1, Math.floor((contentMs - 25_000) / kinds.length))
  return kinds
    .toSorted(() => random() - 0.5)
    .flatMap((kind, index) => {
      const lengthMs = Reflect.get(lengths, kind) ?? 10_000
      const fromMs = 20_000 + index * slot + between(random, 0, Math.max(1, slot - lengthMs))
      const share = kind === 'down' || kind === 'browsers' ? 1 : kind === 'stale' ? 0.6 : 0.8
      return [{ kind, fromMs, untilMs: fromMs + lengthMs, share }]
    })
}

const RATE = { meanGapMs: 2400 } as const

const SCENARIOS = {
  // 25 items a minute, as the site has them, and the default pace.
  plain: { ...RATE, unruly: false, settled: true, faults: false, requestsPerMinute: 180 },
  real: { ...RATE, unruly: true, settled: false, faults: false, requestsPerMinute: 180 },
  settled: { ...RATE, unruly: true, settled: true, faults: false, requestsPerMinute: 180 },
  faults: { ...RATE, unruly: true, settled: false, faults: true, requestsPerMinute: 180 },
  'settled-faults': { ...RATE, unruly: true, settled: true, faults: true, requestsPerMinute: 60 },
  // Five items a second.
  busy: { meanGapMs: 200, unruly: true, settled: true, faults: false, requestsPerMinute: 900 },
  'busy-faults': {
    meanGapMs: 200,
    unruly: true,
    settled: false,
    faults: true,
    requestsPerMinute: 900,
  },
  // More than the requests can read: the lag has to be reported.
  overload: { meanGapMs: 200, unruly: true, settled: true, faults: false, requestsPerMinute: 60 },
} as const

const isScenario = (name: string): name is keyof typeof SCENARIOS => name in SCENARIOS

const OLDEST_COPY_MS = 60_000

export const hackerNewsWorld: SourceWorld = {
  kind: 'hackernews',
  scenarios: Object.keys(SCENARIOS),
  start: async ({ scenario, seed, startMs, contentMs, cadenceMs }) => {
    if (!isScenario(scenario)) throw new Error(`no scenario ${scenario}`)
    const chosen = SCENARIOS[scenario]
    const items = planHackerNews({ seed, contentMs, ...chosen }, startMs)
    const random = makeRandom(seed ^ 0x57a1e)
    const faults = chosen.faults ? faultsOf(random, contentMs) : []
    const answer = (url: URL, nowMs: number, fault: FaultKind | ''): Shown => {
      const headers = { 'content-type': 'application/json; charset=utf-8' }
      if (!url.pathname.startsWith('/v0/')) {
        return { answer: new Response('Not found', { status: 404 }), ids: [] }
      }
      const id = Number(ITEM.exec(url.pathname)?.[1] ?? 0)
      const copyMs = fault === 'stale' ? between(random, 5000, OLDEST_COPY_MS) : 0
      const none = fault === 'null'
      const value = none ? null : answerHackerNews(items, url.pathname, nowMs - copyMs)
      const ids = id > 0 && value !== null ? [id] : []
      return { answer: new Response(JSON.stringify(value), { headers }), ids }
    }
    const served = serveWithFaults({ source: SOURCE, startMs, seed, faults, answer })
    const known = new Map<string, boolean>()
    const announced = (item: TruthItem, state: ItemState): boolean => {
      if (state === item.states[0]) return true
      // Only an edit needs the announcement; an item that was hidden has to be requested again.
      if (item.states[0]?.visible === false) return true
      const key = `${item.name} ${state.fromMs}`
      const found = known.get(key) ?? isAnnounced(items, item.gapId, state.fromMs, faults)
      known.set(key, found)
      return found
    }
    return {
      tables: [
        {
          name: SOURCE,
          kind: 'hackernews',
          baseUrl: served.url,
          requestsPerMinute: chosen.requestsPerMinute,
        },
      ],
      monitors: hackerNewsMonitors(announced),
      bounds: boundsOf(cadenceMs, 0),
      skewMs: 0,
      cacheMs: chosen.faults ? OLDEST_COPY_MS : 0,
      faultFree: !chosen.unruly && !chosen.faults,
      // A reply whose parent has no item for over a minute is skipped, which is a gap.
      staysComplete: !chosen.faults && chosen.settled && scenario !== 'overload',
      truth: () => ({
        items: items.filter((item) => item.type !== 'pollopt').map((item) => hackerNewsTruth(item)),
        holes: holesOf(faults),
        pauses: [],
      }),
      log: served.log,
      stop: served.stop,
    }
  },
}
