import { useLive, useWho } from '../around.ts'
import { useAsk } from '../ask.ts'
import { Icon } from '../parts/icon.tsx'
import { Events, Tiles } from '../parts/live.tsx'
import { Trouble, Waiting } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { Link, pathOf } from '../route.tsx'
import { count, usd } from '../show.ts'
import type { Me, MonitorList, Webhook } from '../types.ts'

const ACCOUNT_MS = 30_000

/** What happens just now, and what there is. */
export function Overview() {
  const { customer, monitor_path } = useWho()
  const { snapshot } = useLive()
  const me = useAsk<Me>('/account/me', { every_ms: ACCOUNT_MS })
  const monitors = useAsk<MonitorList>(`${monitor_path}/list`, { every_ms: ACCOUNT_MS })
  const webhooks = useAsk<{ webhooks: Webhook[] }>(`${monitor_path}/webhook/list`, {
    fresh_ms: ACCOUNT_MS,
  })
  const paused = webhooks.value?.webhooks.filter((it) => it.paused_at !== null) ?? []
  const none = monitors.value?.monitors.length === 0
  return (
    <Page
      title="Overview"
      lead={<>What {customer?.name ?? 'this account'} watches, and what came of it.</>}
    >
      <Trouble failure={me.failure ?? monitors.failure} again={me.again} />
      {paused.length > 0 && (
        <div class="notice warn" role="status">
          <p>
            {paused.length === 1 ? 'A webhook is' : `${paused.length} webhooks are`} paused and gets
            nothing. <Link to={pathOf('webhooks')}>See why and test</Link>
          </p>
        </div>
      )}
      {none && webhooks.value && <FirstSteps hooks={webhooks.value.webhooks.length} />}
      <section aria-labelledby="now">
        <h2 id="now">The last minute</h2>
        <Tiles snapshot={snapshot} more={[['Waiting to be sent', count(snapshot?.pending)]]} />
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
        <h2 id="recent">Just now</h2>
        {snapshot === null ? <Waiting /> : <Events recent={snapshot.recent} />}
      </section>
    </Page>
  )
}

function FirstSteps({ hooks }: { hooks: number }) {
  return (
    <section class="card" aria-labelledby="first">
      <h2 id="first">First steps</h2>
      <ol class="steps">
        <li class={hooks > 0 ? 'done' : ''}>
          <Link to={pathOf('webhooks')}>Register a webhook</Link>: where matches are sent, signed.
          Slack, Discord and mail work too; without one, matches wait in each monitor's feed.
        </li>
        <li>
          <Link to={pathOf('monitors', 'new')}>Create a monitor</Link>: say what to look for, and
          see what it would match as you type.
        </li>
        <li>
          Watch <Link to={pathOf('deliveries')}>deliveries</Link> arrive, each with its payload and
          why it was sent.
        </li>
      </ol>
      <p>
        <Link to={pathOf('monitors', 'new')} class="button main">
          <Icon name="plus" /> New monitor
        </Link>
      </p>
    </section>
  )
}
