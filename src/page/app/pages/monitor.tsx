import { useWho } from '../around.ts'
import { useAsk } from '../ask.ts'
import { Badge } from '../parts/badge.tsx'
import { DeliveryRows } from '../parts/delivery-rows.tsx'
import { Empty, Trouble, Waiting } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { Strip } from '../parts/strip.tsx'
import { Link, pathOf } from '../route.tsx'
import { inShort } from '../spec.ts'
import { standingOf } from '../standing.ts'
import type { Delivery, Health, MonitorList } from '../types.ts'
import { MonitorDoing } from './monitor-doing.tsx'
import { Coverage, Doings, Streams } from './monitor-parts.tsx'
import { MonitorFeed, MonitorTargets } from './monitor-ways.tsx'
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
      beside={<MonitorDoing monitor={monitor} again={again} />}
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
      <MonitorTargets monitor={monitor} />
      <MonitorFeed monitor={monitor} again={list.again} />
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
