/** The worlds by name: content, faults of the platform, and monitors. */
import { hashUnit, KEYWORDS, threadOf } from './plan.ts'
import type { ContentSpec, Item, PlaceSpec } from './plan.ts'
import type { AccountSpec } from './platform.ts'
import type { Condition, Fault, Feed } from './view.ts'

export type MonitorSpec = {
  readonly label: string
  readonly spec: Readonly<Record<string, unknown>>
  /** The feeds that show the monitored items, each polled individually. */
  readonly feeds: readonly Feed[]
  readonly addAtMs: number
  readonly places: readonly string[]
  readonly matches: (item: Item, words: readonly string[]) => boolean
}

export type Scenario = {
  readonly name: string
  readonly content: ContentSpec
  readonly conditions: readonly Condition[]
  readonly accounts: readonly AccountSpec[]
  readonly monitors: readonly MonitorSpec[]
  readonly dateSkewMs: number
  readonly kills: number
  readonly mergedRefusal: 'drop' | 'refuse'
  readonly faultFree: boolean
  /** Measures that only this world has. */
  readonly checks: readonly ('pause' | 'outage')[]
  /** Seconds within which polls go on after a single bad answer. */
  readonly pauseBarS: number
  /** Sessions share the window of their address. */
  readonly oneWindow: boolean
}

export type Timing = { readonly contentMs: number; readonly endMs: number; readonly seed: number }

const PLACES = ['alpha', 'bravo', 'charlie', 'delta', 'echo', 'foxtrot', 'golf', 'hotel']
const ACCOUNT: AccountSpec = { name: 'reader1', allowance: 6000, firstResetS: 500 }
const SECOND: AccountSpec = { name: 'reader2', allowance: 6000, firstResetS: 320 }

const quietPlaces = (count: number): PlaceSpec[] =>
  PLACES.slice(0, count).map((name, index) => ({
    name,
    postsPerS: 0.04 + 0.03 * (index % 3),
    commentsPerS: index < 3 ? 0.1 : 0,
  }))

const withPlace = (places: PlaceSpec[], name: string, change: Partial<PlaceSpec>): PlaceSpec[] =>
  places.map((place) => (place.name === name ? { ...place, ...change } : place))

const textIn = (words: readonly string[], wanted: readonly string[]): boolean =>
  wanted.some((word) => words.includes(word))

const placeMonitor = (
  label: string,
  places: readonly string[],
  kind: 'post' | 'comment' | 'both',
  wanted: readonly string[],
  addAtMs: number,
): MonitorSpec => {
  const kinds: ('post' | 'comment')[] = kind === 'both' ? ['post', 'comment'] : [kind]
  return {
    label,
    spec: { subforum: places, kind, include_any: wanted },
    feeds: kinds.flatMap((one) =>
      places.map((place): Feed => ({ type: 'places', places: [place], kind: one })),
    ),
    addAtMs,
    places,
    matches: (item, words) =>
      kinds.includes(item.kind) && places.includes(item.place) && textIn(words, wanted),
  }
}

/** One monitor for each place and several of other kinds, half of them added `laterMs` later. */
const standardMonitors = (places: readonly PlaceSpec[], laterMs: number): MonitorSpec[] => {
  const names = places.map((place) => place.name)
  const talking = places.filter((place) => place.commentsPerS > 0).map((place) => place.name)
  const [thread = ''] = talking.map((place) => threadOf(place, 0))
  const monitors = names.map((name, index) =>
    placeMonitor(`posts ${name}`, [name], 'post', KEYWORDS, index % 2 === 0 ? 0 : laterMs),
  )
  monitors.push(
    placeMonitor('posts of all', names, 'post', ['roaster'], 0),
    placeMonitor('comments', talking.slice(0, 2), 'comment', KEYWORDS, 0),
    placeMonitor('both', talking.slice(2), 'both', ['kettle'], laterMs),
    {
      label: 'whole platform',
      spec: { include_any: ['kettle'] },
      feeds: [{ type: 'search', query: 'kettle' }],
      addAtMs: 0,
      places: [],
      matches: (item, words) => item.kind === 'post' && textIn(words, ['kettle']),
    },
    {
      label: 'by ann',
      spec: { author: 'ann', kind: 'both' },
      feeds: [
        { type: 'search', query: 'author:ann' },
        { type: 'user', author: 'ann', kind: 'comment' },
      ],
      addAtMs: laterMs,
      places: [],
      matches: (item) => item.author === 'ann',
    },
    {
      label: 'a thread',
      spec: { thread: thread, include_any: [...KEYWORDS] },
      feeds: [{ type: 'thread', thread: `t3_${thread}` }],
      addAtMs: 0,
      places: [],
      matches: (item, words) => item.thread === `t3_${thread}` && textIn(words, KEYWORDS),
    },
  )
  return monitors.filter((monitor) => monitor.feeds.length > 0)
}

const contentOf = (places: readonly PlaceSpec[], more?: Partial<ContentSpec>): ContentSpec => ({
  places,
  bursts: [],
  pinned: [],
  idJitterMs: 0,
  ...more,
})

const scenarioOf = (
  places: readonly PlaceSpec[],
  change: Partial<Scenario> & { laterMs?: number },
): Omit<Scenario, 'name'> => ({
  content: contentOf(places),
  conditions: [],
  accounts: [ACCOUNT],
  monitors: standardMonitors(places, change.laterMs ?? 0),
  dateSkewMs: 0,
  kills: 0,
  mergedRefusal: 'drop',
  faultFree: false,
  checks: [],
  pauseBarS: 10,
  oneWindow: false,
  ...change,
})

const burstsOf = (time: Timing, place: string, everyMs: number, rows: number, lateMs: number) => {
  const bursts = []
  for (let atMs = 10_000; atMs < time.contentMs - 3000; atMs += everyMs) {
    const share = 0.7 + 0.6 * hashUnit(time.seed, place, atMs)
    bursts.push({ place, atMs, rows: Math.floor(rows * share), overMs: 900, lateMs })
  }
  return bursts
}

/** Three busy places and quiet ones, so that a merged page is mostly rows of the busy. */
const mixedPlaces = (busyPerS: number): PlaceSpec[] =>
  quietPlaces(7).map((place, index) => (index < 3 ? { ...place, postsPerS: busyPerS } : place))

const SCENARIOS: Readonly<Record<string, (time: Timing) => Omit<Scenario, 'name'>>> = {
  quiet: () => scenarioOf(quietPlaces(8), { faultFree: true, kills: 2 }),

  busy: () =>
    scenarioOf(
      mixedPlaces(3).map((place) => ({ ...place, historyRows: place.postsPerS > 1 ? 900 : 120 })),
      { faultFree: true, kills: 3 },
    ),

  // F1: three busy places and a quiet one whose posts are held for 20 s.
  moderation: () => {
    const hold = { share: 0.04, minMs: 18_000, maxMs: 24_000 }
    const places = mixedPlaces(2.2).map((place) => ({ ...place, hold }))
    const quiet = { postsPerS: 0.1, matchShare: 0.7, hold: { ...hold, share: 0.5 } }
    return scenarioOf(withPlace(places, 'delta', quiet), { kills: 3 })
  },

  'moderation-alone': () => {
    const hold = { share: 0.03, minMs: 19_000, maxMs: 22_000 }
    const places = withPlace(quietPlaces(8), 'alpha', { postsPerS: 10, hold })
    return scenarioOf(places, { kills: 2 })
  },

  // F2: a place that merged answers leave out, and one that turns private and public again.
  absent: (time) => {
    const places = withPlace(mixedPlaces(2.2), 'delta', { postsPerS: 0.2, matchShare: 0.6 })
    const at = (share: number) => Math.floor(share * time.contentMs)
    const conditions: Condition[] = [
      { type: 'missing', place: 'delta', fromMs: at(0.3), untilMs: at(0.3) + 30_000 },
      { type: 'missing', place: 'echo', fromMs: at(0.6), untilMs: at(0.6) + 30_000 },
      { type: 'closed', place: 'golf', as: 'private', fromMs: at(0.2), untilMs: at(0.2) + 30_000 },
    ]
    return scenarioOf(places, { conditions, kills: 2 })
  },

  // F2: copies of some places are 25 s behind in merged answers.
  laggy: (time) => {
    const lag = { type: 'lag', lagMs: 25_000, alone: false, fromMs: 8000 } as const
    const slow = { postsPerS: 0.12, matchShare: 0.9 }
    const places = withPlace(withPlace(mixedPlaces(2.2), 'delta', slow), 'foxtrot', slow)
    const conditions = ['bravo', 'delta', 'foxtrot'].map((place): Condition => ({
      ...lag,
      place,
      untilMs: time.contentMs,
    }))
    return scenarioOf(places, { conditions, kills: 2 })
  },

  replicas: (time) =>
    scenarioOf(mixedPlaces(1), {
      conditions: [
        { type: 'replicas', lagsMs: [0, 0, 9000, 25_000], fromMs: 8000, untilMs: time.contentMs },
      ],
      kills: 4,
    }),

  stale: (time) =>
    scenarioOf(mixedPlaces(0.8), {
      conditions: [
        {
          type: 'stale',
          periodMs: 16_000,
          fromMs: Math.floor(time.contentMs * 0.2),
          untilMs: Math.floor(time.contentMs * 0.8),
        },
      ],
      kills: 2,
    }),

  // F3: bursts with equal created_utc whose rows become visible in any order.
  'burst-ties': (time) => {
    const places = quietPlaces(8)
    const bursts = [
      ...burstsOf(time, 'alpha', 17_000, 150, 2500),
      ...burstsOf(time, 'bravo', 29_000, 250, 2500),
    ]
    return scenarioOf(places, { content: contentOf(places, { bursts }), kills: 3 })
  },

  // Listings in order of id with created_utc out of order, slightly late rows, old copies.
  disorder: (time) => {
    const hold = { share: 0.3, minMs: 200, maxMs: 2500 }
    const places = mixedPlaces(3).map((place) => ({ ...place, hold }))
    return scenarioOf(places, {
      content: contentOf(places, { idJitterMs: 2500 }),
      conditions: [
        { type: 'replicas', lagsMs: [0, 0, 0, 4000], fromMs: 8000, untilMs: time.contentMs },
      ],
      kills: 3,
    })
  },

  // F4: the Date header is 150 s ahead of created_utc, and monitors are added once that is known.
  'skew-ahead': () =>
    scenarioOf(mixedPlaces(0.5), { dateSkewMs: 150_000, kills: 2, laterMs: 9000 }),

  'skew-behind': () =>
    scenarioOf(mixedPlaces(0.5), { dateSkewMs: -150_000, kills: 2, laterMs: 9000 }),

  // F5: more rows at once than can be reached, then listings that end early.
  overflow: (time) => {
    const places = quietPlaces(8)
    const atMs = Math.floor(time.contentMs * 0.3)
    const bursts = [{ place: 'alpha', atMs, rows: 1500, overMs: 700, lateMs: 0 }]
    const conditions: Condition[] = [
      { type: 'earlyEnd', share: 0.3, fromMs: atMs + 6000, untilMs: atMs + 50_000 },
    ]
    return scenarioOf(places, { content: contentOf(places, { bursts }), conditions, kills: 1 })
  },

  // F6: one blank answer, later one 429 that does not say how long.
  blank: (time) =>
    scenarioOf(quietPlaces(6), {
      conditions: (['blank', 'limited'] as const).map((fault, index): Condition => ({
        type: 'once',
        fault,
        count: 1,
        account: null,
        fromMs: Math.floor(time.contentMs * (0.3 + 0.3 * index)),
        untilMs: time.contentMs,
      })),
      checks: ['pause'],
    }),

  // F7: the second account has to rest for 300 s, and the first meets a block page.
  resting: (time) =>
    scenarioOf(quietPlaces(6), {
      accounts: [ACCOUNT, SECOND],
      conditions: (
        [
          ['limitedLong', 1, 0.2],
          ['block', 0, 0.4],
        ] as const
      ).map(([fault, account, share]): Condition => ({
        type: 'once',
        fault,
        account,
        count: 1,
        fromMs: Math.floor(time.contentMs * share),
        untilMs: time.contentMs,
      })),
      checks: ['pause'],
      pauseBarS: 30,
    }),

  // F8: nothing listens on the platform's port.
  'outage-refused': (time) => outage(time, 'refuse'),

  // F8: connections are accepted and cut, so that attempts can be counted.
  'outage-reset': (time) => outage(time, 'reset'),

  paging: (time) => {
    const places = quietPlaces(8)
    const bursts = [
      ...burstsOf(time, 'alpha', 27_000, 380, 0),
      ...burstsOf(time, 'bravo', 41_000, 260, 1500),
    ]
    const span = { fromMs: 8000, untilMs: time.contentMs }
    const conditions: Condition[] = [
      { type: 'restart', share: 0.2, ...span },
      { type: 'repeat', share: 0.3, rows: 12, ...span },
      { type: 'short', share: 0.3, ...span },
      { type: 'earlyEnd', share: 0.12, ...span },
    ]
    return scenarioOf(places, { content: contentOf(places, { bursts }), conditions, kills: 3 })
  },

  weather: (time) => {
    const shares: readonly (readonly [Fault, number])[] = [
      ['reset', 0.04],
      ['truncated', 0.04],
      ['blank', 0.02],
      ['error503', 0.04],
      ['block', 0.01],
      ['limited', 0.02],
      ['limitedRetryAfter', 0.01],
    ]
    const span = { fromMs: 8000, untilMs: time.contentMs }
    return scenarioOf(mixedPlaces(0.7), {
      accounts: [ACCOUNT, SECOND],
      conditions: shares.map(([fault, share]): Condition => ({
        type: 'fault',
        fault,
        share,
        ...span,
      })),
      kills: 6,
    })
  },

  closures: (time) => {
    const at = (share: number) => Math.floor(share * time.contentMs)
    return scenarioOf(mixedPlaces(0.6), {
      conditions: [
        { type: 'closed', place: 'alpha', as: 'private', fromMs: at(0.2), untilMs: at(0.35) },
        { type: 'closed', place: 'delta', as: 'banned', fromMs: at(0.4), untilMs: at(0.6) },
        { type: 'closed', place: 'echo', as: 'private', fromMs: at(0.55), untilMs: at(0.7) },
      ],
      mergedRefusal: time.seed % 2 === 0 ? 'drop' : 'refuse',
      kills: 3,
    })
  },

  // Items that search and user listings show, and their place late or never; edits into matching.
  elsewhere: () => {
    const placeDelay = { share: 0.3, minMs: 15_000, maxMs: 35_000, neverShare: 0.5 }
    const places = mixedPlaces(0.5).map((place) => ({ ...place, placeDelay, editShare: 0.08 }))
    return scenarioOf(places, { kills: 2 })
  },

  // An account of the pool moderates two places, and sees what is held there.
  moderated: (time) => {
    const hold = { share: 0.2, minMs: 18_000, maxMs: 60_000 }
    const places = mixedPlaces(0.6).map((place) => ({ ...place, hold }))
    return scenarioOf(places, {
      accounts: [ACCOUNT, SECOND],
      conditions: ['alpha', 'delta'].map((place): Condition => ({
        type: 'moderates',
        account: 0,
        place,
        fromMs: 0,
        untilMs: time.endMs,
      })),
      kills: 2,
    })
  },

  // An account of the pool blocks two authors: its listings lack their rows.
  blocked: (time) =>
    scenarioOf(mixedPlaces(0.5), {
      accounts: [ACCOUNT, SECOND],
      conditions: [
        { type: 'blocks', account: 0, authors: ['ann', 'bob'], fromMs: 0, untilMs: time.endMs },
      ],
      kills: 1,
    }),

  // Half a minute in which no session counts.
  'read-only': (time) => {
    const fromMs = Math.floor(time.contentMs * 0.3)
    return scenarioOf(mixedPlaces(0.5), {
      accounts: [ACCOUNT, SECOND],
      conditions: [{ type: 'readOnly', fromMs, untilMs: fromMs + 30_000 }],
      kills: 1,
    })
  },

  // Rows are deleted between two pages, and a place of theirs turns private.
  anchors: (time) => {
    const places = mixedPlaces(2.2).map((place) => ({ ...place, deleteShare: 0.15 }))
    const bursts = burstsOf(time, 'alpha', 27_000, 380, 0)
    const at = (share: number) => Math.floor(share * time.contentMs)
    return scenarioOf(places, {
      content: contentOf(places, { bursts }),
      conditions: [
        { type: 'closed', place: 'bravo', as: 'private', fromMs: at(0.4), untilMs: at(0.55) },
      ],
      kills: 2,
    })
  },

  // Two sessions at one address have one allowance.
  'one-address': () =>
    scenarioOf(mixedPlaces(0.5), {
      accounts: [
        { ...ACCOUNT, allowance: 300, firstResetS: 240 },
        { ...SECOND, allowance: 300, firstResetS: 240 },
      ],
      oneWindow: true,
      kills: 1,
    }),

  'browsers-only': (time) => {
    const fromMs = Math.floor(time.contentMs * 0.4)
    return scenarioOf(quietPlaces(6), {
      conditions: [{ type: 'browsersOnly', fromMs, untilMs: fromMs + 15_000 }],
    })
  },

  // The rate budget of one cookie session, too small for polls at the full rate.
  tight: () =>
    scenarioOf(mixedPlaces(0.5), {
      accounts: [{ ...ACCOUNT, allowance: 240, firstResetS: 200 }],
      kills: 1,
    }),
}

const outage = (time: Timing, how: 'refuse' | 'reset'): Omit<Scenario, 'name'> => {
  const fromMs = Math.floor(time.contentMs * 0.25)
  const untilMs = Math.floor(time.contentMs * 0.8)
  return scenarioOf(quietPlaces(6), {
    conditions: [{ type: 'unreachable', how, fromMs, untilMs }],
    checks: ['outage'],
  })
}

export const SCENARIO_NAMES: readonly string[] = Object.keys(SCENARIOS)

export const makeScenario = (name: string, time: Timing): Scenario => {
  const make = SCENARIOS[name]
  if (make === undefined)
    throw new Error(`no world ${name}; there are ${SCENARIO_NAMES.join(', ')}`)
  return { name, ...make(time) }
}
