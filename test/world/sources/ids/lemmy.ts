import { makeRandom } from '../../plan.ts'
import type { Random } from '../../plan.ts'
import { boundsOf } from '../source-world.ts'
import type {
  ItemState,
  Match,
  Probe,
  RunningSource,
  SourceMonitor,
  SourceWorld,
  StartOptions,
  TruthItem,
} from '../source-world.ts'
import { isShown, markAt, nameOf, planLemmy, WORD } from './lemmy-plan.ts'
import type { Knobs, LemmyItem, LemmyPlan } from './lemmy-plan.ts'
import { answerLemmy, answerWithoutDatabase } from './lemmy-wire.ts'
import type { LemmyAnswer, Version } from './lemmy-wire.ts'
/**
 * Simulated instances of Lemmy and PieFed, from the servers' code and the recordings: late federation, removals and
 * restorations, voids, hidden rows, bans, failing cursors, limits, restored databases, a change of version.
 */
import { between, holesOf, serveWithFaults } from './server.ts'
import type { Fault, FaultKind, Shown } from './server.ts'

const SOURCE = 'fjord'
const WINDOW_MS = 60_000

const QUIET = { postGapMs: 30_000, commentGapMs: 15_000 } as const
const SLOW = { postGapMs: 7000, commentGapMs: 3500 } as const
const FAST = { postGapMs: 1500, commentGapMs: 500 } as const

type Scenario = {
  readonly version: Version
  readonly postGapMs: number
  readonly commentGapMs: number
  readonly unruly: boolean
  readonly settled: boolean
  readonly faults: boolean | readonly FaultKind[]
  readonly upgrade: boolean
  readonly limit: number
  readonly knobs?: Knobs
  /** The part of the writing after which the credential ends. */
  readonly tokenEndsAt?: number
  readonly restores?: boolean
  readonly cacheMs?: number
  /** Searches in 600 s. */
  readonly searches?: number
  readonly staysComplete?: boolean
}

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

/** As an instance that federates is, by its code, with the pace and the limit that are shipped. */
const REAL_KNOBS: Knobs = {
  voidShare: 0.27,
  waitingShare: 0.06,
  aheadShare: 0.05,
  bans: 2,
  treeRows: 400,
}
const REAL_V4: Knobs = { ...REAL_KNOBS, waitingReplies: true }
const REAL: Omit<Scenario, 'version'> = {
  ...USUAL,
  postGapMs: 5000,
  commentGapMs: 1250,
  settled: false,
  limit: 180,
  knobs: REAL_KNOBS,
  searches: 60,
  staysComplete: true,
}
const PIEFED: Scenario = {
  ...REAL,
  version: 'piefed',
  knobs: { ...REAL_KNOBS, voidShare: 0.04, twoSteps: true, bans: 0 },
}
const TROUBLE: readonly FaultKind[] = ['database', 'starting', 'limit', 'browsers', 'slow']

const LEMMY_SCENARIOS: Readonly<Record<string, Scenario>> = {
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
  'v3-real': { ...REAL, version: 3 },
  'v4-real': { ...REAL, version: 4, knobs: REAL_V4 },
  'v3-copies': { ...REAL, version: 3, cacheMs: 60_000, staysComplete: false },
  'v3-trouble': { ...REAL, version: 3, faults: TROUBLE, searches: 2, staysComplete: false },
  'v4-trouble': {
    ...REAL,
    version: 4,
    knobs: REAL_V4,
    faults: TROUBLE,
    searches: 2,
    staysComplete: false,
  },
  'v3-restored': { ...REAL, version: 3, restores: true, staysComplete: false },
  'v4-restored': { ...REAL, version: 4, knobs: REAL_V4, restores: true, staysComplete: false },
  'v3-token': {
    ...REAL,
    version: 3,
    knobs: { ...REAL_KNOBS, members: true },
    tokenEndsAt: 0.5,
    staysComplete: false,
  },
  'v4-token': {
    ...REAL,
    version: 4,
    knobs: { ...REAL_KNOBS, members: true },
    tokenEndsAt: 0.5,
    staysComplete: false,
  },
}

const PIEFED_SCENARIOS: Readonly<Record<string, Scenario>> = {
  real: PIEFED,
  trouble: { ...PIEFED, faults: TROUBLE, searches: 2, staysComplete: false },
  restored: { ...PIEFED, restores: true, staysComplete: false },
}

type Reader = { readonly version: Version; readonly tokenEndsMs: number }

const ANYONE: Reader = { version: 3, tokenEndsMs: -Infinity }

/** Tests whether lists of the place show what is in it, beside the marks of items. */
const isOpen = (item: LemmyItem, { version, tokenEndsMs }: Reader, atMs: number): boolean => {
  const { sort } = item.community
  if (sort === 'private') return atMs < tokenEndsMs
  if (sort === 'unlisted') return version !== 3
  return sort !== 'banned'
}

const changesOf = (item: LemmyItem, { tokenEndsMs }: Reader): number[] => {
  const [first] = item.states
  const own = item.states.map(({ fromMs }) => fromMs)
  const thread = item.post?.states.map(({ fromMs }) => fromMs) ?? []
  const from = first?.fromMs ?? 0
  const all = [...own, ...thread.filter((atMs) => atMs > from), Math.max(from, tokenEndsMs)]
  return [...new Set(all)].filter((atMs) => Number.isFinite(atMs)).toSorted((a, b) => a - b)
}

export const lemmyTruth = (item: LemmyItem, reader: Reader = ANYONE): TruthItem => ({
  source: SOURCE,
  name: `${item.kind === 'post' ? 't3' : 't1'}_${item.id}`,
  kind: item.kind,
  gapId: item.id,
  createdMs: item.publishedMs,
  ...(item.era === undefined ? {} : { era: item.era }),
  states: changesOf(item, reader).flatMap((fromMs): ItemState[] => {
    const state = markAt(item, fromMs)
    if (state === null) return []
    const isHalf = state.mark === 'half'
    const isThread = item.post === null || isShown(markAt(item.post, fromMs)?.mark)
    const isAdult = item.community.sort === 'nsfw'
    return [
      {
        fromMs,
        visible: isShown(state.mark) && isThread && isOpen(item, reader, fromMs),
        places: [nameOf(item.community)],
        author: item.author,
        title: item.title,
        text: state.text,
        over18: (item.nsfw && !isHalf) || isAdult,
        whole: !isHalf,
        ...(item.kind === 'post' ? { link: isHalf ? null : item.link } : {}),
      },
    ]
  }),
  note: [item.kind, item.note].filter((one) => one !== '').join(': '),
})

/** Tests whether an item is of those that docs/sources.md names as not covered. */
const isUncovered = (item: LemmyItem, version: Version): boolean => {
  const isAdult = item.nsfw || item.community.sort === 'nsfw'
  if (item.community.sort === 'unlisted') return true
  return version === 4 && item.kind === 'comment' && isAdult
}

export const lemmyMonitors = (
  items: ReadonlyMap<TruthItem, LemmyItem>,
  version: Version = 3,
  host = '',
  isReal = false,
): SourceMonitor[] => {
  const found = (item: TruthItem): Match => {
    const own = items.get(item)
    return own !== undefined && isUncovered(own, version) ? 'either' : 'yes'
  }
  /** Lemmy announces no edits: an item that matches by one may be missed. */
  const worded = (item: TruthItem, state: ItemState): Match => {
    if (!state.text.includes(WORD)) return 'no'
    const before = item.states.filter(
      (one) => one.visible && one.whole !== false && one.fromMs < state.fromMs,
    )
    return before.some((one) => !one.text.includes(WORD)) ? 'either' : found(item)
  }
  const placed = (label: string, subforum: string, place: string, addAtMs = 0): SourceMonitor => ({
    label,
    spec: { ...all, subforum },
    addAtMs,
    matches: (item, state) => (state.places.includes(place) ? found(item) : 'no'),
    isPartial: place.includes('@'),
  })
  const all = { source: SOURCE, kind: 'both' }
  const usual: SourceMonitor[] = [
    { label: 'everything', spec: all, addAtMs: 0, matches: found, isPartial: true },
    {
      label: 'word',
      spec: { ...all, include_any: [WORD], search_in: ['body'] },
      addAtMs: 0,
      matches: worded,
      isPartial: true,
    },
    placed('a local community', 'music', 'music'),
    placed('a community of another instance', 'news@north.example', 'news@north.example', 10_000),
  ]
  if (!isReal) return usual
  const spelt = version === 'piefed' ? 'Jazz' : 'jazz'
  return [
    ...usual,
    placed('a place with the own host', `tech@${host}`, 'tech'),
    placed('a place in another case', spelt, 'Jazz'),
    {
      label: 'without adult content',
      // Comments of such a place are in no list of 1.0.
      isPartial: version === 4,
      spec: { ...all, subforum: ['music', 'tech', 'cellar'], nsfw: false },
      addAtMs: 0,
      matches: (item, state) =>
        state.over18 !== true && ['music', 'tech'].some((place) => state.places.includes(place))
          ? found(item)
          : 'no',
    },
  ]
}

const LENGTHS: Readonly<Record<string, number>> = {
  error: 12_000,
  down: 7000,
  limit: 20_000,
  slow: 15_000,
  cursor: 15_000,
  database: 30_000,
  starting: 8000,
  browsers: 12_000,
}

const FAULTS: readonly FaultKind[] = ['error', 'down', 'limit', 'slow', 'cursor']

const faultsOf = (random: Random, contentMs: number, kinds: readonly FaultKind[]): Fault[] => {
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

/** 0.19 answers 400, 1.0 a bare 429, PieFed a page: none says how long to wait. */
const refusal = (version: Version): Shown => {
  if (version === 3)
    return { answer: Response.json({ error: 'rate_limit_error' }, { status: 400 }), ids: [] }
  if (version === 4)
    return { answer: Response.json({ error: 'too_many_requests' }, { status: 429 }), ids: [] }
  const init = { status: 429, headers: { 'content-type': 'text/html; charset=utf-8' } }
  return { answer: new Response('<!doctype html><h1>Slow down</h1>', init), ids: [] }
}

const TOKEN = 'world-token'
const SEARCH_WINDOW_MS = 600_000
/** The proof that a source of the shipped pace owes is 90 s old at most; the answers are a minute old. */
const REAL_CADENCE_S = 10
/** The shipped defaults: of Lemmy, half of the limit that its instances announce. */
const SHIPPED_PACES = { lemmy: 90, piefed: 60 }
/** The stated ages of a hidden item, up to ten minutes, are as far apart as this. */
const ASKED_AGAIN_MS = 130_000

const probesOf = (chosen: Scenario, contentMs: number, items: readonly LemmyItem[]): Probe[] => {
  if (chosen.knobs === undefined) return []
  const add = (subforum: string) => ({ name: subforum, filter_spec: { source: SOURCE, subforum } })
  // The first comments are those of the long tree.
  const tree = items.find((item) => item.kind === 'comment')?.post?.id ?? 0
  const searches = [0.25, 0.26, 0.27, 0.6].map((part) => ({
    atMs: contentMs * part,
    path: `/api/forum/search?q=lantern&source=${SOURCE}`,
    expects: [200, 429, 503],
  }))
  return [
    {
      atMs: 6000,
      path: '/forum/monitor/add',
      body: add('nope'),
      expects: [400, 404, 422],
      says: /subforum_not_found/,
    },
    {
      atMs: 9000,
      path: `/api/forum/post/${tree}/comments?source=${SOURCE}`,
      expects: [200, 429],
      ...(chosen.version === 3 ? { says: /"truncated":\s*true|HTTP_429/ } : {}),
    },
    ...searches,
  ]
}

const startInstance =
  (scenarios: Readonly<Record<string, Scenario>>) =>
  async ({ scenario, seed, startMs, contentMs, cadenceMs }: StartOptions) => {
    const chosen = scenarios[scenario]
    if (chosen === undefined) throw new Error(`no scenario ${scenario}`)
    const isReal = chosen.knobs !== undefined
    const { faults: wanted, upgrade, limit, version: firstVersion } = chosen
    const restoreAtMs = Math.floor(contentMs * 0.6)
    const knobs = chosen.restores === true ? { ...chosen.knobs, restoreAtMs } : chosen.knobs
    const plan: LemmyPlan = {
      ...chosen,
      seed,
      contentMs,
      ...(knobs === undefined ? {} : { knobs }),
    }
    const { posts, comments } = planLemmy(plan)
    const tokenEndsMs =
      chosen.tokenEndsAt === undefined ? -Infinity : Math.floor(contentMs * chosen.tokenEndsAt)
    const random = makeRandom(seed ^ 0x1e33)
    const middleMs = Math.floor(contentMs * 0.45)
    const restart: Fault = { kind: 'down', fromMs: middleMs, untilMs: middleMs + 9000, share: 1 }
    const kinds = wanted === true ? FAULTS : wanted === false ? [] : wanted
    const faults = upgrade ? [restart] : faultsOf(random, contentMs, kinds)
    const served = { window: -1, count: 0, searchWindow: -1, searches: 0 }
    const answer = (url: URL, nowMs: number, fault: FaultKind | '', request: Request): Shown => {
      const version = upgrade && nowMs >= middleMs ? 4 : firstVersion
      const window = Math.floor(nowMs / WINDOW_MS)
      served.count = window === served.window ? served.count + 1 : 1
      served.window = window
      const limited = faults.some(
        (one) => one.kind === 'limit' && one.fromMs <= nowMs && nowMs < one.untilMs,
      )
      if (limited || served.count > limit) return refusal(version)
      if (url.pathname.endsWith('/search')) {
        const searchWindow = Math.floor(nowMs / SEARCH_WINDOW_MS)
        served.searches = searchWindow === served.searchWindow ? served.searches + 1 : 1
        served.searchWindow = searchWindow
        if (served.searches > (chosen.searches ?? 60)) return refusal(version)
      }
      if (fault === 'cursor' && url.searchParams.has('page_cursor')) {
        return pageOf({ status: 400, body: { error: 'couldnt_parse_pagination_token' }, ids: [] })
      }
      const isMember =
        request.headers.get('authorization') === `Bearer ${TOKEN}` && nowMs < tokenEndsMs
      const site = { version, startMs, nowMs, limit, base: url.origin, isMember } as const
      const without = fault === 'database' ? answerWithoutDatabase(version, url) : null
      const real = isReal ? { plan } : {}
      const shown = pageOf(without ?? answerLemmy({ ...site, ...real, posts, comments }, url))
      const { headers } = shown.answer
      headers.set('date', new Date().toUTCString())
      if (version === 'piefed') headers.set('cache-control', 'no-store')
      else if (isReal) headers.set('cache-control', isMember ? 'private' : 'public, max-age=60')
      if (version === 4) {
        headers.set('x-ratelimit-limit', String(limit))
        headers.set('x-ratelimit-remaining', String(limit - served.count))
        const resetMs = (window + 1) * WINDOW_MS - nowMs
        headers.set('x-ratelimit-reset', String(Math.max(1, Math.ceil(resetMs / 1000))))
      }
      return shown
    }
    const cache = chosen.cacheMs === undefined ? {} : { cacheMs: chosen.cacheMs }
    const server = serveWithFaults({ source: SOURCE, startMs, seed, faults, answer, ...cache })
    const reader: Reader = { version: firstVersion, tokenEndsMs }
    const all = [...posts, ...comments]
    const truth = all.map((item) => lemmyTruth(item, reader))
    const items = new Map(all.map((item, index) => [truth[index] as TruthItem, item]))
    const monitors = lemmyMonitors(items, firstVersion, new URL(server.url).host, isReal)
    const isMembers = chosen.tokenEndsAt !== undefined
    const members: SourceMonitor = {
      label: 'a private community',
      spec: { source: SOURCE, kind: 'both', subforum: 'hush' },
      addAtMs: 0,
      matches: (_item, state) => (state.places.includes('hush') ? 'yes' : 'no'),
    }
    const bounds = boundsOf(cadenceMs, chosen.cacheMs ?? 0)
    const kind = firstVersion === 'piefed' ? 'piefed' : 'lemmy'
    return {
      tables: [
        {
          name: SOURCE,
          kind,
          baseUrl: server.url,
          requestsPerMinute: isReal ? SHIPPED_PACES[kind] : limit / 10,
          ...(isReal ? { configured: 0 } : {}),
          ...(isMembers ? { toml: `api_key = "${TOKEN}"` } : {}),
        },
      ],
      // A whole instance and a copy of a community are never `complete`.
      monitors: isMembers
        ? [...monitors, members]
        : monitors.slice(chosen.unruly ? 0 : 2, chosen.unruly ? undefined : 3),
      bounds: isReal ? { ...bounds, late: Math.max(bounds.late, ASKED_AGAIN_MS) } : bounds,
      skewMs: 0,
      cacheMs: chosen.cacheMs ?? 0,
      faultFree: !chosen.unruly,
      ...(chosen.staysComplete === undefined ? {} : { staysComplete: chosen.staysComplete }),
      probes: probesOf(chosen, contentMs, all),
      truth: () => ({
        items: truth,
        holes: holesOf(faults),
        pauses: [],
        blind: isMembers ? [{ span: [tokenEndsMs, Infinity], label: members.label }] : [],
      }),
      log: server.log,
      stop: server.stop,
    } satisfies RunningSource
  }

const cadenceOf =
  (scenarios: Readonly<Record<string, Scenario>>) =>
  (scenario: string): number | undefined =>
    scenarios[scenario]?.knobs === undefined ? undefined : REAL_CADENCE_S

export const lemmyWorld: SourceWorld = {
  kind: 'lemmy',
  scenarios: Object.keys(LEMMY_SCENARIOS),
  cadenceS: cadenceOf(LEMMY_SCENARIOS),
  start: startInstance(LEMMY_SCENARIOS),
}

export const piefedWorld: SourceWorld = {
  kind: 'piefed',
  scenarios: Object.keys(PIEFED_SCENARIOS),
  cadenceS: cadenceOf(PIEFED_SCENARIOS),
  start: startInstance(PIEFED_SCENARIOS),
}
