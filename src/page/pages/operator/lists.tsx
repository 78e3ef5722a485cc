import { useMemo } from 'preact/hooks'

import { Badge, DeliveryBadge } from '../../components/base/badge.tsx'
import { ChoiceField, filterOptions, type Options } from '../../components/base/field.tsx'
import { EmptyState, ErrorNotice, Skeleton } from '../../components/base/notice.tsx'
import { DataTable } from '../../components/base/table.tsx'
import { Time } from '../../components/base/time.tsx'
import { PageLayout } from '../../components/layout.tsx'
import { usePaged, useQuery } from '../../hooks/use-query.ts'
import { count, formatDuration, words as inWords } from '../../lib/format.ts'
import { errorReason, suppression } from '../../lib/reasons.ts'
import { dashboardPath, go, Link, useRoute } from '../../lib/route.tsx'
import { now } from '../../lib/runtime.ts'
import type { Customer, InstanceDeliveries, InstanceMonitors } from '../../lib/types.ts'

const REFRESH_MS = 20_000
const HOUR_MS = 3_600_000
const PAGE = 25

const PERIODS = [
  ['', 'any time'],
  ['1', 'the last hour'],
  ['24', 'the last day'],
  ['168', 'the last week'],
  ['720', 'the last 30 days'],
] as const
const MONITOR_STATES = [
  ['', 'any state'],
  ['active', 'active'],
  ['paused', 'paused'],
  ['stopped', 'stopped by the daemon'],
] as const
const DELIVERY_STATES = [
  ['', 'any state'],
  ['waiting', 'waiting'],
  ['retrying', 'retrying'],
  ['delivered', 'delivered'],
  ['failed', 'failed'],
  ['dead', 'dead'],
  ['suppressed', 'suppressed'],
] as const

/** Parameters of a query, each after an `&`; empty ones are left out. */
const given = (all: Record<string, string>) =>
  Object.entries(all)
    .filter(([, text]) => text !== '')
    .map(([name, text]) => `&${name}=${encodeURIComponent(text)}`)
    .join('')

function useFilters(page: 'monitors' | 'deliveries', states: Options, title: string) {
  const { query } = useRoute()
  const { value } = useQuery<{ customers: Customer[] }>('/operator/customers', {
    fresh_ms: HOUR_MS,
  })
  const of = (name: string, options: Options) =>
    options.find(([it]) => it === query.get(name))?.[0] ?? ''
  const customer = query.get('customer') ?? ''
  const status = of('status', states)
  const within = of('within', PERIODS)
  // Begins when it is chosen, so that the path stays the same.
  const since = useMemo(
    () => (within === '' ? '' : new Date(now() - Number(within) * HOUR_MS).toISOString()),
    [within],
  )
  const choose = (change: Record<string, string>) => {
    const text = given({ customer, status, within, ...change }).slice(1)
    go(dashboardPath(page) + (text === '' ? '' : `?${text}`), { replace: true })
  }
  const known = (value?.customers ?? []).map(({ id, name }) => [id, name] as const)
  const customers = filterOptions('all customers', known, customer)
  const field = (label: string, value_of: string, options: Options, name: string) => (
    <ChoiceField<string>
      label={label}
      value={value_of}
      options={options}
      change={(it) => choose({ [name]: it })}
    />
  )
  const fields = (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      {field('Customer', customer, customers, 'customer')}
      {field('State', status, states, 'status')}
      {field(title, within, PERIODS, 'within')}
    </form>
  )
  return { fields, path: `/operator/${page}?limit=${PAGE}${given({ customer, status, since })}` }
}

const ofCustomer = ({
  customer: { id, name },
}: {
  customer: { id: string; name: string | null }
}) => <Link to={dashboardPath('customers', id)}>{name ?? id}</Link>

const MONITOR_BADGES: { [status: string]: readonly ['good' | 'quiet' | 'bad', string] } = {
  active: ['good', 'Active'],
  paused: ['quiet', 'Paused'],
  stopped: ['bad', 'Stopped'],
}

export function InstanceMonitorsPage() {
  const { fields, path } = useFilters('monitors', MONITOR_STATES, 'Created in')
  const list = usePaged<InstanceMonitors>(path, { every_ms: REFRESH_MS })
  const rows = list.pages.flatMap((page) => page.monitors)
  return (
    <PageLayout title="Monitors" lead="Monitors of all customers, newest first.">
      {fields}
      <ErrorNotice failure={list.failure} again={list.again} />
      {list.first && <Skeleton rows={4} />}
      {!list.first && rows.length === 0 && list.failure === null && (
        <EmptyState title="No such monitors" />
      )}
      {rows.length > 0 && (
        <DataTable<InstanceMonitors['monitors'][number]>
          caption="Monitors, newest first"
          keyOf={(it) => it.id}
          rows={rows}
          columns={[
            { title: 'Name', kind: 'main', cell: (it) => it.name ?? it.id },
            { title: 'Customer', cell: ofCustomer },
            {
              title: 'State',
              cell: ({ status, pause_reason }) => {
                const [tone, word] = MONITOR_BADGES[status] ?? (['quiet', inWords(status)] as const)
                return (
                  <Badge tone={tone}>{pause_reason === null ? word : inWords(pause_reason)}</Badge>
                )
              },
            },
            { title: 'Interval', kind: 'figure', cell: (it) => formatDuration(it.cadence_s) },
            { title: 'Feeds', kind: 'figure', cell: (it) => count(it.feeds) },
            { title: 'Last match', cell: (it) => <Time at={it.last_match_at} /> },
            { title: 'Created', cell: (it) => <Time at={it.created_at} /> },
          ]}
        />
      )}
      <Older list={list} />
    </PageLayout>
  )
}

/** Deliveries of all customers, newest first, without their content. */
export function InstanceDeliveriesPage() {
  const { fields, path } = useFilters('deliveries', DELIVERY_STATES, 'Created in')
  const list = usePaged<InstanceDeliveries>(path, { every_ms: REFRESH_MS })
  const rows = list.pages.flatMap((page) => page.deliveries)
  const searched_to = list.pages.at(-1)?.searched_to ?? null
  return (
    <PageLayout
      title="Deliveries"
      lead="Deliveries of all customers, newest first. Their content is the customers' own."
    >
      {fields}
      <ErrorNotice failure={list.failure} again={list.again} />
      {list.first && <Skeleton rows={4} />}
      {!list.first && rows.length === 0 && list.failure === null && (
        <EmptyState title="No such deliveries">
          {searched_to !== null && (
            <p>
              Searched back to <Time at={searched_to} />; older ones may be there.
            </p>
          )}
        </EmptyState>
      )}
      {rows.length > 0 && (
        <DataTable<InstanceDeliveries['deliveries'][number]>
          caption="Deliveries, newest first"
          keyOf={(it) => it.delivery_id}
          rows={rows}
          columns={[
            {
              title: 'Monitor',
              kind: 'main',
              cell: (it) => (
                <>
                  {it.monitor.name ?? it.monitor.id}{' '}
                  <span class="quiet small-text block">{it.delivery_id}</span>
                </>
              ),
            },
            { title: 'Customer', cell: ofCustomer },
            {
              title: 'Webhook',
              cell: ({ webhook }) =>
                webhook === null ? 'none' : (webhook.name ?? `${webhook.kind} ${webhook.host}`),
            },
            {
              title: 'State',
              kind: 'state',
              cell: ({ status, reason, next_attempt_at }) => (
                <>
                  <DeliveryBadge status={status} />
                  {reason !== null && (
                    <span class="quiet small-text block">
                      {status === 'suppressed' ? suppression(reason) : errorReason(reason)}
                    </span>
                  )}
                  {next_attempt_at !== null && (
                    <span class="quiet small-text block">
                      next attempt <Time at={next_attempt_at} close="now" />
                    </span>
                  )}
                </>
              ),
            },
            { title: 'Attempts', kind: 'figure', cell: (it) => count(it.attempts) },
            { title: 'Created', cell: (it) => <Time at={it.created_at} /> },
          ]}
        />
      )}
      <Older list={list} />
    </PageLayout>
  )
}

const Older = ({ list }: { list: { more: boolean; busy: boolean; older: () => void } }) =>
  list.more ? (
    <button type="button" disabled={list.busy} onClick={list.older}>
      Show older
    </button>
  ) : null
