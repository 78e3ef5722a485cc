import type { Item } from '../../src/core/items.ts'
import { type Chance, createChance } from '../../src/sandbox/chance.ts'
import { postOf } from '../support/items.ts'

// A platform of places in which posts appear, vanish, come to light late, are pinned, and come in bursts. What a
// listing shows at an instant follows from the rows alone, so that afterwards it is known what could have been seen.

type Post = Item & { kind: 'post' }

/** What there really was. Instants are seconds of the platform's clock; `until` Infinity: it is still there. */
export type Truth = { name: string; created: number; from: number; until: number }

export type PlaceSpec = {
  name: string
  /** Posts a second, on average over a day. */
  rate: number
  /** Whether bursts beyond what a listing holds come over it. */
  floods: boolean
}

export type Place = {
  name: string
  /** What can be seen, newest first. */
  rows: Post[]
  pinned: Post[]
  /** All that ever was, in the order of creation. */
  truths: Truth[]
  /** Since when nobody may look; null: everybody may. */
  closed: boolean
  closures: { from: number; until: number }[]
}

type Happening = { at: number; act: () => void }

/** What a listing holds at most. */
const DEEPEST = 1000
/** From writing a post to its place in the listing. Who takes longer comes late, and may do so beneath what is read. */
const LAG_S = 2
const DAY_S = 86_400

export type World = {
  places: ReadonlyMap<string, Place>
  /** Lets happen what happens until then. Seconds. */
  advance(to: number): void
  /** How many posts were created in places, from `from` up to `until`. */
  createdIn(place: string, from: number, until: number): number
}

/** A world that begins at `start` with some history, and goes on for `days`. */
export function createWorld(options: {
  seed: number
  start: number
  days: number
  places: readonly PlaceSpec[]
  /** Whether anything but posts appearing happens; whether places close now and then. */
  rough: boolean
  upset: boolean
}): World {
  const { seed, start, days, rough, upset } = options
  const places = new Map<string, Place>()
  const script: Happening[] = []
  let serial = 40_000_000

  for (const [index, spec] of options.places.entries()) {
    const chance = createChance(seed * 1009 + index)
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
      const late = rough && chance.odds(0.004)
      const from = at + (late ? chance.wait(3000) : LAG_S)
      const deleted = rough && chance.odds(0.06)
      const until = deleted ? from + chance.wait(chance.odds(0.3) ? 60 : 4000) : Infinity
      const name = `t3_${(serial++).toString(36)}`
      const truth = { name, created, from, until }
      place.truths.push(truth)
      const row = rowOf(spec.name, truth)
      script.push({ at: from, act: () => show(place, row) })
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

/** When posts come: more by day than by night, now and then in a crowd, and rarely more at once than a listing holds. */
function* arrivals(chance: Chance, spec: PlaceSpec, from: number, until: number) {
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
    // What has not come by then may come at another rate.
    at += Math.min(wait, RATE_HOLDS_S)
    if (at >= until) return
    if (wait <= RATE_HOLDS_S) yield at
  }
}

const RATE_HOLDS_S = 300

function show(place: Place, row: Post): void {
  const { rows } = place
  let at = 0
  while (at < rows.length && isBelow(row, rows[at])) at++
  rows.splice(at, 0, row)
  // A little more than a listing shows, for what is deleted above.
  if (rows.length > DEEPEST + 200) rows.length = DEEPEST + 100
}

const isBelow = (row: Post, other: Post | undefined): boolean =>
  other !== undefined && isNewer(other, row)

/** The order of listings. */
const isNewer = (a: Post, b: Post): boolean =>
  a.created_utc !== b.created_utc ? a.created_utc > b.created_utc : a.name > b.name

function hide(place: Place, name: string): void {
  const at = place.rows.findIndex((row) => row.name === name)
  if (at !== -1) place.rows.splice(at, 1)
}

/** Old rows that stand on top for a while, and say so or do not. */
function pinSome(
  script: Happening[],
  place: Place,
  chance: Chance,
  { start, days }: { start: number; days: number },
): void {
  for (
    let at = start + chance.wait(DAY_S);
    at < start + days * DAY_S;
    at += chance.wait(DAY_S * 2)
  ) {
    const told = chance.odds(0.8)
    const until = at + chance.wait(DAY_S)
    let pinned: Post | undefined
    script.push({
      at,
      act() {
        const old = place.rows[Math.min(place.rows.length - 1, chance.whole(0, 150))]
        if (old === undefined || place.pinned.length > 1) return
        pinned = { ...old, stickied: told }
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
  chance: Chance,
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

/** One page of the listing of some places, as the platform shows it. */
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
  // A cursor whose row is gone begins the listing anew.
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
