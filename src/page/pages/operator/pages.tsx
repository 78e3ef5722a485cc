import { EmptyState, ErrorNotice, Skeleton } from '../../components/base/notice.tsx'
import { DataTable } from '../../components/base/table.tsx'
import { Time } from '../../components/base/time.tsx'
import { PageLayout } from '../../components/layout.tsx'
import { NotFound } from '../../components/not-found.tsx'
import { usePaged } from '../../hooks/use-query.ts'
import { dashboardPath, Link, useRoute } from '../../lib/route.tsx'
import type { AuditList } from '../../lib/types.ts'
import { CustomerPage, Customers } from '../customers.tsx'
import { Drafts } from '../drafts.tsx'
import { PoolPage } from '../pool.tsx'
import { SourcesPage } from '../sources.tsx'
import { SystemPage } from '../system.tsx'
import { InstanceDeliveriesPage, InstanceMonitorsPage } from './lists.tsx'

export function OperatorPages() {
  const [first = '', second] = useRoute().parts
  if (first === '' || first === 'system') return <SystemPage />
  if (first === 'pool') return <PoolPage />
  if (first === 'sources') return <SourcesPage />
  if (first === 'audit') return <AuditPage />
  if (first === 'monitors' && second === undefined) return <InstanceMonitorsPage />
  if (first === 'deliveries' && second === undefined) return <InstanceDeliveriesPage />
  if (first === 'customers')
    return second === undefined ? <Customers /> : <CustomerPage id={second} />
  if (first === 'drafts') return <Drafts />
  return <NotFound />
}

const REFRESH_MS = 60_000

type Row = AuditList['actions'][number]

const SENTENCES: { [action: string]: string } = {
  'customer.created': 'Customer created',
  'plan.changed': 'Plan changed',
  'credits.added': 'Credits added',
  'key.created': 'Key created',
  'key.revoked': 'Key revoked',
  'sign_in_link.created': 'Sign-in link created',
  'account.added': 'Account added',
  'account.paused': 'Account paused',
  'account.resumed': 'Account resumed',
  'account.signed_in': 'Account signed in',
  'account.removed': 'Account removed',
  'proxy.added': 'Proxy added',
  'proxy.removed': 'Proxy removed',
  'deliveries.redriven': 'Deliveries sent again',
  'feedback.answered': 'Feedback answered',
  'source.added': 'Source added',
  'source.removed': 'Source removed',
  'source_account.added': 'Account at a source connected',
  'source_account.removed': 'Account at a source removed',
  'draft.approved': 'Draft approved',
  'draft.declined': 'Draft declined',
}

function AuditPage() {
  const list = usePaged<AuditList>('/operator/audit?limit=25', { every_ms: REFRESH_MS })
  const rows = list.pages.flatMap((page) => page.actions)
  return (
    <PageLayout
      title="Audit"
      lead="Actions of operators by the dashboard and the API, kept for 400 days. Actions by the command line are not listed."
    >
      <ErrorNotice failure={list.failure} again={list.again} />
      {list.first && <Skeleton rows={4} />}
      {list.pages.length > 0 && rows.length === 0 && (
        <EmptyState title="No actions yet">
          <p>A new key, an added source or a removed account is listed with time and address.</p>
        </EmptyState>
      )}
      {rows.length > 0 && (
        <DataTable<Row>
          caption="Actions, newest first"
          keyOf={(it) => String(it.id)}
          rows={rows}
          columns={[
            { title: 'Action', kind: 'main', cell: (it) => SENTENCES[it.action] ?? it.action },
            { title: 'Of', cell: subjectOf },
            { title: 'Details', cell: detailsOf },
            { title: 'By', cell: ({ key }) => key.name ?? `${key.prefix}…` },
            { title: 'From', cell: (it) => it.address },
            { title: 'When', cell: (it) => <Time at={it.at} full /> },
          ]}
        />
      )}
      {list.more && (
        <button type="button" disabled={list.busy} onClick={list.older}>
          Show older
        </button>
      )}
    </PageLayout>
  )
}

function subjectOf({ subject: { id, name } }: Row) {
  const shown = name ?? id
  return id.startsWith('cus_') ? <Link to={dashboardPath('customers', id)}>{shown}</Link> : shown
}

const detailsOf = ({ detail }: Row) =>
  Object.entries(detail)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(', ')
