import { useState } from 'preact/hooks'

import { ChoiceField, TextField } from '../components/base/field.tsx'
import { ErrorNotice, Notice } from '../components/base/notice.tsx'
import { notify } from '../components/base/toast.tsx'
import { useCurrentUser } from '../hooks/contexts.ts'
import { useAction } from '../hooks/use-action.ts'
import { useQuery } from '../hooks/use-query.ts'
import { postJson } from '../lib/api.ts'
import { dashboardPath, go, Link } from '../lib/route.tsx'
import type { Monitor, OperatedSources, Source, TestReport, Webhook } from '../lib/types.ts'
import { webhookName } from '../lib/webhook-health.ts'
import { AddSource } from './operator/source-actions.tsx'
import { guessKind } from './webhooks/dialogs.tsx'
import { TestResult } from './webhooks/facts.tsx'

const FRESH_MS = 30_000

/** The three steps to a first monitor: a source, words, and a target of alerts. Shown until there is a monitor. */
export function FirstSteps() {
  const { role, monitor_path, base_path, words: named } = useCurrentUser()
  const sources = useQuery<{ sources: Source[] }>(`${base_path}/sources`, { fresh_ms: FRESH_MS })
  const [source, setSource] = useState('all')
  const [place, setPlace] = useState('')
  const [words, setWords] = useState('')
  const action = useAction()
  const known = sources.value?.sources ?? []
  async function start() {
    const chosen = known.filter(({ name }) => source === 'all' || name === source)
    const entries = words.split(',').map((it) => it.trim())
    const answer = await action.run(() =>
      postJson<Monitor>(`${monitor_path}/add`, {
        filter_spec: {
          source,
          // The comments of a whole platform of this kind cannot be watched.
          kind:
            place === '' && chosen.some(({ proof }) => proof === 'time_listing') ? 'post' : 'both',
          ...(place !== '' && { [named.community]: [place] }),
          include_any: entries.filter((it) => it !== ''),
        },
      }),
    )
    if (!answer.ok) return
    notify('Monitor created.')
    go(dashboardPath('monitors', answer.value.id))
  }
  return (
    <section class="card" aria-labelledby="first">
      <h2 id="first">First steps</h2>
      <fieldset>
        <legend>1. What to watch</legend>
        <ChoiceField<string>
          label="Site"
          value={source}
          options={[
            ['all', 'all sources'],
            ...known.map((it) => [it.name, `${it.name} (${it.kind})`] as const),
          ]}
          change={(it) => {
            setSource(it)
            setPlace('')
          }}
        />
        {place !== '' && <p class="quiet">Only in {place}.</p>}
        {role === 'owner' && (
          <Another
            done={(added, found) => {
              sources.again()
              setSource(added)
              setPlace(found ?? '')
            }}
          />
        )}
      </fieldset>
      <fieldset>
        <legend>2. Which words</legend>
        <TextField
          label="Words"
          hint="Separated by commas. One of them in a post or comment is a match."
          value={words}
          change={setWords}
        />
      </fieldset>
      <Where />
      <ErrorNotice failure={action.failure} />
      <div class="actions">
        <button
          type="button"
          class="main"
          disabled={action.busy || words.trim() === ''}
          onClick={() => void start()}
        >
          {action.busy ? 'Starting …' : 'Start watching'}
        </button>
        <Link to={dashboardPath('monitors', 'new')} class="button">
          More conditions
        </Link>
      </div>
    </section>
  )
}

function Another({ done }: { done: (name: string, place: string | null) => void }) {
  const { value, again } = useQuery<OperatedSources>('/operator/sources', { fresh_ms: FRESH_MS })
  return value === undefined ? null : (
    <div class="actions">
      <AddSource kinds={value.kinds} again={again} added={done} label="Another site" />
    </div>
  )
}

/** The targets of matches, and a new one that is tested at once. */
function Where() {
  const { monitor_path, webhook_kinds } = useCurrentUser()
  const list = useQuery<{ webhooks: Webhook[] }>(`${monitor_path}/webhook/list`)
  const [url, setUrl] = useState('')
  const [made, setMade] = useState<string | null>(null)
  const [report, setReport] = useState<TestReport | null>(null)
  const action = useAction()
  const kind = guessKind(url, webhook_kinds)
  async function test() {
    setReport(null)
    // A corrected address changes the webhook of the first try.
    const [path, body] =
      made === null ? ['create', { url: url.trim() }] : ['update', { id: made, url: url.trim() }]
    const answer = await action.run(() =>
      postJson<{ id: string }>(`${monitor_path}/webhook/${path}`, body),
    )
    if (!answer.ok) return
    const { id } = answer.value
    setMade(id)
    const tested = await action.run(() =>
      postJson<TestReport>(`${monitor_path}/webhook/test`, { id }),
    )
    if (tested.ok) setReport(tested.value)
    list.again()
  }
  const others = list.value?.webhooks.filter(({ id }) => id !== made) ?? []
  return (
    <fieldset>
      <legend>3. Where to send it</legend>
      {others.length > 0 && (
        <p>Sent to {others.map((it) => webhookName(it)).join(', ')}, and listed in the inbox.</p>
      )}
      <TextField
        label="Address"
        hint={
          kind === undefined
            ? 'Of an ntfy topic, a Discord or Slack webhook, a URL of your own, or mailto:you@example.com. Empty: matches are in the inbox only.'
            : `Detected: ${kind.label}.`
        }
        inputMode="url"
        value={url}
        spellcheck={false}
        autocapitalize="none"
        change={setUrl}
      />
      <ErrorNotice failure={action.failure} />
      {report && <TestResult report={report} />}
      {report?.ok === true && (
        <Notice tone="good">Look at your phone or screen: it is there.</Notice>
      )}
      <div class="actions">
        <button
          type="button"
          disabled={action.busy || url.trim() === ''}
          onClick={() => void test()}
        >
          {action.busy ? 'Sending …' : 'Send a test'}
        </button>
        <Link to={dashboardPath('webhooks')}>Other kinds, such as Telegram or Matrix</Link>
      </div>
    </fieldset>
  )
}
