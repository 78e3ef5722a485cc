import { NotFound } from '../../components/not-found.tsx'
import { useRoute } from '../../lib/route.tsx'
import { CustomerPage, Customers } from '../customers.tsx'
import { Drafts } from '../drafts.tsx'
import { PoolPage } from '../pool.tsx'
import { SourcesPage } from '../sources.tsx'
import { SystemPage } from '../system.tsx'
import { AuditPage } from './audit.tsx'
import { InstanceDeliveriesPage, InstanceMonitorsPage } from './lists.tsx'

export function OperatorPages() {
  const [first = '', second] = useRoute().parts
  if (first === '') return <SystemPage />
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
