import { useState } from 'preact/hooks'

import { EmptyState, ErrorNotice, Skeleton } from '../components/base/notice.tsx'
import { DataTable, SearchBox } from '../components/base/table.tsx'
import { Time } from '../components/base/time.tsx'
import { PageLayout } from '../components/layout.tsx'
import { useQuery } from '../hooks/use-query.ts'
import { count, many, usd } from '../lib/format.ts'
import type { Customer } from '../lib/types.ts'

const REFRESH_MS = 60_000

/** All customers of this daemon. */
export function Customers() {
  const list = useQuery<{ customers: Customer[] }>('/operator/customers', { every_ms: REFRESH_MS })
  const [search, setSearch] = useState('')
  const all = list.value?.customers ?? []
  const results = all.filter((it) =>
    `${it.name} ${it.id} ${it.plan}`.toLowerCase().includes(search.trim().toLowerCase()),
  )
  return (
    <PageLayout
      title="Customers"
      lead={list.value && `${many(all.length, 'customer')} on this daemon.`}
    >
      <ErrorNotice failure={list.failure} again={list.again} />
      {list.value === undefined && list.failure === null && <Skeleton rows={4} />}
      {list.value && all.length === 0 && (
        <EmptyState title="No customers yet">
          <p>
            On the daemon's host: <code>forumd key create --customer NAME</code>
          </p>
        </EmptyState>
      )}
      {all.length > 0 && <SearchBox label="Search customers" value={search} change={setSearch} />}
      {all.length > 0 && results.length === 0 && (
        <EmptyState title="No customers match this search" />
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
                  {it.name} <span class="quiet small-text block">{it.id}</span>
                </>
              ),
            },
            { title: 'Plan', cell: (it) => it.plan },
            {
              title: 'Credit left',
              kind: 'figure',
              cell: (it) => (it.unlimited ? 'unlimited' : usd(it.credits_remaining)),
            },
            { title: 'Monitors', kind: 'figure', cell: (it) => count(it.monitors) },
            { title: 'Requests in 24 h', kind: 'figure', cell: (it) => count(it.requests_24h) },
            { title: 'Created', cell: (it) => <Time at={it.created_at} /> },
          ]}
        />
      )}
    </PageLayout>
  )
}
