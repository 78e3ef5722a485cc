/** A simulated Discourse forum over HTTP, with named misbehaviour. Written from the protocol and the recordings. */
import { hashUnit, makeRandom } from '../plan.ts'
import { itemsOf, MONITORS, planForum, SOURCE } from './discourse-plan.ts'
import type { Content } from './discourse-plan.ts'
import { PAGE, Site } from './discourse-site.ts'
import { boundsOf } from './source-world.ts'
import type {
  LoggedRequest,
  RunningSource,
  SourceWorld,
  Span,
  StartOptions,
} from './source-world.ts'

type Scenario = Content & {
  readonly requestsPerMinute?: number
  /** Age up to which a whole answer is kept for its address. */
  readonly cacheMs?: number
  readonly skewMs?: number
  readonly pauses?: number
  readonly restarts?: number
  /** Bursts of posts, in a restart where there is one; the daemon is killed soon after each. */
  readonly bursts?: number
  readonly errorShare?: number
  readonly slowShare?: number
  readonly oldListing?: boolean
  /** Pages hold from 5 to 50 rows, though more follow. */
  readonly shortPages?: boolean
  /** Spans in which the site-wide listing is empty, in its right shape. */
  readonly blanks?: number
  readonly faultFree?: boolean
  /** Behaves as the site's own code: copies may be kept for a minute, and browsers alone are let in for a while. */
  readonly restores?: boolean
  readonly browsersOnly?: number
}

const CALM = { postsPerS: 0.5, topicShare: 0.2 }
/** Fast enough for a post to leave the first page in half a minute. */
const LIVELY = { postsPerS: 1.6, topicShare: 0.15, requestsPerMinute: 120 }

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  quiet: { postsPerS: 0.12, topicShare: 0.4, faultFree: true },
  busy: { postsPerS: 2, topicShare: 0.1, requestsPerMinute: 120, faultFree: true },
  relisted: { ...LIVELY, hideShare: 0.3, unlistShare: 0.2 },
  'id-gaps': { ...CALM, gapShare: 0.6, gapMax: 90, faultFree: true },
  'late-commit': { ...LIVELY, lateCommitShare: 0.3 },
  'rate-limit': { ...CALM, pauses: 5 },
  silenced: { ...CALM, silences: 4 },
  moved: { ...LIVELY, topicShare: 0.4, moveShare: 0.8 },
  approval: { ...LIVELY, pendingShare: 0.3 },
  errors: { ...CALM, errorShare: 0.3, slowShare: 0.2 },
  restart: { ...CALM, restarts: 3, bursts: 3, requestsPerMinute: 90 },
  'stale-cache': { ...CALM, cacheMs: 60_000 },
  'skew-ahead': { ...CALM, skewMs: 100_000 },
  'skew-behind': { ...CALM, skewMs: -40_000 },
  paging: { ...CALM, bursts: 3, requestsPerMinute: 120 },
  'old-listing': { ...CALM, oldListing: true, gapShare: 0.3, gapMax: 120, moveShare: 0.3 },
  tight: { ...LIVELY, postsPerS: 2, requestsPerMinute: 12 },
  starved: { ...LIVELY, postsPerS: 2, requestsPerMinute: 3 },
  blank: { ...CALM, blanks: 4 },
  'short-pages': { ...CALM, shortPages: true, bursts: 3, requestsPerMinute: 120 },
  edits: { ...LIVELY, editShare: 0.5 },
  real: {
    ...CALM,
    postsPerS: 1,
    timers: 6,
    aheadShare: 0.03,
    staffShare: 0.05,
    lateCommitShare: 0.03,
    gapShare: 0.2,
    gapMax: 5,
    faultFree: true,
  },
  restored: { ...CALM, postsPerS: 1, timers: 3, restores: true },
  'browsers-only': { ...CALM, timers: 3, browsersOnly: 2 },
  weather: {
    ...CALM,
    timers: 3,
    aheadShare: 0.02,
    browsersOnly: 1,
    hideShare: 0.1,
    gapShare: 0.3,
    gapMax: 70,
    pendingShare: 0.1,
    silences: 1,
    bursts: 1,
    moveShare: 0.2,
    pauses: 2,
    restarts: 1,
    errorShare: 0.1,
    lateCommitShare: 0.1,
    editShare: 0.1,
    requestsPerMinute: 90,
  },
}

/** Reasons why health is not complete for a part of the time. */
const TROUBLES = [
  'pauses',
  'restarts',
  'errorShare',
  'blanks',
  'browsersOnly',
  'restores',
  'cacheMs',
] as const

const SETTLED_MS = 4000

const spans = (
  seed: number,
  count: number,
  untilMs: number,
  least: number,
  most: number,
): Span[] => {
  const random = makeRandom(seed)
  const part = untilMs / Math.max(1, count)
  return Array.from({ length: count }, (_, index): Span => {
    const fromMs = 10_000 + index * part + random() * Math.max(0, part - most - 12_000)
    return [fromMs, fromMs + least + random() * (most - least)]
  })
}

const html = (status: number, title: string) =>
  new Response(`<html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`, {
    status,
    headers: { 'content-type': 'text/html; charset=utf-8' },
  })

const jsonOf = (text: string, status: number, cached: string): Response =>
  new Response(text, {
    status,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': cached === 'skip' ? 'no-cache, no-store' : 'public, max-age=60',
      'x-discourse-cached': cached,
    },
  })

/** The answer to a request in a pause: three forms that the recordings and the protocol know. */
const pauseAnswer = (which: number, seconds: number): Response => {
  const json = {
    errors: [
      `You've performed this action too many times, please try again in ${seconds} seconds.`,
    ],
    error_type: 'rate_limit',
    extras: { wait_seconds: seconds, time_left: `${seconds} seconds` },
  }
  if (which % 3 === 0)
    return Response.json(json, { status: 429, headers: { 'retry-after': String(seconds) } })
  if (which % 3 === 1) return Response.json(json, { status: 429 })
  return new Response(
    `Slow down, you're making too many requests.\nPlease retry again in ${seconds} seconds.\nError code: ip_60_secs_limit.`,
    {
      status: 429,
      headers: {
        'content-type': 'text/plain',
        'retry-after': String(seconds),
        'discourse-rate-limit-error-code': 'ip_60_secs_limit',
      },
    },
  )
}

/** A failed answer, by a draw from 0 to 1. */
const fault = (draw: number, note: (status: number, text: string) => void): Response => {
  const status = [500, 502, 503, 504][Math.floor(draw * 7)]
  if (status !== undefined) {
    note(status, 'error')
    return html(status, `${status}`)
  }
  if (draw < 5 / 7) {
    note(200, 'maintenance page')
    return html(200, 'Down for maintenance')
  }
  if (draw < 6 / 7) {
    note(200, 'truncated')
    return jsonOf('{"latest_posts":[{"id":2', 200, 'skip')
  }
  note(503, 'read only')
  return Response.json(
    { errors: ['The site is in read only mode.'], error_type: 'read_only' },
    { status: 503 },
  )
}

const startDiscourse = async (options: StartOptions): Promise<RunningSource> => {
  const scenario = SCENARIOS[options.scenario]
  if (scenario === undefined) throw new Error(`no scenario ${options.scenario}`)
  const { seed, startMs, contentMs } = options
  const skewMs = scenario.skewMs ?? 0
  let count = 0
  const restarts = spans(seed ^ 0x0502, scenario.restarts ?? 0, contentMs, 6000, 16_000)
  const burstAtMs = spans(seed ^ 0xb0257, scenario.bursts ?? 0, contentMs, 2000, 4000).map(
    ([from], index) => (restarts[index] === undefined ? from : restarts[index][0] + 1500),
  )
  const site = new Site(
    planForum(
      {
        ...scenario,
        burstAtMs,
        ...(scenario.restores === true ? { restoreAtMs: contentMs * 0.6 } : {}),
      },
      seed,
      contentMs,
    ),
    startMs + skewMs,
    scenario.oldListing ?? false,
    () =>
      scenario.shortPages === true ? 5 + Math.floor(hashUnit(seed, 'page', count) * 46) : PAGE,
  )
  const log: LoggedRequest[] = []
  const pauseWindows = spans(seed ^ 0x0429, scenario.pauses ?? 0, contentMs, 6000, 18_000)
  const blanks = spans(seed ^ 0xb1a, scenario.blanks ?? 0, contentMs, 4000, 14_000)
  const closed = spans(seed ^ 0xb405, scenario.browsersOnly ?? 0, contentMs, 6000, 14_000)
  const pauses = new Map<number, Span>()
  const cache = new Map<string, { atMs: number; text: string; ids: readonly number[] }>()

  const dated = (response: Response) => {
    response.headers.set('date', new Date(Date.now() + skewMs).toUTCString())
    return response
  }

  const handle = async (request: Request): Promise<Response> => {
    const url = new URL(request.url)
    const path = `${url.pathname}${url.search}`
    const atMs = Date.now() - startMs
    count += 1
    const note = (status: number, text: string, ids: readonly number[] = []) => {
      log.push({ atMs, source: SOURCE, path, status, note: text, ids })
    }
    const paused = pauseWindows.findIndex(([from, until]) => from <= atMs && atMs < until)
    const window = pauseWindows[paused]
    if (window !== undefined) {
      if (!pauses.has(paused)) pauses.set(paused, [atMs, window[1]])
      note(429, 'pause')
      return dated(pauseAnswer(paused, Math.ceil((window[1] - atMs) / 1000)))
    }
    const isBrowser = /mozilla|chrome/i.test(request.headers.get('user-agent') ?? '')
    if (!isBrowser && closed.some(([from, until]) => from <= atMs && atMs < until)) {
      note(403, 'browsers only')
      return dated(html(403, '403 Forbidden'))
    }
    const recent = log.filter((entry) => entry.atMs > atMs - 60_000)
    if (recent.length >= 200 || recent.filter((entry) => entry.atMs > atMs - 10_000).length >= 50) {
      note(429, 'limit of the site')
      return dated(pauseAnswer(2, 10))
    }
    if (restarts.some(([, until]) => until <= atMs && atMs < until + SETTLED_MS)) {
      cache.clear()
      note(502, 'starting')
      return dated(html(502, '502 Bad Gateway'))
    }
    const draw = hashUnit(seed, 'fault', path, count)
    if (atMs < contentMs && draw < (scenario.errorShare ?? 0))
      return dated(fault(draw / (scenario.errorShare ?? 1), note))
    if (atMs < contentMs && hashUnit(seed, 'slow', count) < (scenario.slowShare ?? 0)) {
      await Bun.sleep(1000 + hashUnit(seed, 'long', count) * 7000)
    }
    if (
      url.pathname === '/posts.json' &&
      blanks.some(([from, until]) => from <= atMs && atMs < until)
    ) {
      note(200, 'blank')
      return dated(jsonOf('{"latest_posts":[]}', 200, 'skip'))
    }
    const known = cache.get(path)
    const cacheMs = scenario.cacheMs ?? 0
    if (known !== undefined && atMs - known.atMs < cacheMs) {
      note(200, `cached ${((atMs - known.atMs) / 1000).toFixed(1)} s`, known.ids)
      return dated(jsonOf(known.text, 200, 'true'))
    }
    const answer = site.answer(url, Date.now() - startMs)
    note(answer.status, answer.status === 404 ? 'not found' : '', answer.ids)
    const text = JSON.stringify(answer.body)
    if (cacheMs > 0 && answer.status === 200) cache.set(path, { atMs, text, ids: answer.ids })
    return dated(jsonOf(text, answer.status, cacheMs > 0 ? 'store' : 'skip'))
  }

  const serve = (port: number) =>
    Bun.serve({ port, hostname: '127.0.0.1', idleTimeout: 60, fetch: handle })
  let server = serve(0)
  const port = server.port ?? 0
  const timers: ReturnType<typeof setTimeout>[] = []
  for (const [from, until] of restarts) {
    timers.push(setTimeout(() => void server.stop(true), startMs + from - Date.now()))
    timers.push(setTimeout(() => (server = serve(port)), startMs + until - Date.now()))
  }
  return {
    tables: [
      {
        name: SOURCE,
        kind: 'discourse',
        baseUrl: `http://127.0.0.1:${port}`,
        requestsPerMinute: scenario.requestsPerMinute ?? 60,
      },
    ],
    monitors: MONITORS,
    bounds: { ...boundsOf(options.cadenceMs, scenario.cacheMs ?? 0), recentIds: 400 },
    skewMs,
    faultFree: scenario.faultFree ?? false,
    staysComplete:
      (scenario.requestsPerMinute ?? 60) >= 60 &&
      !TROUBLES.some((key) => scenario[key] !== undefined),
    cacheMs: scenario.cacheMs ?? 0,
    probes: ['nope', 'nope/sub', 'tag:zzz'].map((subforum) => ({
      atMs: 6000,
      path: '/forum/monitor/add',
      body: { name: subforum, filter_spec: { source: SOURCE, subforum } },
      // In a pause of the site the place cannot be checked.
      expects: [200, 400, 404],
      says: /subforum_not_found|places_unverified/,
    })),
    // A walk over what a burst or an outage left is cut by a kill, at most some polls later.
    killAtMs: burstAtMs.map(
      (atMs, index) => (restarts[index]?.[1] ?? atMs) + SETTLED_MS * hashUnit(seed, 'kill', index),
    ),
    truth: () => ({
      items: itemsOf(site.forum),
      holes: [
        ...pauseWindows,
        ...closed.map(([from, until]): Span => [from, until + SETTLED_MS]),
        ...restarts.map(([from, until]): Span => [from, until + SETTLED_MS]),
      ],
      pauses: [...pauses.values()],
    }),
    log,
    stop: async () => {
      for (const timer of timers) clearTimeout(timer)
      await server.stop(true)
    },
  }
}

export const DISCOURSE: SourceWorld = {
  kind: 'discourse',
  scenarios: Object.keys(SCENARIOS),
  start: startDiscourse,
}
