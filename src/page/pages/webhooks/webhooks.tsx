import { useState } from 'preact/hooks'

import { Icon } from '../../components/base/icon.tsx'
import { EmptyState, ErrorNotice, Skeleton } from '../../components/base/notice.tsx'
import { PageLayout } from '../../components/layout.tsx'
import { useCurrentUser } from '../../hooks/contexts.ts'
import { useQuery } from '../../hooks/use-query.ts'
import { Link } from '../../lib/route.tsx'
import type { Webhook } from '../../lib/types.ts'
import { webhookName, webhookPath } from '../../lib/webhook-health.ts'
import { WebhookNewDialog } from './dialogs.tsx'
import { WebhookFacts } from './facts.tsx'
import { WebhookBadge } from './health.tsx'

const REFRESH_MS = 20_000

export function Webhooks() {
  const { monitor_path } = useCurrentUser()
  const list = useQuery<{ webhooks: Webhook[] }>(`${monitor_path}/webhook/list`, {
    every_ms: REFRESH_MS,
  })
  const [making, setMaking] = useState(false)
  const webhooks = list.value?.webhooks
  const button = (
    <button type="button" class="main" onClick={() => setMaking(true)}>
      <Icon name="plus" /> New webhook
    </button>
  )
  return (
    <PageLayout
      title="Webhooks"
      beside={button}
      lead="Targets of matches. Deliveries are signed and sent at least once."
    >
      <ErrorNotice failure={list.failure} again={list.again} />
      {webhooks === undefined && list.failure === null && <Skeleton rows={3} />}
      {webhooks?.length === 0 && (
        <EmptyState title="No webhooks yet">
          <p>
            Use an https URL of your own, that of a Slack, Discord, Telegram, Matrix, ntfy or Gotify
            service, <code>mqtt:</code> and a broker, or <code>mailto:</code> and an address.
            Without webhooks, read matches in the inbox or from each monitor's Atom feed.
          </p>
          <button type="button" class="main" onClick={() => setMaking(true)}>
            <Icon name="plus" /> Create a webhook{' '}
          </button>
        </EmptyState>
      )}
      <ul class="cards">
        {webhooks?.map((it) => (
          <li key={it.id} class="card">
            <div class="card-head">
              <h2 class="address">
                <Link to={webhookPath(it.id)}>{webhookName(it)}</Link>
              </h2>
              <WebhookBadge webhook={it} />
            </div>
            <WebhookFacts webhook={it} again={list.again} gone={list.again} />
          </li>
        ))}
      </ul>
      {making && <WebhookNewDialog close={() => setMaking(false)} again={list.again} />}
    </PageLayout>
  )
}
