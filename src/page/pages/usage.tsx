import { useMemo, useState } from 'preact/hooks'

import { Chart } from '../components/base/chart.tsx'
import { ChoiceField } from '../components/base/field.tsx'
import { EmptyState, ErrorNotice, Skeleton } from '../components/base/notice.tsx'
import { DataTable } from '../components/base/table.tsx'
import { Time, useNow } from '../components/base/time.tsx'
import { PageLayout } from '../components/layout.tsx'
import { useLast, useQuery } from '../hooks/use-query.ts'
import { count, inFull, many, usd, words as inWords } from '../lib/format.ts'
import type { Me, Payment, Usage } from '../lib/types.ts'

/** The displayed period: `hours` up to the end of the hour that starts at `hour_at` (epoch ms), by hour or day. */
type Span = { hour_at: number; hours: number; by_hour: boolean }

type Row = Usage['usage'][number]
type Bucket = { at: number; row: Row | undefined }

function UsageFigures({ usage: { usage, total }, span }: { usage: Usage; span: Span }) {
  if (usage.length === 0)
    return (
      <EmptyState title="No calls in this period">
        <p>
          Calls to the API are counted here by hour and day, with their cost. Managing monitors is
          free.
        </p>
      </EmptyState>
    )
  const drawn = bucketsOf(usage, span)
  const times = drawn.map(({ at }) => at / 1000)
  const of = (figure: (row: Row) => number) =>
    drawn.map(({ row }) => (row ? figure(row) || null : null))
  return (
    <>
      <p>
        {many(total.calls, 'call')}, {count(total.billed_calls)} of them billed:{' '}
        <strong>{usd(total.cost_usd)}</strong>. {many(total.errors, 'error')}.
      </p>
      <div class="charts">
        <figure>
          <figcaption>Calls and errors</figcaption>
          <Chart
            label="Calls over time; the table below has the figures"
            times={times}
            series={[
              { label: 'Calls', values: of((it) => it.calls), tone: 'accent' },
              { label: 'Errors', values: of((it) => it.errors), tone: 'bad' },
            ]}
            figure={count}
            by_day={!span.by_hour}
            counted
          />
        </figure>
        <figure>
          <figcaption>Cost</figcaption>
          <Chart
            label="Cost over time; the table below has the figures"
            times={times}
            series={[{ label: 'Cost', values: of((it) => it.cost_usd), tone: 'accent' }]}
            figure={usd}
            by_day={!span.by_hour}
          />
        </figure>
      </div>
      <details>
        <summary>Show as a table</summary>
        <DataTable<Row>
          caption="Calls and cost over time, newest first"
          keyOf={(it) => it.start}
          rows={usage.toReversed()}
          columns={[
            {
              title: span.by_hour ? 'Hour' : 'Day',
              kind: 'main',
              cell: (it) => (span.by_hour ? inFull(Date.parse(it.start)) : it.start.slice(0, 10)),
            },
            { title: 'Calls', kind: 'figure', cell: (it) => count(it.calls) },
            { title: 'Billed', kind: 'figure', cell: (it) => count(it.billed_calls) },
            { title: 'Errors', kind: 'figure', cell: (it) => count(it.errors) },
            { title: 'Cost', kind: 'figure', cell: (it) => usd(it.cost_usd) },
            {
              title: 'By tier',
              cell: (it) =>
                Object.entries(it.by_tier)
                  .map(([tier, n]) => `${count(n.calls)} ${inWords(tier).toLowerCase()}`)
                  .join(', '),
            },
          ]}
        />
      </details>
    </>
  )
}

/** Every hour or day of a period; the API omits those without calls. */
function bucketsOf(rows: readonly Row[], { hour_at, hours, by_hour }: Span): Bucket[] {
  const step_ms = by_hour ? HOUR_MS : 24 * HOUR_MS
  const rowsByStart = new Map(rows.map((row) => [Date.parse(row.start), row]))
  const first = Math.floor((hour_at - hours * HOUR_MS) / step_ms) * step_ms
  return Array.from({ length: Math.ceil((hour_at + HOUR_MS - first) / step_ms) }, (_, n) => {
    const at = first + n * step_ms
    return { at, row: rowsByStart.get(at) }
  })
}

const HOUR_MS = 3_600_000

const SPANS = [
  ['48', 'two days, by hour'],
  ['168', 'a week, by hour'],
  ['720', '30 days, by day'],
  ['2160', '90 days, by day'],
] as const

export function UsagePage() {
  const [hours, setHours] = useState<string>('720')
  // Rounded to the hour, so that the query does not change while the page is open.
  const hour_at = Math.floor(useNow() / HOUR_MS) * HOUR_MS
  const span = useMemo(
    () => ({ hour_at, hours: Number(hours), by_hour: Number(hours) <= 168 }),
    [hour_at, hours],
  )
  const from = new Date(hour_at - span.hours * HOUR_MS).toISOString()
  const usage = useQuery<Usage>(
    `/account/usage?from=${from}&bucket=${span.by_hour ? 'hour' : 'day'}`,
  )
  const figures = useLast(usage.value && { span, usage: usage.value })
  const me = useQuery<Me>('/account/me')
  return (
    <PageLayout
      title="Usage and payments"
      lead={me.value && `${usd(me.value.credits_remaining)} left on plan ${me.value.plan}.`}
      beside={
        <ChoiceField<string> label="Period" value={hours} options={SPANS} change={setHours} />
      }
    >
      <ErrorNotice failure={usage.failure ?? me.failure} again={usage.again} />
      <section aria-labelledby="usage">
        <h2 id="usage">Usage</h2>
        {figures ? <UsageFigures {...figures} /> : usage.failure === null && <Skeleton rows={6} />}
      </section>
      <Payments />
    </PageLayout>
  )
}

function Payments() {
  const { value, failure, again } = useQuery<{ payments: Payment[] }>('/account/payments')
  return (
    <section aria-labelledby="payments">
      <h2 id="payments">Payments</h2>
      <ErrorNotice failure={failure} again={again} />
      {value === undefined && failure === null && <Skeleton rows={2} />}
      {value?.payments.length === 0 && <EmptyState title="No payments yet" />}
      {value && value.payments.length > 0 && (
        <DataTable<Payment>
          caption="Payments, newest first"
          keyOf={(it) => it.id}
          rows={value.payments}
          columns={[
            { title: 'Type', kind: 'main', cell: (it) => inWords(it.kind) },
            { title: 'Amount', kind: 'figure', cell: (it) => usd(it.amount_usd) },
            { title: 'Date', cell: (it) => <Time at={it.created_at} /> },
            { title: 'Note', cell: (it) => it.note ?? '' },
          ]}
        />
      )}
    </section>
  )
}
