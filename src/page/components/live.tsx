import { useCurrentUser } from '../hooks/contexts.ts'
import { count, usd } from '../lib/format.ts'
import { dashboardPath, Link } from '../lib/route.tsx'
import type { Recent, Snapshot } from '../lib/types.ts'
import { DeliveryBadge } from './base/badge.tsx'
import { EmptyState } from './base/notice.tsx'
import { Time } from './base/time.tsx'

type TilesProps = { snapshot: Snapshot | null; more?: readonly (readonly [string, string])[] }

/** The counters of the last minute. */
export function Tiles({ snapshot, more = [] }: TilesProps) {
  const minute = snapshot?.last_minute
  const tiles: [string, string][] = [
    ['Checks', count(minute?.checks)],
    ['Items seen', count(minute?.items_seen)],
    ['Matches', count(minute?.matches)],
    ['Delivered', count(minute?.delivered)],
    ['Failed', count(minute?.failed)],
    ['Reads', count(minute?.reads)],
    ['Spent', usd(minute?.spent_usd)],
  ]
  return (
    <dl class="tiles" aria-busy={snapshot === null}>
      {[...tiles, ...more].map(([title, figure]) => (
        <div key={title}>
          <dt>{title}</dt>
          <dd>{figure}</dd>
        </div>
      ))}
    </dl>
  )
}

/** Recent events, newest first. */
export function Events({ recent }: { recent: readonly Recent[] }) {
  // The linked pages belong to the customer, so operators get no links.
  const linked = useCurrentUser().role === 'customer'
  if (recent.length === 0)
    return (
      <EmptyState title="No events yet">
        <p>Matches and deliveries appear here as they happen.</p>
      </EmptyState>
    )
  return (
    <ol class="events">
      {recent.map((it, at) => (
        <li key={`${it.at} ${it.what} ${it.delivery_id ?? it.monitor_id} ${recent.length - at}`}>
          <DeliveryBadge status={it.what} />
          <span class="event-what">
            {it.delivery_id === null || !linked ? (
              (it.title ?? '')
            ) : (
              <Link to={dashboardPath('deliveries', it.delivery_id)}>
                {it.title ?? it.delivery_id}
              </Link>
            )}
            {it.monitor_id !== null && (
              <span class="quiet">
                {' '}
                for{' '}
                {linked ? (
                  <Link to={dashboardPath('monitors', it.monitor_id)}>
                    {it.monitor_name ?? 'a monitor'}
                  </Link>
                ) : (
                  (it.monitor_name ?? 'a monitor')
                )}
              </span>
            )}
          </span>
          <Time at={it.at} />
        </li>
      ))}
    </ol>
  )
}
