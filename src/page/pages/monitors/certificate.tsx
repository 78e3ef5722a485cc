import { useState } from 'preact/hooks'

import { Badge } from '../../components/base/badge.tsx'
import { Facts } from '../../components/base/facts.tsx'
import { Field } from '../../components/base/field.tsx'
import { assignErrors, ErrorNotice, sentence, Skeleton } from '../../components/base/notice.tsx'
import { DataTable } from '../../components/base/table.tsx'
import { Time } from '../../components/base/time.tsx'
import { PageLayout } from '../../components/layout.tsx'
import { useCurrentUser } from '../../hooks/contexts.ts'
import { useQuery } from '../../hooks/use-query.ts'
import { count, formatDuration, inFull, many } from '../../lib/format.ts'
import { coverageReason, gapReason } from '../../lib/reasons.ts'
import { dashboardPath, Link } from '../../lib/route.tsx'
import { now } from '../../lib/runtime.ts'

type Status = 'complete' | 'degraded' | 'partial' | 'unknown'
type Interval = { from: string; until: string; status: Status; reason: string | null }
type Day = {
  day: string
  status: Status
  intervals: Interval[]
  polls: number
  failed: number
  gaps: number
  matched: number
  delivered: number
}
type ListedGap = {
  stream: string
  reason: string
  at: string
  from: string | null
  until: string | null
  missed_estimate: number | null
  closed_at: string | null
}
type Certificate = {
  key_id: string
  statement: {
    issued_at: string
    period: { from: string; until: string; known_from: string | null }
    promise: { cadence_s: number }
    coverage: { status: Status; verified_until: string | null } & Record<`${Status}_s`, number>
    polls: { made: number; failed: number }
    audits: number
    late_items: number
    gaps: { reported: number; open: number; missed_estimate: number | null; listed: ListedGap[] }
    matched: number
    deliveries: Record<'delivered' | 'pending' | 'dead', number> &
      Record<'delay_p50_ms' | 'delay_p99_ms', number | null>
    settings: { from: string; filter_digest: string; cadence_s: number; active: boolean }[]
    days: Day[]
  }
}

const DAY_MS = 86_400_000
const DAYS_AT_FIRST = 30
const utcDay = (ago: number): string =>
  new Date(now() - ago * DAY_MS).toISOString().slice(0, 'YYYY-MM-DD'.length)

const TONES = { complete: 'good', degraded: 'bad', partial: 'warn', unknown: 'quiet' } as const
const WORDS = {
  complete: 'Complete',
  degraded: 'Gaps',
  partial: 'Not verified in part',
  unknown: 'Unknown',
} as const
const CLASSES = {
  complete: 'seen',
  degraded: 'gap',
  partial: 'blind',
  unknown: 'unwatched',
} as const

/** The certificate of coverage of a monitor, for a period that the reader picks. */
export function CertificatePage({ id }: { id: string }) {
  const { monitor_path } = useCurrentUser()
  const [period, setPeriod] = useState({ from: utcDay(DAYS_AT_FIRST - 1), to: utcDay(0) })
  const query = new URLSearchParams({ id, ...period }).toString()
  const { value, failure, again } = useQuery<Certificate>(`${monitor_path}/certificate?${query}`)
  const { errorOf, rest } = assignErrors(failure, ['from', 'to'])
  return (
    <PageLayout
      title="Certificate of coverage"
      beside={
        <Link to={dashboardPath('monitors', id)} class="button">
          Back to the monitor
        </Link>
      }
      lead="What this monitor observed, signed with the key of this instance."
    >
      <PeriodForm period={period} change={setPeriod} errorOf={errorOf} />
      <ErrorNotice failure={rest} again={again} />
      {value === undefined && failure === null && <Skeleton rows={5} />}
      {value && failure === null && <CertificateView certificate={value} />}
    </PageLayout>
  )
}

type Period = { from: string; to: string }

function PeriodForm({
  period,
  change,
  errorOf,
}: {
  period: Period
  change: (period: Period) => void
  errorOf: (name: 'from' | 'to') => string | null
}) {
  const [draft, setDraft] = useState(period)
  function show(event: Event) {
    event.preventDefault()
    change(draft)
  }
  return (
    <form class="filters" onSubmit={show} noValidate>
      {(['from', 'to'] as const).map((name) => (
        <Field
          key={name}
          label={name === 'from' ? 'First day (UTC)' : 'Last day (UTC)'}
          error={errorOf(name)}
        >
          {(attributes) => (
            <input
              {...attributes}
              type="date"
              value={draft[name]}
              max={utcDay(0)}
              onInput={(event) => setDraft({ ...draft, [name]: event.currentTarget.value })}
            />
          )}
        </Field>
      ))}
      <button type="submit">Show</button>
    </form>
  )
}

/** Saves the certificate as it was issued: its signature covers no other bytes. */
function save(certificate: Certificate): void {
  const url = URL.createObjectURL(
    new Blob([JSON.stringify(certificate)], { type: 'application/json' }),
  )
  const link = document.createElement('a')
  link.href = url
  link.download = `coverage-${certificate.statement.period.from.slice(0, 'YYYY-MM-DD'.length)}.json`
  link.click()
  URL.revokeObjectURL(url)
}

const ms = (delay: number | null): string => (delay === null ? 'none' : `${count(delay)} ms`)

function CertificateView({ certificate }: { certificate: Certificate }) {
  const { statement, key_id } = certificate
  const { coverage, period, gaps, deliveries, days, settings } = statement
  const figures: [string, string][] = [
    ['Verified', formatDuration(coverage.complete_s)],
    ['With gaps', formatDuration(coverage.degraded_s)],
    ['Not verified', formatDuration(coverage.partial_s)],
    ['Unknown', formatDuration(coverage.unknown_s)],
    ['Polls', count(statement.polls.made)],
    ['Polls failed', count(statement.polls.failed)],
    ['Audits', count(statement.audits)],
    ['Late items', count(statement.late_items)],
    ['Gaps', count(gaps.reported)],
    ['Gaps open', count(gaps.open)],
    ['Estimated missed', gaps.missed_estimate === null ? 'not known' : count(gaps.missed_estimate)],
    ['Matched', count(statement.matched)],
    ['Delivered', count(deliveries.delivered)],
    ['Pending', count(deliveries.pending)],
    ['Dead', count(deliveries.dead)],
    ['Delay, median', ms(deliveries.delay_p50_ms)],
    ['Delay, p99', ms(deliveries.delay_p99_ms)],
  ]
  return (
    <>
      <section class="card" aria-labelledby="verdict">
        <div class="card-head">
          <h2 id="verdict">Coverage</h2>
          <Badge tone={TONES[coverage.status]}>{WORDS[coverage.status]}</Badge>
        </div>
        <Facts
          rows={[
            ['From', <Time at={period.from} full />],
            ['Until', <Time at={period.until} full />],
            ['Verified until', <Time at={coverage.verified_until} none="no time" full />],
            ['History known from', <Time at={period.known_from} none="no time" full />],
          ]}
        />
        <Timeline days={days} />
        <div class="actions">
          <button type="button" onClick={() => save(certificate)}>
            Download JSON
          </button>
        </div>
      </section>
      <section aria-labelledby="figures">
        <h2 id="figures">Figures</h2>
        <dl class="tiles">
          {figures.map(([title, text]) => (
            <div key={title}>
              <dt>{title}</dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
      </section>
      <section aria-labelledby="days">
        <h2 id="days">Days</h2>
        <DataTable<Day>
          caption="Coverage of each day"
          keyOf={(it) => it.day}
          rows={days.toReversed().filter((it) => reasonOf(it) !== BEFORE_START)}
          columns={[
            { title: 'Day (UTC)', kind: 'main', cell: (it) => it.day },
            {
              title: 'Coverage',
              cell: (it) => <Badge tone={TONES[it.status]}>{WORDS[it.status]}</Badge>,
            },
            { title: 'Reason', cell: reasonOf },
            { title: 'Polls', kind: 'figure', cell: (it) => count(it.polls) },
            { title: 'Gaps', kind: 'figure', cell: (it) => count(it.gaps) },
            { title: 'Matched', kind: 'figure', cell: (it) => count(it.matched) },
            { title: 'Delivered', kind: 'figure', cell: (it) => count(it.delivered) },
          ]}
        />
      </section>
      {gaps.listed.length > 0 && (
        <section aria-labelledby="gaps">
          <h2 id="gaps">Gaps</h2>
          <DataTable<ListedGap>
            caption="Gaps, newest first"
            keyOf={(it) => `${it.stream} ${it.at} ${it.from}`}
            rows={gaps.listed}
            columns={[
              { title: 'Reason', kind: 'main', cell: (it) => gapReason(it.reason) },
              { title: 'Missing from', cell: (it) => <Time at={it.from} none="not known" /> },
              { title: 'Missing until', cell: (it) => <Time at={it.until} none="not known" /> },
              {
                title: 'Estimated missed',
                kind: 'figure',
                cell: (it) => count(it.missed_estimate),
              },
              { title: 'Recovered', cell: (it) => <Time at={it.closed_at} none="no" /> },
            ]}
          />
        </section>
      )}
      <section aria-labelledby="proof">
        <h2 id="proof">Proof</h2>
        <p>
          {many(settings.length, 'setting')} of the monitor in this period. Issued{' '}
          <Time at={statement.issued_at} /> with the key <code>{key_id}</code>. To verify the file:{' '}
          <code>forumd certificate verify FILE --url {location.origin}</code>
        </p>
      </section>
    </>
  )
}

const BEFORE_START = 'Before the monitor was created.'

/** Text for the reasons of a day that is not complete. */
function reasonOf({ intervals }: Day): string {
  const codes = [...new Set(intervals.flatMap(({ reason }) => reason ?? []))]
  const texts = codes.map((code) => (code === 'before_start' ? BEFORE_START : coverageReason(code)))
  return texts.map(sentence).join(' ')
}

const WIDTH = 1440
const HEIGHT = 20
const LEAST = 4

/** The period in one line; the table below it has the same in words. */
function Timeline({ days }: { days: readonly Day[] }) {
  const intervals = days.flatMap((it) => it.intervals)
  const start = Date.parse(intervals[0]?.from ?? '')
  const length = Date.parse(intervals.at(-1)?.until ?? '') - start
  const at = (text: string) => ((Date.parse(text) - start) / length) * WIDTH
  const ordered = intervals.toSorted(
    (a, b) => Number(a.status !== 'complete') - Number(b.status !== 'complete'),
  )
  const open = intervals.filter(({ status }) => status === 'degraded').length
  return (
    <div class="strip">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${many(days.length, 'day')}, ${open === 0 ? 'without a gap' : many(open, 'time with gaps', 'times with gaps')}`}
      >
        <rect class="unwatched" width={WIDTH} height={HEIGHT} />
        {length > 0 &&
          ordered.map(({ from, until, status }) => (
            <rect
              key={from}
              class={CLASSES[status]}
              x={Math.min(at(from), WIDTH - LEAST)}
              width={Math.max(LEAST, at(until) - at(from))}
              height={HEIGHT}
            >
              <title>{`${WORDS[status]}: ${inFull(Date.parse(from))} to ${inFull(Date.parse(until))}`}</title>
            </rect>
          ))}
      </svg>
      <ul class="legend">
        <li class="seen">complete</li>
        <li class="gap">gap</li>
        <li class="blind">not verified</li>
        <li class="unwatched">unknown</li>
      </ul>
    </div>
  )
}
