import { useState } from 'preact/hooks'

import { useAsk } from '../ask.ts'
import { Page } from '../frame.tsx'
import { Chart } from '../parts/chart.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { Empty, Trouble, Waiting } from '../parts/notice.tsx'
import { Rows } from '../parts/rows.tsx'
import { Time, useNow } from '../parts/time.tsx'
import { count, inFull, many, usd, words as inWords } from '../show.ts'
import type { Me, Payment, Usage } from '../types.ts'

const HOUR_MS = 3_600_000

const SPANS = [
  ['48', 'two days, by hour'],
  ['168', 'a week, by hour'],
  ['720', '30 days, by day'],
  ['2160', '90 days, by day'],
] as const

type Row = Usage['usage'][number]

/** What was called and what it cost, and what was paid. */
export function UsagePage() {
  const [span, setSpan] = useState<string>('720')
  // To the hour, so that the question stays the same one while the page is looked at.
  const hour_at = Math.floor(useNow() / HOUR_MS) * HOUR_MS
  const hours = Number(span)
  const by_hour = hours <= 168
  const from = new Date(hour_at - hours * HOUR_MS).toISOString()
  const usage = useAsk<Usage>(`/account/usage?from=${from}&bucket=${by_hour ? 'hour' : 'day'}`)
  const me = useAsk<Me>('/account/me')
  const payments = useAsk<{ payments: Payment[] }>('/account/payments')
  const rows = usage.value?.usage ?? []
  const drawn = bucketsOf(rows, {
    from_at: hour_at - hours * HOUR_MS,
    until_at: hour_at + HOUR_MS,
    step_ms: by_hour ? HOUR_MS : 24 * HOUR_MS,
  })
  const times = drawn.map(({ at }) => at / 1000)
  const cost = usage.value?.total.cost_usd
  const start = ({ start: at }: Row) => (by_hour ? inFull(Date.parse(at)) : at.slice(0, 10))
  return (
    <Page
      title="Usage and payments"
      lead={me.value && `${usd(me.value.credits_remaining)} left on plan ${me.value.plan}.`}
      beside={
        <Field label="Span">
          {(tied) => <Choice<string> {...tied} value={span} options={SPANS} change={setSpan} />}
        </Field>
      }
    >
      <Trouble failure={usage.failure ?? me.failure ?? payments.failure} again={usage.again} />
      <section aria-labelledby="usage">
        <h2 id="usage">Usage</h2>
        {usage.value === undefined && usage.failure === null && <Waiting rows={6} />}
        {usage.value && rows.length === 0 && (
          <Empty title="No calls in this time">
            <p>
              Calls to the API are counted here by hour and day, with what they cost. Managing
              monitors is free.
            </p>
          </Empty>
        )}
        {usage.value && rows.length > 0 && (
          <>
            <p>
              {many(usage.value.total.calls, 'call')}, {count(usage.value.total.billed_calls)} of
              them billed: <strong>{usd(cost)}</strong>. {many(usage.value.total.errors, 'error')}.
            </p>
            <div class="charts">
              <figure>
                <figcaption>Calls, and errors among them</figcaption>
                <Chart
                  label="Calls over time; the table below has the figures"
                  times={times}
                  series={[
                    {
                      label: 'Calls',
                      values: drawn.map((it) => it.row?.calls ?? 0),
                      tone: 'accent',
                    },
                    {
                      label: 'Errors',
                      values: drawn.map((it) => it.row?.errors ?? 0),
                      tone: 'bad',
                    },
                  ]}
                  figure={count}
                />
              </figure>
              <figure>
                <figcaption>Cost</figcaption>
                <Chart
                  label="Cost over time; the table below has the figures"
                  times={times}
                  series={[
                    {
                      label: 'Cost',
                      values: drawn.map((it) => it.row?.cost_usd ?? 0),
                      tone: 'accent',
                    },
                  ]}
                  figure={usd}
                />
              </figure>
            </div>
            <details>
              <summary>The figures</summary>
              <Rows<Row>
                caption="Calls and cost over time, newest first"
                keyOf={(it) => it.start}
                rows={rows.toReversed()}
                columns={[
                  { title: by_hour ? 'Hour' : 'Day', kind: 'main', cell: start },
                  { title: 'Calls', kind: 'figure', cell: (it) => count(it.calls) },
                  { title: 'Billed', kind: 'figure', cell: (it) => count(it.billed_calls) },
                  { title: 'Errors', kind: 'figure', cell: (it) => count(it.errors) },
                  { title: 'Cost', kind: 'figure', cell: (it) => usd(it.cost_usd) },
                  {
                    title: 'Of which',
                    cell: (it) =>
                      Object.entries(it.by_tier)
                        .map(([tier, n]) => `${count(n.calls)} ${inWords(tier).toLowerCase()}`)
                        .join(', '),
                  },
                ]}
              />
            </details>
          </>
        )}
      </section>
      <section aria-labelledby="payments">
        <h2 id="payments">Payments</h2>
        {payments.value === undefined && payments.failure === null && <Waiting rows={2} />}
        {payments.value?.payments.length === 0 && <Empty title="No payments yet" />}
        {payments.value && payments.value.payments.length > 0 && (
          <Rows<Payment>
            caption="Payments, newest first"
            keyOf={(it) => it.id}
            rows={payments.value.payments}
            columns={[
              { title: 'What', kind: 'main', cell: (it) => inWords(it.kind) },
              { title: 'Amount', kind: 'figure', cell: (it) => usd(it.amount_usd) },
              { title: 'When', cell: (it) => <Time at={it.created_at} /> },
              { title: 'Note', cell: (it) => it.note ?? '' },
            ]}
          />
        )}
      </section>
    </Page>
  )
}

/** Every hour or day of a span, with what the API has of it: it leaves out those without a call. */
function bucketsOf(
  rows: readonly Row[],
  { from_at, until_at, step_ms }: { from_at: number; until_at: number; step_ms: number },
): { at: number; row: Row | undefined }[] {
  const known = new Map(rows.map((row) => [Date.parse(row.start), row]))
  const first = Math.floor(from_at / step_ms) * step_ms
  return Array.from({ length: Math.ceil((until_at - first) / step_ms) }, (_, n) => {
    const at = first + n * step_ms
    return { at, row: known.get(at) }
  })
}
