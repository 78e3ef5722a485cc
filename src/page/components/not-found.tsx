import { dashboardPath, Link } from '../lib/route.tsx'
import { PageLayout } from './layout.tsx'

export const NotFound = () => (
  <PageLayout title="Page not found">
    <p>
      The URL may be mistyped, or the page needs another kind of key.{' '}
      <Link to={dashboardPath()}>Go to the overview</Link>
    </p>
  </PageLayout>
)
