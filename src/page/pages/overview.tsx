import { ActivityView } from '../components/activity.tsx'
import { ErrorNotice } from '../components/base/notice.tsx'
import { PageLayout } from '../components/layout.tsx'
import { Events, LiveTiles, Tiles } from '../components/live.tsx'
import { ProblemBanner } from '../components/problems.tsx'
import { useCurrentUser, useLive } from '../hooks/contexts.ts'
import { useQuery } from '../hooks/use-query.ts'
import { count, usd } from '../lib/format.ts'
import { dashboardPath, Link } from '../lib/route.tsx'
import type { Me, MonitorList } from '../lib/types.ts'
import { FirstSteps } from './first-steps.tsx'

const ACCOUNT_MS = 30_000

export function Overview() {
  const { customer, monitor_path, is_billing } = useCurrentUser()
  const { snapshot } = useLive()
  const me = useQuery<Me>('/account/me', { every_ms: ACCOUNT_MS })
  const monitors = useQuery<MonitorList>(`${monitor_path}/list`, { every_ms: ACCOUNT_MS })
  // A match without a delivery is among the newest matches.
  const deliveries = snapshot?.recent.filter(({ what }) => what !== 'match') ?? []
  const none = monitors.value?.monitors.length === 0
  return (
    <PageLayout
      title="Overview"
      lead={<>Monitors and deliveries of {customer?.name ?? 'this account'}.</>}
    >
      <ErrorNotice failure={me.failure ?? monitors.failure} again={me.again} />
      <ProblemBanner path="/account/problems" />
      {none && <FirstSteps />}
      <ActivityView path="/account/activity" linked />
      <section aria-labelledby="now">
        <h2 id="now">The last minute</h2>
        <LiveTiles snapshot={snapshot} />
      </section>
      {is_billing && (
        <section aria-labelledby="stand">
          <h2 id="stand">Your account</h2>
          <Tiles
            tiles={[
              {
                title: 'Credit left',
                figure: usd(me.value?.credits_remaining),
                to: dashboardPath('usage'),
              },
              {
                title: 'Spent so far',
                figure: usd(me.value?.credits_used),
                to: dashboardPath('usage'),
              },
              {
                title: 'Calls so far',
                figure: count(me.value?.total_requests),
                to: dashboardPath('usage'),
              },
              {
                title: 'Monitors',
                figure: me.value
                  ? `${count(me.value.monitors.used)} of ${count(me.value.monitors.total)}`
                  : '–',
                to: dashboardPath('monitors'),
              },
            ]}
          />
        </section>
      )}
      {deliveries.length > 0 && (
        <section aria-labelledby="recent">
          <h2 id="recent">Recent deliveries</h2>
          <Events recent={deliveries} />
          <p>
            <Link to={dashboardPath('deliveries')}>All deliveries</Link>
          </p>
        </section>
      )}
    </PageLayout>
  )
}
