import type { Post } from '../../src/core/items.ts'
import { fail, type Fault, ok, type Outcome } from '../../src/core/outcome.ts'
import type { Clock } from '../../src/outside.ts'
import type { Call, Listing, Platform } from '../../src/platform/platform.ts'
import type { Chance } from '../../src/sandbox/chance.ts'
import { pageOf, type Place, type World } from './world.ts'

/** What a bad day brings. All zero: the platform is as good as it can be. */
export type Roughness = {
  /** Shares of all requests. */
  errors: number
  throttled: number
  /** Requests that take so long that others have to go on without them. */
  slow?: number
  short_pages: number
  empty: number
  /** Of further pages: those that begin the listing anew, as if their cursor's row were gone. */
  restarts: number
  /** How often a place is served from an old cache for a while, each day, or begins anew at every further page. */
  stale_a_day: number
  restarting_a_day: number
  /** How often nobody is answered, each day, and for how long on average. */
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

/** A stretch of the platform's time, in seconds. */
export type Spell = { from: number; until: number }

export type Upstream = {
  platform: Platform
  requests(): number
  /** When nobody could ask anything. Seconds of the platform's clock. */
  outages: readonly Spell[]
  /** When these places were answered from an old cache. */
  olds: ReadonlyMap<Spell, readonly string[]>
  /** When a place's newest posts were asked for, in order. Seconds of the platform's clock. */
  looks: ReadonlyMap<string, readonly number[]>
  /** Requests of these places that were answered with an error. */
  faults: readonly { at: number; places: readonly string[] }[]
}

const LATENCY_MS = 120
const SLOW_MS = 10_000
const DAY_S = 86_400
/** Another limit is another entry of a cache; most caches are of the usual one. */
const USUAL_LIMIT = 100

type Options = {
  world: World
  clock: Clock
  chance: Chance
  rough: Roughness
  /** The platform's clock, in seconds. */
  now_s: () => number
  until_s: number
  /** Lets a request through, or says why not. */
  admit?: (call: Call) => Promise<Outcome<{ done(told: null, fault: Fault | null): void }>>
}

/** The platform as the daemon's own port sees it, answering from a world. */
export function createUpstream(options: Options): Upstream {
  const { world, clock, chance, rough, now_s, admit } = options
  let requests = 0
  const looks = new Map<string, number[]>()
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

  async function posts(
    query: { subforums: string[]; limit: number; after: string | null },
    call: Call,
  ): Promise<Outcome<Listing<Post>>> {
    const leave = admit === undefined ? null : await admit(call)
    if (leave !== null && !leave.ok) return leave
    requests += 1
    if (query.after === null)
      for (const name of query.subforums) looks.set(name, [...(looks.get(name) ?? []), now_s()])
    const latency_ms = rough.slow !== undefined && chance.odds(rough.slow) ? SLOW_MS : LATENCY_MS
    await clock.sleep(latency_ms * (0.5 + chance.fraction()), call.signal)
    const answer = answerTo(query)
    if (!answer.ok) faults.push({ at: now_s(), places: query.subforums })
    if (leave !== null) leave.value.done(null, answer.ok ? null : answer.fault)
    return answer
  }

  function answerTo(query: { subforums: string[]; limit: number; after: string | null }) {
    const { subforums, limit, after } = query
    if (outages.some(({ from, until }) => from <= now_s() && now_s() < until))
      return fail({ kind: 'unavailable', status: 503, retry_after_s: null })
    if (chance.odds(rough.errors)) return fail({ kind: 'timeout' })
    if (chance.odds(rough.throttled)) return fail({ kind: 'throttled', retry_after_s: 30 })
    world.advance(now_s())
    const found = subforums.flatMap((name) => world.places.get(name) ?? [])
    const open = found.filter(({ closed }) => !closed)
    // Among others a closed place is left out without a word.
    if (open.length === 0) return fail({ kind: 'forbidden', reason: 'private' })
    if (chance.odds(rough.empty)) return listing([], null)
    const old = limit === USUAL_LIMIT || chance.odds(0.2) ? staleIn(subforums.join('+')) : undefined
    if (old !== undefined) olds.set(old, subforums)
    const short = chance.odds(rough.short_pages)
    const anew =
      after !== null &&
      (chance.odds(rough.restarts) || restartingIn(subforums.join('+')) !== undefined)
    const page = pageOf(
      open,
      { limit: short ? chance.whole(20, limit) : limit, after: anew ? null : after },
      old === undefined ? undefined : ({ created_utc }) => created_utc < old.from - 60,
    )
    return listing(page.rows, page.after)
  }

  const answers: Partial<Platform> = {
    posts,
    community: async (name) => {
      const place: Place | undefined = world.places.get(name)
      requests += 1
      return place === undefined || place.closed
        ? fail({ kind: 'forbidden', reason: 'private' })
        : ok({ type: 'public' } as never)
    },
    // As the dates of answers would tell.
    clock_offset_ms: () => (Math.abs(ahead_ms()) > 60_000 ? ahead_ms() : 0),
    clock_measured_ms: ahead_ms,
  }
  const platform = new Proxy({} as Platform, {
    get: (_, name: keyof Platform) => answers[name] ?? unasked(name),
  })
  return { platform, requests: () => requests, looks, outages, olds, faults }
}

const listing = (rows: Post[], after: string | null) => ok({ rows, after, logged_in: null })

const unasked = (name: string) => () => Promise.reject(new Error(`nobody asks for ${name}`))

/** Spells of about so long that come so often a day. */
function spans(chance: Chance, a_day: number, mean_s: number, from: number, until: number) {
  const found: Spell[] = []
  if (a_day === 0) return found
  for (let at = from + chance.wait(DAY_S / a_day); at < until;) {
    const end = at + Math.max(5, chance.wait(mean_s))
    found.push({ from: at, until: end })
    at = end + chance.wait(DAY_S / a_day)
  }
  return found
}
