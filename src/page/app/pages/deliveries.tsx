import { useEffect, useState } from 'preact/hooks'

import { ask, type Failure } from '../api.ts'
import { useLive, useWho } from '../around.ts'
import { useAsk } from '../ask.ts'
import { DeliveryRows, headlineOf, troubleOf } from '../parts/delivery-rows.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { Empty, Trouble, Waiting } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { SearchBox } from '../parts/search.tsx'
import { go, pathOf, usePlace } from '../route.tsx'
import { count } from '../show.ts'
import { inShort } from '../spec.ts'
import type { Delivery, MonitorList } from '../types.ts'
import { Redrive } from './redrive.tsx'

const PAGE = 50
const LOOK_MS = 15_000

const NAMES: Record<Delivery['status'], string> = {
  pending: 'pending',
  delivered: 'delivered',
  failed: 'failed',
  dead: 'dead',
  suppressed: 'suppressed',
}
const STATUSES = [['', 'every state'] as const, ...Object.entries(NAMES)]

/** Every delivery, newest first; filtered by the API, searched in what is loaded. */
export function Deliveries() {
  const { monitor_path, words } = useWho()
  const { query } = usePlace()
  const status = STATUSES.find(([it]) => it === query.get('status'))?.[0] ?? ''
  const monitor = query.get('monitor') ?? ''
  const list = useAsk<MonitorList>(`${monitor_path}/list`, { fresh_ms: LOOK_MS })
  const monitors = list.value?.monitors ?? []
  const nameOf = (id: string) => {
    const found = monitors.find((it) => it.id === id)
    return found ? (found.name ?? inShort(found.filter_spec, words)) : 'removed'
  }
  const asked = `${monitor_path}/deliveries?limit=${PAGE}${status && `&status=${status}`}${monitor && `&id=${encodeURIComponent(monitor)}`}`
  const pages = usePages(asked)
  const [sought, setSought] = useState('')
  const fits = (it: Delivery) =>
    `${headlineOf(it)} ${it.delivery_id} ${troubleOf(it)} ${nameOf(it.monitor_id)} ${JSON.stringify(it.payload)}`
      .toLowerCase()
      .includes(sought.trim().toLowerCase())
  const shown = sought.trim() === '' ? pages.rows : pages.rows.filter(fits)
  const choose = (more: { status?: string; monitor?: string }) => {
    const next = Object.entries({ status, monitor, ...more }).filter(([, value]) => value !== '')
    const text = new URLSearchParams(next).toString()
    go(pathOf('deliveries') + (text === '' ? '' : `?${text}`), { replace: true })
  }
  const byId = sought.trim().startsWith('dlv_')
  return (
    <Page
      title="Deliveries"
      lead="Every match on its way to every target: what it says, and what became of it."
      beside={<Redrive again={pages.again} />}
    >
      <form
        class="filters"
        role="search"
        onSubmit={(event) => {
          event.preventDefault()
          if (byId) go(pathOf('deliveries', sought.trim()))
        }}
      >
        <SearchBox label="Search deliveries" value={sought} change={setSought} />
        <Field label="State">
          {(tied) => (
            <Choice<string>
              {...tied}
              value={status}
              options={STATUSES}
              change={(it) => choose({ status: it })}
            />
          )}
        </Field>
        <Field label="Monitor">
          {(tied) => (
            <Choice<string>
              {...tied}
              value={monitor}
              options={[
                ['', 'every monitor'],
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
      <Trouble failure={pages.failure} again={pages.again} />
      {pages.first && <Waiting rows={6} />}
      {!pages.first && pages.rows.length === 0 && pages.failure === null && (
        <Empty title={status === '' && monitor === '' ? 'No deliveries yet' : 'None is like that'}>
          <p>
            {status === '' && monitor === ''
              ? 'They appear here as soon as a monitor matches something new.'
              : 'Choose another state or monitor.'}
          </p>
        </Empty>
      )}
      {pages.rows.length > 0 && shown.length === 0 && (
        <Empty title={`None of the ${count(pages.rows.length)} that are loaded fits`}>
          <p>Load older ones, or filter by state or monitor.</p>
        </Empty>
      )}
      <DeliveryRows rows={shown} nameOf={nameOf} />
      {pages.more && (
        <button type="button" disabled={pages.busy} onClick={pages.older}>
          {pages.busy ? 'Loading …' : 'Load older ones'}
        </button>
      )}
    </Page>
  )
}

/** The newest page, kept fresh as things happen, and the older ones that were asked for. */
function usePages(asked: string) {
  const { snapshot } = useLive()
  const newest = useAsk<{ deliveries: Delivery[] }>(asked, { every_ms: LOOK_MS })
  const [older, setOlder] = useState<Delivery[]>([])
  const [end, setEnd] = useState(false)
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Failure | null>(null)
  useEffect(() => {
    setOlder([])
    setEnd(false)
    setFailure(null)
  }, [asked])
  // What was just told to have happened is shown without waiting for the next look.
  const told = snapshot?.recent[0]?.delivery_id ?? null
  useEffect(() => {
    if (told !== null) newest.again()
  }, [told])

  const first = newest.value?.deliveries ?? []
  const known = new Set(first.map((it) => it.delivery_id))
  const rows = [...first, ...older.filter((it) => !known.has(it.delivery_id))]
  async function load() {
    const last = rows.at(-1)
    if (last === undefined) return
    setBusy(true)
    const answer = await ask<{ deliveries: Delivery[] }>(
      `${asked}&before=${encodeURIComponent(last.created_at)}`,
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
