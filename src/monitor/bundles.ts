import type { Plan } from '../core/gate.ts'
import { type Bundle, deleteBundle, listBundled, listClosed } from '../store/bundles.ts'
import { transact } from '../store/db.ts'
import { goneTarget, listTargets } from '../store/targets.ts'
import { type EmitDeps, keep, type Parcel, sendTo } from './emit.ts'

export type BundleDeps = EmitDeps & { plan_of: (name: string) => Plan }

const AT_ONCE = 100

/**
 * Delivers the bundles whose time has come, each in a transaction of its own: their items were written in the one
 * that matched them, so that a bundle is as safe as a delivery while it waits. Returns how many are to be sent.
 */
export function closeBundles(deps: BundleDeps, now: number): number {
  let pending = 0
  for (const bundle of listClosed(deps.db, now, AT_ONCE))
    pending += transact(deps.db, () => closeOne(deps, bundle, now)) ? 1 : 0
  return pending
}

function closeOne(deps: BundleDeps, bundle: Bundle, now: number): boolean {
  const { db } = deps
  const { id, customer_id, monitor_id, webhook_id, plan } = bundle
  const items = listBundled(db, id)
  deleteBundle(db, id)
  if (plan === null || items.length === 0) return false
  const parcel: Parcel = {
    monitor_id,
    customer_id,
    names: items.map(({ item_id }) => item_id),
    rows: items.map(({ body }): object => Object(JSON.parse(body))),
    suppressed: null,
    ceiling: deps.plan_of(plan).daily_deliveries,
    now,
  }
  if (webhook_id === null) {
    keep(deps, parcel)
    return false
  }
  const [target] = listTargets(db, customer_id, [webhook_id], monitor_id)
  if (target !== undefined) return sendTo(deps, parcel, target)
  // It was deleted while it waited: what would have been a pending row fails as they did.
  return sendTo(deps, parcel, goneTarget(db, webhook_id), 'webhook_deleted')
}
