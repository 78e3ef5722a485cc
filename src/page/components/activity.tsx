import { useLast, useQuery } from '../hooks/use-query.ts'
import { count, inFull, many } from '../lib/format.ts'
import { dashboardPath, go, Link, useRoute } from '../lib/route.tsx'
import type { Activity } from '../lib/types.ts'
import { inboxPath } from '../pages/inbox/state/filter.ts'
import { Chart } from './base/chart.tsx'
import { EmptyState, ErrorNotice, Skeleton } from './base/notice.tsx'
import { DataTable } from './base/table.tsx'
import { Time } from './base/time.tsx'
import { ItemView } from './item.tsx'

const REFRESH_MS = 60_000

type Bucket = Activity['buckets'][number]

const PERIODS = [
  ['24h', '24 hours'],
  ['7d', '7 days'],
  ['30d', '30 days'],
] as const
type Period = (typeof PERIODS)[number][0]

const periodOf = (query: URLSearchParams): Period =>
  PERIODS.find(([it]) => it === query.get('period'))?.[0] ?? '24h'

function choose(next: Period) {
  const url = new URL(location.href)
  if (next === '24h') url.searchParams.delete('period')
  else url.searchParams.set('period', next)
  go(url.pathname + url.search, { replace: true })
}

/** Charts of a period, and the newest matches. `linked`: the reader has pages of monitors and deliveries. */
export function ActivityView({ path, linked }: { path: string; linked: boolean }) {
  const period = periodOf(useRoute().query)
  const asked = useQuery<Activity>(`${path}?period=${period}`, { every_ms: REFRESH_MS })
  const { failure, again } = asked
  // The charts stay while those of another period load.
  const value = useLast(asked.value)
  if (value === undefined)
    return failure === null ? (
      <Skeleton rows={4} />
    ) : (
      <ErrorNotice failure={failure} again={again} />
    )
  return (
    <>
      <section aria-labelledby="day" aria-busy={asked.value === undefined && failure === null}>
        <div class="card-head">
          <h2 id="day">Matches and deliveries</h2>
          <div class="periods" role="group" aria-label="Period">
            {PERIODS.map(([it, label]) => (
              <button
                key={it}
                type="button"
                class="plain small"
                aria-pressed={period === it}
                onClick={() => choose(it)}
              >
                {label}
              </button>
            ))}
          </div>
        </div>
        <ErrorNotice failure={failure} again={again} />
        <Charts activity={value} linked={linked} />
      </section>
      <section aria-labelledby="newest">
        <h2 id="newest">Newest matches</h2>
        {linked && (
          <p>
            <Link to={dashboardPath('inbox')}>Read and decide in the inbox</Link>
          </p>
        )}
        <Newest newest={value.newest} linked={linked} />
      </section>
    </>
  )
}

function Charts({
  activity: { bucket, buckets },
  linked,
}: {
  activity: Activity
  linked: boolean
}) {
  const by_day = bucket === 'day'
  const times = buckets.map(({ start }) => Date.parse(start) / 1000)
  const of = (figure: (it: Bucket) => number | null) => buckets.map((it) => figure(it) || null)
  const sum = (figure: (it: Bucket) => number | null) =>
    buckets.reduce((total, it) => total + (figure(it) ?? 0), 0)
  const removed = buckets.findLast((it) => it.matches === null)
  const delivered = sum((it) => it.delivered)
  const failed = sum((it) => it.failed)
  const matches = sum((it) => it.matches)
  if (matches + delivered + failed === 0)
    return (
      <p class="quiet">
        No matches and no deliveries in this period: charts appear with the first.
      </p>
    )
  return (
    <>
      <div class="charts">
        <figure>
          <figcaption>
            <Link to={dashboardPath(linked ? 'inbox' : 'monitors')}>
              {many(matches, 'match', 'matches')}
            </Link>
          </figcaption>
          <Chart
            label={`Matches by ${bucket}; the table below has the figures`}
            times={times}
            series={[{ label: 'Matches', values: of((it) => it.matches), tone: 'accent' }]}
            figure={count}
            by_day={by_day}
            counted
          />
        </figure>
        <figure>
          <figcaption>
            <Link to={delivery('delivered')}>{many(delivered, 'delivery', 'deliveries')}</Link>
            {', '}
            <Link to={delivery('dead')}>{count(failed)} failed</Link>
          </figcaption>
          <Chart
            label={`Deliveries by ${bucket}; the table below has the figures`}
            times={times}
            series={[
              { label: 'Delivered', values: of((it) => it.delivered), tone: 'accent' },
              { label: 'Failed', values: of((it) => it.failed), tone: 'bad' },
            ]}
            figure={count}
            by_day={by_day}
            counted
          />
        </figure>
      </div>
      {removed && (
        <p class="quiet small-text">
          Matches up to {startOf(removed, by_day)} are past their retention and no longer counted.
        </p>
      )}
      <details>
        <summary>Show as a table</summary>
        <DataTable<Bucket>
          caption={`Matches and deliveries by ${bucket}, newest first`}
          keyOf={(it) => it.start}
          rows={buckets.toReversed()}
          columns={[
            {
              title: by_day ? 'Day (UTC)' : 'Hour',
              kind: 'main',
              cell: (it) => startOf(it, by_day),
            },
            { title: 'Matches', kind: 'figure', cell: (it) => count(it.matches) },
            { title: 'Delivered', kind: 'figure', cell: (it) => count(it.delivered) },
            { title: 'Failed', kind: 'figure', cell: (it) => count(it.failed) },
          ]}
        />
      </details>
    </>
  )
}

const startOf = ({ start }: Bucket, by_day: boolean) =>
  by_day ? start.slice(0, 10) : inFull(Date.parse(start))

const delivery = (status: string) => `${dashboardPath('deliveries')}?status=${status}`

/** Id of an item in the inbox: its fullname, after the name of a further source. */
const inboxId = (name: string, source: unknown): string =>
  typeof source === 'string' ? `${source}/${name}` : name

function Newest({ newest, linked }: { newest: Activity['newest']; linked: boolean }) {
  if (newest.length === 0)
    return (
      <EmptyState title="No matches yet">
        <p>Items that match a monitor appear here, each once.</p>
      </EmptyState>
    )
  return (
    <ul class="matches">
      {newest.map(({ item, monitors, matched_at }) => (
        <li key={`${item.kind ?? ''} ${item.id} ${matched_at}`}>
          <ItemView item={item}>
            <span class="quiet small-text">
              matched <Time at={matched_at} /> by{' '}
              {monitors.map(({ id, name }, at) => (
                <span key={id}>
                  {at > 0 && ', '}
                  {linked ? (
                    <Link to={dashboardPath('monitors', id)}>{name ?? 'a monitor'}</Link>
                  ) : (
                    <strong>{name ?? 'a monitor'}</strong>
                  )}
                </span>
              ))}
              {linked && typeof item['name'] === 'string' && (
                <>
                  {' · '}
                  <Link to={inboxPath({ state: 'any' }, inboxId(item['name'], item['source']))}>
                    Open in the inbox
                  </Link>
                </>
              )}
            </span>
          </ItemView>
        </li>
      ))}
    </ul>
  )
}
