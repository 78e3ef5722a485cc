import { deliveryId } from '../core/delivery-id.ts'
import { enrich } from '../core/enrich.ts'
import { envelope, type Suppressed } from '../core/envelope.ts'
import type { FilterSpec } from '../core/filter.ts'
import type { Item } from '../core/items.ts'
import { worded, type Words } from '../core/wire.ts'
import type { Db } from '../store/db.ts'
import { insertDelivery } from '../store/deliveries.ts'
import { keepMatch } from '../store/match-bodies.ts'
import { countCeiling, reserveDelivery } from '../store/matches.ts'
import type { Target } from '../store/webhooks.ts'

export type EmitDeps = { db: Db; instance_id: string; words: Words }

/** A match, and whom it is for. */
export type Match = {
  monitor_id: string
  customer_id: string
  spec: FilterSpec
  item: Item
  /** Null when it was fresh. */
  stale: Suppressed | null
  targets: readonly Target[]
  /** Deliveries a UTC day. */
  ceiling: number
  now: number
}

/**
 * Writes a match's delivery rows, one for each target, with their frozen bodies. Inside the transaction that
 * moves the stream. Returns how many are to be sent.
 */
export function emit(deps: EmitDeps, match: Match): number {
  const { item, spec, targets } = match
  const row = { ...itemOf(deps.words, item), enrichment: enrich(spec, item) }
  // Who fetches gets what a webhook gets, and a monitor needs none.
  if (match.stale === null) keep(deps, match, row)
  let pending = 0
  for (const target of targets) if (write(deps, match, target, row)) pending += 1
  return pending
}

function keep({ db, instance_id }: EmitDeps, { monitor_id, item, now }: Match, row: object): void {
  const delivery_id = deliveryId(instance_id, monitor_id, null, [item.name])
  const body = envelope({ delivery_id, monitor_id, items: [row], grouped: false })
  keepMatch(db, { monitor_id, body, matched_at: now })
}

/** The item as it is delivered, in the words of the wire. */
function itemOf(words: Words, item: Item): object {
  if (item.kind === 'comment' || item.crosspost_origin === null) return worded(words, item)
  return worded(words, { ...item, crosspost_origin: worded(words, item.crosspost_origin) })
}

/** True when the row is pending. */
function write({ db, instance_id }: EmitDeps, match: Match, target: Target, row: object): boolean {
  const { monitor_id, customer_id, item, stale, ceiling, now } = match
  const id = deliveryId(instance_id, monitor_id, target.id, [item.name])
  const content = { delivery_id: id, monitor_id, items: [row], grouped: false }
  const base = { id, customer_id, monitor_id, webhook_id: target.id, now }
  const withhold = (suppressed: Suppressed) =>
    insertDelivery(db, {
      ...base,
      status: 'suppressed',
      reason: suppressed.reason,
      body: envelope({ ...content, suppressed }),
    })

  if (stale !== null) {
    withhold(stale)
    return false
  }
  if (!reserveDelivery(db, { monitor_id, ceiling, now })) {
    if (countCeiling(db, { monitor_id, now }))
      withhold({ reason: 'delivery_ceiling', daily_delivery_ceiling: ceiling })
    return false
  }
  const body = envelope(content)
  if (target.paused) {
    insertDelivery(db, { ...base, status: 'failed', last_error: 'webhook_paused', body })
    return false
  }
  return insertDelivery(db, { ...base, status: 'pending', body })
}
