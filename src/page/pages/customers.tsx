import { useState } from 'preact/hooks'

import { Badge } from '../components/base/badge.tsx'
import { Facts } from '../components/base/facts.tsx'
import { ChoiceField } from '../components/base/field.tsx'
import { EmptyState, ErrorNotice, Skeleton } from '../components/base/notice.tsx'
import { DataTable, SearchBox } from '../components/base/table.tsx'
import { Time } from '../components/base/time.tsx'
import { PageLayout } from '../components/layout.tsx'
import { Tiles } from '../components/live.tsx'
import { operatorPath, ProblemList } from '../components/problems.tsx'
import { useQuery } from '../hooks/use-query.ts'
import { count, formatDuration, many, usd, words as inWords } from '../lib/format.ts'
import type { Tone } from '../lib/monitor-status.ts'
import { dashboardPath, go, Link, useRoute } from '../lib/route.tsx'
import type { Customer, CustomerInFull, Problem } from '../lib/types.ts'
import { CustomerActions, NewCustomer, RevokeKey } from './operator/customer-actions.tsx'

const REFRESH_MS = 60_000

const HAVING = [
  ['', 'all customers'],
  ['monitors_paused', 'with paused monitors'],
  ['webhooks_paused', 'with paused webhooks'],
  ['waiting', 'with waiting deliveries'],
  ['retrying', 'with retrying deliveries'],
] as const

export function Customers() {
  const { query } = useRoute()
  const having = HAVING.find(([it]) => it === query.get('having'))?.[0] ?? ''
  const list = useQuery<{ customers: Customer[] }>('/operator/customers', { every_ms: REFRESH_MS })
  const [search, setSearch] = useState('')
  const all = list.value?.customers ?? []
  const having_any = having === '' ? all : all.filter((it) => it[having] > 0)
  const results = having_any.filter((it) =>
    `${it.name} ${it.id} ${it.plan}`.toLowerCase().includes(search.trim().toLowerCase()),
  )
  return (
    <PageLayout
      title="Customers"
      lead={list.value && `${many(all.length, 'customer')} on this daemon.`}
      beside={<NewCustomer />}
    >
      <ErrorNotice failure={list.failure} again={list.again} />
      {list.value === undefined && list.failure === null && <Skeleton rows={4} />}
      {list.value && all.length === 0 && (
        <EmptyState title="No customers yet">
          <p>
            Create one here, or on the daemon's host: <code>forumd key create --customer NAME</code>
          </p>
        </EmptyState>
      )}
      {all.length > 0 && (
        <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
          <SearchBox label="Search customers" value={search} change={setSearch} />
          <ChoiceField<string>
            label="Show"
            value={having}
            options={HAVING}
            change={(it) =>
              go(dashboardPath('customers') + (it === '' ? '' : `?having=${it}`), {
                replace: true,
              })
            }
          />
        </form>
      )}
      {all.length > 0 && results.length === 0 && (
        <EmptyState title="No customers match this search or filter" />
      )}
      {results.length > 0 && (
        <DataTable<Customer>
          caption="Customers"
          keyOf={(it) => it.id}
          rows={results}
          columns={[
            {
              title: 'Name',
              kind: 'main',
              cell: (it) => (
                <>
                  <Link to={dashboardPath('customers', it.id)}>{it.name}</Link>{' '}
                  <span class="quiet small-text block">{it.id}</span>
                </>
              ),
            },
            { title: 'Plan', cell: (it) => it.plan },
            {
              title: 'Credit left',
              kind: 'figure',
              cell: (it) => (it.unlimited ? 'unlimited' : usd(it.credits_remaining)),
            },
            {
              title: 'Monitors',
              kind: 'figure',
              cell: (it) => ofWhich(it.monitors, it.monitors_paused, 'paused'),
            },
            {
              title: 'Webhooks',
              kind: 'figure',
              cell: (it) => ofWhich(it.webhooks, it.webhooks_paused, 'paused'),
            },
            { title: 'Waiting', kind: 'figure', cell: (it) => count(it.waiting) },
            {
              title: 'Retrying',
              kind: 'figure',
              cell: (it) =>
                it.retrying === 0 ? '0' : <Badge tone="warn">{count(it.retrying)}</Badge>,
            },
            { title: 'Requests in 24 h', kind: 'figure', cell: (it) => count(it.requests_24h) },
            { title: 'Created', cell: (it) => <Time at={it.created_at} /> },
          ]}
        />
      )}
    </PageLayout>
  )
}

const ofWhich = (all: number, some: number, word: string) =>
  some === 0 ? count(all) : `${count(all)}, ${count(some)} ${word}`

export function CustomerPage({ id }: { id: string }) {
  const { value, failure, again } = useQuery<CustomerInFull>(
    `/operator/customers/${encodeURIComponent(id)}`,
    { every_ms: REFRESH_MS },
  )
  if (failure?.status === 404)
    return (
      <PageLayout title="Customer not found">
        <p>
          It was removed, or never existed.{' '}
          <Link to={dashboardPath('customers')}>Go to all customers</Link>
        </p>
      </PageLayout>
    )
  return (
    <PageLayout
      title={value?.name ?? 'Customer'}
      lead={value && <>Customer {value.id}</>}
      beside={value && <CustomerActions customer={value} again={again} />}
    >
      <ErrorNotice failure={failure} again={again} />
      {value === undefined && failure === null && <Skeleton rows={6} />}
      {value && <CustomerSections customer={value} again={again} />}
    </PageLayout>
  )
}

const deliveriesOf = (customer: string, status: string) =>
  `${dashboardPath('deliveries')}?customer=${encodeURIComponent(customer)}&status=${status}`

type SectionsProps = { customer: CustomerInFull; again: () => void }

function CustomerSections({ customer, again }: SectionsProps) {
  const { monitors, webhooks, keys, usage, deliveries } = customer
  return (
    <>
      <ProblemList report={customer.report} pathOf={partOf} />
      <section aria-labelledby="account">
        <h2 id="account">Account</h2>
        <Facts
          rows={[
            ['Plan', customer.plan],
            ['Created', <Time key="created" at={customer.created_at} />],
            ['Credit left', customer.unlimited ? 'unlimited' : usd(customer.credits_remaining)],
            ['Spent so far', usd(customer.credits_used)],
            ['Calls so far', count(customer.total_requests)],
          ]}
        />
        <Tiles
          tiles={[
            { title: 'Monitors', figure: count(monitors.length), to: '#monitors' },
            { title: 'Webhooks', figure: count(webhooks.length), to: '#webhooks' },
            { title: 'Keys', figure: count(keys.length), to: '#keys' },
            {
              title: 'Waiting',
              figure: count(deliveries.waiting),
              to: deliveriesOf(customer.id, 'waiting'),
            },
            {
              title: 'Retrying',
              figure: count(deliveries.retrying),
              to: deliveriesOf(customer.id, 'retrying'),
              tone: deliveries.retrying > 0 ? 'warn' : null,
            },
          ]}
        />
      </section>
      <section aria-labelledby="monitors">
        <h2 id="monitors">Monitors</h2>
        {monitors.length === 0 && <EmptyState title="No monitors" />}
        {monitors.length > 0 && (
          <DataTable<CustomerInFull['monitors'][number]>
            caption="Monitors"
            keyOf={(it) => it.id}
            rows={monitors}
            columns={[
              { title: 'Name', kind: 'main', cell: (it) => it.name ?? it.id },
              { title: 'State', cell: monitorState },
              { title: 'Interval', kind: 'figure', cell: (it) => formatDuration(it.cadence_s) },
              { title: 'Last match', cell: (it) => <Time at={it.last_match_at} /> },
              { title: 'Created', cell: (it) => <Time at={it.created_at} /> },
            ]}
          />
        )}
      </section>
      <section aria-labelledby="webhooks">
        <h2 id="webhooks">Webhooks</h2>
        {webhooks.length === 0 && <EmptyState title="No webhooks" />}
        {webhooks.length > 0 && (
          <DataTable<CustomerInFull['webhooks'][number]>
            caption="Webhooks"
            keyOf={(it) => it.id}
            rows={webhooks}
            columns={[
              { title: 'Name', kind: 'main', cell: (it) => it.name ?? it.host },
              { title: 'Kind', cell: (it) => it.kind },
              { title: 'Host', cell: (it) => it.host },
              { title: 'State', cell: (it) => webhookState(it, customer.report.problems) },
              { title: 'Created', cell: (it) => <Time at={it.created_at} /> },
            ]}
          />
        )}
      </section>
      <section aria-labelledby="keys">
        <h2 id="keys">Keys</h2>
        {keys.length === 0 && <EmptyState title="No valid keys" />}
        {keys.length > 0 && (
          <DataTable<CustomerInFull['keys'][number]>
            caption="Keys"
            keyOf={(it) => it.id}
            rows={keys}
            columns={[
              { title: 'Name', kind: 'main', cell: (it) => it.name ?? it.id },
              { title: 'Key', cell: (it) => `${it.prefix}…` },
              { title: 'Scopes', cell: (it) => it.scopes.join(', ') },
              { title: 'Last used', cell: (it) => <Time at={it.last_used_at} /> },
              { title: 'Expires', cell: (it) => <Time at={it.expires_at} /> },
              {
                title: 'Actions',
                kind: 'actions',
                cell: (it) => <RevokeKey of_key={it} again={again} />,
              },
            ]}
          />
        )}
      </section>
      <section aria-labelledby="usage">
        <h2 id="usage">Usage of 30 days</h2>
        {usage.length === 0 && <EmptyState title="No calls in 30 days" />}
        {usage.length > 0 && (
          <DataTable<CustomerInFull['usage'][number]>
            caption="Calls and cost by day, newest first"
            keyOf={(it) => it.start}
            rows={usage.toReversed()}
            columns={[
              { title: 'Day', kind: 'main', cell: (it) => it.start.slice(0, 10) },
              { title: 'Calls', kind: 'figure', cell: (it) => count(it.calls) },
              { title: 'Errors', kind: 'figure', cell: (it) => count(it.errors) },
              { title: 'Cost', kind: 'figure', cell: (it) => usd(it.cost_usd) },
            ]}
          />
        )}
      </section>
    </>
  )
}

function monitorState({ active, pause_reason }: CustomerInFull['monitors'][number]) {
  if (pause_reason !== null) return <Badge tone="bad">{inWords(pause_reason)}</Badge>
  return <Badge tone={active ? 'good' : 'quiet'}>{active ? 'Active' : 'Paused'}</Badge>
}

const WEBHOOK_STATES: { [kind: string]: readonly [Tone, string] } = {
  webhook_failing: ['bad', 'Failing'],
  webhook_retrying: ['warn', 'Retrying'],
  webhook_unconfirmed: ['warn', 'Not confirmed'],
}

function webhookState(
  { id, active, pause_reason }: CustomerInFull['webhooks'][number],
  problems: readonly Problem[],
) {
  if (pause_reason !== null) return <Badge tone="bad">Paused: {pause_reason}</Badge>
  const problem = problems.find(({ subject }) => subject?.id === id)
  const [tone, word] = WEBHOOK_STATES[problem?.kind ?? ''] ?? [
    active ? ('good' as const) : ('quiet' as const),
    active ? 'Active' : 'Off',
  ]
  return <Badge tone={tone}>{word}</Badge>
}

function partOf(problem: Problem): string {
  if (problem.kind.startsWith('webhook')) return '#webhooks'
  return problem.kind.startsWith('monitor') ? '#monitors' : operatorPath(problem)
}
