import { useQuery } from '../hooks/use-query.ts'
import { count, inFull, many } from '../lib/format.ts'
import { dashboardPath, Link } from '../lib/route.tsx'
import type { Activity } from '../lib/types.ts'
import { inboxPath } from '../pages/inbox/state/filter.ts'
import { Chart } from './base/chart.tsx'
import { EmptyState, ErrorNotice, Skeleton } from './base/notice.tsx'
import { DataTable } from './base/table.tsx'
import { Time } from './base/time.tsx'
import { ItemView } from './item.tsx'

const REFRESH_MS = 60_000

type Hour = Activity['hours'][number]

/** Charts of the last 24 hours, and the newest matches. `linked`: the reader has pages of monitors and deliveries. */
export function ActivityView({ path, linked }: { path: string; linked: boolean }) {
  const { value, failure, again } = useQuery<Activity>(path, { every_ms: REFRESH_MS })
  if (value === undefined)
    return failure === null ? (
      <Skeleton rows={4} />
    ) : (
      <ErrorNotice failure={failure} again={again} />
    )
  return (
    <>
      <section aria-labelledby="day">
        <h2 id="day">The last 24 hours</h2>
        <Charts hours={value.hours} linked={linked} />
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

function Charts({ hours, linked }: { hours: readonly Hour[]; linked: boolean }) {
  const times = hours.map(({ start }) => Date.parse(start) / 1000)
  const of = (figure: (hour: Hour) => number) => hours.map((hour) => figure(hour) || null)
  const sum = (figure: (hour: Hour) => number) =>
    hours.reduce((total, hour) => total + figure(hour), 0)
  const delivered = sum((it) => it.delivered)
  const failed = sum((it) => it.failed)
  const matches = sum((it) => it.matches)
  if (matches + delivered + failed === 0)
    return <p class="quiet">No matches and no deliveries: charts appear with the first.</p>
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
            label="Matches by hour; the table below has the figures"
            times={times}
            series={[{ label: 'Matches', values: of((it) => it.matches), tone: 'accent' }]}
            figure={count}
            by_day={false}
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
            label="Deliveries by hour; the table below has the figures"
            times={times}
            series={[
              { label: 'Delivered', values: of((it) => it.delivered), tone: 'accent' },
              { label: 'Failed', values: of((it) => it.failed), tone: 'bad' },
            ]}
            figure={count}
            by_day={false}
            counted
          />
        </figure>
      </div>
      <details>
        <summary>Show as a table</summary>
        <DataTable<Hour>
          caption="Matches and deliveries by hour, newest first"
          keyOf={(it) => it.start}
          rows={hours.toReversed()}
          columns={[
            { title: 'Hour', kind: 'main', cell: (it) => inFull(Date.parse(it.start)) },
            { title: 'Matches', kind: 'figure', cell: (it) => count(it.matches) },
            { title: 'Delivered', kind: 'figure', cell: (it) => count(it.delivered) },
            { title: 'Failed', kind: 'figure', cell: (it) => count(it.failed) },
          ]}
        />
      </details>
    </>
  )
}

const delivery = (status: string) => `${dashboardPath('deliveries')}?status=${status}`

/** Id of an item in the inbox: its fullname, after the name of a further source. */
const inboxId = (name: string, source: unknown): string =>
  typeof source === 'string' && source !== 'main' ? `${source}/${name}` : name

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
