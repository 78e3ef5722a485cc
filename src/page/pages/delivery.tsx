import { useState } from 'preact/hooks'

import { Badge, DeliveryBadge } from '../components/base/badge.tsx'
import { Copyable } from '../components/base/copyable.tsx'
import { Facts } from '../components/base/facts.tsx'
import { ErrorNotice, Skeleton } from '../components/base/notice.tsx'
import { DataTable } from '../components/base/table.tsx'
import { Time } from '../components/base/time.tsx'
import { notify } from '../components/base/toast.tsx'
import { ReasonsView } from '../components/criteria.tsx'
import { headlineOf, stateOf } from '../components/delivery-rows.tsx'
import { ItemView } from '../components/item.tsx'
import { PageLayout } from '../components/layout.tsx'
import { useCurrentUser } from '../hooks/contexts.ts'
import { useAction } from '../hooks/use-action.ts'
import { useQuery } from '../hooks/use-query.ts'
import { postJson } from '../lib/api.ts'
import { inShort } from '../lib/filter-spec.ts'
import { count } from '../lib/format.ts'
import { errorReason, redeliverRefusal, suppression } from '../lib/reasons.ts'
import { dashboardPath, Link } from '../lib/route.tsx'
import type { Attempt, Delivery, DeliveryRequest, MonitorList, Webhook, Why } from '../lib/types.ts'
import { webhookName, webhookPath } from '../lib/webhook-health.ts'

const REFRESH_MS = 10_000

export function DeliveryPage({ id }: { id: string }) {
  const { monitor_path } = useCurrentUser()
  const why = useQuery<Why>(`${monitor_path}/why?delivery_id=${encodeURIComponent(id)}`, {
    every_ms: REFRESH_MS,
  })
  const delivery = why.value?.deliveries[0]
  const payload_query = usePayload(id)
  const payload = payload_query.delivery
  const refusal = payload?.redeliver_refusal ?? null
  const { is_signed, ...names } = useNames(why.value)
  const action = useAction()
  async function again() {
    const answer = await action.run(() =>
      postJson<{ queued: number }>(`${monitor_path}/deliveries/redeliver`, { delivery_id: id }),
    )
    if (!answer.ok) return
    notify(answer.value.queued > 0 ? 'Queued again.' : 'Not queued: the page now shows the reason.')
    why.again()
    payload_query.again()
  }
  return (
    <PageLayout
      title={payload ? headlineOf(payload) : 'Delivery'}
      beside={
        delivery && (
          <button
            type="button"
            disabled={action.busy || payload === undefined || refusal !== null}
            aria-describedby={refusal === null ? undefined : 'refusal'}
            onClick={() => void again()}
          >
            {delivery.status === 'suppressed' ? 'Send' : 'Send again'}
          </button>
        )
      }
    >
      <ErrorNotice failure={action.failure ?? why.failure} again={why.again} />
      {why.value === undefined && why.failure === null && <Skeleton rows={5} />}
      {why.value && delivery && (
        <>
          <section class="card" aria-labelledby="state">
            <div class="card-head">
              <h2 id="state">State</h2>
              <DeliveryBadge status={payload ? stateOf(payload) : delivery.status} />
            </div>
            <Facts
              rows={[
                ['Matched', <Time at={delivery.created_at} full />],
                [
                  'Delivered',
                  <Time
                    at={delivery.delivered_at}
                    full
                    none={delivery.status === 'pending' ? 'not yet' : 'no'}
                  />,
                ],
                payload?.next_attempt_at
                  ? ['Next attempt', <Time at={payload.next_attempt_at} close="now" full />]
                  : null,
                [
                  'Monitor',
                  <Link to={dashboardPath('monitors', why.value.monitor_id)}>{names.monitor}</Link>,
                ],
                [
                  'Webhook',
                  delivery.webhook_id && (
                    <Link to={webhookPath(delivery.webhook_id)}>{names.webhook}</Link>
                  ),
                ],
                delivery.gate.verdict === 'suppressed'
                  ? ['Suppressed', suppression(delivery.gate.reason ?? 'unknown')]
                  : null,
                delivery.last_error === null
                  ? null
                  : ['Last error', errorReason(delivery.last_error)],
                ['Id', <Copyable text={id} label="Delivery id" />],
              ]}
            />
            {refusal !== null && (
              <p class="quiet" id="refusal">
                It cannot be sent again: {redeliverRefusal(refusal)}.
              </p>
            )}
          </section>
          <Attempts attempts={delivery.attempts} />
          {is_signed && <RequestView id={id} />}
          <section aria-labelledby="why">
            <h2 id="why">Explanation</h2>
            <ReasonsView items={why.value.items} of_delivery />
          </section>
        </>
      )}
      {payload && <PayloadView delivery={payload} />}
    </PageLayout>
  )
}

/** The names of a delivery's monitor and webhook; their ids if they were removed. */
function useNames(why: Why | undefined) {
  const { monitor_path, words } = useCurrentUser()
  const monitors = useQuery<MonitorList>(`${monitor_path}/list`, { fresh_ms: REFRESH_MS })
  const webhooks = useQuery<{ webhooks: Webhook[] }>(`${monitor_path}/webhook/list`, {
    fresh_ms: REFRESH_MS,
  })
  const monitor = monitors.value?.monitors.find((it) => it.id === why?.monitor_id)
  const target = why?.deliveries[0]?.webhook_id ?? ''
  const webhook = webhooks.value?.webhooks.find((it) => it.id === target)
  return {
    monitor: monitor ? (monitor.name ?? inShort(monitor.filter_spec, words)) : why?.monitor_id,
    webhook: webhook ? webhookName(webhook) : target,
    is_signed: webhook?.kind === 'webhook',
  }
}

function usePayload(id: string) {
  const { monitor_path } = useCurrentUser()
  const list = useQuery<{ deliveries: Delivery[] }>(
    `${monitor_path}/deliveries?q=${encodeURIComponent(id)}&limit=1`,
    { every_ms: REFRESH_MS },
  )
  return {
    delivery: list.value?.deliveries.find((it) => it.delivery_id === id),
    again: list.again,
  }
}

function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
  return (
    <section aria-labelledby="attempts">
      <h2 id="attempts">Attempts</h2>
      {attempts.length === 0 ? (
        <p class="quiet">No attempts.</p>
      ) : (
        <DataTable<Attempt>
          caption="Attempts, first to last"
          keyOf={(it) => `${it.round} ${it.n}`}
          rows={attempts}
          columns={[
            {
              title: 'Attempt',
              kind: 'main',
              cell: (it) => `${it.n}${it.round > 1 ? ` (round ${it.round})` : ''}`,
            },
            { title: 'Started', cell: (it) => <Time at={it.started_at} full /> },
            { title: 'Duration', kind: 'figure', cell: (it) => `${count(it.duration_ms)} ms` },
            {
              title: 'Response',
              cell: (it) =>
                it.error === null ? (
                  <Badge tone="good">{it.status_code ?? 'delivered'}</Badge>
                ) : (
                  <Badge tone="bad">{errorReason(it.error)}</Badge>
                ),
            },
            {
              title: 'Response body',
              cell: (it) =>
                it.body_start ? (
                  <code class="said-back">{it.body_start}</code>
                ) : (
                  <span class="quiet">empty</span>
                ),
            },
          ]}
        />
      )}
    </section>
  )
}

function PayloadView({ delivery }: { delivery: Delivery }) {
  return (
    <section aria-labelledby="payload">
      <h2 id="payload">Payload</h2>
      {delivery.payload.alarm && <p>{delivery.payload.alarm.message}</p>}
      {delivery.payload.items.length > 0 && (
        <ul class="matches">
          {delivery.payload.items.map((it) => (
            <li key={it.id}>
              <ItemView item={it} />
            </li>
          ))}
        </ul>
      )}
      <details>
        <summary>Raw payload</summary>
        <pre tabIndex={0}>{JSON.stringify(delivery.payload, null, 2)}</pre>
      </details>
    </section>
  )
}

/** Headers of each attempt, and the request as a command, for a receiver that refuses a signature. Read when it is opened. */
function RequestView({ id }: { id: string }) {
  const { monitor_path } = useCurrentUser()
  const [open, setOpen] = useState(false)
  const { value, failure, again } = useQuery<DeliveryRequest>(
    open ? `${monitor_path}/deliveries/request?delivery_id=${encodeURIComponent(id)}` : null,
  )
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Request headers and curl</summary>
      <ErrorNotice failure={failure} again={again} />
      {open && value === undefined && failure === null && <Skeleton rows={3} />}
      {value && (
        <>
          {value.attempts.map(({ n, headers }) => (
            <section key={n} aria-label={`Request of attempt ${n}`}>
              <h3>Attempt {n}</h3>
              <pre tabIndex={0}>{inLines(value.url, headers)}</pre>
            </section>
          ))}
          <h3>Send it by hand</h3>
          <p class="quiet">
            Signed <Time at={value.signed_at} />. Receivers that check the timestamp accept it for 5
            minutes.
          </p>
          <Copyable text={toCurl(value)} label="Request as curl" />
          <button type="button" class="small" onClick={again}>
            Sign again
          </button>
        </>
      )}
    </details>
  )
}

const inLines = (url: string, headers: DeliveryRequest['attempts'][number]['headers']): string =>
  [
    `POST ${url}`,
    ...Object.entries(headers).map(
      ([name, value]) => `${name}: ${value ?? '(by a secret that was rotated since)'}`,
    ),
  ].join('\n')

/** Quotes a word for a POSIX shell. */
const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`

const toCurl = ({ url, headers, body }: DeliveryRequest): string =>
  [
    'curl',
    '-X POST',
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    `--data-raw ${quoted(body)}`,
    quoted(url),
  ].join(' ')
