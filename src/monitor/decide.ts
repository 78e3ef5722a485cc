import { digestAt, readAttention } from '../core/delivery/attention.ts'
import { cutBundles, type DigestInfo, type Suppressed } from '../core/delivery/envelope.ts'
import { type Enrichment, rowOf } from '../core/enrichment/enrich.ts'
import { groupOf, minRelevanceOf } from '../core/filter/spec.ts'
import { itemKey } from '../core/forum/items.ts'
import type { Naming } from '../core/forum/naming.ts'
import { judgeFreshness } from '../core/limits/plan.ts'
import type { DeliveryTarget } from '../store/delivery/targets.ts'
import type { Watcher } from '../store/monitoring/monitors.ts'
import type { Hit } from './match.ts'

// What follows from matches, as data: nothing here reads or writes.

/** A match with its row, ready to be sent. */
export type Ready = { name: string; created_at: number; row: object }

/** A match, a bundle or a digest, with the targets that it is for. */
export type Message = {
  monitor_id: string
  customer_id: string
  /** The customer's plan, which has the ceiling. */
  plan: string
  /** Keys of the items, in the order of the rows. */
  names: readonly string[]
  /** Items in the form in which they are delivered. */
  rows: readonly object[]
  /** Reason for which it is not sent; null when it is sent. */
  suppressed: Suppressed | null
  /** Facts of a digest; absent for other deliveries. */
  digest?: DigestInfo
  /** True: for the pull API and the inbox too. */
  is_pulled: boolean
  /** `refused`: reason why nothing can be sent there. */
  targets: readonly (DeliveryTarget & { refused?: 'webhook_deleted' })[]
}

/** Matches that wait to be sent together. `webhook_ids`: null is the pull API. */
export type Collected = {
  watcher: Watcher
  matches: readonly Ready[]
  webhook_ids: readonly (string | null)[]
  close_at: number
  digest: boolean
}

export type Decision = {
  messages: Message[]
  collected: Collected[]
  /** Matches that wait for a verdict of the operator's model. */
  unjudged: { watcher: Watcher; match: Ready }[]
}

export type Settings = {
  words: Naming
  freshness_ms: number
  targetsOf: (watcher: Watcher) => readonly DeliveryTarget[]
}

/** Decides what becomes of matches that are new to their monitors, in their order. */
export function decide(hits: readonly Hit[], settings: Settings): Decision {
  const decision: Decision = { messages: [], collected: [], unjudged: [] }
  for (const mine of Map.groupBy(hits, ({ watcher }) => watcher.id).values()) {
    const [first] = mine
    if (first === undefined) continue
    const { watcher, spec, now } = first
    const targets = settings.targetsOf(watcher)
    const passed: Ready[] = []
    for (const hit of mine) {
      const { row, enrichment } = rowOf(settings.words, spec, hit.item)
      const match = { name: itemKey(hit.item), created_at: hit.item.created_utc * 1000, row }
      const withheld = staleness(hit, settings.freshness_ms) ?? irrelevance(spec, enrichment)
      if (withheld !== null) decision.messages.push(withhold(watcher, match, withheld, targets))
      else if (watcher.relevance === null) passed.push(match)
      else decision.unjudged.push({ watcher, match })
    }
    const routed = route(watcher, passed, { group: groupOf(spec), now, targets })
    decision.messages.push(...routed.messages)
    decision.collected.push(...routed.collected)
  }
  return decision
}

/** The suppression of a match that was not fresh when it was first seen; null: it was. */
export const staleness = (
  { item, first_seen_at }: Pick<Hit, 'item' | 'first_seen_at'>,
  freshness_ms: number,
): Suppressed | null =>
  judgeFreshness({ created_at: item.created_utc * 1000, first_seen_at }, freshness_ms)

/** The suppression of a match below its monitor's min_relevance, which is listed but not sent; null: it is sent. */
function irrelevance(spec: Hit['spec'], { relevance }: Enrichment): Suppressed | null {
  const minimum = minRelevanceOf(spec)
  if (minimum === null || relevance.score >= minimum) return null
  return { reason: 'low_relevance', relevance: relevance.score, min_relevance: minimum }
}

/** A match that is not sent. */
export const withhold = (
  watcher: Watcher,
  match: Ready,
  suppressed: Suppressed,
  targets: readonly DeliveryTarget[],
): Message => ({ ...messageOf(watcher, [match], targets), suppressed, is_pulled: false })

const messageOf = (
  { id, customer_id, plan }: Watcher,
  matches: readonly Ready[],
  targets: readonly DeliveryTarget[],
): Message => ({
  monitor_id: id,
  customer_id,
  plan,
  names: matches.map(({ name }) => name),
  rows: matches.map(({ row }) => row),
  suppressed: null,
  is_pulled: true,
  targets,
})

/** Decides on matches of one monitor that are sent: each alone, in a bundle, or in the digest of its target. */
export function route(
  watcher: Watcher,
  matches: readonly Ready[],
  {
    group,
    now,
    targets,
  }: {
    group: { window_s: number } | null
    now: number
    targets: readonly DeliveryTarget[]
  },
): Pick<Decision, 'messages' | 'collected'> {
  if (matches.length === 0) return { messages: [], collected: [] }
  const attention = readAttention(watcher.attention)
  const digests = targets.flatMap(({ id }) => {
    const close_at = digestAt(attention, id, now)
    return close_at === null ? [] : [{ id, close_at }]
  })
  const digested = new Set(digests.map(({ id }) => id))
  const at_once = targets.filter(({ id }) => !digested.has(id))
  const collected: Collected[] = digests.map(({ id, close_at }) => ({
    watcher,
    matches,
    webhook_ids: [id],
    close_at,
    digest: true,
  }))
  const send = (bundles: readonly (readonly Ready[])[]) => ({
    messages: bundles.map((it) => messageOf(watcher, it, at_once)),
    collected,
  })
  if (group === null) return send(matches.map((it) => [it]))
  if (group.window_s === 0) {
    const sized = matches.map((it) => ({
      ...it,
      bytes: Buffer.byteLength(JSON.stringify(it.row)),
    }))
    return send(cutBundles(sized))
  }
  collected.push({
    watcher,
    matches,
    webhook_ids: [null, ...at_once.map(({ id }) => id)],
    close_at: now + group.window_s * 1000,
    digest: false,
  })
  return { messages: [], collected }
}
