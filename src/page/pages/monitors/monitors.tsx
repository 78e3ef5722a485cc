import { useState } from 'preact/hooks'

import { Badge } from '../../components/base/badge.tsx'
import { Icon } from '../../components/base/icon.tsx'
import { EmptyState, ErrorNotice, Skeleton } from '../../components/base/notice.tsx'
import { SearchBox } from '../../components/base/table.tsx'
import { Time, useNow } from '../../components/base/time.tsx'
import { CoverageStrip } from '../../components/coverage-strip.tsx'
import { PageLayout } from '../../components/layout.tsx'
import { useCurrentUser } from '../../hooks/contexts.ts'
import { useQuery } from '../../hooks/use-query.ts'
import { inShort } from '../../lib/filter-spec.ts'
import { count, formatDuration, many } from '../../lib/format.ts'
import { isCollecting, statusAt } from '../../lib/monitor-status.ts'
import { dashboardPath, Link } from '../../lib/route.tsx'
import type { Health, Monitor, MonitorList, Webhook } from '../../lib/types.ts'
import {
  targetsOf,
  webhookName,
  webhookPath,
  webhookProblem,
  webhookStatus,
} from '../../lib/webhook-health.ts'

const LIST_MS = 30_000
/** Minimum age of a health response before it is requested again: each visible monitor costs one rate-limited call. */
const HEALTH_FRESH_MS = 60_000
const PAGE_SIZE = 20

export function Monitors() {
  const { monitor_path, words, is_billing } = useCurrentUser()
  const list = useQuery<MonitorList>(`${monitor_path}/list`, { every_ms: LIST_MS })
  const hooks = useQuery<{ webhooks: Webhook[] }>(`${monitor_path}/webhook/list`, {
    every_ms: LIST_MS,
  })
  const [search, setSearch] = useState('')
  const [most, setMost] = useState(PAGE_SIZE)
  const all = list.value?.monitors ?? []
  const fits = ({ name, id, filter_spec }: Monitor) =>
    `${name ?? ''} ${id} ${JSON.stringify(filter_spec)}`
      .toLowerCase()
      .includes(search.toLowerCase())
  const found = search === '' ? all : all.filter(fits)
  const slots = list.value?.slots
  return (
    <PageLayout
      title="Monitors"
      beside={
        <Link to={dashboardPath('monitors', 'new')} class="button main">
          <Icon name="plus" /> New monitor
        </Link>
      }
      lead={
        is_billing &&
        slots &&
        `${count(slots.used)} of ${many(slots.total, 'slot')} of plan ${slots.tier} used; ${count(slots.sitewide_used)} of ${count(slots.sitewide_total)} for the whole platform.`
      }
    >
      <ErrorNotice failure={list.failure} again={list.again} />
      {list.value === undefined && list.failure === null && <Skeleton rows={4} />}
      {list.value && all.length === 0 && (
        <EmptyState title="No monitors yet">
          <p>
            A monitor polls {words.communities} and sends the items that match its filter to your
            webhooks.
          </p>
          <Link to={dashboardPath('monitors', 'new')} class="button main">
            <Icon name="plus" /> Create a monitor{' '}
          </Link>
        </EmptyState>
      )}
      {all.length > 5 && <SearchBox label="Search monitors" value={search} change={setSearch} />}
      {all.length > 0 && found.length === 0 && <EmptyState title="No monitors match this search" />}
      <ul class="cards">
        {found.slice(0, most).map((it) => (
          <MonitorCard key={it.id} monitor={it} webhooks={hooks.value?.webhooks ?? []} />
        ))}
      </ul>
      {found.length > most && (
        <button type="button" onClick={() => setMost(most + PAGE_SIZE)}>
          Show more
        </button>
      )}
    </PageLayout>
  )
}

function MonitorCard({ monitor, webhooks }: { monitor: Monitor; webhooks: readonly Webhook[] }) {
  const { monitor_path, words } = useCurrentUser()
  const { id, name, filter_spec, cadence_s, last_match_at } = monitor
  const { value: health } = useQuery<Health>(
    `${monitor_path}/health?id=${encodeURIComponent(id)}`,
    {
      fresh_ms: HEALTH_FRESH_MS,
    },
  )
  const now = useNow()
  const status = health && statusAt(health, now)
  const failing = targetsOf(monitor.webhook_ids, webhooks).filter(
    (it) => webhookProblem(it) !== null,
  )
  return (
    <li class="card monitor-card">
      <div class="card-head">
        <h2>
          <Link to={dashboardPath('monitors', id)}>{name ?? inShort(filter_spec, words)}</Link>
        </h2>
        {status && <Badge tone={status.tone}>{status.word}</Badge>}
      </div>
      {name !== null && <p class="quiet">{inShort(filter_spec, words)}</p>}
      {health ? <CoverageStrip health={health} /> : <div class="strip bone" />}
      <p class="quiet small-text facts">
        <span>every {formatDuration(cadence_s)}</span>
        <span>
          {last_match_at !== null && 'last match '}
          <Time at={last_match_at} none="no match yet" />
        </span>
        <span>
          {health?.delivered_24h === 0 && isCollecting(health, now)
            ? 'collecting'
            : `${count(health?.delivered_24h)} delivered in 24 h`}
        </span>
      </p>
      {failing.length > 0 && (
        <p class="facts target-problems">
          {failing.map((it) => (
            <span key={it.id}>
              <Badge tone={webhookStatus(it).tone}>{webhookStatus(it).word}</Badge>{' '}
              <Link to={webhookPath(it.id)}>{webhookName(it)}</Link>
            </span>
          ))}
        </p>
      )}
    </li>
  )
}
