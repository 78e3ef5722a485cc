import { deliveryId } from '../core/delivery-id.ts'
import { envelope, type Suppressed } from '../core/envelope.ts'
import type { Words } from '../core/wire.ts'
import type { Watch } from '../gateway/watch.ts'
import type { Db } from '../store/db.ts'
import { insertDelivery, nextDeliveryAt } from '../store/deliveries.ts'
import { keepMatch } from '../store/match-bodies.ts'
import { countCeiling, reserveDelivery } from '../store/matches.ts'
import type { Target } from '../store/targets.ts'

export type EmitDeps = {
  db: Db
  instance_id: string
  words: Words
  watch: Pick<Watch, 'clock_offset_ms'>
  /** Told of each row as it is written. */
  on_written?: (status: 'pending' | 'suppressed' | 'failed', kind: Target['kind']) => void
}

/** What one monitor has to tell: one match, or several that travel together. */
export type Parcel = {
  monitor_id: string
  customer_id: string
  /** Fullnames, in the order of the rows. */
  names: readonly string[]
  /** Items as they are delivered. */
  rows: readonly object[]
  /** Why it is not sent; null when it is. */
  suppressed: Suppressed | null
  /** Deliveries a UTC day. */
  ceiling: number
  now: number
}

/**
 * Writes a parcel's delivery rows, one for each target, with their frozen bodies. Inside the transaction that moves
 * the stream. Returns how many are to be sent.
 */
export function emit(deps: EmitDeps, parcel: Parcel, targets: readonly Target[]): number {
  // Who fetches gets what a webhook gets, and a monitor needs none.
  if (parcel.suppressed === null) keep(deps, parcel)
  return targets.filter((target) => sendTo(deps, parcel, target)).length
}

/** Keeps a parcel for who comes to fetch it. */
export function keep(deps: EmitDeps, parcel: Parcel): void {
  const { monitor_id, now } = parcel
  const { body } = contentOf(deps, parcel, null)
  keepMatch(deps.db, { monitor_id, body: body(), matched_at: now })
}

/** The id of a parcel for one target, or for nobody in particular, and its frozen body. */
function contentOf({ instance_id }: EmitDeps, parcel: Parcel, webhook_id: string | null) {
  const { monitor_id, names, rows } = parcel
  const id = deliveryId(instance_id, monitor_id, webhook_id, names)
  const content = { delivery_id: id, monitor_id, items: rows, grouped: rows.length > 1 }
  const body = (suppressed?: Suppressed) =>
    envelope(suppressed === undefined ? content : { ...content, suppressed })
  return { id, body }
}

/** Writes a parcel's row for one target; true when it is pending. `refused`: why nothing can be sent there. */
export function sendTo(
  deps: EmitDeps,
  parcel: Parcel,
  target: Target,
  refused: 'webhook_paused' | 'webhook_deleted' | null = target.paused ? 'webhook_paused' : null,
): boolean {
  const { db } = deps
  const { monitor_id, customer_id, suppressed, ceiling } = parcel
  const { id, body } = contentOf(deps, parcel, target.id)
  // The day that a delivery counts for is that of its row, by true time: a clock that is wrong makes no day longer.
  const now = nextDeliveryAt(db, customer_id, parcel.now + deps.watch.clock_offset_ms())
  const base = { id, customer_id, monitor_id, webhook_id: target.id, now, due_at: parcel.now }
  const withhold = (why: Suppressed) => {
    const row = { ...base, status: 'suppressed' as const, reason: why.reason, body: body(why) }
    if (insertDelivery(db, row)) deps.on_written?.('suppressed', target.kind)
  }

  if (suppressed !== null) {
    withhold(suppressed)
    return false
  }
  if (!reserveDelivery(db, { monitor_id, ceiling, now })) {
    if (countCeiling(db, { monitor_id, now }))
      withhold({ reason: 'delivery_ceiling', daily_delivery_ceiling: ceiling })
    return false
  }
  if (refused !== null) {
    const row = { ...base, status: 'failed' as const, last_error: refused }
    if (insertDelivery(db, { ...row, body: body() })) deps.on_written?.('failed', target.kind)
    return false
  }
  const is_new = insertDelivery(db, { ...base, status: 'pending', body: body() })
  if (is_new) deps.on_written?.('pending', target.kind)
  return is_new
}
