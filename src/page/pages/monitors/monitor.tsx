import { useState } from 'preact/hooks'

import { Badge } from '../../components/base/badge.tsx'
import { Copyable } from '../../components/base/copyable.tsx'
import { Confirm } from '../../components/base/dialog.tsx'
import { TextField } from '../../components/base/field.tsx'
import {
  assignErrors,
  EmptyState,
  ErrorNotice,
  Notice,
  sentence,
  Skeleton,
} from '../../components/base/notice.tsx'
import { useNow } from '../../components/base/time.tsx'
import { notify } from '../../components/base/toast.tsx'
import { CoverageStrip } from '../../components/coverage-strip.tsx'
import { ReasonsView } from '../../components/criteria.tsx'
import { DeliveryRows } from '../../components/delivery-rows.tsx'
import { PageLayout } from '../../components/layout.tsx'
import { useCurrentUser } from '../../hooks/contexts.ts'
import { useAction } from '../../hooks/use-action.ts'
import { useQuery } from '../../hooks/use-query.ts'
import { callApi, postJson } from '../../lib/api.ts'
import { inShort } from '../../lib/filter-spec.ts'
import { statusAt } from '../../lib/monitor-status.ts'
import { dashboardPath, go, Link } from '../../lib/route.tsx'
import type { Delivery, Health, Monitor, MonitorList, Webhook, Why } from '../../lib/types.ts'
import {
  targetsOf,
  webhookName,
  webhookPath,
  webhookProblem,
  webhookStatus,
} from '../../lib/webhook-health.ts'
import { Alarms } from './attention.tsx'
import { CoverageDetails, CoverageHistory, DeliveryStats, Streams } from './coverage.tsx'
import { RelevanceStats } from './relevance.tsx'

function MonitorActions({ monitor, again }: { monitor: Monitor; again: () => void }) {
  const { monitor_path } = useCurrentUser()
  const { id, active, name } = monitor
  const [dialogOpen, setDialogOpen] = useState(false)
  const action = useAction()
  async function flip() {
    const answer = await action.run(() =>
      postJson(`${monitor_path}/update`, { id, active: !active }),
    )
    if (!answer.ok) return
    notify(
      active
        ? 'Paused. Polling stops until you resume the monitor.'
        : 'Resumed. Polling continues from now on.',
    )
    again()
  }
  return (
    <>
      <button type="button" disabled={action.busy} onClick={() => void flip()}>
        {active ? 'Pause' : 'Resume'}
      </button>
      <Link to={dashboardPath('monitors', id, 'edit')} class="button">
        Edit
      </Link>
      <button type="button" class="danger-quiet" onClick={() => setDialogOpen(true)}>
        Remove
      </button>
      <ErrorNotice failure={action.failure} />
      {dialogOpen && (
        <Confirm
          title="Remove this monitor?"
          does="Remove monitor"
          close={() => setDialogOpen(false)}
          run={() => postJson(`${monitor_path}/remove`, { id })}
          done={() => {
            notify('Removed. Its deliveries stay readable.')
            go(dashboardPath('monitors'))
          }}
        >
          <p>
            <strong>{name ?? id}</strong> stops matching immediately. This cannot be undone; its
            deliveries stay readable.
          </p>
        </Confirm>
      )}
    </>
  )
}

function MonitorTargets({ monitor: { webhook_ids } }: { monitor: Monitor }) {
  const { monitor_path } = useCurrentUser()
  const { value } = useQuery<{ webhooks: Webhook[] }>(`${monitor_path}/webhook/list`, {
    fresh_ms: REFRESH_MS,
  })
  const targets = value && targetsOf(webhook_ids, value.webhooks)
  return (
    <section aria-labelledby="targets">
      <h2 id="targets">Targets</h2>
      {targets && <TargetProblems targets={targets} />}
      <p>
        {webhook_ids === null
          ? `Every active webhook of the account (${targets?.length ?? '…'})${targets?.length ? ': ' : '.'}`
          : webhook_ids.length === 0 &&
            'None: its webhooks were deleted. Read matches from the Atom feed.'}
        {targets?.map((it, at) => (
          <span key={it.id}>
            {at > 0 && ', '}
            <Link to={webhookPath(it.id)}>{webhookName(it)}</Link>
          </span>
        ))}
      </p>
      {targets?.length === 0 && (
        <p>
          <Link to={dashboardPath('webhooks')}>Manage webhooks</Link>
        </p>
      )}
    </section>
  )
}

function TargetProblems({ targets }: { targets: readonly Webhook[] }) {
  const failing = targets.filter((it) => webhookProblem(it) !== null)
  if (failing.length === 0) return null
  return (
    <Notice tone={failing.every((it) => it.health.state === 'retrying') ? 'warn' : 'bad'}>
      {failing.map((it) => (
        <p key={it.id}>
          <strong>
            <Link to={webhookPath(it.id)}>{webhookName(it)}</Link>:{' '}
            {webhookStatus(it).word.toLowerCase()}.
          </strong>{' '}
          {sentence(webhookProblem(it) ?? '')}
        </p>
      ))}
    </Notice>
  )
}

/** The URL of a monitor's Atom feed. */
function MonitorFeed({
  monitor: { id, feed_url },
  again,
}: {
  monitor: Monitor
  again: () => void
}) {
  const { monitor_path } = useCurrentUser()
  const [dialogOpen, setDialogOpen] = useState(false)
  return (
    <details>
      <summary>Atom feed</summary>
      <p>Matches as an Atom feed. Anyone with this URL can read them.</p>
      <div class="actions">
        <Copyable text={feed_url} label="Feed URL" />
        <button type="button" onClick={() => setDialogOpen(true)}>
          {' '}
          New URL{' '}
        </button>
      </div>
      {dialogOpen && (
        <Confirm
          title="Replace the feed URL?"
          does="Replace URL"
          close={() => setDialogOpen(false)}
          run={() => postJson(`${monitor_path}/feed/rotate`, { id })}
          done={() => {
            notify('The feed has a new URL; the old one no longer works.')
            again()
          }}
        >
          <p>The current URL stops working immediately: every reader needs the new one.</p>
        </Confirm>
      )}
    </details>
  )
}

/** Explains why a post or comment did or did not match. */
function MonitorWhy({ id }: { id: string }) {
  const { monitor_path } = useCurrentUser()
  const [item, setItem] = useState('')
  const [explanation, setExplanation] = useState<Why | null>(null)
  const action = useAction()
  async function explain(event: Event) {
    event.preventDefault()
    setExplanation(null)
    const query = new URLSearchParams({ id, item_id: item.trim() }).toString()
    const answer = await action.run(() => callApi<Why>(`${monitor_path}/why?${query}`))
    if (answer.ok) setExplanation(answer.value)
  }
  const { errorOf, rest } = assignErrors(action.failure, ['item_id'])
  return (
    <details>
      <summary>Explain a post or comment</summary>
      <form class="filters" onSubmit={(event) => void explain(event)} noValidate>
        <TextField
          label="Id of the post or comment"
          hint="Such as t3_abc123 for a post, t1_abc123 for a comment."
          error={errorOf('item_id')}
          value={item}
          spellcheck={false}
          autocapitalize="none"
          change={setItem}
        />
        <button type="submit" disabled={action.busy}>
          {action.busy ? 'Loading …' : 'Explain'}
        </button>
      </form>
      <ErrorNotice failure={rest} />
      <div aria-live="polite">{explanation && <ReasonsView items={explanation.items} />}</div>
    </details>
  )
}

const REFRESH_MS = 20_000
const DELIVERIES = 20

export function MonitorPage({ id }: { id: string }) {
  const now = useNow()
  const { monitor_path, words } = useCurrentUser()
  const list = useQuery<MonitorList>(`${monitor_path}/list`, { every_ms: REFRESH_MS })
  const named = encodeURIComponent(id)
  const monitor = list.value?.monitors.find((it) => it.id === id)
  const health = useQuery<Health>(monitor ? `${monitor_path}/health?id=${named}` : null, {
    every_ms: REFRESH_MS,
  })
  const deliveries = useQuery<{ deliveries: Delivery[] }>(
    `${monitor_path}/deliveries?id=${named}&limit=${DELIVERIES}`,
    { every_ms: REFRESH_MS },
  )
  const webhooks = useQuery<{ webhooks: Webhook[] }>(`${monitor_path}/webhook/list`, {
    fresh_ms: REFRESH_MS,
  })
  if (list.value === undefined)
    return (
      <PageLayout title="Monitor">
        <ErrorNotice failure={list.failure} again={list.again} />
        {list.failure === null && <Skeleton rows={5} />}
      </PageLayout>
    )
  if (monitor === undefined)
    return <MonitorNotFound deliveries={deliveries.value?.deliveries ?? []} />
  const again = () => {
    list.again()
    health.again()
  }
  const status = health.value && statusAt(health.value, now)
  const nameOf = (webhook_id: string) => {
    const found = webhooks.value?.webhooks.find((it) => it.id === webhook_id)
    return found === undefined ? 'deleted' : webhookName(found)
  }
  return (
    <PageLayout
      title={monitor.name ?? inShort(monitor.filter_spec, words)}
      beside={<MonitorActions monitor={monitor} again={again} />}
      lead={monitor.name === null ? undefined : inShort(monitor.filter_spec, words)}
    >
      <ErrorNotice failure={health.failure ?? list.failure} again={again} />
      {health.value && <Alarms id={id} health={health.value} again={health.again} />}
      <section aria-labelledby="deliveries">
        <h2 id="deliveries">Deliveries</h2>
        <ErrorNotice failure={deliveries.failure} again={deliveries.again} />
        {deliveries.value?.deliveries.length === 0 && (
          <EmptyState title="No matches yet">
            <p>
              Only new items can match.{' '}
              <Link to={dashboardPath('monitors', id, 'edit')}>Edit the filter</Link> to preview its
              matches in the current feeds.
            </p>
          </EmptyState>
        )}
        {webhooks.value && (
          <DeliveryRows rows={deliveries.value?.deliveries ?? []} targetOf={nameOf} />
        )}
        {deliveries.value?.deliveries.length === DELIVERIES && (
          <p>
            <Link to={`${dashboardPath('deliveries')}?monitor=${named}`}>All deliveries</Link>
          </p>
        )}
      </section>
      <section class="card" aria-labelledby="coverage">
        <div class="card-head">
          <h2 id="coverage">Coverage in 24 hours</h2>
          {status && <Badge tone={status.tone}>{status.word}</Badge>}
        </div>
        {health.value ? (
          <>
            <p>{status?.detail}</p>
            <CoverageStrip health={health.value} legend />
            <CoverageDetails health={health.value} />
          </>
        ) : (
          health.failure === null && <Skeleton rows={2} />
        )}
      </section>
      <CoverageHistory id={id} />
      {health.value && <DeliveryStats id={id} health={health.value} />}
      {health.value && <RelevanceStats health={health.value} />}
      <MonitorTargets monitor={monitor} />
      <Streams monitor={monitor} health={health.value} />
      <MonitorFeed monitor={monitor} again={list.again} />
      <MonitorWhy id={id} />
    </PageLayout>
  )
}

function MonitorNotFound({ deliveries }: { deliveries: Delivery[] }) {
  return (
    <PageLayout title="Monitor not found">
      <p>
        It was removed, or is not yours.{' '}
        <Link to={dashboardPath('monitors')}>See your monitors</Link>
      </p>
      {deliveries.length > 0 && (
        <section aria-labelledby="left">
          <h2 id="left">Its deliveries</h2>
          <DeliveryRows rows={deliveries} />
        </section>
      )}
    </PageLayout>
  )
}
