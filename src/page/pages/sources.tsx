import { Badge } from '../components/base/badge.tsx'
import { Facts } from '../components/base/facts.tsx'
import { ErrorNotice, Notice, Skeleton } from '../components/base/notice.tsx'
import { Time, useNow } from '../components/base/time.tsx'
import { PageLayout } from '../components/layout.tsx'
import { useQuery } from '../hooks/use-query.ts'
import { count, formatDuration, many } from '../lib/format.ts'
import type { Tone } from '../lib/monitor-status.ts'
import { capabilityText, partialText, proofText, sourceFault } from '../lib/sources.ts'
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

function statusOf({ state, open_gaps, partial }: OperatedSource): {
  tone: Tone
  word: string
} {
  if (state.status === 'fails') return { tone: 'bad', word: 'Fails' }
  if (open_gaps > 0) return { tone: 'warn', word: many(open_gaps, 'open gap') }
  if (partial !== null) return { tone: 'warn', word: 'Partial' }
  return state.status === 'works'
    ? { tone: 'good', word: 'Works' }
    : { tone: 'plain', word: 'Not tried yet' }
}

type SourceCardProps = { source: OperatedSource; known: readonly string[]; again: () => void }

const ORIGINS = {
  file: 'the configuration file',
  added: 'added in the dashboard',
  removed: 'removed: it ends with the next start of the daemon',
}

function SourceCard({ source, known, again }: SourceCardProps) {
  const { tone, word } = statusOf(source)
  const { name, kind, url, capabilities, state, feeds } = source
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
      <EndNotice at={source.ends_at} />
      <Facts
        rows={[
          ['Origin', ORIGINS[source.origin]],
          [
            'Requests',
            `${count(state.requests_last_minute)} in the last minute, at most ${count(state.requests_per_minute)}`,
          ],
          ['Last request', <Time key="request" at={state.last_request_at} />],
          ['Feeds', feeds === 0 ? 'no monitor watches it' : count(feeds)],
          feeds === 0 ? null : ['Last poll', <Time key="poll" at={source.last_check_at} />],
          source.lag_s === null ? null : ['Lag', formatDuration(source.lag_s)],
          feeds === 0 ? null : ['Open gaps', count(source.open_gaps)],
          source.proof === null
            ? ['Monitors', 'cannot be monitored']
            : ['Proof', proofText(source.proof)],
          source.partial === null ? null : ['Not proved', partialText(source.partial)],
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
          state.fault === null
            ? null
            : [
                'Fails',
                <>
                  {sourceFault(state.fault)} Since <Time at={state.since} />
                </>,
              ],
        ]}
      />
      <details>
        <summary>
          {many(capabilities.length, 'capability', 'capabilities')}
          {lacking.length > 0 && `, ${lacking.length} not supported`}
        </summary>
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
