import { useEffect, useState } from 'preact/hooks'

import { Dialog } from '../components/base/dialog.tsx'
import { Choice, Field } from '../components/base/field.tsx'
import { EmptyState, ErrorNotice, Notice, Skeleton } from '../components/base/notice.tsx'
import { SearchBox } from '../components/base/table.tsx'
import { notify } from '../components/base/toast.tsx'
import { DeliveryRows, headlineOf, statusReason } from '../components/delivery-rows.tsx'
import { PageLayout } from '../components/layout.tsx'
import { useCurrentUser, useLive } from '../hooks/contexts.ts'
import { useAction } from '../hooks/use-action.ts'
import { useQuery } from '../hooks/use-query.ts'
import { callApi, type Failure, postJson } from '../lib/api.ts'
import { inShort } from '../lib/filter-spec.ts'
import { count, many } from '../lib/format.ts'
import { dashboardPath, go, useRoute } from '../lib/route.tsx'
import { now } from '../lib/runtime.ts'
import type { Delivery, MonitorList } from '../lib/types.ts'

const HOUR_MS = 3_600_000
const SPANS = [
  ['1', 'the last hour'],
  ['24', 'the last day'],
  ['168', 'the last week'],
  ['335', 'the last two weeks'],
] as const
const WHICH = [
  ['', 'failed and dead'],
  ['failed', 'failed only'],
  ['dead', 'dead only'],
] as const

type Queued = { queued: number; skipped: number }

/** Redelivers failed deliveries of a period, after showing their count. */
function Redrive({ again }: { again: () => void }) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        {' '}
        Send failed deliveries again{' '}
      </button>
      {open && <RedriveDialog close={() => setOpen(false)} again={again} />}
    </>
  )
}

function RedriveDialog({ close, again }: { close: () => void; again: () => void }) {
  const { monitor_path } = useCurrentUser()
  const [hours, setHours] = useState<string>('24')
  const [status, setStatus] = useState<string>('')
  const [counted, setCounted] = useState<Queued | null>(null)
  const action = useAction()
  const redeliver = (dry_run: boolean) =>
    action.run(() =>
      postJson<Queued>(`${monitor_path}/deliveries/redeliver`, {
        since: new Date(now() - Number(hours) * HOUR_MS).toISOString(),
        ...(status !== '' && { status }),
        dry_run,
      }),
    )
  const chosen = (change: () => void) => {
    change()
    setCounted(null)
  }
  async function countDeliveries() {
    const answer = await redeliver(true)
    if (answer.ok) setCounted(answer.value)
  }
  async function act() {
    const answer = await redeliver(false)
    if (!answer.ok) return
    notify(`${many(answer.value.queued, 'delivery', 'deliveries')} queued again.`)
    close()
    again()
  }
  return (
    <Dialog title="Send failed deliveries again" close={close}>
      <p>They keep their delivery_id and body, so that a receiver can detect duplicates.</p>
      <Field label="Period">
        {(attributes) => (
          <Choice<string>
            {...attributes}
            value={hours}
            options={SPANS}
            change={(it) => chosen(() => setHours(it))}
          />
        )}
      </Field>
      <Field label="State">
        {(attributes) => (
          <Choice<string>
            {...attributes}
            value={status}
            options={WHICH}
            change={(it) => chosen(() => setStatus(it))}
          />
        )}
      </Field>
      <ErrorNotice failure={action.failure} />
      {counted && (
        <Notice tone="plain">
          {many(counted.queued, 'delivery', 'deliveries')} would be sent; {count(counted.skipped)}{' '}
          cannot be sent: their webhook was deleted, is paused or switched off, or their content is
          past its retention.
        </Notice>
      )}
      <div class="actions">
        {counted === null ? (
          <button
            type="button"
            class="main"
            disabled={action.busy}
            onClick={() => void countDeliveries()}
          >
            {' '}
            Count{' '}
          </button>
        ) : (
          <button
            type="button"
            class="main"
            disabled={action.busy || counted.queued === 0}
            onClick={() => void act()}
          >
            Send {count(counted.queued)} again
          </button>
        )}
        <button type="button" onClick={close}>
          Cancel
        </button>
      </div>
    </Dialog>
  )
}

const PAGE = 50
const REFRESH_MS = 15_000

const NAMES: Record<Delivery['status'], string> = {
  pending: 'pending',
  delivered: 'delivered',
  failed: 'failed',
  dead: 'dead',
  suppressed: 'suppressed',
}
const STATUSES = [['', 'all states'] as const, ...Object.entries(NAMES)]

/** All deliveries, newest first. The API filters them; the search covers the loaded ones. */
export function Deliveries() {
  const { monitor_path, words } = useCurrentUser()
  const { query } = useRoute()
  const status = STATUSES.find(([it]) => it === query.get('status'))?.[0] ?? ''
  const monitor = query.get('monitor') ?? ''
  const list = useQuery<MonitorList>(`${monitor_path}/list`, { fresh_ms: REFRESH_MS })
  const monitors = list.value?.monitors ?? []
  const nameOf = (id: string) => {
    const found = monitors.find((it) => it.id === id)
    return found ? (found.name ?? inShort(found.filter_spec, words)) : 'removed'
  }
  const path = `${monitor_path}/deliveries?limit=${PAGE}${status && `&status=${status}`}${monitor && `&id=${encodeURIComponent(monitor)}`}`
  const pages = usePages(path)
  const [search, setSearch] = useState('')
  const fits = (it: Delivery) =>
    `${headlineOf(it)} ${it.delivery_id} ${statusReason(it)} ${nameOf(it.monitor_id)} ${JSON.stringify(it.payload)}`
      .toLowerCase()
      .includes(search.trim().toLowerCase())
  const results = search.trim() === '' ? pages.rows : pages.rows.filter(fits)
  const choose = (more: { status?: string; monitor?: string }) => {
    const next = Object.entries({ status, monitor, ...more }).filter(([, value]) => value !== '')
    const text = new URLSearchParams(next).toString()
    go(dashboardPath('deliveries') + (text === '' ? '' : `?${text}`), { replace: true })
  }
  const byId = search.trim().startsWith('dlv_')
  return (
    <PageLayout
      title="Deliveries"
      lead="Deliveries of all monitors to all webhooks, with payload, state and attempts."
      beside={<Redrive again={pages.again} />}
    >
      <form
        class="filters"
        role="search"
        onSubmit={(event) => {
          event.preventDefault()
          if (byId) go(dashboardPath('deliveries', search.trim()))
        }}
      >
        <SearchBox label="Search deliveries" value={search} change={setSearch} />
        <Field label="State">
          {(attributes) => (
            <Choice<string>
              {...attributes}
              value={status}
              options={STATUSES}
              change={(it) => choose({ status: it })}
            />
          )}
        </Field>
        <Field label="Monitor">
          {(attributes) => (
            <Choice<string>
              {...attributes}
              value={monitor}
              options={[
                ['', 'all monitors'],
                ...monitors.map((it) => [it.id, nameOf(it.id)] as const),
                ...(monitor !== '' && !monitors.some((it) => it.id === monitor)
                  ? [[monitor, 'a removed monitor'] as const]
                  : []),
              ]}
              change={(it) => choose({ monitor: it })}
            />
          )}
        </Field>
      </form>
      {byId && <p class="quiet">Press Enter to open this delivery.</p>}
      <ErrorNotice failure={pages.failure} again={pages.again} />
      {pages.first && <Skeleton rows={6} />}
      {!pages.first && pages.rows.length === 0 && pages.failure === null && (
        <EmptyState
          title={
            status === '' && monitor === ''
              ? 'No deliveries yet'
              : 'No deliveries with this state or monitor'
          }
        >
          <p>
            {status === '' && monitor === ''
              ? 'They appear here as soon as a monitor matches a new item.'
              : 'Choose another state or monitor.'}
          </p>
        </EmptyState>
      )}
      {pages.rows.length > 0 && results.length === 0 && (
        <EmptyState title={`No match among the ${count(pages.rows.length)} loaded deliveries`}>
          <p>Load older deliveries, or filter by state or monitor.</p>
        </EmptyState>
      )}
      <DeliveryRows rows={results} nameOf={nameOf} />
      {pages.more && (
        <button type="button" disabled={pages.busy} onClick={pages.older}>
          {pages.busy ? 'Loading …' : 'Load older'}
        </button>
      )}
    </PageLayout>
  )
}

/** The newest page, refreshed on events, and the requested older pages. */
function usePages(path: string) {
  const { snapshot } = useLive()
  const newest = useQuery<{ deliveries: Delivery[] }>(path, { every_ms: REFRESH_MS })
  const [older, setOlder] = useState<Delivery[]>([])
  const [end, setEnd] = useState(false)
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Failure | null>(null)
  useEffect(() => {
    setOlder([])
    setEnd(false)
    setFailure(null)
  }, [path])
  // Refreshes on an event instead of waiting for the next refresh interval.
  const latestId = snapshot?.recent[0]?.delivery_id ?? null
  useEffect(() => {
    if (latestId !== null) newest.again()
  }, [latestId])

  const first = newest.value?.deliveries ?? []
  const firstPageIds = new Set(first.map((it) => it.delivery_id))
  const rows = [...first, ...older.filter((it) => !firstPageIds.has(it.delivery_id))]
  async function load() {
    const last = rows.at(-1)
    if (last === undefined) return
    setBusy(true)
    const answer = await callApi<{ deliveries: Delivery[] }>(
      `${path}&before=${encodeURIComponent(last.created_at)}`,
    )
    setBusy(false)
    if (!answer.ok) return setFailure(answer.failure)
    setFailure(null)
    setOlder([...rows.slice(first.length), ...answer.value.deliveries])
    setEnd(answer.value.deliveries.length < PAGE)
  }
  return {
    rows,
    first: newest.value === undefined && newest.failure === null,
    failure: failure ?? newest.failure,
    again: newest.again,
    more: !end && first.length === PAGE,
    busy,
    older: () => void load(),
  }
}
