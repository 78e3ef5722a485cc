import { Icon } from '../components/base/icon.tsx'
import { ErrorNotice, Skeleton } from '../components/base/notice.tsx'
import { PageLayout } from '../components/layout.tsx'
import { Events, Tiles } from '../components/live.tsx'
import { useCurrentUser, useLive } from '../hooks/contexts.ts'
import { useQuery } from '../hooks/use-query.ts'
import { count, usd } from '../lib/format.ts'
import { dashboardPath, Link } from '../lib/route.tsx'
import type { Me, MonitorList, Webhook } from '../lib/types.ts'

const ACCOUNT_MS = 30_000

/** Recent activity and account figures. */
export function Overview() {
  const { customer, monitor_path } = useCurrentUser()
  const { snapshot } = useLive()
  const me = useQuery<Me>('/account/me', { every_ms: ACCOUNT_MS })
  const monitors = useQuery<MonitorList>(`${monitor_path}/list`, { every_ms: ACCOUNT_MS })
  const webhooks = useQuery<{ webhooks: Webhook[] }>(`${monitor_path}/webhook/list`, {
    fresh_ms: ACCOUNT_MS,
  })
  const paused = webhooks.value?.webhooks.filter((it) => it.paused_at !== null) ?? []
  const none = monitors.value?.monitors.length === 0
  return (
    <PageLayout
      title="Overview"
      lead={<>Monitors, deliveries and usage of {customer?.name ?? 'this account'}.</>}
    >
      <ErrorNotice failure={me.failure ?? monitors.failure} again={me.again} />
      {paused.length > 0 && (
        <div class="notice warn" role="status">
          <p>
            {paused.length === 1 ? 'A webhook is' : `${paused.length} webhooks are`} paused and
            receives no deliveries.{' '}
            <Link to={dashboardPath('webhooks')}>Show the reason and test</Link>
          </p>
        </div>
      )}
      {none && webhooks.value && <FirstSteps hooks={webhooks.value.webhooks.length} />}
      <section aria-labelledby="now">
        <h2 id="now">The last minute</h2>
        <Tiles snapshot={snapshot} more={[['Pending deliveries', count(snapshot?.pending)]]} />
      </section>
      <section aria-labelledby="stand">
        <h2 id="stand">Your account</h2>
        <dl class="tiles">
          <div>
            <dt>Credit left</dt>
            <dd>{usd(me.value?.credits_remaining)}</dd>
          </div>
          <div>
            <dt>Spent so far</dt>
            <dd>{usd(me.value?.credits_used)}</dd>
          </div>
          <div>
            <dt>Calls so far</dt>
            <dd>{count(me.value?.total_requests)}</dd>
          </div>
          <div>
            <dt>Monitors</dt>
            <dd>
              {me.value
                ? `${count(me.value.monitors.used)} of ${count(me.value.monitors.total)}`
                : '–'}
            </dd>
          </div>
        </dl>
      </section>
      <section aria-labelledby="recent">
        <h2 id="recent">Recent events</h2>
        {snapshot === null ? <Skeleton /> : <Events recent={snapshot.recent} />}
      </section>
    </PageLayout>
  )
}

function FirstSteps({ hooks }: { hooks: number }) {
  return (
    <section class="card" aria-labelledby="first">
      <h2 id="first">First steps</h2>
      <ol class="steps">
        <li class={hooks > 0 ? 'done' : ''}>
          <Link to={dashboardPath('webhooks')}>Create a webhook</Link>, which receives matches,
          signed. Slack, Discord and email are supported. Without a webhook, read the matches from
          each monitor's Atom feed.
        </li>
        <li>
          <Link to={dashboardPath('monitors', 'new')}>Create a monitor</Link>: describe the filter
          and preview its matches as you type.
        </li>
        <li>
          Watch <Link to={dashboardPath('deliveries')}>deliveries</Link> arrive, each with its
          payload and an explanation.
        </li>
      </ol>
      <p>
        <Link to={dashboardPath('monitors', 'new')} class="button main">
          <Icon name="plus" /> New monitor
        </Link>
      </p>
    </section>
  )
}
