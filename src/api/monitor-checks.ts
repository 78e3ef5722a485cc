import { ApiError, invalid } from '../core/errors.ts'
import type { FilterSpec } from '../core/filter-spec.ts'
import { judgeSlots, type Plan, type Slots } from '../core/gate.ts'
import { streamKey } from '../core/stream.ts'
import type { Words } from '../core/wire.ts'
import type { Watch } from '../gateway/watch.ts'
import type { Customer } from '../store/customers.ts'
import type { Db } from '../store/db.ts'
import { countSlots } from '../store/monitors.ts'
import { findStreamByKey } from '../store/streams.ts'
import type { Place } from '../store/watching.ts'
import { listWebhooks } from '../store/webhooks.ts'
import { toApiError } from './faults.ts'

/** @throws ApiError 402 naming the limit and the tier, when the plan has no room for `extra` */
export function checkSlots(db: Db, customer: Customer, plan: Plan, extra: Slots): void {
  const refusal = judgeSlots(plan, countSlots(db, customer.id), extra)
  if (refusal === null) return
  const { code, limit } = refusal
  const what = code === 'monitor_slots_exhausted' ? 'monitors' : 'site-wide monitors'
  throw new ApiError(code, {
    message: `the plan ${customer.plan} has room for ${limit} ${what}, and they are used up`,
    extra: { limit, tier: customer.plan },
  })
}

/**
 * Every named target is the customer's own and takes deliveries. `kept`: those the monitor already has may be paused.
 * @throws ApiError webhook_not_found, webhook_paused
 */
export function checkWebhooks(
  db: Db,
  customer_id: string,
  ids: readonly string[] | null,
  kept: readonly string[],
): void {
  if (ids === null) return
  const owned = new Map(listWebhooks(db, customer_id).map((it) => [it.id, it]))
  const unknown = ids.filter((id) => !owned.has(id))
  if (unknown.length > 0)
    throw new ApiError('webhook_not_found', {
      field: 'webhook_ids',
      message: `there is no webhook ${unknown.join(', ')}`,
      extra: { webhook_ids: unknown },
    })
  const paused = ids.filter((id) => !kept.includes(id) && owned.get(id)?.paused_at !== null)
  if (paused.length > 0)
    throw new ApiError('webhook_paused', {
      field: 'webhook_ids',
      message: `paused: ${paused.join(', ')}`,
      extra: {
        webhook_ids: paused,
        hint: 'mend the receiver and send it a test; a test that succeeds un-pauses it',
      },
    })
}

const ASKED_AT_ONCE = 4

/**
 * Asks the platform for each subforum that no working stream proves to exist. True when it could not be asked:
 * the monitor is made all the same, and its health will tell.
 * @throws ApiError subforum_not_found, subforum_reserved
 */
export async function checkPlaces(
  db: Db,
  watch: Watch,
  words: Words,
  places: readonly Place[],
): Promise<boolean> {
  const field = `filter_spec.${words.community}`
  const names = [
    ...new Set(places.filter((it) => isSubforum(it) && !works(db, it)).map((it) => it.place)),
  ]
  for (let i = 0; i < names.length; i += ASKED_AT_ONCE) {
    const some = names.slice(i, i + ASKED_AT_ONCE)
    const verdicts = await Promise.all(
      some.map(async (name) => ({ name, verdict: await watch.subforum(name) })),
    )
    for (const { name, verdict } of verdicts) {
      if (verdict.kind === 'reserved')
        throw new ApiError('subforum_reserved', {
          field,
          message: `${name} stands for many places; name them one by one`,
        })
      if (verdict.kind === 'refused')
        throw new ApiError('subforum_not_found', {
          field,
          message: `${name} cannot be watched`,
          extra: { names: [name], reason: verdict.why },
        })
    }
    // One that cannot be asked now speaks for those that would be asked next.
    if (verdicts.some(({ verdict }) => verdict.kind === 'unverified')) return true
  }
  return false
}

const isSubforum = ({ kind }: Place): boolean => kind === 'posts' || kind === 'comments'

function works(db: Db, place: Place): boolean {
  const stream = findStreamByKey(db, streamKey(place))
  return stream !== null && !stream.asleep && stream.head !== null && stream.last_fault === null
}

/** The item a monitor is to begin after. @throws ApiError INVALID_REQUEST when there is no such item */
export async function findBaseline(
  watch: Watch,
  spec: FilterSpec,
  id: string | undefined,
): Promise<{ fullname: string; created_at: number } | null> {
  if (id === undefined) return null
  const fullname = /^t\d_/.test(id) ? id : `${spec.kind === 'comment' ? 't1' : 't3'}_${id}`
  const found = await watch.createdAt(fullname)
  if (!found.ok) throw toApiError(found.fault, { flavour: 'read', with_session: false })
  if (found.value === null)
    throw invalid('baseline_item_id', `baseline_item_id: there is no item ${fullname}`)
  return { fullname, created_at: found.value }
}
