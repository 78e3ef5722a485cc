import { useState } from 'preact/hooks'

import { useAsk } from '../ask.ts'
import type { Customer } from '../own-types.ts'
import { Empty, Trouble, Waiting } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { Rows } from '../parts/rows.tsx'
import { SearchBox } from '../parts/search.tsx'
import { Time } from '../parts/time.tsx'
import { count, many, usd } from '../show.ts'

const LOOK_MS = 60_000

/** Who holds keys to this house. */
export function Customers() {
  const list = useAsk<{ customers: Customer[] }>('/operator/customers', { every_ms: LOOK_MS })
  const [sought, setSought] = useState('')
  const all = list.value?.customers ?? []
  const shown = all.filter((it) =>
    `${it.name} ${it.id} ${it.plan}`.toLowerCase().includes(sought.trim().toLowerCase()),
  )
  return (
    <Page title="Customers" lead={list.value && `${many(all.length, 'customer')} in this house.`}>
      <Trouble failure={list.failure} again={list.again} />
      {list.value === undefined && list.failure === null && <Waiting rows={4} />}
      {list.value && all.length === 0 && (
        <Empty title="No customers yet">
          <p>
            On the machine of the daemon: <code>forumd key create --customer NAME</code>
          </p>
        </Empty>
      )}
      {all.length > 0 && <SearchBox label="Search customers" value={sought} change={setSought} />}
      {all.length > 0 && shown.length === 0 && <Empty title="No customer fits that search" />}
      {shown.length > 0 && (
        <Rows<Customer>
          caption="Customers"
          keyOf={(it) => it.id}
          rows={shown}
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
            { title: 'Since', cell: (it) => <Time at={it.created_at} /> },
          ]}
        />
      )}
    </Page>
  )
}
