import type { Item } from '../core/items.ts'
import { isTooSilent, joinPlaces } from '../core/planner.ts'
import { type Look, startLook } from '../core/sight.ts'
import { holdsAny, oldestAt } from '../core/stream-rows.ts'
import type { StreamKind } from '../core/stream.ts'
import type { ConvoyState } from '../store/convoys.ts'
import type { Rider } from '../store/steps.ts'
import type { Stream } from '../store/streams.ts'
import type { Traveller } from '../store/trips.ts'
import { belongsTo } from './belongs.ts'
import type { Finding, Report } from './check.ts'
import { toRows } from './read-back.ts'

// Streams stay one a place, in the store and in what is said of them; only the asking is shared. So a round is taken
// apart again: each member gets its own rows as if it had been looked at alone, and what proves that it was read as
// far as its last check is a row of the convoy's last round, or one of its own. For whom neither was met the round
// proves nothing, and it is looked at by itself at once.

/** The one listing that shows what is in any of these streams. */
export function feedOf(travellers: readonly Pick<Traveller, 'stream'>[]): {
  kind: StreamKind
  place: string
} {
  const kind = travellers[0]?.stream.kind ?? 'posts'
  return {
    kind,
    place: joinPlaces(
      kind,
      travellers.map(({ stream }) => stream.place),
    ),
  }
}

type Seen = {
  travellers: readonly Traveller[]
  /** Members that were asked for too, though they were out of step. */
  riders: readonly Rider[]
  convoy: ConvoyState
  look: Look
  items: ReadonlyMap<string, Item>
  at: Pick<Finding, 'started_at' | 'ended_at' | 'seen_at'>
  /** Whether the round met its own head, as far back as anybody wanted. */
  whole: boolean
}

/** A round, taken apart into a finding for each member that it proves something of. */
export function splitRound(seen: Seen): Report {
  const { travellers, riders, convoy, look, items, at, whole } = seen
  const findings: Finding[] = []
  const strays: number[] = []
  const back: Stream[] = []
  // Without a head of its own a round meets nobody by definition.
  const together = whole && convoy.head !== null
  const rows = rowsOf([...travellers, ...riders], items)
  const read_to = oldestAt(look.rows)
  for (const { stream, floor_at } of travellers) {
    const mine = rows.get(stream.id) ?? new Map<string, Item>()
    const own = toRows([...mine.values()])
    const known = holdsAny(own, stream.head?.anchors ?? [])
    const met = together || known
    // Where the round was cut short, nobody read as far back as a monitor that begins wants it.
    if (!met || (!whole && floor_at !== null)) {
      strays.push(stream.id)
      continue
    }
    if (
      own.length === 0
        ? isMissing(stream, read_to, at.ended_at)
        : !known && isUnproven(stream, at.ended_at)
    ) {
      strays.push(stream.id)
      // Nor does it prove that a monitor that begins there has been shown what it begins with.
      if (floor_at !== null) continue
    }
    findings.push(findingOf({ stream, floor_at }, seen, mine))
  }
  // What is not proved of a rider leaves it as it was: it is looked at by itself when that is due.
  for (const { stream, in_step } of riders) {
    const mine = rows.get(stream.id) ?? new Map<string, Item>()
    const own = toRows([...mine.values()])
    const known = whole && holdsAny(own, stream.head?.anchors ?? [])
    const bare = own.length === 0 && isMissing(stream, read_to, at.ended_at)
    if (!known && (!together || !in_step || bare || isUnproven(stream, at.ended_at))) continue
    findings.push(findingOf({ stream, floor_at: null }, seen, mine))
    back.push(stream)
  }
  const { started_at, ended_at } = at
  return { findings, round: { convoy, look, strays, back, started_at, ended_at }, turn: 0 }
}

/** What a member has shown, as if it had been looked at alone. */
function findingOf(
  { stream, floor_at }: Pick<Traveller, 'stream' | 'floor_at'>,
  { look, at }: Seen,
  items: ReadonlyMap<string, Item>,
): Finding {
  const own = {
    ...startLook({ head: stream.head, floor_at, believing: false }),
    rows: toRows([...items.values()]),
    pages: look.pages,
    met: true,
    enough: true,
  }
  return { stream, look: own, items, ending: { kind: 'reached' }, lost_gap: null, ...at }
}

/** Whose rows they are. What a search finds may be several members' own. */
function rowsOf(
  travellers: readonly Pick<Traveller, 'stream'>[],
  items: ReadonlyMap<string, Item>,
): Map<number, Map<string, Item>> {
  const found = new Map<number, Map<string, Item>>()
  const give = ({ id }: Stream, item: Item) => {
    const mine = found.get(id) ?? new Map<string, Item>()
    found.set(id, mine.set(item.name, item))
  }
  const by_place = new Map(travellers.map(({ stream }) => [stream.place, stream]))
  for (const item of items.values()) {
    const stream = by_place.get(item.subforum.toLowerCase())
    if (stream !== undefined && stream.kind !== 'search') give(stream, item)
    else
      for (const it of travellers)
        if (it.stream.kind === 'search' && belongsTo(it.stream.place, item)) give(it.stream, item)
  }
  return found
}

const PROOF_HOLDS_MS = 3_600_000

/**
 * Whether a place that shows only what is new may have been closed for a while before: then there is more beneath what
 * is read. A look at it alone, at most once an hour, tells.
 */
const isUnproven = ({ alone_at }: Stream, now: number): boolean =>
  alone_at === null || now - alone_at > PROOF_HOLDS_MS

/**
 * Whether a place that shows no row may have been closed: among others such a place is left out without a word. Its
 * newest row should stand here, or it has been silent for longer than chance explains.
 */
const isMissing = (
  { shown_at, top_at, busy_per_s }: Stream,
  read_to: number | null,
  now: number,
): boolean =>
  (top_at !== null && read_to !== null && top_at > read_to) ||
  shown_at === null ||
  isTooSilent(now - shown_at, busy_per_s)
