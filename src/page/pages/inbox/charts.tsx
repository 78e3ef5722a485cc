import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

import { Chart } from '../../components/base/chart.tsx'
import type { ChartTone } from '../../components/base/draw-chart.ts'
import { ChoiceField } from '../../components/base/field.tsx'
import { EmptyState, ErrorNotice, Notice, Skeleton } from '../../components/base/notice.tsx'
import { DataTable } from '../../components/base/table.tsx'
import { useNow } from '../../components/base/time.tsx'
import { PageLayout } from '../../components/layout.tsx'
import { useCurrentUser } from '../../hooks/contexts.ts'
import { useLast, useQuery } from '../../hooks/use-query.ts'
import { inShort } from '../../lib/filter-spec.ts'
import { count, inFull, many } from '../../lib/format.ts'
import { Link } from '../../lib/route.tsx'
import type { MonitorList } from '../../lib/types.ts'
import { inboxPath } from './state/filter.ts'
import type { MentionStats } from './state/types.ts'

const HOUR_MS = 3_600_000
const SPANS = [
  ['2', 'two days, by hour'],
  ['7', 'a week, by hour'],
  ['30', '30 days, by day'],
  ['90', '90 days, by day'],
] as const

/** Monitors drawn by themselves; the others share a column. */
const VOICES: readonly ChartTone[] = ['voice-1', 'voice-2', 'voice-3', 'voice-4', 'voice-5']

const MOODS = [
  ['positive', 'Positive', 'seen'],
  ['mixed', 'Mixed', 'healed'],
  ['neutral', 'Neutral', 'blind'],
  ['negative', 'Negative', 'gap'],
] as const satisfies readonly (readonly [string, string, ChartTone])[]

/** Mentions over time, share of voice, sentiment, and the most frequent places and authors. */
export function MentionsPage() {
  const { words, monitor_path } = useCurrentUser()
  const [days, setDays] = useState<string>('30')
  const [monitor, setMonitor] = useState('')
  const hour_at = Math.floor(useNow() / HOUR_MS) * HOUR_MS
  const from = new Date(hour_at - Number(days) * 24 * HOUR_MS).toISOString()
  const bucket = Number(days) <= 7 ? 'hour' : 'day'
  const list = useQuery<MonitorList>(`${monitor_path}/list`)
  const monitors = (list.value?.monitors ?? []).map(
    (it) => [it.id, it.name ?? inShort(it.filter_spec, words)] as const,
  )
  const one = monitor === '' ? '' : `&monitor=${encodeURIComponent(monitor)}`
  const stats = useQuery<MentionStats>(
    `/${words.platform}/inbox/stats?from=${encodeURIComponent(from)}&bucket=${bucket}${one}`,
  )
  const shown = useLast(stats.value)
  return (
    <PageLayout
      title="Mentions"
      lead={
        <>
          Matches over time, by monitor, place and author.{' '}
          <Link to={inboxPath()}>Back to the inbox</Link>
        </>
      }
      beside={
        <>
          <ChoiceField<string>
            label="Monitor"
            value={monitor}
            options={[['', 'all monitors'] as const, ...monitors]}
            change={setMonitor}
          />
          <ChoiceField<string> label="Period" value={days} options={SPANS} change={setDays} />
        </>
      }
    >
      <ErrorNotice failure={stats.failure} again={stats.again} />
      {shown ? (
        <Figures stats={shown} nameOf={(id) => monitors.find(([it]) => it === id)?.[1] ?? null} />
      ) : (
        stats.failure === null && <Skeleton rows={6} />
      )}
    </PageLayout>
  )
}

type Named = { monitor_id: string | null; name: string | null }

function Figures({
  stats,
  nameOf,
}: {
  stats: MentionStats
  nameOf: (id: string) => string | null
}) {
  const { mentions, share, places, authors, bucket, complete, examined } = stats
  if (examined === 0)
    return (
      <EmptyState title="No matches in this period">
        <p>Charts appear as soon as a monitor has matched something.</p>
      </EmptyState>
    )
  const called = ({ monitor_id, name }: Named) =>
    monitor_id === null ? 'Others' : (name ?? nameOf(monitor_id) ?? 'A removed monitor')
  const times = mentions.at.map((it) => Date.parse(it) / 1000)
  const by_day = bucket === 'day'
  // A name may be that of another place or account on another source.
  const several = new Set([...places, ...authors].map(({ source }) => source)).size > 1
  const moods = MOODS.map(([key, label, tone]) => ({
    label,
    tone,
    values: orNull(stats.sentiment_over_time[key] ?? []),
  }))
  const voices = voicesOf(mentions.series.map((it) => ({ label: called(it), counts: it.counts })))
  return (
    <>
      {!complete && (
        <Notice tone="warn">
          <p>
            Only the newest {count(examined)} matches are counted, back to{' '}
            {inFull(Date.parse(stats.from))}.
          </p>
        </Notice>
      )}
      <div class="charts">
        <figure>
          <figcaption>
            <strong>
              {many(
                mentions.total.reduce((sum, it) => sum + it, 0),
                'mention',
              )}
            </strong>{' '}
            by monitor
          </figcaption>
          <Chart
            label="Mentions over time by monitor; the table below has the figures"
            times={times}
            series={voices}
            figure={count}
            by_day={by_day}
            counted
            stacked
          />
        </figure>
        <figure>
          <figcaption>Sentiment</figcaption>
          <Chart
            label="Sentiment over time; the table below has the figures"
            times={times}
            series={moods}
            figure={count}
            by_day={by_day}
            counted
            stacked
          />
        </figure>
      </div>
      <details>
        <summary>Show as a table</summary>
        <DataTable
          caption="Mentions and their sentiment over time, newest first"
          keyOf={(it) => it.start}
          rows={mentions.at
            .map((start, at) => ({ start, at }))
            .toReversed()
            .filter(({ at }) => (mentions.total[at] ?? 0) > 0)}
          columns={[
            {
              title: by_day ? 'Day' : 'Hour',
              kind: 'main',
              cell: (it) => (by_day ? it.start.slice(0, 10) : inFull(Date.parse(it.start))),
            },
            { title: 'Mentions', kind: 'figure', cell: (it) => count(mentions.total[it.at]) },
            ...voices.map(({ label, values }) => ({
              title: label,
              kind: 'figure' as const,
              cell: (it: { at: number }) => count(values[it.at] ?? 0),
            })),
          ]}
        />
      </details>
      <div class="rankings">
        <Ranking
          title="Share of voice"
          empty="No monitor has matched."
          rows={share.map((it) => ({
            key: it.monitor_id ?? 'others',
            name:
              it.monitor_id === null ? (
                called(it)
              ) : (
                <Link to={inboxPath({ state: 'any', monitor: it.monitor_id })}>{called(it)}</Link>
              ),
            n: it.mentions,
            note: `${Math.round(it.share * 100)} %`,
          }))}
        />
        <Ranking
          title="Sentiment"
          empty="No sentiment is known."
          rows={Object.entries(stats.sentiment)
            .filter(([, n]) => n > 0)
            .map(([key, n]) => ({ key, name: key, n, note: count(n) }))}
        />
        <Ranking
          title="Top places"
          empty="No place is known."
          rows={places.map((it) => ({
            key: `${it.source} ${it.place}`,
            name: (
              <>
                <Link to={inboxPath({ state: 'any', place: it.place, source: it.source })}>
                  {it.place}
                </Link>
                {several && <span class="quiet"> {it.source}</span>}
              </>
            ),
            n: it.mentions,
            note: count(it.mentions),
          }))}
        />
        <Ranking
          title="Top authors"
          empty="No author is known."
          rows={authors.map((it) => ({
            key: `${it.source} ${it.author}`,
            name: (
              <>
                <Link to={inboxPath({ state: 'any', author: it.author, source: it.source })}>
                  {it.author}
                </Link>
                {several && <span class="quiet"> {it.source}</span>}
              </>
            ),
            n: it.mentions,
            note: count(it.mentions),
          }))}
        />
      </div>
    </>
  )
}

const orNull = (values: readonly number[]): (number | null)[] => values.map((it) => it || null)

type Voice = { label: string; counts: readonly number[] }

/** The series of a chart: the first monitors by themselves, the sum of the others last. */
function voicesOf(all: readonly Voice[]) {
  const own = all.slice(0, VOICES.length)
  const others = all.slice(VOICES.length)
  const rest = (own[0]?.counts ?? []).map((_, at) =>
    others.reduce((sum, it) => sum + (it.counts[at] ?? 0), 0),
  )
  const drawn = own.map(({ label, counts }, at) => ({
    label,
    tone: VOICES[at] ?? 'voice-6',
    values: orNull(counts),
  }))
  return others.length === 0
    ? drawn
    : [...drawn, { label: 'Others', tone: 'voice-6' as const, values: orNull(rest) }]
}

type RankingProps = {
  title: string
  empty: string
  rows: readonly { key: string; name: ComponentChildren; n: number; note: string }[]
}

/** A table of names whose numbers are also bars. */
function Ranking({ title, empty, rows }: RankingProps) {
  const most = Math.max(1, ...rows.map(({ n }) => n))
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      {rows.length === 0 ? (
        <p class="quiet">{empty}</p>
      ) : (
        <table class="bars">
          <tbody>
            {rows.slice(0, RANKED).map(({ key, name, n, note }) => (
              <tr key={key}>
                <th scope="row">{name}</th>
                <td>
                  <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                    <rect class="wanted" width={(100 * n) / most} height="8" rx="1" />
                  </svg>
                </td>
                <td class="figure">{note}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

/** Rows of a ranking. */
const RANKED = 10
