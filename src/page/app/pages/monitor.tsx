import { useState } from 'preact/hooks'

import { send } from '../api.ts'
import { useWho } from '../around.ts'
import { useAsk } from '../ask.ts'
import { useDeed } from '../deed.ts'
import { Page } from '../frame.tsx'
import { Badge } from '../parts/badge.tsx'
import { Copyable } from '../parts/copy.tsx'
import { DeliveryRows } from '../parts/delivery-rows.tsx'
import { Confirm } from '../parts/dialog.tsx'
import { Empty, Trouble, Waiting } from '../parts/notice.tsx'
import { Strip } from '../parts/strip.tsx'
import { go, Link, pathOf } from '../route.tsx'
import { say } from '../say.ts'
import { inShort } from '../spec.ts'
import { standingOf } from '../standing.ts'
import type { Delivery, Health, Monitor, MonitorList, Webhook } from '../types.ts'
import { Coverage, Doings, Streams } from './monitor-parts.tsx'
import { MonitorWhy } from './monitor-why.tsx'

const LOOK_MS = 20_000
const DELIVERIES = 20

/** One monitor: what it watches, how it does, what came of it, and everything that can be done with it. */
export function MonitorPage({ id }: { id: string }) {
  const { monitor_path, words } = useWho()
  const list = useAsk<MonitorList>(`${monitor_path}/list`, { every_ms: LOOK_MS })
  const named = encodeURIComponent(id)
  const monitor = list.value?.monitors.find((it) => it.id === id)
  const health = useAsk<Health>(monitor ? `${monitor_path}/health?id=${named}` : null, {
    every_ms: LOOK_MS,
  })
  const deliveries = useAsk<{ deliveries: Delivery[] }>(
    `${monitor_path}/deliveries?id=${named}&limit=${DELIVERIES}`,
    { every_ms: LOOK_MS },
  )
  if (list.value === undefined)
    return (
      <Page title="Monitor">
        <Trouble failure={list.failure} again={list.again} />
        {list.failure === null && <Waiting rows={5} />}
      </Page>
    )
  if (monitor === undefined) return <Gone deliveries={deliveries.value?.deliveries ?? []} />
  const again = () => {
    list.again()
    health.again()
  }
  const standing = health.value && standingOf(health.value)
  return (
    <Page
      title={monitor.name ?? inShort(monitor.filter_spec, words)}
      beside={<Doing monitor={monitor} again={again} />}
      lead={monitor.name === null ? undefined : inShort(monitor.filter_spec, words)}
    >
      <Trouble failure={health.failure ?? list.failure} again={again} />
      <section class="card" aria-labelledby="coverage">
        <div class="card-head">
          <h2 id="coverage">The last 24 hours</h2>
          {standing && <Badge tone={standing.tone}>{standing.word}</Badge>}
        </div>
        {health.value ? (
          <>
            <p>{standing?.detail}</p>
            <Strip health={health.value} legend />
            <Coverage health={health.value} />
          </>
        ) : (
          health.failure === null && <Waiting rows={2} />
        )}
      </section>
      {health.value && <Doings health={health.value} />}
      <Streams monitor={monitor} health={health.value} />
      <Targets monitor={monitor} />
      <Feed monitor={monitor} again={list.again} />
      <MonitorWhy id={id} />
      <section aria-labelledby="deliveries">
        <h2 id="deliveries">Deliveries</h2>
        <Trouble failure={deliveries.failure} again={deliveries.again} />
        {deliveries.value?.deliveries.length === 0 && (
          <Empty title="Nothing has matched yet">
            <p>
              Only what is new from now on can match.{' '}
              <Link to={pathOf('monitors', id, 'edit')}>Edit the filter</Link> to see what it would
              match in what its feeds hold.
            </p>
          </Empty>
        )}
        <DeliveryRows rows={deliveries.value?.deliveries ?? []} />
        {deliveries.value?.deliveries.length === DELIVERIES && (
          <p>
            <Link to={`${pathOf('deliveries')}?monitor=${named}`}>All of its deliveries</Link>
          </p>
        )}
      </section>
    </Page>
  )
}

function Gone({ deliveries }: { deliveries: Delivery[] }) {
  return (
    <Page title="There is no such monitor">
      <p>
        It was removed, or it never was yours.{' '}
        <Link to={pathOf('monitors')}>See your monitors</Link>
      </p>
      {deliveries.length > 0 && (
        <section aria-labelledby="left">
          <h2 id="left">What it delivered stays readable</h2>
          <DeliveryRows rows={deliveries} />
        </section>
      )}
    </Page>
  )
}

function Doing({ monitor, again }: { monitor: Monitor; again: () => void }) {
  const { monitor_path } = useWho()
  const { id, active, name } = monitor
  const [asking, setAsking] = useState(false)
  const deed = useDeed()
  async function flip() {
    const answer = await deed.run(() => send(`${monitor_path}/update`, { id, active: !active }))
    if (!answer.ok) return
    say(
      active
        ? 'Paused: it looks at nothing until you resume it.'
        : 'Resumed: it watches from now on.',
    )
    again()
  }
  return (
    <>
      <button type="button" disabled={deed.busy} onClick={() => void flip()}>
        {active ? 'Pause' : 'Resume'}
      </button>
      <Link to={pathOf('monitors', id, 'edit')} class="button">
        Edit
      </Link>
      <button type="button" class="danger-quiet" onClick={() => setAsking(true)}>
        Remove
      </button>
      <Trouble failure={deed.failure} />
      {asking && (
        <Confirm
          title="Remove this monitor?"
          does="Remove it"
          close={() => setAsking(false)}
          run={() => send(`${monitor_path}/remove`, { id })}
          done={() => {
            say('Removed. What it delivered stays readable.')
            go(pathOf('monitors'))
          }}
        >
          <p>
            <strong>{name ?? id}</strong> stops matching at once and its slot is free. It cannot be
            brought back; what it delivered stays readable.
          </p>
        </Confirm>
      )}
    </>
  )
}

function Targets({ monitor: { webhook_ids } }: { monitor: Monitor }) {
  const { monitor_path } = useWho()
  const { value } = useAsk<{ webhooks: Webhook[] }>(`${monitor_path}/webhook/list`, {
    fresh_ms: LOOK_MS,
  })
  const named = webhook_ids?.map((id) => value?.webhooks.find((it) => it.id === id)?.name ?? id)
  return (
    <section aria-labelledby="targets">
      <h2 id="targets">Where matches go</h2>
      <p>
        {named === undefined
          ? `To every active webhook of the account (${value?.webhooks.filter((it) => it.active).length ?? '…'}).`
          : named.length === 0
            ? 'Nowhere: its webhooks were deleted. Matches wait in the feed.'
            : named.join(', ')}{' '}
        <Link to={pathOf('webhooks')}>Webhooks</Link>
      </p>
    </section>
  )
}

function Feed({ monitor: { id, feed_url }, again }: { monitor: Monitor; again: () => void }) {
  const { monitor_path } = useWho()
  const [asking, setAsking] = useState(false)
  return (
    <section aria-labelledby="feed">
      <h2 id="feed">Feed</h2>
      <p>The matches as Atom, for any reader. Whoever knows this address can read them.</p>
      <div class="actions">
        <Copyable text={feed_url} label="Address of the feed" />
        <button type="button" onClick={() => setAsking(true)}>
          New address
        </button>
      </div>
      {asking && (
        <Confirm
          title="Give the feed a new address?"
          does="New address"
          close={() => setAsking(false)}
          run={() => send(`${monitor_path}/feed/rotate`, { id })}
          done={() => {
            say('The feed has a new address; the old one is dead.')
            again()
          }}
        >
          <p>The present address is dead at once: every reader needs the new one.</p>
        </Confirm>
      )}
    </section>
  )
}
