import { useWho } from '../around.ts'
import type { Recent, Snapshot } from '../own-types.ts'
import { Link, pathOf } from '../route.tsx'
import { count, usd } from '../show.ts'
import { DeliveryBadge } from './badge.tsx'
import { Empty } from './notice.tsx'
import { Time } from './time.tsx'

type TilesProps = { snapshot: Snapshot | null; more?: readonly (readonly [string, string])[] }

/** The figures of the last minute. */
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

/** What happened last, newest first. */
export function Events({ recent }: { recent: readonly Recent[] }) {
  // An operator sees that it happens; the pages behind it are the customer's.
  const linked = useWho().role === 'customer'
  if (recent.length === 0)
    return (
      <Empty title="Nothing has happened yet">
        <p>Matches and deliveries are shown here the moment they happen.</p>
      </Empty>
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
              <Link to={pathOf('deliveries', it.delivery_id)}>{it.title ?? it.delivery_id}</Link>
            )}
            {it.monitor_id !== null && (
              <span class="quiet">
                {' '}
                for{' '}
                {linked ? (
                  <Link to={pathOf('monitors', it.monitor_id)}>
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
