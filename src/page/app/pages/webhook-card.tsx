import { useState } from 'preact/hooks'

import { send } from '../api.ts'
import { useWho } from '../around.ts'
import { useDeed } from '../deed.ts'
import { Badge } from '../parts/badge.tsx'
import { Confirm } from '../parts/dialog.tsx'
import { Notice, sentence, Trouble } from '../parts/notice.tsx'
import { Time } from '../parts/time.tsx'
import { errorReason, pauseReason } from '../reasons.ts'
import { say } from '../say.ts'
import { count } from '../show.ts'
import type { TestReport, Webhook } from '../types.ts'
import { WebhookEdit } from './webhook-edit.tsx'
import { WebhookRotate } from './webhook-rotate.tsx'

type Asking = 'edit' | 'rotate' | 'delete' | null

/** One target, and what can be done with it. */
export function WebhookCard({ webhook, again }: { webhook: Webhook; again: () => void }) {
  const { monitor_path } = useWho()
  const { id, name, url, kind, active, paused_at } = webhook
  const [asking, setAsking] = useState<Asking>(null)
  const [report, setReport] = useState<TestReport | null>(null)
  const deed = useDeed()
  const done = () => setAsking(null)

  async function test() {
    setReport(null)
    const answer = await deed.run(() => send<TestReport>(`${monitor_path}/webhook/test`, { id }))
    if (!answer.ok) return
    setReport(answer.value)
    if (answer.value.ok) again()
  }
  return (
    <li class="card">
      <div class="card-head">
        <h2>{name ?? <span class="address">{url}</span>}</h2>
        <State webhook={webhook} />
      </div>
      {name !== null && <p class="quiet address">{url}</p>}
      <p class="quiet small-text facts">
        <span>{kind}</span>
        <span>
          made <Time at={webhook.created_at} />
        </span>
        {webhook.max_per_second !== null && <span>at most {webhook.max_per_second} a second</span>}
        {webhook.ordered && <span>one after another</span>}
      </p>
      {paused_at !== null && (
        <Notice tone="warn">
          <p>
            Paused <Time at={paused_at} />: {pauseReason(webhook.pause_reason ?? 'unknown')}. Mend
            the receiver, then test it: a test that arrives un-pauses it.
          </p>
        </Notice>
      )}
      {kind === 'email' && !active && paused_at === null && (
        <Notice tone="plain">
          <p>
            It gets nothing until the link in the confirmation mail is followed. A test sends it
            again.
          </p>
        </Notice>
      )}
      <Trouble failure={deed.failure} />
      {report && <Report report={report} />}
      <div class="actions">
        <button type="button" disabled={deed.busy} onClick={() => void test()}>
          {deed.busy ? 'Sending …' : 'Test'}
        </button>
        <button type="button" onClick={() => setAsking('edit')}>
          Edit
        </button>
        <button type="button" onClick={() => setAsking('rotate')}>
          New secret
        </button>
        <button type="button" class="danger-quiet" onClick={() => setAsking('delete')}>
          Delete
        </button>
      </div>
      {asking === 'edit' && <WebhookEdit webhook={webhook} close={done} again={again} />}
      {asking === 'rotate' && <WebhookRotate webhook={webhook} close={done} />}
      {asking === 'delete' && (
        <Confirm
          title="Delete this webhook?"
          does="Delete it"
          close={done}
          run={() => send(`${monitor_path}/webhook/delete`, { id })}
          done={() => {
            say('Deleted.')
            again()
          }}
        >
          <p>
            <strong class="address">{name ?? url}</strong> gets nothing any more, and what waits for
            it is given up. Monitors that go to it alone go nowhere then.
          </p>
        </Confirm>
      )}
    </li>
  )
}

function State({ webhook: { active, paused_at } }: { webhook: Webhook }) {
  if (paused_at !== null) return <Badge tone="warn">Paused</Badge>
  return active ? <Badge tone="good">Active</Badge> : <Badge tone="quiet">Off</Badge>
}

function Report({ report: { ok, detail, hint, reason, duration_ms } }: { report: TestReport }) {
  return (
    <Notice tone={ok ? 'good' : 'bad'}>
      <p>
        <strong>{ok ? 'It arrived.' : 'It did not arrive.'}</strong> {sentence(detail)} That took{' '}
        {count(duration_ms)} ms.
      </p>
      {!ok && hint !== null && <p>{sentence(hint)}</p>}
      {!ok && hint === null && reason !== null && <p>{sentence(errorReason(reason))}</p>}
    </Notice>
  )
}
