import { ActivityView } from '../components/activity.tsx'
import { Badge } from '../components/base/badge.tsx'
import { Facts } from '../components/base/facts.tsx'
import { ErrorNotice, Skeleton } from '../components/base/notice.tsx'
import { Time } from '../components/base/time.tsx'
import { PageLayout } from '../components/layout.tsx'
import { Events, LiveTiles, Tiles } from '../components/live.tsx'
import { ProblemBanner } from '../components/problems.tsx'
import { useCurrentUser, useLive } from '../hooks/contexts.ts'
import { useQuery } from '../hooks/use-query.ts'
import { bytes, count, words as inWords } from '../lib/format.ts'
import type { Tone } from '../lib/monitor-status.ts'
import { dashboardPath } from '../lib/route.tsx'
import type { SystemInfo as System } from '../lib/types.ts'

const REFRESH_MS = 30_000

export function SystemPage() {
  const { snapshot } = useLive()
  const { role, has_accounts } = useCurrentUser()
  const is_owner = role === 'owner'
  const overview = useQuery<System>('/operator/overview', { every_ms: REFRESH_MS })
  const accounts = snapshot?.accounts
  const pool = dashboardPath('pool')
  const deliveries = snapshot?.recent.filter(({ what }) => what !== 'match') ?? []
  return (
    <PageLayout
      title={is_owner ? 'System' : 'Overview'}
      lead={
        is_owner ? 'State of the daemon.' : 'State of the daemon, for all customers and accounts.'
      }
    >
      <ErrorNotice failure={overview.failure} again={overview.again} />
      {!is_owner && <ProblemBanner path="/operator/problems" operator />}
      <ActivityView path="/operator/activity" linked={false} />
      <section aria-labelledby="now">
        <h2 id="now">The last minute</h2>
        <LiveTiles
          snapshot={snapshot}
          more={
            has_accounts
              ? [
                  { title: 'Accounts usable', figure: count(accounts?.usable), to: pool },
                  {
                    title: 'Accounts cooling',
                    figure: count(accounts?.cooling),
                    to: pool,
                    tone: (accounts?.cooling ?? 0) > 0 ? 'warn' : null,
                  },
                  {
                    title: 'Accounts needing login',
                    figure: count(accounts?.needs_login),
                    to: pool,
                    tone: (accounts?.needs_login ?? 0) > 0 ? 'bad' : null,
                  },
                ]
              : []
          }
        />
      </section>
      <section aria-labelledby="house">
        <h2 id="house">System</h2>
        {overview.value === undefined && overview.failure === null && <Skeleton rows={4} />}
        {overview.value && <SystemFacts system={overview.value} />}
      </section>
      <section aria-labelledby="recent">
        <h2 id="recent">Recent deliveries</h2>
        {snapshot === null ? <Skeleton /> : <Events recent={deliveries} />}
      </section>
    </PageLayout>
  )
}

/** Lists of the operator by the name of a count; those of customers show who has them. */
const LISTS: { [count: string]: string } = {
  streams: dashboardPath('sources'),
  monitors: dashboardPath('monitors'),
  monitors_paused: `${dashboardPath('monitors')}?status=paused`,
  webhooks_paused: `${dashboardPath('customers')}?having=webhooks_paused`,
}

/** Counts among the live figures above. */
const LIVE: readonly string[] = ['waiting', 'retrying']

function SystemFacts({ system }: { system: System }) {
  const { version, started_at, reads, counts, storage } = system
  const { is_alone } = useCurrentUser()
  return (
    <>
      <Tiles
        tiles={Object.entries(counts)
          .filter(([name]) => !LIVE.includes(name) && !(is_alone && name === 'customers'))
          .map(([name, n]) => ({
            title: name === 'streams' ? 'Feeds' : inWords(name),
            figure: count(n),
            to: LISTS[name] ?? dashboardPath('customers'),
            tone: n > 0 && name === 'webhooks_paused' ? 'bad' : null,
          }))}
      />
      <Facts
        rows={[
          ['Version', version],
          ['Started', <Time at={started_at} />],
          ['Reads', <Badge tone={toneOf(reads)}>{reads}</Badge>],
          [
            'Database',
            `${bytes(storage.db_bytes)}, plus ${bytes(storage.wal_bytes)} of write-ahead log`,
          ],
          ['Free disk space', bytes(storage.free_bytes)],
          ['Reserve file for a full disk', storage.ballast ? 'present' : 'missing'],
          ['Schema', count(storage.schema)],
        ]}
      />
    </>
  )
}

const toneOf = (reads: string): Tone =>
  reads === 'ok' ? 'good' : reads === 'degraded' ? 'bad' : 'quiet'
