/**
 * Which streams travel together, and how often each is looked at. Several places cost one request where the platform
 * lists them as one, as long as what is new in an interval fits on its first page. Pure arithmetic: what was planned
 * before comes in with the travellers, because moving one costs a look of its own.
 *
 * The other way, streams of several places in the store, would have lost what each place can prove for itself: its
 * gaps, where a monitor begins on it, what was seen of it. So only the asking is shared.
 */
import type { StreamKind } from './stream.ts'

/** At 60 new rows expected, 100 or more come once in 700,000 intervals (Poisson). */
const ROWS_MAX = 60
/** Up to here newcomers are taken in, so that a day that is busier than the others breaks nothing apart. */
const ROWS_FILL = 45
/** Two that bring no more than this together become one. */
const ROWS_JOINED = 30
const NAMES_MAX = 100
const NAMES_LENGTH_MAX = 1800
/** What the platform's search takes at most. */
const EXPRESSION_MAX = 512
/** So many new rows on a first page say that the plan was wrong. */
export const FULL_PAGE = 80
/** A busy place is looked at often enough to find no more new rows than this. */
const ROWS_WANTED = 50
const INTERVAL_MIN_S = 5

/** A stream that is looked at. */
export type Traveller = {
  id: number
  kind: StreamKind
  place: string
  /** New items a second in its busiest hours; null while nobody knows, and then it goes alone. */
  rate_per_s: number | null
  asked_s: number
  /** Whom it travels with now. */
  convoy_id: number | null
}

/** Streams that travel together, two or more. `id` null: a new convoy. */
export type Convoy = { id: number | null; members: Traveller[] }

/** Whether so much comes that a stream has to be looked at more often than was asked. */
export const isRush = (rate_per_s: number | null, asked_s: number): boolean =>
  rate_per_s !== null && rate_per_s * asked_s > ROWS_WANTED

/** How often a stream is looked at: as asked, or faster where so much comes that a page would not hold it. */
export function intervalOf(asked_s: number, rate_per_s: number | null): number {
  if (rate_per_s === null || !isRush(rate_per_s, asked_s)) return asked_s
  return Math.max(Math.min(asked_s, INTERVAL_MIN_S), Math.floor(ROWS_WANTED / rate_per_s))
}

/** Several places, or search expressions, as the one that finds what is in any of them. */
export function joinPlaces(kind: StreamKind, places: readonly string[]): string {
  if (kind !== 'search') return places.join('+')
  return places.length === 1 ? (places[0] ?? '') : places.map((it) => `(${it})`).join(' OR ')
}

/** New rows that a stream brings in an interval. */
const rowsOf = ({ rate_per_s, asked_s }: Traveller): number => (rate_per_s ?? 0) * asked_s

const rowsIn = (members: readonly Traveller[]): number =>
  members.reduce((sum, it) => sum + rowsOf(it), 0)

function fits(members: readonly Traveller[], rows_max: number): boolean {
  const [first] = members
  if (first === undefined) return true
  const joined = joinPlaces(
    first.kind,
    members.map(({ place }) => place),
  )
  return (
    members.length <= NAMES_MAX &&
    joined.length <= (first.kind === 'search' ? EXPRESSION_MAX : NAMES_LENGTH_MAX) &&
    rowsIn(members) <= rows_max
  )
}

/** Who may share a request: of one kind, at one pace, and not so busy that nothing is saved. */
const classOf = ({ kind, asked_s }: Traveller): string => `${kind} ${asked_s}`
const JOINABLE: readonly StreamKind[] = ['posts', 'comments', 'search']
const isAlone = (it: Traveller): boolean =>
  !JOINABLE.includes(it.kind) ||
  it.rate_per_s === null ||
  rowsOf(it) > ROWS_JOINED ||
  !fits([it], ROWS_JOINED)

/** The convoys of all these streams; who is in none goes alone. The same plan comes out of what it has planned. */
export function planConvoys(travellers: readonly Traveller[]): Convoy[] {
  const classes = Map.groupBy(
    travellers.filter((it) => !isAlone(it)),
    classOf,
  )
  return [...classes.values()].flatMap(planClass).filter(({ members }) => members.length > 1)
}

function planClass(travellers: Traveller[]): Convoy[] {
  const [homeless, convoys] = settled(travellers)
  for (const it of homeless.toSorted((a, b) => (a.place < b.place ? -1 : 1))) {
    const room = leastLoaded(convoys.filter(({ members }) => fits([...members, it], ROWS_FILL)))
    if (room === null) convoys.push({ id: null, members: [it] })
    else room.members.push(it)
  }
  return takenUp(convoys)
}

/** The convoys as they are, without those who do not fit any more; the busiest leave first. */
function settled(travellers: Traveller[]): [Traveller[], Convoy[]] {
  const homeless = travellers.filter(({ convoy_id }) => convoy_id === null)
  const convoys: Convoy[] = []
  const old = Map.groupBy(
    travellers.filter(({ convoy_id }) => convoy_id !== null),
    ({ convoy_id }) => convoy_id,
  )
  for (const [id, all] of old) {
    const members = all.toSorted((a, b) => rowsOf(a) - rowsOf(b) || a.id - b.id)
    if (!fits(members, ROWS_MAX))
      while (!fits(members, ROWS_FILL)) homeless.push(...members.splice(-1))
    convoys.push({ id, members })
  }
  return [homeless, convoys]
}

const leastLoaded = (convoys: readonly Convoy[]): Convoy | null =>
  convoys.reduce<Convoy | null>(
    (best, it) => (best === null || rowsIn(it.members) < rowsIn(best.members) ? it : best),
    null,
  )

/** Small convoys taken up by others: one look for each who moves, and a request less in every interval from then on. */
function takenUp(convoys: Convoy[]): Convoy[] {
  const kept: Convoy[] = []
  for (const it of convoys.toSorted((a, b) => b.members.length - a.members.length)) {
    const host = kept.find(({ members }) => fits([...members, ...it.members], ROWS_JOINED))
    if (host === undefined) kept.push({ id: it.id, members: [...it.members] })
    else host.members.push(...it.members)
  }
  return kept
}

/** What is new by chance once in a million times: a place this silent is looked at by itself. */
const SILENCE_CHANCE = 1e-6
/** However quiet a place is, it is looked at by itself so often when nothing of it shows. */
const SILENCE_MAX_MS = 6 * 3_600_000

/**
 * Whether a place that has shown no row for so long among others may have been closed: among others the platform
 * leaves such places out without a word.
 */
export const isTooSilent = (silent_ms: number, rate_per_s: number | null): boolean =>
  silent_ms > SILENCE_MAX_MS || (rate_per_s ?? 0) * (silent_ms / 1000) > -Math.log(SILENCE_CHANCE)

const HOURS_A_WEEK = 168

/**
 * The rate of the busiest hours, in items a second: the 95th percentile of the last week's hourly counts.
 * `counts`: hours in which something was created; `hours`: how many hours are known, quiet ones too. Null: too few.
 */
export function busyRate(counts: readonly number[], hours: number): number | null {
  const known = Math.min(HOURS_A_WEEK, hours)
  if (known < 24) return null
  const sorted = counts.toSorted((a, b) => b - a)
  return (sorted[Math.floor(known * 0.05)] ?? 0) / 3600
}

const SLOWER = 1.5
const FASTER = 0.8
const SLOWEST = 8

/** How much slower than planned a stream is looked at, after a check that the platform throttled, or one that it did not. */
export const paceAfter = (slowed: number, throttled: boolean): number =>
  throttled ? Math.min(SLOWEST, slowed * SLOWER) : Math.max(1, slowed * FASTER)
