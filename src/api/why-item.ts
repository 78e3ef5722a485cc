import * as z from 'zod'

import { enrich } from '../core/enrich.ts'
import { type Judged, judgeItem } from '../core/filter-preview.ts'
import type { FilterSpec } from '../core/filter-spec.ts'
import { markdownOf } from '../core/filter-text.ts'
import { isAhead } from '../core/gate.ts'
import { iso } from '../core/instant.ts'
import type { Item } from '../core/items.ts'
import { once } from '../core/once.ts'
import type { Outcome } from '../core/outcome.ts'
import { ok } from '../core/outcome.ts'
import { STREAM_KINDS } from '../core/stream.ts'
import { worded, type Words } from '../core/wire.ts'
import {
  type AnyMonitor,
  bundledUntil,
  findMatch,
  findWaiting,
  listSightings,
  type Sighting,
} from '../store/why.ts'
import { toApiError } from './faults.ts'
import type { Infra } from './infra.ts'
import type { WhyDeps } from './why.ts'

/** What became of an item at a monitor, and what that means. */
export const OUTCOMES = {
  matched: 'it matched; the deliveries tell what became of it',
  collecting: 'it matched, and waits with others of its group until collected_until',
  waiting: 'it matches but for a count, and is looked at again until waiting_until',
  does_not_match: 'a condition of the filter is not met',
  matches_now:
    'as it is now it would match; when it was first seen it did not, or the filter was another one',
  before_start: 'it was created before the monitor began, was resumed or took up this place',
  not_seen: 'no feed of this monitor has shown it; health tells what was covered',
  gone: 'the platform does not show it any more, so that its conditions cannot be told',
} as const

type Asked = {
  customer_id: string
  monitor: AnyMonitor
  spec: FilterSpec
  /** A fullname. */
  name: string
  /** The item as it was delivered; null where it was not, or its body is kept no longer. */
  row: object | null
}

/** What is known of one item at one monitor. What was not delivered is asked for as it is now. */
export async function whyItem({ words }: Infra, deps: WhyDeps, asked: Asked) {
  const { db, freshness_ms } = deps
  const { monitor, spec, name } = asked
  const at = { monitor_id: monitor.id, item_id: name }
  const match = findMatch(db, at)
  const waiting = match === null ? findWaiting(db, at) : null
  const collected_until = match === null ? null : bundledUntil(db, at)
  const sightings = listSightings(db, { ...at, stream_id: match?.stream_id ?? null })
  const kept = asked.row === null ? null : itemOf(words, asked.row)
  const item = kept ?? (await currently(deps, asked))
  const judged = item === null ? null : judgeItem(spec, item, words)
  const outcome =
    match !== null
      ? collected_until === null
        ? 'matched'
        : 'collecting'
      : waiting !== null
        ? 'waiting'
        : unmatched(monitor, item, judged, sightings)
  return {
    item_id: name,
    outcome,
    means: OUTCOMES[outcome],
    created_at: item === null ? null : iso(item.created_utc * 1000),
    matched_at: iso(match?.matched_at ?? null),
    collected_until: iso(collected_until),
    waiting_until: iso(waiting?.until_at ?? null),
    first_seen: firstSeen(words, sightings, item, freshness_ms),
    filter_edited_since: match !== null && monitor.updated_at > match.matched_at,
    as_of: item === null ? null : kept === null ? ('now' as const) : ('match' as const),
    criteria: judged?.criteria ?? null,
    enrichment: item === null ? null : enrich(spec, item),
  }
}

function unmatched(
  monitor: AnyMonitor,
  item: Item | null,
  judged: Judged | null,
  sightings: readonly Sighting[],
): keyof typeof OUTCOMES {
  if (item !== null) {
    const created_at = item.created_utc * 1000
    if (!isAhead({ name: item.name, created_at }, monitor)) return 'before_start'
  }
  if (judged?.verdict === 'does_not_match') return 'does_not_match'
  if (sightings.length === 0) return 'not_seen'
  return judged === null ? 'gone' : 'matches_now'
}

async function currently(
  { sampling, pace }: WhyDeps,
  { customer_id, name }: Asked,
): Promise<Item | null> {
  pace.before(customer_id)
  const found: Outcome<Item | null> = await sampling.item(name)
  pace.after(customer_id, 1)
  const gone = !found.ok && (found.fault.kind === 'forbidden' || found.fault.kind === 'not_found')
  const outcome = gone ? ok(null) : found
  if (!outcome.ok) throw toApiError(outcome.fault, { flavour: 'read', with_session: false })
  return outcome.value === null || isMasked(outcome.value) ? null : outcome.value
}

/** Whether only the shell of an item is left: what was looked for is not in it any more. */
const isMasked = (item: Item): boolean =>
  /^\[ ?(?:removed|deleted)(?: by [^\]]{1,40})?\]$/i.test(markdownOf(item).trim())

// What our own bodies hold is an item and what was told beside it; another shape is of another configuration.
const item_shape = once(() =>
  z.custom<Item>(
    (it) =>
      z
        .looseObject({
          kind: z.enum(['post', 'comment']),
          name: z.string(),
          subforum: z.string(),
          created_utc: z.number(),
        })
        .safeParse(it).success,
  ),
)

function itemOf({ community }: Words, row: object): Item | null {
  const inner = (it: object): object =>
    Object.fromEntries(
      Object.entries(it).map(([name, value]) => [name === community ? 'subforum' : name, value]),
    )
  const { crosspost_origin: origin = null, ...rest } = z
    .looseObject({ crosspost_origin: z.looseObject({}).nullish() })
    .parse(inner(row))
  const found = item_shape().safeParse({
    ...rest,
    crosspost_origin: origin === null ? null : inner(origin),
  })
  return found.success ? found.data : null
}

const kind_shape = once(() => z.enum(STREAM_KINDS))

function firstSeen(
  words: Words,
  sightings: readonly Sighting[],
  item: Item | null,
  freshness_ms: number,
) {
  const [first] = sightings
  if (first === undefined) return null
  const age_s =
    item === null ? null : Math.max(0, Math.floor(first.first_seen_at / 1000 - item.created_utc))
  return {
    at: iso(first.first_seen_at),
    age_s,
    fresh: age_s === null ? null : age_s * 1000 <= freshness_ms,
    freshness_s: Math.floor(freshness_ms / 1000),
    streams: sightings.map(({ key, kind, place, first_seen_at }) => {
      const placed = kind === 'posts' || kind === 'comments'
      return worded(words, {
        id: key,
        kind: kind_shape().parse(kind),
        subforum: placed ? place : null,
        first_seen_at: iso(first_seen_at),
      })
    }),
  }
}
