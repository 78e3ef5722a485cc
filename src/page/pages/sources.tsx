import { Badge } from '../components/base/badge.tsx'
import { Facts } from '../components/base/facts.tsx'
import { ErrorNotice, Notice, sentence, Skeleton } from '../components/base/notice.tsx'
import { Time, useNow } from '../components/base/time.tsx'
import { PageLayout } from '../components/layout.tsx'
import { useQuery } from '../hooks/use-query.ts'
import { count, many } from '../lib/format.ts'
import type { Tone } from '../lib/monitor-status.ts'
import { capabilityText, proofText } from '../lib/sources.ts'
import type { OperatedSource, OperatedSources } from '../lib/types.ts'
import { AddSource, RemoveSource, SourceActions } from './operator/source-actions.tsx'

const REFRESH_MS = 10_000
const DAY_MS = 86_400_000
/** The end of access is a warning from this many days before. */
const WARN_DAYS = 60

/** The sources: what each can do, how far its monitors are, and its last fault. */
export function SourcesPage() {
  const { value, failure, again } = useQuery<OperatedSources>('/operator/sources', {
    every_ms: REFRESH_MS,
  })
  const { sources = [], waiting = [] } = value ?? {}
  const known = [...new Set(sources.flatMap((it) => it.capabilities))]
  return (
    <PageLayout
      title="Sources"
      lead="The forums that this daemon reads."
      beside={value && <AddSource kinds={value.kinds} again={again} />}
    >
      <ErrorNotice failure={failure} again={again} />
      {value === undefined && failure === null && <Skeleton rows={4} />}
      <ul class="cards">
        {sources.map((it) => (
          <SourceCard key={it.name} source={it} known={known} again={again} />
        ))}
        {waiting.map((it) => (
          <li key={it.name} class="card">
            <div class="card-head">
              <h2>{it.name}</h2>
              <Badge tone="warn">Needs a restart</Badge>
            </div>
            <p class="quiet small-text facts">
              <span>{it.kind}</span>
              {it.base_url !== '' && <span>{it.base_url}</span>}
              <span>
                added <Time at={it.created_at} />
              </span>
            </p>
            <p>Restart the daemon: it reads this source from then on.</p>
            <div class="actions">
              <RemoveSource name={it.name} feeds={0} again={again} />
            </div>
          </li>
        ))}
      </ul>
      <p class="quiet">
        A source of the configuration file is changed and removed there, in its{' '}
        <code>[[source]]</code> table. On the daemon's host,{' '}
        <code>forumd source add NAME KIND ADDRESS</code> adds one to the file.
      </p>
    </PageLayout>
  )
}

const STANDINGS: Record<OperatedSource['standing']['state'], readonly [Tone, string]> = {
  fails: ['bad', 'Fails'],
  untried: ['plain', 'Not tried yet'],
  late: ['warn', 'Late'],
  incomplete: ['warn', 'Incomplete'],
  works: ['good', 'Works'],
}

type SourceCardProps = { source: OperatedSource; known: readonly string[]; again: () => void }

function SourceCard({ source, known, again }: SourceCardProps) {
  const { name, kind, url, capabilities, state, feeds } = source
  const { text, fix } = source.standing
  const [tone, word] = STANDINGS[source.standing.state]
  const lacking = known.filter((it) => !capabilities.includes(it))
  return (
    <li class="card">
      <div class="card-head">
        <h2>{name}</h2>
        <Badge tone={tone}>{word}</Badge>
      </div>
      <p class="quiet small-text facts">
        <span>{kind}</span>
        <span>{url}</span>
      </p>
      {text !== null && (
        <p>
          {sentence(text)} {fix}.
          {state.fault !== null && (
            <span class="quiet">
              {' '}
              Since <Time at={state.since} />.
            </span>
          )}
        </p>
      )}
      <EndNotice at={source.ends_at} />
      <Facts
        rows={[
          ['Feeds', feeds === 0 ? 'no monitor watches it' : count(feeds)],
          feeds === 0 ? null : ['Last poll', <Time key="poll" at={source.last_check_at} />],
          [
            'Requests',
            `${count(state.requests_last_minute)} in the last minute${state.requests_per_minute === null ? '' : `, at most ${count(state.requests_per_minute)}`}`,
          ],
          source.account_by === null
            ? null
            : [
                'Your account',
                source.account_at === null ? (
                  'none: approved drafts cannot be sent'
                ) : (
                  <>
                    connected <Time at={source.account_at} />
                  </>
                ),
              ],
        ]}
      />
      <details>
        <summary>Details</summary>
        <p>
          {source.origin === 'file' ? 'From the configuration file. ' : 'Added in the dashboard. '}
          {source.proof === null
            ? 'It cannot be monitored.'
            : `Completeness is proved by ${proofText(source.proof)}.`}
        </p>
        <p>
          <strong>Supported:</strong> {capabilities.map(capabilityText).join(', ')}.
        </p>
        {lacking.length > 0 && (
          <p>
            <strong>Not supported:</strong> {lacking.map(capabilityText).join(', ')}.
          </p>
        )}
      </details>
      {source.requests_per_minute !== null && <SourceActions source={source} again={again} />}
    </li>
  )
}

function EndNotice({ at }: { at: string | null }) {
  const now = useNow()
  if (at === null) return null
  const days = Math.ceil((Date.parse(at) - now) / DAY_MS)
  if (days > WARN_DAYS) return <p class="quiet">Access ends on {at}.</p>
  return (
    <Notice tone={days <= 0 ? 'bad' : 'warn'}>
      {days <= 0 ? `Access ended on ${at}.` : `Access ends on ${at}, in ${many(days, 'day')}.`}
    </Notice>
  )
}
