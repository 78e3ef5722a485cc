import type { SeededRandom } from '../../sandbox/world/random.ts'
import { fail, type Fault, ok, type Outcome } from '../../src/core/base/result.ts'
import type { Post } from '../../src/core/forum/items.ts'
import type { Call, Listing, SourceReads } from '../../src/platforms/port.ts'
import type { Clock } from '../../src/runtime/runtime.ts'
import { pageOf, type Place, type World } from './world.ts'

/** Probability of platform failures. All zero: no failures. */
export type Roughness = {
  /** Share of all requests. */
  errors: number
  throttled: number
  /** Share of requests so slow that other polls continue meanwhile. */
  slow?: number
  short_pages: number
  empty: number
  /** Share of further pages that restart the listing, as after a deleted cursor row. */
  restarts: number
  /**
   * Periods per day in which a subforum is served from an old cache, or restarts at every further
   * page.
   */
  stale_a_day: number
  restarting_a_day: number
  /** Outages per day, and their mean length. */
  outages_a_day: number
  outage_s: number
}

export const SMOOTH: Roughness = {
  errors: 0,
  throttled: 0,
  short_pages: 0,
  empty: 0,
  restarts: 0,
  stale_a_day: 0,
  restarting_a_day: 0,
  outages_a_day: 0,
  outage_s: 0,
}

/** Period on the platform's clock, in seconds. */
export type Spell = { from: number; until: number }

export type Upstream = {
  platform: SourceReads
  /** Lead of its clock, as the Date headers would show it. */
  ahead_ms: () => number
  requests(): number
  /** Outages. Seconds of the platform's clock. */
  outages: readonly Spell[]
  /** Periods in which these subforums were served from an old cache. */
  olds: ReadonlyMap<Spell, readonly string[]>
  /**
   * Instants at which the newest posts of a subforum were requested, in order. Seconds of the
   * platform's clock.
   */
  polls: ReadonlyMap<string, readonly number[]>
  /** Requests of these subforums that failed. */
  faults: readonly { at: number; places: readonly string[] }[]
}

const LATENCY_MS = 120
const SLOW_MS = 10_000
const DAY_S = 86_400
/** A cache has one entry per limit; most stale entries are of the usual one. */
const USUAL_LIMIT = 100

type PostsQuery = { subforums: string[]; limit: number; after: string | null }

type Options = {
  world: World
  clock: Clock
  chance: SeededRandom
  rough: Roughness
  /** The platform's clock, in seconds. */
  now_s: () => number
  until_s: number
  /** Admits a request, or returns the reason of its refusal. */
  admit?: (call: Call) => Promise<Outcome<{ done(answer: null, fault: Fault | null): void }>>
}

/** Simulated adapter that answers from a world. */
export function createUpstream(options: Options): Upstream {
  const { world, clock, chance, rough, now_s, admit } = options
  let requests = 0
  const polls = new Map<string, number[]>()
  const olds = new Map<Spell, readonly string[]>()
  const faults: { at: number; places: readonly string[] }[] = []
  const ahead_ms = () => Math.round(now_s() * 1000) - clock.now()
  const outages = spans(chance, rough.outages_a_day, rough.outage_s, now_s(), options.until_s)
  const spellsOf = (a_day: number, mean_s: number) => {
    const of_places = new Map<string, Spell[]>()
    return (key: string): Spell | undefined => {
      let spells = of_places.get(key)
      if (spells === undefined)
        of_places.set(key, (spells = spans(chance, a_day, mean_s, now_s(), options.until_s)))
      return spells.find(({ from, until }) => from <= now_s() && now_s() < until)
    }
  }
  const staleIn = spellsOf(rough.stale_a_day, 90)
  const restartingIn = spellsOf(rough.restarting_a_day, 1800)

  /** One page with the retries of the HTTP client, which the simulation omits. */
  async function posts(query: PostsQuery, call: Call): Promise<Outcome<Listing<Post>>> {
    for (const pause_ms of [1000, 3000]) {
      const answer = await postsOnce(query, call)
      if (answer.ok || !['timeout', 'unavailable'].includes(answer.fault.kind)) return answer
      await clock.sleep(pause_ms, call.signal)
    }
    return postsOnce(query, call)
  }

  async function postsOnce(query: PostsQuery, call: Call): Promise<Outcome<Listing<Post>>> {
    const leave = admit === undefined ? null : await admit(call)
    if (leave !== null && !leave.ok) return leave
    requests += 1
    if (query.after === null)
      for (const name of query.subforums) polls.set(name, [...(polls.get(name) ?? []), now_s()])
    const latency_ms = rough.slow !== undefined && chance.odds(rough.slow) ? SLOW_MS : LATENCY_MS
    await clock.sleep(latency_ms * (0.5 + chance.fraction()), call.signal)
    const answer = answerTo(query)
    if (!answer.ok) faults.push({ at: now_s(), places: query.subforums })
    if (leave !== null) leave.value.done(null, answer.ok ? null : answer.fault)
    return answer
  }

  function answerTo(query: PostsQuery) {
    const { subforums, limit, after } = query
    if (outages.some(({ from, until }) => from <= now_s() && now_s() < until))
      return fail({ kind: 'unavailable', status: 503, retry_after_s: null })
    if (chance.odds(rough.errors)) return fail({ kind: 'timeout' })
    if (chance.odds(rough.throttled)) return fail({ kind: 'throttled', retry_after_s: 30 })
    world.advance(now_s())
    const found = subforums.flatMap((name) => world.places.get(name) ?? [])
    const open = found.filter(({ closed }) => !closed)
    // A closed subforum among others is omitted silently.
    if (open.length === 0) return fail({ kind: 'forbidden', reason: 'private' })
    if (chance.odds(rough.empty)) return listing([], null)
    const old = limit === USUAL_LIMIT || chance.odds(0.2) ? staleIn(subforums.join('+')) : undefined
    if (old !== undefined) olds.set(old, subforums)
    const short = chance.odds(rough.short_pages)
    const restarts =
      after !== null &&
      (chance.odds(rough.restarts) || restartingIn(subforums.join('+')) !== undefined)
    const page = pageOf(
      open,
      { limit: short ? chance.whole(20, limit) : limit, after: restarts ? null : after },
      old === undefined ? undefined : ({ created_utc }) => created_utc < old.from - 60,
    )
    return listing(page.rows, page.after)
  }

  const answers: Partial<SourceReads> = {
    posts,
    community: async (name) => {
      const place: Place | undefined = world.places.get(name)
      requests += 1
      return place === undefined || place.closed
        ? fail({ kind: 'forbidden', reason: 'private' })
        : ok({ type: 'public' } as never)
    },
  }
  const platform = new Proxy({} as SourceReads, {
    get: (_, name: keyof SourceReads) => answers[name] ?? not_requested(name),
  })
  return { platform, ahead_ms, requests: () => requests, polls, outages, olds, faults }
}

const listing = (rows: Post[], after: string | null) => ok({ rows, after, logged_in: null })

const not_requested = (name: string) => () =>
  Promise.reject(new Error(`unexpected request for ${name}`))

/** Random periods with the given frequency and mean length. */
function spans(chance: SeededRandom, a_day: number, mean_s: number, from: number, until: number) {
  const found: Spell[] = []
  if (a_day === 0) return found
  for (let at = from + chance.wait(DAY_S / a_day); at < until;) {
    const end = at + Math.max(5, chance.wait(mean_s))
    found.push({ from: at, until: end })
    at = end + chance.wait(DAY_S / a_day)
  }
  return found
}
