import { Badge } from '../components/base/badge.tsx'
import { Facts } from '../components/base/facts.tsx'
import { ErrorNotice, Notice, Skeleton } from '../components/base/notice.tsx'
import { Time } from '../components/base/time.tsx'
import { PageLayout } from '../components/layout.tsx'
import { Events, Tiles } from '../components/live.tsx'
import { useLive } from '../hooks/contexts.ts'
import { useQuery } from '../hooks/use-query.ts'
import { bytes, count, words as inWords } from '../lib/format.ts'
import type { Tone } from '../lib/monitor-status.ts'
import type { SystemInfo as System } from '../lib/types.ts'

const REFRESH_MS = 30_000

/** The system overview for operators. */
export function SystemPage() {
  const { snapshot } = useLive()
  const overview = useQuery<System>('/operator/overview', { every_ms: REFRESH_MS })
  const accounts = snapshot?.accounts
  return (
    <PageLayout title="Overview" lead="State of the daemon, for all customers and accounts.">
      <ErrorNotice failure={overview.failure} again={overview.again} />
      <section aria-labelledby="now">
        <h2 id="now">The last minute</h2>
        <Tiles
          snapshot={snapshot}
          more={[
            ['Pending deliveries', count(snapshot?.pending)],
            ['Accounts usable', count(accounts?.usable)],
            ['Accounts cooling', count(accounts?.cooling)],
            ['Accounts needing login', count(accounts?.needs_login)],
          ]}
        />
      </section>
      <section aria-labelledby="house">
        <h2 id="house">System</h2>
        {overview.value === undefined && overview.failure === null && <Skeleton rows={4} />}
        {overview.value && <SystemFacts system={overview.value} />}
      </section>
      <section aria-labelledby="recent">
        <h2 id="recent">Recent events</h2>
        {snapshot === null ? <Skeleton /> : <Events recent={snapshot.recent} />}
      </section>
    </PageLayout>
  )
}

/** Failures first, then counts, storage and the invariant check. */
function SystemFacts({ system }: { system: System }) {
  const { version, started_at, reads, counts, storage, auditor } = system
  return (
    <>
      {storage.trouble !== null && (
        <Notice tone="bad">Storage failure: {inWords(storage.trouble).toLowerCase()}.</Notice>
      )}
      {auditor.findings.length > 0 && (
        <Notice tone="bad">
          <p>Violated invariants; the log has details:</p>
          <ul>
            {auditor.findings.map((it) => (
              <li key={`${it.invariant} ${it.subject}`}>
                {inWords(it.invariant)}: {it.subject}
              </li>
            ))}
          </ul>
        </Notice>
      )}
      <dl class="tiles">
        {Object.entries(counts).map(([name, n]) => (
          <div key={name}>
            <dt>{inWords(name)}</dt>
            <dd>{count(n)}</dd>
          </div>
        ))}
      </dl>
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
          ['Invariants checked', <Time at={auditor.last_run_at} none="not yet" />],
        ]}
      />
    </>
  )
}

const toneOf = (reads: string): Tone =>
  reads === 'ok' ? 'good' : reads === 'degraded' ? 'bad' : 'quiet'
