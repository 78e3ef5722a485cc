import { useCurrentUser } from '../hooks/contexts.ts'
import { count, usd } from '../lib/format.ts'
import { dashboardPath, Link } from '../lib/route.tsx'
import type { Recent, Snapshot } from '../lib/types.ts'
import { DeliveryBadge } from './base/badge.tsx'
import { EmptyState } from './base/notice.tsx'
import { Time } from './base/time.tsx'

/** A figure, the list that it counts, and its tone. */
export type Tile = { title: string; figure: string; to?: string; tone?: 'warn' | 'bad' | null }

export const Tiles = ({ tiles, busy = false }: { tiles: readonly Tile[]; busy?: boolean }) => (
  <dl class="tiles" aria-busy={busy}>
    {tiles.map(({ title, figure, to, tone }) => (
      <div key={title} class={tone ?? ''}>
        <dt>{title}</dt>
        <dd>{to === undefined ? figure : <Link to={to}>{figure}</Link>}</dd>
      </div>
    ))}
  </dl>
)

const deliveries = (status: string) => `${dashboardPath('deliveries')}?status=${status}`

export function LiveTiles({ snapshot, more = [] }: { snapshot: Snapshot | null; more?: Tile[] }) {
  const { role, is_billing } = useCurrentUser()
  const of_customer = role !== 'operator'
  const minute = snapshot?.last_minute
  const polls = dashboardPath(of_customer ? 'monitors' : 'sources')
  const usage = dashboardPath(of_customer ? 'usage' : 'customers')
  const failed = minute?.failed ?? 0
  const retrying = snapshot?.retrying ?? 0
  return (
    <Tiles
      busy={snapshot === null}
      tiles={[
        { title: 'Checks', figure: count(minute?.checks), to: polls },
        { title: 'Items seen', figure: count(minute?.items_seen), to: polls },
        {
          title: 'Matches',
          figure: count(minute?.matches),
          to: of_customer ? dashboardPath('inbox') : deliveries(''),
        },
        { title: 'Delivered', figure: count(minute?.delivered), to: deliveries('delivered') },
        {
          title: 'Failed',
          figure: count(minute?.failed),
          to: deliveries('dead'),
          tone: failed > 0 ? 'bad' : null,
        },
        {
          title: 'Waiting',
          figure: count(snapshot?.waiting),
          to: deliveries('waiting'),
        },
        {
          title: 'Retrying',
          figure: count(snapshot?.retrying),
          to: deliveries('retrying'),
          tone: retrying > 0 ? 'warn' : null,
        },
        { title: 'Reads', figure: count(minute?.reads), ...(is_billing && { to: usage }) },
        ...(is_billing ? [{ title: 'Spent', figure: usd(minute?.spent_usd), to: usage }] : []),
        ...more,
      ]}
    />
  )
}

export function Events({ recent }: { recent: readonly Recent[] }) {
  // The linked pages belong to the customer, so operators get no links.
  const linked = useCurrentUser().role !== 'operator'
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
