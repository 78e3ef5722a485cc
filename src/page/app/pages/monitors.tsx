import { useState } from 'preact/hooks'

import { useWho } from '../around.ts'
import { useAsk } from '../ask.ts'
import { Badge } from '../parts/badge.tsx'
import { Icon } from '../parts/icon.tsx'
import { Empty, Trouble, Waiting } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { SearchBox } from '../parts/search.tsx'
import { Strip } from '../parts/strip.tsx'
import { Time } from '../parts/time.tsx'
import { Link, pathOf } from '../route.tsx'
import { count, many, span } from '../show.ts'
import { inShort } from '../spec.ts'
import { standingOf } from '../standing.ts'
import type { Health, Monitor, MonitorList } from '../types.ts'

const LIST_MS = 30_000
/** A health is asked for each monitor that is shown, and the limit is counted in calls: not more often than this. */
const HEALTH_FRESH_MS = 60_000
const SHOWN_AT_ONCE = 20

/** All monitors, how each does, and the last 24 hours of each. */
export function Monitors() {
  const { monitor_path, words } = useWho()
  const list = useAsk<MonitorList>(`${monitor_path}/list`, { every_ms: LIST_MS })
  const [sought, setSought] = useState('')
  const [most, setMost] = useState(SHOWN_AT_ONCE)
  const all = list.value?.monitors ?? []
  const fits = ({ name, id, filter_spec }: Monitor) =>
    `${name ?? ''} ${id} ${JSON.stringify(filter_spec)}`
      .toLowerCase()
      .includes(sought.toLowerCase())
  const found = sought === '' ? all : all.filter(fits)
  const slots = list.value?.slots
  return (
    <Page
      title="Monitors"
      beside={
        <Link to={pathOf('monitors', 'new')} class="button main">
          <Icon name="plus" /> New monitor
        </Link>
      }
      lead={
        slots &&
        `${count(slots.used)} of ${many(slots.total, 'slot')} of plan ${slots.tier} used; ${count(slots.sitewide_used)} of ${count(slots.sitewide_total)} for the whole platform.`
      }
    >
      <Trouble failure={list.failure} again={list.again} />
      {list.value === undefined && list.failure === null && <Waiting rows={4} />}
      {list.value && all.length === 0 && (
        <Empty title="No monitors yet">
          <p>
            A monitor watches {words.communities} for what you describe, and sends what matches to
            your webhooks.
          </p>
          <Link to={pathOf('monitors', 'new')} class="button main">
            <Icon name="plus" /> Create the first
          </Link>
        </Empty>
      )}
      {all.length > 5 && <SearchBox label="Search monitors" value={sought} change={setSought} />}
      {all.length > 0 && found.length === 0 && <Empty title="No monitor fits that search" />}
      <ul class="cards">
        {found.slice(0, most).map((it) => (
          <MonitorCard key={it.id} monitor={it} />
        ))}
      </ul>
      {found.length > most && (
        <button type="button" onClick={() => setMost(most + SHOWN_AT_ONCE)}>
          Show more
        </button>
      )}
    </Page>
  )
}

function MonitorCard({ monitor }: { monitor: Monitor }) {
  const { monitor_path, words } = useWho()
  const { id, name, filter_spec, cadence_s, last_match_at } = monitor
  const { value: health } = useAsk<Health>(`${monitor_path}/health?id=${encodeURIComponent(id)}`, {
    fresh_ms: HEALTH_FRESH_MS,
  })
  const standing = health && standingOf(health)
  return (
    <li class="card monitor-card">
      <div class="card-head">
        <h2>
          <Link to={pathOf('monitors', id)}>{name ?? inShort(filter_spec, words)}</Link>
        </h2>
        {standing && <Badge tone={standing.tone}>{standing.word}</Badge>}
      </div>
      {name !== null && <p class="quiet">{inShort(filter_spec, words)}</p>}
      {health ? <Strip health={health} /> : <div class="strip bone" />}
      <p class="quiet small-text facts">
        <span>every {span(cadence_s)}</span>
        <span>
          {last_match_at !== null && 'last match '}
          <Time at={last_match_at} none="no match yet" />
        </span>
        <span>{count(health?.delivered_24h)} delivered in 24 h</span>
      </p>
    </li>
  )
}
