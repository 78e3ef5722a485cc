import { Chart } from '../parts/chart.tsx'
import { Empty } from '../parts/notice.tsx'
import { Rows } from '../parts/rows.tsx'
import { count, inFull, many, usd, words as inWords } from '../show.ts'
import type { Usage } from '../types.ts'

const HOUR_MS = 3_600_000

/** What is looked at: up to the end of the hour that began at `hour_at`, in hours or days. */
export type Span = { hour_at: number; hours: number; by_hour: boolean }

type Row = Usage['usage'][number]
type Bucket = { at: number; row: Row | undefined }

/** Calls and cost over a span of time, drawn and as a table. */
export function UsageFigures({ usage: { usage, total }, span }: { usage: Usage; span: Span }) {
  if (usage.length === 0)
    return (
      <Empty title="No calls in this time">
        <p>
          Calls to the API are counted here by hour and day, with what they cost. Managing monitors
          is free.
        </p>
      </Empty>
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
          <figcaption>Calls, and errors among them</figcaption>
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
        <summary>The figures</summary>
        <Rows<Row>
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
  )
}

/** Every hour or day of a span, with what the API has of it: it leaves out those without a call. */
function bucketsOf(rows: readonly Row[], { hour_at, hours, by_hour }: Span): Bucket[] {
  const step_ms = by_hour ? HOUR_MS : 24 * HOUR_MS
  const known = new Map(rows.map((row) => [Date.parse(row.start), row]))
  const first = Math.floor((hour_at - hours * HOUR_MS) / step_ms) * step_ms
  return Array.from({ length: Math.ceil((hour_at + HOUR_MS - first) / step_ms) }, (_, n) => {
    const at = first + n * step_ms
    return { at, row: known.get(at) }
  })
}
