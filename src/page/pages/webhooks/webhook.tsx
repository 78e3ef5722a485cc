import { useState } from 'preact/hooks'

import { Facts } from '../../components/base/facts.tsx'
import { EmptyState, ErrorNotice, Skeleton } from '../../components/base/notice.tsx'
import { Time } from '../../components/base/time.tsx'
import { DeliveryRows } from '../../components/delivery-rows.tsx'
import { PageLayout } from '../../components/layout.tsx'
import { useCurrentUser } from '../../hooks/contexts.ts'
import { useQuery } from '../../hooks/use-query.ts'
import { inShort } from '../../lib/filter-spec.ts'
import { errorReason } from '../../lib/reasons.ts'
import { dashboardPath, go, Link } from '../../lib/route.tsx'
import type { Delivery, Monitor, MonitorList, Webhook } from '../../lib/types.ts'
import { targetsOf, webhookName } from '../../lib/webhook-health.ts'
import { RedriveDialog } from '../deliveries.tsx'
import { WebhookFacts } from './facts.tsx'
import { ResponseBody, WebhookBadge } from './health.tsx'

const REFRESH_MS = 15_000
const DELIVERIES = 10

/** One webhook: health, actions, last error, its monitors and its newest deliveries. */
export function WebhookPage({ id }: { id: string }) {
  const { monitor_path } = useCurrentUser()
  const list = useQuery<{ webhooks: Webhook[] }>(`${monitor_path}/webhook/list`, {
    every_ms: REFRESH_MS,
  })
  const webhook = list.value?.webhooks.find((it) => it.id === id)
  if (list.value !== undefined && webhook === undefined) return <Absent />
  return (
    <PageLayout
      title={webhook ? webhookName(webhook) : 'Webhook'}
      beside={webhook && <WebhookBadge webhook={webhook} />}
    >
      <ErrorNotice failure={list.failure} again={list.again} />
      {webhook === undefined && list.failure === null && <Skeleton rows={5} />}
      {webhook && (
        <View webhook={webhook} webhooks={list.value?.webhooks ?? []} again={list.again} />
      )}
    </PageLayout>
  )
}

const Absent = () => (
  <PageLayout title="Webhook not found">
    <p>
      It may have been deleted. <Link to={dashboardPath('webhooks')}>All webhooks</Link>
    </p>
  </PageLayout>
)

type ViewProps = { webhook: Webhook; webhooks: readonly Webhook[]; again: () => void }

function View({ webhook, webhooks, again }: ViewProps) {
  const { monitor_path, words } = useCurrentUser()
  const { id } = webhook
  const monitors = useQuery<MonitorList>(`${monitor_path}/list`, { fresh_ms: REFRESH_MS })
  const deliveries = useQuery<{ deliveries: Delivery[] }>(
    `${monitor_path}/deliveries?limit=${DELIVERIES}&webhook_id=${encodeURIComponent(id)}`,
    { every_ms: REFRESH_MS },
  )
  const [resending, setResending] = useState(false)
  const nameOf = (it: Monitor) => it.name ?? inShort(it.filter_spec, words)
  const all = monitors.value?.monitors
  const rows = deliveries.value?.deliveries
  const refresh = () => {
    again()
    deliveries.again()
  }
  return (
    <>
      <section class="card" aria-label="Health">
        <WebhookFacts
          webhook={webhook}
          again={refresh}
          gone={() => {
            go(dashboardPath('webhooks'), { replace: true })
          }}
        >
          <button type="button" onClick={() => setResending(true)}>
            Send failed deliveries again
          </button>
        </WebhookFacts>
      </section>
      {resending && (
        <RedriveDialog
          webhooks={[[id, webhookName(webhook)]]}
          webhook={id}
          close={() => setResending(false)}
          again={refresh}
        />
      )}
      <LastError webhook={webhook} />
      <section aria-labelledby="monitors">
        <h2 id="monitors">Monitors that send here</h2>
        <ErrorNotice failure={monitors.failure} again={monitors.again} />
        {all && <Monitors of={all.filter((it) => sendsTo(it, id, webhooks))} nameOf={nameOf} />}
      </section>
      <section aria-labelledby="deliveries">
        <h2 id="deliveries">Newest deliveries</h2>
        <ErrorNotice failure={deliveries.failure} again={deliveries.again} />
        {rows === undefined && deliveries.failure === null && <Skeleton rows={4} />}
        {rows?.length === 0 && <EmptyState title="No deliveries yet" />}
        {rows && rows.length > 0 && (
          <>
            <DeliveryRows
              rows={rows}
              nameOf={(of) => {
                const monitor = all?.find((it) => it.id === of)
                return monitor ? nameOf(monitor) : 'removed'
              }}
            />
            <p>
              <Link to={`${dashboardPath('deliveries')}?webhook=${encodeURIComponent(id)}`}>
                All deliveries to this webhook
              </Link>
            </p>
          </>
        )}
      </section>
    </>
  )
}

const sendsTo = ({ webhook_ids }: Monitor, id: string, webhooks: readonly Webhook[]): boolean =>
  targetsOf(webhook_ids, webhooks).some((it) => it.id === id)

type MonitorsProps = { of: readonly Monitor[]; nameOf: (monitor: Monitor) => string }

const Monitors = ({ of, nameOf }: MonitorsProps) =>
  of.length === 0 ? (
    <p class="quiet">None.</p>
  ) : (
    <ul>
      {of.map((it) => (
        <li key={it.id}>
          <Link to={dashboardPath('monitors', it.id)}>{nameOf(it)}</Link>
          {it.webhook_ids === null && <span class="quiet"> (sends to every active webhook)</span>}
        </li>
      ))}
    </ul>
  )

/** The last failed attempt, also after a success. While it is the state, the notice above has the same response. */
function LastError({ webhook: { health } }: { webhook: Webhook }) {
  const { last_failure, failing_since } = health
  if (last_failure === null) return null
  const { at, reason, delivery_id, body_start } = last_failure
  return (
    <section aria-labelledby="error">
      <h2 id="error">Last error</h2>
      <Facts
        rows={[
          ['Reason', errorReason(reason ?? 'unknown')],
          ['At', <Time at={at} full />],
          [
            'Delivery',
            delivery_id && <Link to={dashboardPath('deliveries', delivery_id)}>Show it</Link>,
          ],
        ]}
      />
      {failing_since === null && <ResponseBody text={body_start} />}
    </section>
  )
}
