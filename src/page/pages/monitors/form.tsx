import { useEffect, useMemo, useRef, useState } from 'preact/hooks'

import { BacktestPane } from '../../components/backtest.tsx'
import { TextField } from '../../components/base/field.tsx'
import { ErrorNotice, Notice, sentence, Skeleton } from '../../components/base/notice.tsx'
import { notify } from '../../components/base/toast.tsx'
import { PageLayout } from '../../components/layout.tsx'
import { useCurrentUser } from '../../hooks/contexts.ts'
import { useAction } from '../../hooks/use-action.ts'
import { useDebounced, useQuery } from '../../hooks/use-query.ts'
import { type Failure, isOutage, postJson } from '../../lib/api.ts'
import { fieldOf, inShort, toSpec, toTyped } from '../../lib/filter-spec.ts'
import { many } from '../../lib/format.ts'
import { dashboardPath, go, Link } from '../../lib/route.tsx'
import type { FilterSpec, Me, Monitor, MonitorList, Source, Webhook } from '../../lib/types.ts'
import { WebhookNewDialog } from '../webhooks/dialogs.tsx'
import { AttentionFields, toAttention, toTypedAttention } from './attention.tsx'
import { OutageNotice, type PreviewState, PreviewView, usePreview } from './preview.tsx'
import { RelevanceFields, toRelevance } from './relevance.tsx'
import { MoreParts, SpecParts } from './spec-fields.tsx'
import { type MonitorTargetIds, TargetFields } from './targets.tsx'

const DEBOUNCE_MS = 600

export const MonitorNew = () => <MonitorForm monitor={null} />

export function MonitorEdit({ id }: { id: string }) {
  const { monitor_path } = useCurrentUser()
  const { value, failure, again } = useQuery<MonitorList>(`${monitor_path}/list`)
  const monitor = value?.monitors.find((it) => it.id === id)
  if (monitor !== undefined) return <MonitorForm key={id} monitor={monitor} />
  return (
    <PageLayout title="Edit a monitor">
      <ErrorNotice failure={failure} again={again} />
      {value === undefined && failure === null && <Skeleton rows={6} />}
      {value && (
        <p>
          Monitor not found. <Link to={dashboardPath('monitors')}>See your monitors</Link>
        </p>
      )}
    </PageLayout>
  )
}

function MonitorForm({ monitor }: { monitor: Monitor | null }) {
  const { words, monitor_path, base_path, filter_form, forms } = useCurrentUser()
  const judged = forms['relevance'] ?? []
  const sources = useQuery<{ sources: Source[] }>(`${base_path}/sources`).value?.sources ?? []
  const fields = useMemo(() => filter_form.flatMap((it) => it.fields), [filter_form])
  const [typed, setTyped] = useState(() => toTyped(monitor?.filter_spec ?? {}, fields))
  const [name, setName] = useState(monitor?.name ?? '')
  const [cadence, setCadence] = useState(monitor === null ? '' : String(monitor.cadence_s))
  const [targets, setTargets] = useState<MonitorTargetIds>(monitor?.webhook_ids ?? null)
  const [attention, setAttention] = useState(() => toTypedAttention(monitor?.attention))
  const [relevance, setRelevance] = useState(() =>
    monitor?.relevance == null ? {} : toTyped(monitor.relevance, judged),
  )
  const spec = toSpec(typed, fields, monitor?.filter_spec)
  const specJson = useDebounced(JSON.stringify(spec), DEBOUNCE_MS)
  const preview = usePreview(specJson)
  const webhooks = useQuery<{ webhooks: Webhook[] }>(`${monitor_path}/webhook/list`)
  const shortest = useQuery<Me>('/account/me').value?.monitors.cadence_s
  const [creating, setCreating] = useState(false)
  const action = useAction()
  const form = useRef<HTMLFormElement>(null)
  // The values that were refused: an error of the API stands until its field is changed.
  const values: { [field: string]: unknown } = {
    ...typed,
    name,
    cadence_s: cadence,
    webhook_ids: targets,
    attention,
    relevance,
  }
  const refused = useRef(values)
  useEffect(() => {
    if (action.failure === null) return
    const folded = form.current?.querySelectorAll<HTMLDetailsElement>('details:has(.wrong)') ?? []
    for (const it of folded) it.open = true
    form.current?.querySelector<HTMLElement>('.wrong :is(input, select, textarea)')?.focus()
  }, [action.failure])

  async function save(event: Event) {
    event.preventDefault()
    refused.current = values
    const body = {
      filter_spec: spec,
      name: name.trim() === '' ? null : name.trim(),
      ...(cadence.trim() !== '' && { cadence_s: numberOr(cadence) }),
      attention: toAttention(attention),
      relevance: toRelevance(judged, relevance),
    }
    const answer = await action.run(() =>
      monitor === null
        ? // An empty list means every active webhook to the API; targets are sent only if selected.
          postJson<Monitor>(`${monitor_path}/add`, {
            ...body,
            ...(targets && { webhook_ids: targets }),
          })
        : postJson<Monitor>(`${monitor_path}/update`, {
            ...body,
            id: monitor.id,
            ...(changed(targets, monitor.webhook_ids) && { webhook_ids: targets ?? [] }),
          }),
    )
    if (!answer.ok) return
    notify(savedNotice(monitor, answer.value))
    go(dashboardPath('monitors', answer.value.id))
    scrollTo(0, 0)
  }

  const errorOf = (field: string): string | null => {
    const same = JSON.stringify(values[field]) === JSON.stringify(refused.current[field])
    const found =
      (same ? messageOf(action.failure, field) : null) ?? messageOf(preview.failure, field)
    return found && found.replace(/^cadence_s/, 'Poll interval')
  }
  return (
    <PageLayout
      title={monitor === null ? 'New monitor' : 'Edit monitor'}
      lead={
        monitor === null
          ? 'Describe the filter and preview its matches in the current feeds.'
          : 'A changed filter applies to items observed from now on. Nothing is sent twice.'
      }
    >
      <form ref={form} class="split" onSubmit={(event) => void save(event)} noValidate>
        <div>
          <SpecParts
            parts={filter_form.filter((it) => !it.folded)}
            {...{ typed, setTyped, errorOf, sources }}
          />
        </div>
        <PreviewPane preview={preview} json={specJson} saved={monitor?.filter_spec ?? null} />
        <div>
          <MoreParts
            parts={filter_form.filter((it) => it.folded)}
            {...{ typed, setTyped, errorOf, sources }}
          />
          <fieldset>
            <legend>Monitor settings</legend>
            <TextField
              label="Name"
              hint="Optional. A label for your own use."
              placeholder={`default: ${inShort(spec, words)}`}
              error={errorOf('name')}
              value={name}
              maxLength={120}
              change={setName}
            />
            <TextField
              label="Poll interval (seconds)"
              hint={`A shorter one is raised to ${shortest === undefined ? 'the shortest allowed' : many(shortest, 'second')}.`}
              placeholder={shortest === undefined ? 'default' : `default: ${shortest}`}
              error={errorOf('cadence_s')}
              inputMode="numeric"
              value={cadence}
              change={setCadence}
            />
          </fieldset>
          <TargetFields
            webhooks={webhooks.value?.webhooks}
            create={() => setCreating(true)}
            targets={targets}
            setTargets={setTargets}
            error={errorOf('webhook_ids')}
          />
          <AttentionFields
            typed={attention}
            setTyped={setAttention}
            webhooks={webhooks.value?.webhooks ?? []}
            error={errorOf('attention')}
          />
          <RelevanceFields
            fields={judged}
            typed={relevance}
            setTyped={setRelevance}
            error={errorOf('relevance')}
          />
          <RemainingError
            failure={action.failure}
            fieldNames={[
              ...fields.map((it) => it.name),
              'name',
              'cadence_s',
              'webhook_ids',
              'attention',
              'relevance',
            ]}
          />
          <div class="actions">
            <button type="submit" class="main" disabled={action.busy}>
              {action.busy ? 'Saving …' : monitor === null ? 'Create monitor' : 'Save'}
            </button>
            <Link
              to={
                monitor === null ? dashboardPath('monitors') : dashboardPath('monitors', monitor.id)
              }
              class="button"
            >
              Cancel
            </Link>
          </div>
        </div>
      </form>
      {creating && <WebhookNewDialog close={() => setCreating(false)} again={webhooks.again} />}
    </PageLayout>
  )
}

type PaneProps = { preview: PreviewState; json: string; saved: FilterSpec | null }

const PreviewPane = ({ preview, json, saved }: PaneProps) => (
  <section class="preview" aria-labelledby="preview" aria-busy={preview.busy}>
    <h2 id="preview">Preview</h2>
    <BacktestPane json={json} saved={saved} />
    <PreviewView {...preview} />
  </section>
)

/** The messages of a failure about a field of the form and its parts; null: none. */
function messageOf(failure: Failure | null, field: string): string | null {
  const found = failure?.errors.filter((it) => fieldOf(it.field) === field) ?? []
  return found.length === 0 ? null : found.map((it) => sentence(it.message)).join(' ')
}

/** An API error that belongs to no field of the form, or the count of those beside their fields. */
function RemainingError({
  failure,
  fieldNames,
}: {
  failure: Failure | null
  fieldNames: string[]
}) {
  if (failure === null) return null
  if (isOutage(failure)) return <OutageNotice failure={failure} saved={false} />
  const others = failure.errors.filter((it) => !fieldNames.includes(fieldOf(it.field) ?? ''))
  const [first] = others
  if (failure.errors.length === 0) return <ErrorNotice failure={failure} />
  if (first !== undefined) return <ErrorNotice failure={{ ...failure, message: first.message }} />
  return (
    <Notice tone="bad">
      <p>Not saved: {many(failure.errors.length, 'field is', 'fields are')} marked above.</p>
    </Notice>
  )
}

const numberOr = (text: string): number | string =>
  /^\d+$/.test(text.trim()) ? Number(text) : text.trim()

const changed = (now: MonitorTargetIds, before: MonitorTargetIds): boolean =>
  JSON.stringify(now) !== JSON.stringify(before)

function savedNotice(before: Monitor | null, after: Monitor): string {
  const unsure = after.warnings?.length
    ? ' The platform did not answer, so its feeds are not verified yet; polling starts when it does.'
    : ''
  return (before === null ? 'Monitor created.' : 'Saved.') + unsure
}
