import { useLive } from '../around.ts'
import { useAsk } from '../ask.ts'
import type { House as HouseTold } from '../own-types.ts'
import { Badge } from '../parts/badge.tsx'
import { Facts } from '../parts/facts.tsx'
import { Events, Tiles } from '../parts/live.tsx'
import { Notice, Trouble, Waiting } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { Time } from '../parts/time.tsx'
import { bytes, count, words as inWords } from '../show.ts'
import type { Tone } from '../standing.ts'

const LOOK_MS = 30_000

/** The whole house, as its operator sees it. */
export function House() {
  const { snapshot } = useLive()
  const overview = useAsk<HouseTold>('/operator/overview', { every_ms: LOOK_MS })
  const accounts = snapshot?.accounts
  return (
    <Page title="Overview" lead="The whole house: every customer, every account.">
      <Trouble failure={overview.failure} again={overview.again} />
      <section aria-labelledby="now">
        <h2 id="now">The last minute</h2>
        <Tiles
          snapshot={snapshot}
          more={[
            ['Waiting to be sent', count(snapshot?.pending)],
            ['Accounts usable', count(accounts?.usable)],
            ['Accounts cooling', count(accounts?.cooling)],
            ['Need a login', count(accounts?.needs_login)],
          ]}
        />
      </section>
      <section aria-labelledby="house">
        <h2 id="house">The house</h2>
        {overview.value === undefined && overview.failure === null && <Waiting rows={4} />}
        {overview.value && <Told house={overview.value} />}
      </section>
      <section aria-labelledby="recent">
        <h2 id="recent">Just now</h2>
        {snapshot === null ? <Waiting /> : <Events recent={snapshot.recent} />}
      </section>
    </Page>
  )
}

/** Its counts, its disk and what the auditor found; what is wrong comes first. */
function Told({ house }: { house: HouseTold }) {
  const { version, started_at, reads, counts, storage, auditor } = house
  return (
    <>
      {storage.trouble !== null && (
        <Notice tone="bad">
          The storage is in trouble: {inWords(storage.trouble).toLowerCase()}.
        </Notice>
      )}
      {auditor.findings.length > 0 && (
        <Notice tone="bad">
          <p>The auditor found what must not be; the log says more:</p>
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
          ['Database', `${bytes(storage.db_bytes)}, and ${bytes(storage.wal_bytes)} of its log`],
          ['Free on its disk', bytes(storage.free_bytes)],
          ['Space held back for a full disk', storage.ballast ? 'there' : 'not there'],
          ['Schema', count(storage.schema)],
          ['Books checked', <Time at={auditor.last_run_at} none="not yet" />],
        ]}
      />
    </>
  )
}

const toneOf = (reads: string): Tone =>
  reads === 'ok' ? 'good' : reads === 'degraded' ? 'bad' : 'quiet'
