import { createSeededRandom, type SeededRandom } from '../../sandbox/world/random.ts'
import type { Item } from '../../src/core/forum/items.ts'
import { postOf } from '../support/items.ts'

// Simulated subforums whose posts are created, deleted, approved late, pinned, and arrive in
// bursts. A listing follows from its rows alone, so that afterwards the observable items are known.

type Post = Item & { kind: 'post' }

/** True lifetime of an item. Seconds of the platform's clock; `until` Infinity: still visible. */
export type Truth = { name: string; created: number; from: number; until: number }

export type PlaceSpec = {
  name: string
  /** Mean posts per second over a day. */
  rate: number
  /** True: bursts exceed a listing. */
  floods: boolean
}

export type Place = {
  name: string
  /** Visible rows, newest first. */
  rows: Post[]
  pinned: Post[]
  /** All items ever, by creation. */
  truths: Truth[]
  /** True while the subforum is closed. */
  closed: boolean
  closures: { from: number; until: number }[]
}

type Happening = { at: number; act: () => void }

/** Maximum rows of a listing. */
const DEEPEST = 1000
/**
 * Delay from creation to the listing. A longer one makes an item late, possibly below the rows that
 * are read.
 */
const LAG_S = 2
const DAY_S = 86_400

export type World = {
  places: ReadonlyMap<string, Place>
  /** Simulates until this instant, in seconds. */
  advance(to: number): void
  /** Number of posts created in subforums within [`from`, `until`). */
  createdIn(place: string, from: number, until: number): number
}

/** World that begins at `start` with some history and continues for `days`. */
export function createWorld(options: {
  seed: number
  start: number
  days: number
  places: readonly PlaceSpec[]
  /** `rough`: events other than new posts occur. `upset`: subforums close at times. */
  rough: boolean
  upset: boolean
}): World {
  const { seed, start, days, rough, upset } = options
  const places = new Map<string, Place>()
  const script: Happening[] = []
  let serial = 40_000_000

  for (const [index, spec] of options.places.entries()) {
    const chance = createSeededRandom(seed * 1009 + index)
    const place: Place = {
      name: spec.name,
      rows: [],
      pinned: [],
      truths: [],
      closed: false,
      closures: [],
    }
    places.set(spec.name, place)
    const history_s = Math.min(20 * DAY_S, 300 / spec.rate)
    for (const at of arrivals(chance, spec, start - history_s, start + days * DAY_S)) {
      const created = Math.floor(at)
      const is_late = rough && chance.odds(0.004)
      const from = at + (is_late ? chance.wait(3000) : LAG_S)
      const deleted = rough && chance.odds(0.06)
      const until = deleted ? from + chance.wait(chance.odds(0.3) ? 60 : 4000) : Infinity
      const name = `t3_${(serial++).toString(36)}`
      const truth = { name, created, from, until }
      place.truths.push(truth)
      const row = rowOf(spec.name, truth)
      script.push({ at: from, act: () => publish(place, row) })
      if (until < Infinity) script.push({ at: until, act: () => hide(place, name) })
    }
    if (rough) pinSome(script, place, chance, { start, days })
    if (upset) closeSometimes(script, place, chance, { start, days })
  }
  script.sort((a, b) => a.at - b.at)
  let next = 0

  return {
    places,
    advance(to) {
      for (let it = script[next]; it !== undefined && it.at <= to; it = script[++next]) it.act()
    },
    createdIn(name, from, until) {
      const truths = places.get(name)?.truths ?? []
      return truths.filter(({ created }) => created >= from && created < until).length
    },
  }
}

/**
 * Arrival times of posts: more by day, at times in bursts, and rarely more at once than a listing
 * holds.
 */
function* arrivals(chance: SeededRandom, spec: PlaceSpec, from: number, until: number) {
  let crowd = { until: -Infinity, rate: 0 }
  let next_crowd = from + chance.wait(DAY_S / 2)
  let at = from
  for (;;) {
    const daily = spec.rate * (1 + 0.8 * Math.sin((2 * Math.PI * at) / DAY_S))
    if (at > next_crowd) {
      const flood = spec.floods && chance.odds(0.3)
      const flood_s = chance.whole(30, 90)
      crowd = flood
        ? { until: at + flood_s, rate: chance.whole(1100, 2600) / flood_s }
        : { until: at + chance.wait(300), rate: daily * (3 + chance.fraction() * 12) }
      next_crowd = at + chance.wait(DAY_S / 2)
    }
    const wait = chance.wait(1 / (at < crowd.until ? Math.max(daily, crowd.rate) : daily))
    // The rate is drawn again after each period.
    at += Math.min(wait, RATE_PERIOD_S)
    if (at >= until) return
    if (wait <= RATE_PERIOD_S) yield at
  }
}

const RATE_PERIOD_S = 300

function publish(place: Place, row: Post): void {
  const { rows } = place
  let at = 0
  while (at < rows.length && isBelow(row, rows[at])) at++
  rows.splice(at, 0, row)
  // Keeps slightly more rows than a listing shows, to replace deleted ones.
  if (rows.length > DEEPEST + 200) rows.length = DEEPEST + 100
}

const isBelow = (row: Post, other: Post | undefined): boolean =>
  other !== undefined && isNewer(other, row)

/** Order of listings. */
const isNewer = (a: Post, b: Post): boolean =>
  a.created_utc !== b.created_utc ? a.created_utc > b.created_utc : a.name > b.name

function hide(place: Place, name: string): void {
  const at = place.rows.findIndex((row) => row.name === name)
  if (at !== -1) place.rows.splice(at, 1)
}

/** Pins old rows for a while, with or without the `stickied` flag. */
function pinSome(
  script: Happening[],
  place: Place,
  chance: SeededRandom,
  { start, days }: { start: number; days: number },
): void {
  for (
    let at = start + chance.wait(DAY_S);
    at < start + days * DAY_S;
    at += chance.wait(DAY_S * 2)
  ) {
    const is_reported = chance.odds(0.8)
    const until = at + chance.wait(DAY_S)
    let pinned: Post | undefined
    script.push({
      at,
      act() {
        const old = place.rows[Math.min(place.rows.length - 1, chance.whole(0, 150))]
        if (old === undefined || place.pinned.length > 1) return
        pinned = { ...old, stickied: is_reported }
        place.pinned.push(pinned)
      },
    })
    script.push({
      at: until,
      act() {
        place.pinned = place.pinned.filter((it) => it !== pinned)
      },
    })
  }
}

function closeSometimes(
  script: Happening[],
  place: Place,
  chance: SeededRandom,
  { start, days }: { start: number; days: number },
): void {
  for (
    let at = start + chance.wait(DAY_S * 6);
    at < start + days * DAY_S;
    at += chance.wait(DAY_S * 6)
  ) {
    const until = at + chance.wait(3 * 3600)
    place.closures.push({ from: at, until })
    script.push({ at, act: () => (place.closed = true) })
    script.push({ at: until, act: () => (place.closed = false) })
  }
}

function rowOf(subforum: string, { name, created }: Truth): Post {
  return postOf({
    id: name.slice(3),
    name,
    subforum,
    title: 'a post',
    created: '',
    created_utc: created,
  })
}

/** One page of the listing of some subforums, as the platform returns it. */
export function pageOf(
  places: readonly Place[],
  { limit, after }: { limit: number; after: string | null },
  visible: (row: Post) => boolean = () => true,
): { rows: Post[]; after: string | null } {
  const merged = merge(places, visible)
  let rows: Post[] = []
  let found = after === null
  let more = false
  for (const row of merged) {
    if (rows.length === limit) {
      more = true
      break
    }
    if (found) rows.push(row)
    else found = row.name === after
  }
  // A cursor whose row is deleted restarts the listing.
  if (!found) return pageOf(places, { limit, after: null }, visible)
  const pinned = after === null ? places.flatMap((it) => it.pinned) : []
  const last = rows.at(-1)
  rows = [...pinned, ...rows]
  return { rows, after: more && last !== undefined ? last.name : null }
}

function* merge(places: readonly Place[], visible: (row: Post) => boolean): Generator<Post> {
  const heads = places.map(() => 0)
  for (let depth = 0; depth < DEEPEST;) {
    let best: Post | undefined
    let from = -1
    for (let index = 0; index < places.length; index++) {
      const row = places[index]?.rows[heads[index] ?? 0]
      if (row !== undefined && (best === undefined || isNewer(row, best))) {
        best = row
        from = index
      }
    }
    if (best === undefined) return
    heads[from] = (heads[from] ?? 0) + 1
    if (!visible(best)) continue
    depth += 1
    yield best
  }
}
