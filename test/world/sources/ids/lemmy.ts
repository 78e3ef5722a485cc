import { boundsOf } from '../source-world.ts'
import type { ItemState, Match, SourceMonitor, SourceWorld, TruthItem } from '../source-world.ts'
import { nameOf, planLemmy, WORD } from './lemmy-plan.ts'
import type { LemmyItem } from './lemmy-plan.ts'
import { answerLemmy } from './lemmy-wire.ts'
import type { LemmyAnswer, Version } from './lemmy-wire.ts'
/**
 * Simulated instances of Lemmy, from the protocol and the recordings: late federation, removals and
 * restorations, ids whose order is not that of times, failing cursors, limits, a change of version.
 */
import { between, holesOf, randomOf, serveWithFaults } from './server.ts'
import type { Fault, FaultKind, Random, Shown } from './server.ts'

const SOURCE = 'fjord'
const WINDOW_MS = 60_000

const QUIET = { postGapMs: 30_000, commentGapMs: 15_000 } as const
const SLOW = { postGapMs: 7000, commentGapMs: 3500 } as const
const FAST = { postGapMs: 1500, commentGapMs: 500 } as const

/** 180 is the default of an instance; forumd stays under a tenth of what the instance announces. */
const USUAL = {
  ...SLOW,
  unruly: true,
  settled: false,
  faults: false,
  upgrade: false,
  limit: 1200,
} as const
const CALM = { ...USUAL, ...QUIET, unruly: false, limit: 180 } as const
const BUSY = { ...USUAL, ...FAST, settled: true, limit: 3000 } as const

const SCENARIOS = {
  'v3-plain': { ...CALM, version: 3 },
  'v4-plain': { ...CALM, version: 4 },
  // An instance of the default limit with more to read than a tenth of it: the lag has to be reported.
  'v4-narrow': { ...USUAL, version: 4, limit: 180 },
  v3: { ...USUAL, version: 3 },
  v4: { ...USUAL, version: 4 },
  'v3-settled': { ...USUAL, version: 3, settled: true },
  'v4-settled': { ...USUAL, version: 4, settled: true },
  'v3-faults': { ...USUAL, version: 3, faults: true },
  'v4-faults': { ...USUAL, version: 4, faults: true },
  'v3-busy': { ...BUSY, version: 3 },
  'v4-busy': { ...BUSY, version: 4 },
  upgrade: { ...USUAL, version: 3, upgrade: true },
} as const

const isScenario = (name: string): name is keyof typeof SCENARIOS => name in SCENARIOS

const DAMAGE: ReadonlySet<string> = new Set(['removed', 'deleted', 'purged'])

/** Tests whether what a reader sees of a comment depends on its post, which was hidden. */
const isDoubtful = (item: LemmyItem): boolean =>
  item.post?.states.some((state) => DAMAGE.has(state.mark)) === true

export const lemmyTruth = (item: LemmyItem): TruthItem => ({
  source: SOURCE,
  name: `${item.kind === 'post' ? 't3' : 't1'}_${item.id}`,
  kind: item.kind,
  gapId: item.id,
  createdMs: item.publishedMs,
  states: item.states.map((state) => ({
    fromMs: state.fromMs,
    visible: state.mark === 'shown',
    places: [nameOf(item.community)],
    author: item.author,
    title: item.title,
    text: state.text,
  })),
  note: [item.kind, item.note].filter((one) => one !== '').join(': '),
})

export const lemmyMonitors = (items: ReadonlyMap<string, LemmyItem>): SourceMonitor[] => {
  const found = (item: TruthItem): Match => {
    const own = items.get(item.name)
    return own !== undefined && isDoubtful(own) ? 'either' : 'yes'
  }
  /** Lemmy announces no edits: an item that matches by one may be missed. */
  const worded = (item: TruthItem, state: ItemState): Match => {
    if (!state.text.includes(WORD)) return 'no'
    const before = item.states.filter((one) => one.visible && one.fromMs < state.fromMs)
    return before.some((one) => !one.text.includes(WORD)) ? 'either' : found(item)
  }
  const all = { source: SOURCE, kind: 'both' }
  return [
    { label: 'everything', spec: all, addAtMs: 0, matches: found },
    {
      label: 'word',
      spec: { ...all, include_any: [WORD], search_in: ['body'] },
      addAtMs: 0,
      matches: worded,
    },
    {
      label: 'a local community',
      spec: { ...all, subforum: 'music' },
      addAtMs: 0,
      matches: (item, state) => (state.places.includes('music') ? found(item) : 'no'),
    },
    {
      label: 'a community of another instance',
      spec: { ...all, subforum: 'news@north.example' },
      addAtMs: 10_000,
      matches: (item, state) => (state.places.includes('news@north.example') ? found(item) : 'no'),
    },
  ]
}

const LENGTHS: Readonly<Record<string, number>> = {
  error: 12_000,
  down: 7000,
  limit: 20_000,
  slow: 15_000,
  cursor: 15_000,
}

const faultsOf = (random: Random, contentMs: number): Fault[] => {
  const kinds: readonly FaultKind[] = ['error', 'down', 'limit', 'slow', 'cursor']
  const slot = Math.max(1, Math.floor((contentMs - 25_000) / kinds.length))
  return kinds
    .toSorted(() => random() - 0.5)
    .map((kind, index) => {
      const lengthMs = LENGTHS[kind] ?? 10_000
      const fromMs = 20_000 + index * slot + between(random, 0, Math.max(1, slot - lengthMs))
      const share = kind === 'error' || kind === 'slow' ? 0.8 : 1
      return { kind, fromMs, untilMs: fromMs + lengthMs, share }
    })
}

const pageOf = (found: LemmyAnswer): Shown => ({
  answer:
    found.body === null
      ? new Response('<!doctype html><title>404</title>', {
          status: 404,
          headers: { 'content-type': 'text/html' },
        })
      : Response.json(found.body, { status: found.status }),
  ids: found.ids,
})

/** 0.19 answers 400 and says nothing of the time to wait; 1.0 answers 429 and says it. */
const refusal = (version: Version, limit: number, waitMs: number): Shown => {
  const seconds = String(Math.max(1, Math.ceil(waitMs / 1000)))
  if (version === 3)
    return { answer: Response.json({ error: 'rate_limit_error' }, { status: 400 }), ids: [] }
  const headers = {
    'retry-after': seconds,
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': seconds,
  }
  return { answer: new Response('', { status: 429, headers }), ids: [] }
}

export const lemmyWorld: SourceWorld = {
  kind: 'lemmy',
  scenarios: Object.keys(SCENARIOS),
  start: async ({ scenario, seed, startMs, contentMs, cadenceMs }) => {
    if (!isScenario(scenario)) throw new Error(`no scenario ${scenario}`)
    const chosen = SCENARIOS[scenario]
    const { posts, comments } = planLemmy({ seed, contentMs, ...chosen })
    const random = randomOf(seed ^ 0x1e33)
    const middleMs = Math.floor(contentMs * 0.45)
    const restart: Fault = { kind: 'down', fromMs: middleMs, untilMs: middleMs + 9000, share: 1 }
    const faults = chosen.upgrade ? [restart] : chosen.faults ? faultsOf(random, contentMs) : []
    const served = { window: -1, count: 0 }
    const answer = (url: URL, nowMs: number, fault: FaultKind | ''): Shown => {
      const version = chosen.upgrade && nowMs >= middleMs ? 4 : chosen.version
      const window = Math.floor(nowMs / WINDOW_MS)
      served.count = window === served.window ? served.count + 1 : 1
      served.window = window
      const limited = faults.find(
        (one) => one.kind === 'limit' && one.fromMs <= nowMs && nowMs < one.untilMs,
      )
      if (limited !== undefined) return refusal(version, chosen.limit, limited.untilMs - nowMs)
      if (served.count > chosen.limit)
        return refusal(version, chosen.limit, (window + 1) * WINDOW_MS - nowMs)
      if (fault === 'cursor' && url.searchParams.has('page_cursor')) {
        return pageOf({ status: 400, body: { error: 'couldnt_parse_pagination_token' }, ids: [] })
      }
      const site = { version, startMs, nowMs, limit: chosen.limit, base: url.origin } as const
      return pageOf(answerLemmy({ ...site, posts, comments }, url))
    }
    const server = serveWithFaults({ source: SOURCE, startMs, seed, faults, answer })
    const truth = [...posts, ...comments].map((item) => lemmyTruth(item))
    const items = new Map(
      [...posts, ...comments].map((item, index) => [truth[index]?.name ?? '', item]),
    )
    const limits = faults.filter((fault) => fault.kind === 'limit')
    return {
      tables: [
        {
          name: SOURCE,
          kind: 'lemmy',
          baseUrl: server.url,
          requestsPerMinute: chosen.limit / 10,
        },
      ],
      // A whole instance and a copy of a community are never `complete`.
      monitors: lemmyMonitors(items).slice(chosen.unruly ? 0 : 2, chosen.unruly ? 4 : 3),
      bounds: boundsOf(cadenceMs, 0),
      skewMs: 0,
      faultFree: !chosen.unruly,
      truth: () => ({
        items: truth,
        holes: holesOf(faults),
        // The first refusal is how a reader learns of the pause; only 1.0 says how long it lasts.
        pauses:
          chosen.version === 4
            ? limits.map((fault) => [fault.fromMs + 4000, fault.untilMs] as const)
            : [],
      }),
      log: server.log,
      stop: server.stop,
    }
  },
}
