import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

import { Confirm } from '../../components/base/dialog.tsx'
import { ErrorNotice, Notice, sentence } from '../../components/base/notice.tsx'
import { Time } from '../../components/base/time.tsx'
import { notify } from '../../components/base/toast.tsx'
import { useCurrentUser } from '../../hooks/contexts.ts'
import { useAction } from '../../hooks/use-action.ts'
import { postJson } from '../../lib/api.ts'
import { count } from '../../lib/format.ts'
import { errorReason } from '../../lib/reasons.ts'
import { useDialogOf } from '../../lib/route.tsx'
import type { TestReport, Webhook } from '../../lib/types.ts'
import { WebhookEditDialog, WebhookRotateDialog } from './dialogs.tsx'
import { HealthFacts, ResponseBody, WebhookProblem } from './health.tsx'

type WebhookDialog = 'edit' | 'rotate' | 'delete' | null

type WebhookFactsProps = {
  webhook: Webhook
  again: () => void
  gone: () => void
  children?: ComponentChildren
}

export function WebhookFacts({ webhook, again, gone, children }: WebhookFactsProps) {
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
    <>
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
      {report && <TestResult report={report} />}
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
        {children}
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
            gone()
          }}
        >
          <p>
            <strong class="address">{name ?? url}</strong> receives no more deliveries, and pending
            ones are abandoned. Monitors with no other target have none afterwards.
          </p>
        </Confirm>
      )}
    </>
  )
}

export function TestResult({ report }: { report: TestReport }) {
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
