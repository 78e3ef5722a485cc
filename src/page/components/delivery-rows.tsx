import { count, ellipsize, inFull } from '../lib/format.ts'
import { errorReason, suppression } from '../lib/reasons.ts'
import { dashboardPath, Link } from '../lib/route.tsx'
import type { Delivery } from '../lib/types.ts'
import { webhookPath } from '../lib/webhook-health.ts'
import { DeliveryBadge } from './base/badge.tsx'
import { DataTable } from './base/table.tsx'
import { Time } from './base/time.tsx'
import { titleOf } from './item.tsx'

const TITLE_MAX = 120

export function headlineOf({ payload, delivery_id }: Delivery): string {
  const [first] = payload.items
  if (first === undefined) return payload.alarm?.title ?? delivery_id
  const more = payload.count > 1 ? ` and ${count(payload.count - 1)} more` : ''
  return ellipsize(titleOf(first), TITLE_MAX) + more
}

/** The reason for a delivery's state; empty if there is none. */
function statusReason({ status, last_error, held_until, payload }: Delivery): string {
  if (held_until !== null) return `quiet hours until ${inFull(Date.parse(held_until))}`
  if (payload.suppressed) return suppression(payload.suppressed.reason)
  // Errors before a successful attempt are listed on the page of the delivery.
  return last_error === null || status === 'delivered' ? '' : errorReason(last_error)
}

/** The state of a delivery; retries are apart from first attempts. */
export const stateOf = ({ status, retrying }: Delivery): string => (retrying ? 'retrying' : status)

type DeliveryRowsProps = {
  rows: readonly Delivery[]
  nameOf?: (monitor_id: string) => string
  targetOf?: (webhook_id: string) => string
}

/** Deliveries, newest first. `nameOf` and `targetOf` add columns with the names of monitor and webhook. */
export function DeliveryRows({ rows, nameOf, targetOf }: DeliveryRowsProps) {
  if (rows.length === 0) return null
  return (
    <DataTable<Delivery>
      caption="Deliveries, newest first"
      keyOf={(it) => it.delivery_id}
      rows={rows}
      columns={[
        {
          title: 'Content',
          kind: 'main',
          cell: (it) => (
            <Link to={dashboardPath('deliveries', it.delivery_id)}>{headlineOf(it)}</Link>
          ),
        },
        ...(nameOf
          ? [
              {
                title: 'Monitor',
                kind: 'name' as const,
                cell: (it: Delivery) => (
                  <Link to={dashboardPath('monitors', it.monitor_id)}>{nameOf(it.monitor_id)}</Link>
                ),
              },
            ]
          : []),
        ...(targetOf
          ? [
              {
                title: 'Webhook',
                kind: 'name' as const,
                cell: (it: Delivery) =>
                  it.webhook_id === null ? (
                    <span class="quiet">none</span>
                  ) : (
                    <Link to={webhookPath(it.webhook_id)}>{targetOf(it.webhook_id)}</Link>
                  ),
              },
            ]
          : []),
        {
          title: 'State',
          kind: 'state',
          cell: (it) => (
            <>
              <DeliveryBadge status={stateOf(it)} />
              {statusReason(it) !== '' && (
                <span class="quiet small-text block">{statusReason(it)}</span>
              )}
              {it.next_attempt_at !== null && (
                <span class="quiet small-text block">
                  next attempt <Time at={it.next_attempt_at} close="now" />
                </span>
              )}
            </>
          ),
        },
        { title: 'Attempts', kind: 'figure', cell: (it) => count(it.attempts) },
        { title: 'Matched', cell: (it) => <Time at={it.created_at} /> },
      ]}
    />
  )
}
