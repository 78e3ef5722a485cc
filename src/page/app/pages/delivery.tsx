import { send } from '../api.ts'
import { useWho } from '../around.ts'
import { useAsk } from '../ask.ts'
import { useDeed } from '../deed.ts'
import { Badge, DeliveryBadge } from '../parts/badge.tsx'
import { Copyable } from '../parts/copy.tsx'
import { headlineOf } from '../parts/delivery-rows.tsx'
import { Facts } from '../parts/facts.tsx'
import { ItemView } from '../parts/item.tsx'
import { Trouble, Waiting } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { ReasonsView } from '../parts/reasons-view.tsx'
import { Rows } from '../parts/rows.tsx'
import { Time } from '../parts/time.tsx'
import { errorReason, suppression } from '../reasons.ts'
import { Link, pathOf } from '../route.tsx'
import { say } from '../say.ts'
import { count } from '../show.ts'
import { inShort } from '../spec.ts'
import type { Attempt, Delivery, MonitorList, Webhook, Why } from '../types.ts'

const LOOK_MS = 10_000

/** One delivery: its payload, its attempts, and why it came to be. */
export function DeliveryPage({ id }: { id: string }) {
  const { monitor_path } = useWho()
  const why = useAsk<Why>(`${monitor_path}/why?delivery_id=${encodeURIComponent(id)}`, {
    every_ms: LOOK_MS,
  })
  const told = why.value?.deliveries[0]
  const payload = usePayload(why.value)
  const names = useNames(why.value)
  const deed = useDeed()
  async function again() {
    const answer = await deed.run(() =>
      send<{ queued: number }>(`${monitor_path}/deliveries/redeliver`, { delivery_id: id }),
    )
    if (!answer.ok) return
    say(
      answer.value.queued > 0
        ? 'On its way again.'
        : 'It cannot be sent: it is on its way already, its target is gone, paused or switched off, or its content is too old to be kept.',
    )
    why.again()
  }
  return (
    <Page
      title={payload ? headlineOf(payload) : 'Delivery'}
      beside={
        told && (
          <button
            type="button"
            disabled={deed.busy || told.status === 'pending' || told.status === 'suppressed'}
            onClick={() => void again()}
          >
            Send again
          </button>
        )
      }
    >
      <Trouble failure={deed.failure ?? why.failure} again={why.again} />
      {why.value === undefined && why.failure === null && <Waiting rows={5} />}
      {why.value && told && (
        <>
          <section class="card" aria-labelledby="state">
            <div class="card-head">
              <h2 id="state">What became of it</h2>
              <DeliveryBadge status={told.status} />
            </div>
            <Facts
              rows={[
                ['Matched', <Time at={told.created_at} />],
                [
                  'Delivered',
                  <Time
                    at={told.delivered_at}
                    none={told.status === 'pending' ? 'not yet' : 'no'}
                  />,
                ],
                [
                  'Monitor',
                  <Link to={pathOf('monitors', why.value.monitor_id)}>{names.monitor}</Link>,
                ],
                [
                  'Webhook',
                  told.webhook_id && <Link to={pathOf('webhooks')}>{names.webhook}</Link>,
                ],
                told.gate.verdict === 'suppressed'
                  ? ['Withheld', suppression(told.gate.reason ?? 'unknown')]
                  : null,
                told.last_error === null ? null : ['Last error', errorReason(told.last_error)],
              ]}
            />
            <Copyable text={id} label="Delivery id" />
          </section>
          <Attempts attempts={told.attempts} />
          <section aria-labelledby="why">
            <h2 id="why">Why</h2>
            <ReasonsView items={why.value.items} />
          </section>
        </>
      )}
      {payload && <PayloadView delivery={payload} />}
    </Page>
  )
}

/** What a delivery's monitor and target are called. What is gone has its id left. */
function useNames(why: Why | undefined) {
  const { monitor_path, words } = useWho()
  const monitors = useAsk<MonitorList>(`${monitor_path}/list`, { fresh_ms: LOOK_MS })
  const webhooks = useAsk<{ webhooks: Webhook[] }>(`${monitor_path}/webhook/list`, {
    fresh_ms: LOOK_MS,
  })
  const monitor = monitors.value?.monitors.find((it) => it.id === why?.monitor_id)
  const target = why?.deliveries[0]?.webhook_id ?? ''
  const webhook = webhooks.value?.webhooks.find((it) => it.id === target)
  return {
    monitor: monitor ? (monitor.name ?? inShort(monitor.filter_spec, words)) : why?.monitor_id,
    webhook: webhook ? (webhook.name ?? webhook.url) : target,
  }
}

/** The body of a delivery: the list shows it, and knows the row by its instant, which is its own. */
function usePayload(why: Why | undefined): Delivery | undefined {
  const { monitor_path } = useWho()
  const told = why?.deliveries[0]
  const before = told && new Date(Date.parse(told.created_at) + 1).toISOString()
  const list = useAsk<{ deliveries: Delivery[] }>(
    why && before
      ? `${monitor_path}/deliveries?id=${encodeURIComponent(why.monitor_id)}&limit=1&before=${encodeURIComponent(before)}`
      : null,
  )
  return list.value?.deliveries.find((it) => it.delivery_id === told?.delivery_id)
}

function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
  return (
    <section aria-labelledby="attempts">
      <h2 id="attempts">Attempts</h2>
      {attempts.length === 0 ? (
        <p class="quiet">None was made.</p>
      ) : (
        <Rows<Attempt>
          caption="Attempts, first to last"
          keyOf={(it) => `${it.round} ${it.n}`}
          rows={attempts}
          columns={[
            {
              title: 'Attempt',
              kind: 'main',
              cell: (it) => `${it.n}${it.round > 1 ? ` (round ${it.round})` : ''}`,
            },
            { title: 'When', cell: (it) => <Time at={it.started_at} /> },
            { title: 'Took', kind: 'figure', cell: (it) => `${count(it.duration_ms)} ms` },
            {
              title: 'Answer',
              cell: (it) =>
                it.error === null ? (
                  <Badge tone="good">{it.status_code ?? 'delivered'}</Badge>
                ) : (
                  <Badge tone="bad">{errorReason(it.error)}</Badge>
                ),
            },
            {
              title: 'It said',
              cell: (it) =>
                it.body_start ? (
                  <code class="said-back">{it.body_start}</code>
                ) : (
                  <span class="quiet">nothing</span>
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
      {delivery.payload.items.map((it) => (
        <ItemView key={it.id} item={it} />
      ))}
      <details>
        <summary>As it was sent</summary>
        <pre tabIndex={0}>{JSON.stringify(delivery.payload, null, 2)}</pre>
      </details>
    </section>
  )
}
