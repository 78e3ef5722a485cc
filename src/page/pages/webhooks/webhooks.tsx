import { useEffect, useRef, useState } from 'preact/hooks'

import { Badge } from '../../components/base/badge.tsx'
import { Confirm } from '../../components/base/dialog.tsx'
import { Icon } from '../../components/base/icon.tsx'
import {
  EmptyState,
  ErrorNotice,
  Notice,
  sentence,
  Skeleton,
} from '../../components/base/notice.tsx'
import { Time } from '../../components/base/time.tsx'
import { notify } from '../../components/base/toast.tsx'
import { PageLayout } from '../../components/layout.tsx'
import { useCurrentUser } from '../../hooks/contexts.ts'
import { useAction } from '../../hooks/use-action.ts'
import { useQuery } from '../../hooks/use-query.ts'
import { postJson } from '../../lib/api.ts'
import { count } from '../../lib/format.ts'
import { errorReason } from '../../lib/reasons.ts'
import { useDialogOf, useRoute } from '../../lib/route.tsx'
import type { TestReport, Webhook } from '../../lib/types.ts'
import { webhookName, webhookStatus } from '../../lib/webhook-health.ts'
import { WebhookEditDialog, WebhookNewDialog, WebhookRotateDialog } from './dialogs.tsx'
import { HealthFacts, ResponseBody, WebhookProblem } from './health.tsx'

type WebhookDialog = 'edit' | 'rotate' | 'delete' | null

/** One webhook and its actions. */
function WebhookCard({ webhook, again }: { webhook: Webhook; again: () => void }) {
  const { monitor_path } = useCurrentUser()
  const { id, name, url, kind, active, paused_at } = webhook
  const wanted = useDialogOf('edit')
  const [chosen, setDialog] = useState<WebhookDialog>(null)
  const dialog = chosen ?? (wanted.of === id ? 'edit' : null)
  const [report, setReport] = useState<TestReport | null>(null)
  const action = useAction()
  const done = () => {
    setDialog(null)
    wanted.close()
  }
  const status = webhookStatus(webhook)
  const card = useRef<HTMLLIElement>(null)
  const is_shown = useRoute().query.get('show') === id
  useEffect(() => {
    if (is_shown) card.current?.scrollIntoView({ block: 'center' })
  }, [is_shown])

  async function test() {
    setReport(null)
    const answer = await action.run(() =>
      postJson<TestReport>(`${monitor_path}/webhook/test`, { id }),
    )
    if (!answer.ok) return
    setReport(answer.value)
    if (answer.value.ok) again()
  }
  return (
    <li class={is_shown ? 'card shown' : 'card'} ref={card}>
      <div class="card-head">
        <h2 class="address">{webhookName(webhook)}</h2>
        <Badge tone={status.tone}>{status.word}</Badge>
      </div>
      <p class="quiet address">{url}</p>
      <p class="quiet small-text facts">
        <span>{kind}</span>
        <span>
          created <Time at={webhook.created_at} />
        </span>
        {webhook.max_per_second !== null && <span>at most {webhook.max_per_second} a second</span>}
        {webhook.ordered && <span>ordered</span>}
      </p>
      <HealthFacts webhook={webhook} />
      <WebhookProblem webhook={webhook} />
      {kind === 'email' && !active && paused_at === null && (
        <Notice tone="plain">
          <p>
            No deliveries until the recipient confirms through the link in the confirmation email. A
            test sends that email again, at most three times a day.
          </p>
        </Notice>
      )}
      <ErrorNotice failure={action.failure} />
      {report && <Report report={report} />}
      <div class="actions">
        <button type="button" disabled={action.busy} onClick={() => void test()}>
          {action.busy ? 'Sending …' : 'Test'}
        </button>
        <button type="button" onClick={() => setDialog('edit')}>
          Edit
        </button>
        <button type="button" onClick={() => setDialog('rotate')}>
          New secret
        </button>
        <button type="button" class="danger-quiet" onClick={() => setDialog('delete')}>
          Delete
        </button>
      </div>
      {dialog === 'edit' && <WebhookEditDialog webhook={webhook} close={done} again={again} />}
      {dialog === 'rotate' && <WebhookRotateDialog webhook={webhook} close={done} />}
      {dialog === 'delete' && (
        <Confirm
          title="Delete this webhook?"
          does="Delete webhook"
          close={done}
          run={() => postJson(`${monitor_path}/webhook/delete`, { id })}
          done={() => {
            notify('Deleted.')
            again()
          }}
        >
          <p>
            <strong class="address">{name ?? url}</strong> receives no more deliveries, and pending
            ones are abandoned. Monitors with no other target have none afterwards.
          </p>
        </Confirm>
      )}
    </li>
  )
}

function Report({ report }: { report: TestReport }) {
  const { ok, detail, hint, reason, duration_ms, body_start } = report
  return (
    <Notice tone={ok ? 'good' : 'bad'}>
      <p>
        <strong>{ok ? 'Test delivered.' : 'Test failed.'}</strong> {sentence(detail)} Duration:{' '}
        {count(duration_ms)} ms.
      </p>
      {!ok && hint !== null && <p>{sentence(hint)}</p>}
      {!ok && hint === null && reason !== null && <p>{sentence(errorReason(reason))}</p>}
      <ResponseBody text={body_start} />
    </Notice>
  )
}

const REFRESH_MS = 20_000

/** All webhooks: create, test, edit, rotate, delete. */
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
          <WebhookCard key={it.id} webhook={it} again={list.again} />
        ))}
      </ul>
      {making && <WebhookNewDialog close={() => setMaking(false)} again={list.again} />}
    </PageLayout>
  )
}
