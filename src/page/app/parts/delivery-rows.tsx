import { errorReason, suppression } from '../reasons.ts'
import { Link, pathOf } from '../route.tsx'
import { count, cut } from '../show.ts'
import type { Delivery } from '../types.ts'
import { DeliveryBadge } from './badge.tsx'
import { titleOf } from './item.tsx'
import { Rows } from './rows.tsx'
import { Time } from './time.tsx'

const TITLE_MAX = 120

/** What a delivery carries, in a line. */
export function headlineOf({ payload, delivery_id }: Delivery): string {
  const [first] = payload.items
  if (first === undefined) return delivery_id
  const more = payload.count > 1 ? ` and ${count(payload.count - 1)} more` : ''
  return cut(titleOf(first), TITLE_MAX) + more
}

/** Why a delivery is where it is; empty when there is nothing to say. */
export function troubleOf({ status, last_error, payload }: Delivery): string {
  if (payload.suppressed) return suppression(payload.suppressed.reason)
  // What went wrong before it arrived is told on its own page.
  return last_error === null || status === 'delivered' ? '' : errorReason(last_error)
}

type DeliveryRowsProps = { rows: readonly Delivery[]; nameOf?: (monitor_id: string) => string }

/** Deliveries, newest first; with the monitor's name where they are of several. */
export function DeliveryRows({ rows, nameOf }: DeliveryRowsProps) {
  if (rows.length === 0) return null
  return (
    <Rows<Delivery>
      caption="Deliveries, newest first"
      keyOf={(it) => it.delivery_id}
      rows={rows}
      columns={[
        {
          title: 'What',
          kind: 'main',
          cell: (it) => <Link to={pathOf('deliveries', it.delivery_id)}>{headlineOf(it)}</Link>,
        },
        ...(nameOf
          ? [
              {
                title: 'Monitor',
                cell: (it: Delivery) => (
                  <Link to={pathOf('monitors', it.monitor_id)}>{nameOf(it.monitor_id)}</Link>
                ),
              },
            ]
          : []),
        {
          title: 'State',
          cell: (it) => (
            <>
              <DeliveryBadge status={it.status} />
              {troubleOf(it) !== '' && <span class="quiet small-text block">{troubleOf(it)}</span>}
            </>
          ),
        },
        { title: 'Attempts', kind: 'figure', cell: (it) => count(it.attempts) },
        { title: 'Matched', cell: (it) => <Time at={it.created_at} /> },
      ]}
    />
  )
}
