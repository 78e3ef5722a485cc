import { useEffect, useMemo, useState } from 'preact/hooks'

import { Dialog } from '../components/base/dialog.tsx'
import { ChoiceField, filterOptions } from '../components/base/field.tsx'
import { EmptyState, ErrorNotice, Notice, Skeleton } from '../components/base/notice.tsx'
import { SearchBox } from '../components/base/table.tsx'
import { notify } from '../components/base/toast.tsx'
import { DeliveryRows } from '../components/delivery-rows.tsx'
import { PageLayout } from '../components/layout.tsx'
import { useCurrentUser, useLive } from '../hooks/contexts.ts'
import { useAction } from '../hooks/use-action.ts'
import { useQuery } from '../hooks/use-query.ts'
import { callApi, type Failure, postJson } from '../lib/api.ts'
import { inShort } from '../lib/filter-spec.ts'
import { count, many } from '../lib/format.ts'
import { dashboardPath, go, useDialogOf, useRoute } from '../lib/route.tsx'
import { now, runAfter } from '../lib/runtime.ts'
import type { Delivery, MonitorList, Webhook } from '../lib/types.ts'
import { webhookName } from '../lib/webhook-health.ts'

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

type Named = readonly (readonly [string, string])[]

type RedriveProps = {
  webhooks: Named
  /** The webhook that the list is filtered by; empty: none. */
  webhook: string
  again: () => void
}

/** Redelivers failed deliveries of a period, after showing their count. The URL may open it for one webhook. */
function Redrive({ webhooks, webhook, again }: RedriveProps) {
  const wanted = useDialogOf('resend')
  const [open, setOpen] = useState(false)
  const close = () => {
    setOpen(false)
    wanted.close()
  }
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        {' '}
        Send failed deliveries again{' '}
      </button>
      {(open || wanted.of !== null) && (
        <RedriveDialog
          webhooks={webhooks}
          webhook={wanted.of ?? webhook}
          close={close}
          again={again}
        />
      )}
    </>
  )
}

/** Counts failed deliveries of a period and a webhook, then sends them again. */
export function RedriveDialog({
  webhooks,
  webhook: chosen_before,
  close,
  again,
}: RedriveProps & { close: () => void }) {
  const { monitor_path } = useCurrentUser()
  const [webhook, setWebhook] = useState(chosen_before)
  const [hours, setHours] = useState<string>('24')
  const [status, setStatus] = useState<string>('')
  const [counted, setCounted] = useState<Queued | null>(null)
  const action = useAction()
  const redeliver = (dry_run: boolean) =>
    action.run(() =>
      postJson<Queued>(`${monitor_path}/deliveries/redeliver`, {
        since: new Date(now() - Number(hours) * HOUR_MS).toISOString(),
        ...(status !== '' && { status }),
        ...(webhook !== '' && { webhook_id: webhook }),
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
      <ChoiceField<string>
        label="Period"
        value={hours}
        options={SPANS}
        change={(it) => chosen(() => setHours(it))}
      />
      <ChoiceField<string>
        label="Webhook"
        value={webhook}
        options={filterOptions('all webhooks', webhooks, webhook, 'a deleted webhook')}
        change={(it) => chosen(() => setWebhook(it))}
      />
      <ChoiceField<string>
        label="State"
        value={status}
        options={WHICH}
        change={(it) => chosen(() => setStatus(it))}
      />
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

const STATES = [
  ['waiting', 'waiting'],
  ['retrying', 'retrying'],
  ['delivered', 'delivered'],
  ['failed', 'failed'],
  ['dead', 'dead'],
  ['suppressed', 'suppressed'],
] as const
/** States that the API calls pending. */
const PENDING: { [state: string]: string } = {
  waiting: 'retrying=false',
  retrying: 'retrying=true',
  pending: 'status=pending',
}
const PERIODS = [['', 'any time'] as const, ...SPANS.map(([it, text]) => [it, text] as const)]
/** Typing pauses after which the server searches. */
const PAUSE_MS = 350

const FILTERS = ['q', 'status', 'webhook', 'monitor', 'within'] as const
type Filters = Record<(typeof FILTERS)[number], string>

function useFilters() {
  const { query } = useRoute()
  const filters: Filters = {
    q: query.get('q') ?? '',
    status: query.get('status') ?? '',
    webhook: query.get('webhook') ?? '',
    monitor: query.get('monitor') ?? '',
    within: PERIODS.find(([it]) => it === query.get('within'))?.[0] ?? '',
  }
  const choose = (change: Partial<Filters>) => {
    const next = { ...filters, ...change }
    const given = FILTERS.flatMap((name) => (next[name] === '' ? [] : [[name, next[name]]]))
    const text = new URLSearchParams(given).toString()
    go(dashboardPath('deliveries') + (text === '' ? '' : `?${text}`), { replace: true })
  }
  return { filters, choose }
}

/** The API path for filters. Its period begins when it is chosen, so that the path stays the same. */
function usePath({ q, status, webhook, monitor, within }: Filters): string {
  const { monitor_path } = useCurrentUser()
  const since = useMemo(
    () => (within === '' ? '' : new Date(now() - Number(within) * HOUR_MS).toISOString()),
    [within],
  )
  const given = Object.entries({ q, webhook_id: webhook, id: monitor, since })
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  const state = status === '' ? [] : [PENDING[status] ?? `status=${encodeURIComponent(status)}`]
  return `${monitor_path}/deliveries?${[`limit=${PAGE}`, ...given, ...state].join('&')}`
}

const nameIn = (all: readonly (readonly [string, string])[], id: string): string | undefined =>
  all.find(([it]) => it === id)?.[1]

function useTargets() {
  const { monitor_path, words } = useCurrentUser()
  const list = useQuery<MonitorList>(`${monitor_path}/list`, { fresh_ms: REFRESH_MS })
  const hooks = useQuery<{ webhooks: Webhook[] }>(`${monitor_path}/webhook/list`, {
    fresh_ms: REFRESH_MS,
  })
  const monitors = (list.value?.monitors ?? []).map(
    (it) => [it.id, it.name ?? inShort(it.filter_spec, words)] as const,
  )
  const webhooks = (hooks.value?.webhooks ?? []).map((it) => [it.id, webhookName(it)] as const)
  return {
    monitors,
    webhooks,
    nameOf: (id: string) => nameIn(monitors, id) ?? 'removed',
    targetOf: (id: string) => nameIn(webhooks, id) ?? 'deleted',
  }
}

/** All deliveries, newest first. The server filters and searches; the URL keeps the filters. */
export function Deliveries() {
  const { filters, choose } = useFilters()
  const { monitors, webhooks, nameOf, targetOf } = useTargets()
  const pages = usePages(usePath(filters))
  const filtered = FILTERS.some((name) => filters[name] !== '')
  return (
    <PageLayout
      title="Deliveries"
      lead="Deliveries of all monitors to all webhooks, with payload, state and attempts."
      beside={<Redrive webhooks={webhooks} webhook={filters.webhook} again={pages.again} />}
    >
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <SearchText text={filters.q} search={(q) => choose({ q })} />
        <ChoiceField
          label="State"
          value={filters.status}
          options={filterOptions('all states', STATES, filters.status)}
          change={(status) => choose({ status })}
        />
        <ChoiceField
          label="Webhook"
          value={filters.webhook}
          options={filterOptions('all webhooks', webhooks, filters.webhook, 'a deleted webhook')}
          change={(webhook) => choose({ webhook })}
        />
        <ChoiceField
          label="Monitor"
          value={filters.monitor}
          options={filterOptions('all monitors', monitors, filters.monitor, 'a removed monitor')}
          change={(monitor) => choose({ monitor })}
        />
        <ChoiceField
          label="Period"
          value={filters.within}
          options={PERIODS}
          change={(within) => choose({ within })}
        />
        {filtered && (
          <button
            type="button"
            onClick={() => choose({ q: '', status: '', webhook: '', monitor: '', within: '' })}
          >
            Clear filters
          </button>
        )}
      </form>
      <ErrorNotice failure={pages.failure} again={pages.again} />
      {pages.first && <Skeleton rows={6} />}
      {!pages.first && pages.rows.length === 0 && pages.failure === null && (
        <NoDeliveries filtered={filtered} more={pages.more} />
      )}
      <DeliveryRows rows={pages.rows} nameOf={nameOf} targetOf={targetOf} />
      {pages.more && (
        <button type="button" disabled={pages.busy} onClick={pages.older}>
          {pages.busy ? 'Loading …' : filters.q === '' ? 'Load older' : 'Search older'}
        </button>
      )}
    </PageLayout>
  )
}

function NoDeliveries({ filtered, more }: { filtered: boolean; more: boolean }) {
  if (!filtered)
    return (
      <EmptyState title="No deliveries yet">
        <p>They appear here as soon as a monitor matches a new item.</p>
      </EmptyState>
    )
  return more ? (
    <EmptyState title="No match among the newest deliveries">
      <p>A search reads 1000 deliveries at a time. Search older ones.</p>
    </EmptyState>
  ) : (
    <EmptyState title="No deliveries match these filters">
      <p>Change or clear the filters.</p>
    </EmptyState>
  )
}

function SearchText({ text, search }: { text: string; search: (text: string) => void }) {
  const [typed, setTyped] = useState(text)
  useEffect(() => setTyped(text), [text])
  useEffect(() => {
    if (typed.trim() === text) return
    return runAfter(PAUSE_MS, () => search(typed.trim()))
  }, [typed])
  return <SearchBox label="Search text or id" value={typed} change={setTyped} />
}

type Page = { deliveries: Delivery[]; next_before: string | null }

/** The newest page, refreshed on events, and the requested older pages. */
function usePages(path: string) {
  const { snapshot } = useLive()
  const newest = useQuery<Page>(path, { every_ms: REFRESH_MS })
  const [older, setOlder] = useState<Delivery[]>([])
  /** The cursor after the older pages; undefined while there are none. */
  const [cursor, setCursor] = useState<string | null>()
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Failure | null>(null)
  useEffect(() => {
    setOlder([])
    setCursor(undefined)
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
  const before = cursor === undefined ? (newest.value?.next_before ?? null) : cursor
  async function load() {
    if (before === null) return
    setBusy(true)
    const answer = await callApi<Page>(`${path}&before=${encodeURIComponent(before)}`)
    setBusy(false)
    if (!answer.ok) return setFailure(answer.failure)
    setFailure(null)
    // All rows, because the newest page moves on: those that leave it stay.
    setOlder([...rows, ...answer.value.deliveries])
    setCursor(answer.value.next_before)
  }
  return {
    rows,
    first: newest.value === undefined && newest.failure === null,
    failure: failure ?? newest.failure,
    again: newest.again,
    more: before !== null,
    busy,
    older: () => void load(),
  }
}
