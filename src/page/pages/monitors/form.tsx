import { useMemo, useRef, useState } from 'preact/hooks'

import {
  Checkbox,
  Choice,
  Field,
  type FieldAttributes,
  TextField,
} from '../../components/base/field.tsx'
import { ErrorNotice, sentence, Skeleton } from '../../components/base/notice.tsx'
import { notify } from '../../components/base/toast.tsx'
import { PageLayout } from '../../components/layout.tsx'
import { useCurrentUser } from '../../hooks/contexts.ts'
import { useAction } from '../../hooks/use-action.ts'
import { useDebounced, useQuery } from '../../hooks/use-query.ts'
import { type Failure, postJson } from '../../lib/api.ts'
import { fieldOf, inFormWords, toSpec, toTyped, type Typed } from '../../lib/filter-spec.ts'
import { type FormField, type FormPart, formParts, moreParts } from '../../lib/form-fields.ts'
import { dashboardPath, go, Link } from '../../lib/route.tsx'
import { lackOf, placeHint, selectedSources } from '../../lib/sources.ts'
import type { Monitor, MonitorList, Source, Webhook } from '../../lib/types.ts'
import { AttentionFields, toAttention, toTypedAttention } from './attention.tsx'
import { type PreviewState, PreviewView, usePreview } from './preview.tsx'
import { SourceField } from './source-field.tsx'

type SpecPartsProps = {
  parts: readonly FormPart[]
  typed: Typed
  setTyped: (typed: Typed) => void
  errorOf: (field: string) => string | null
  /** The sources of the daemon. */
  sources: readonly Source[]
}

/** The fields of a filter, grouped. */
const SpecParts = ({ parts, typed, setTyped, errorOf, sources }: SpecPartsProps) => (
  <>
    {parts.map(({ title, fields }) => (
      <fieldset key={title}>
        <legend>{title}</legend>
        {fields.map((field) => (
          <SpecField
            key={field.name}
            field={field}
            value={typed[field.name] ?? ''}
            change={(value) => setTyped({ ...typed, [field.name]: value })}
            error={fieldError(field, errorOf(field.name))}
            sources={sources}
            chosen={selectedSources(String(typed['source'] ?? ''), sources)}
          />
        ))}
      </fieldset>
    ))}
  </>
)

const fieldError = (field: FormField, error: string | null): string | null =>
  error && inFormWords(error, field)

/** Less common fields, collapsed until one has a value or an error. */
function MoreParts(props: SpecPartsProps) {
  const { parts, typed, errorOf } = props
  const used = useRef(false)
  used.current ||= parts.some(({ fields }) =>
    fields.some(({ name }) => (typed[name] ?? '').length > 0 || errorOf(name) !== null),
  )
  return (
    <details open={used.current}>
      <summary>More conditions</summary>
      <SpecParts {...props} />
    </details>
  )
}

type ChoiceFieldProps = {
  field: FormField
  value: string | readonly string[]
  change: (value: string | readonly string[]) => void
  error: string | null
}
type SpecFieldProps = ChoiceFieldProps & {
  sources: readonly Source[]
  /** The sources that the filter selects. */
  chosen: readonly Source[]
}

function SpecField({ field, value, change, error, sources, chosen }: SpecFieldProps) {
  const { words } = useCurrentUser()
  const { name, label, kind, options = [] } = field
  if (kind === 'some') return <MultiChoice {...{ field, change, error }} value={value} />
  const text = String(value)
  if (name === 'source')
    return sources.length < 2 && text === '' ? null : (
      <SourceField {...{ sources, change, error }} value={text} />
    )
  const lack = lackOf(name, chosen)
  // The platform of the accounts, main, takes the names that the labels of the form are about.
  const is_further = chosen.some((it) => it.name !== 'main')
  const hint = name === words.community && is_further ? placeHint(chosen) : field.hint
  return (
    <Field label={label} hint={lack ?? hint} error={error}>
      {(attributes) => (
        // A value that cannot be used stays editable, so that it can be removed.
        <Input
          {...{ kind, options, change }}
          attributes={{ ...attributes, disabled: lack !== null && text === '' }}
          value={text}
        />
      )}
    </Field>
  )
}

const FLAGS = [
  ['', 'default'],
  ['true', 'yes'],
  ['false', 'no'],
] as const

type InputProps = {
  kind: FormField['kind']
  options: readonly (readonly [string, string])[]
  value: string
  change: (value: string) => void
  attributes: FieldAttributes & { disabled: boolean }
}

function Input({ kind, options, value, change, attributes }: InputProps) {
  switch (kind) {
    case 'lines':
      return (
        <textarea
          {...attributes}
          rows={2}
          spellcheck={false}
          value={value}
          onInput={(event) => change(event.currentTarget.value)}
        />
      )
    case 'one':
      return <Choice {...attributes} value={value} options={options} change={change} />
    case 'flag':
      return <Choice<string> {...attributes} value={value} options={FLAGS} change={change} />
    case 'names':
    case 'number':
    case 'text':
    case 'label':
    case 'some':
      return (
        <input
          {...attributes}
          value={value}
          spellcheck={false}
          autocapitalize="none"
          inputMode={kind === 'number' ? 'numeric' : 'text'}
          onInput={(event) => change(event.currentTarget.value)}
        />
      )
  }
}

function MultiChoice({ field, value, change, error }: ChoiceFieldProps) {
  const chosen = typeof value === 'string' ? [] : value
  const { name, label, hint, options = [] } = field
  return (
    <div class={error ? 'field wrong' : 'field'} role="group" aria-labelledby={`some-${name}`}>
      <span class="label" id={`some-${name}`}>
        {label}
      </span>
      <div class="checks">
        {options.map(([it, words]) => (
          <Checkbox
            key={it}
            label={words}
            checked={chosen.includes(it)}
            change={(on) => change(on ? [...chosen, it] : chosen.filter((other) => other !== it))}
          />
        ))}
      </div>
      {hint && <p class="hint">{hint}</p>}
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
    </div>
  )
}

/** null: every active webhook of the account. */
type Targets = string[] | null

type TargetFieldsProps = {
  targets: Targets
  setTargets: (targets: Targets) => void
  error: string | null
}

/** The targets of a monitor. */
function TargetFields({ targets, setTargets, error }: TargetFieldsProps) {
  const { monitor_path } = useCurrentUser()
  const { value } = useQuery<{ webhooks: Webhook[] }>(`${monitor_path}/webhook/list`)
  const webhooks = value?.webhooks ?? []
  const picked = targets ?? []
  return (
    <fieldset class={error ? 'wrong' : ''}>
      <legend>Targets</legend>
      {value && webhooks.length === 0 && (
        <p class="quiet">
          No webhooks yet: read matches from the monitor's Atom feed.{' '}
          <Link to={dashboardPath('webhooks')}>Create a webhook</Link>
        </p>
      )}
      <label class="check">
        <input
          type="radio"
          name="targets"
          checked={targets === null}
          onChange={() => setTargets(null)}
        />
        <span>Every active webhook, including future ones</span>
      </label>
      {webhooks.length > 0 && (
        <label class="check">
          <input
            type="radio"
            name="targets"
            checked={targets !== null}
            onChange={() => setTargets(targets ?? [])}
          />
          <span>Only these</span>
        </label>
      )}
      {targets !== null && (
        <div class="checks inset">
          {webhooks.map((it) => (
            <Checkbox
              key={it.id}
              label={
                <>
                  {it.name ?? it.url} <span class="quiet">{it.kind}</span>
                  {it.paused_at !== null && <span class="quiet"> (paused)</span>}
                </>
              }
              checked={picked.includes(it.id)}
              // A paused webhook cannot be added as a target, but an existing target may stay.
              disabled={it.paused_at !== null && !picked.includes(it.id)}
              change={(on) =>
                setTargets(on ? [...picked, it.id] : picked.filter((other) => other !== it.id))
              }
            />
          ))}
          {picked.length === 0 && <p class="hint">No selection means every active webhook.</p>}
        </div>
      )}
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
    </fieldset>
  )
}

const DEBOUNCE_MS = 600

/** The form for a new monitor. */
export const MonitorNew = () => <MonitorForm monitor={null} />

/** The form for an existing monitor. */
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
  const { words, monitor_path, base_path } = useCurrentUser()
  const sources = useQuery<{ sources: Source[] }>(`${base_path}/sources`).value?.sources ?? []
  const parts = useMemo(() => formParts(words), [words])
  const more = useMemo(() => moreParts(words), [words])
  const fields = useMemo(() => [...parts, ...more].flatMap((it) => it.fields), [parts, more])
  const [typed, setTyped] = useState(() => toTyped(monitor?.filter_spec ?? {}, fields))
  const [name, setName] = useState(monitor?.name ?? '')
  const [cadence, setCadence] = useState(monitor === null ? '' : String(monitor.cadence_s))
  const [targets, setTargets] = useState<Targets>(monitor?.webhook_ids ?? null)
  const [attention, setAttention] = useState(() => toTypedAttention(monitor?.attention))
  const spec = toSpec(typed, fields, monitor?.filter_spec)
  const specJson = useDebounced(JSON.stringify(spec), DEBOUNCE_MS)
  const preview = usePreview(specJson)
  const action = useAction()

  async function save(event: Event) {
    event.preventDefault()
    const body = {
      filter_spec: spec,
      name: name.trim() === '' ? null : name.trim(),
      ...(cadence.trim() !== '' && { cadence_s: numberOr(cadence) }),
      attention: toAttention(attention, monitor?.attention ?? null),
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

  const failure = action.failure ?? preview.failure
  const errorOf = (field: string) =>
    fieldOf(failure?.field ?? null) === field && failure ? sentence(failure.message) : null
  return (
    <PageLayout
      title={monitor === null ? 'New monitor' : 'Edit monitor'}
      lead={
        monitor === null
          ? 'Describe the filter and preview its matches in the current feeds.'
          : 'A changed filter applies to items observed from now on. Nothing is sent twice.'
      }
    >
      <form class="split" onSubmit={(event) => void save(event)} noValidate>
        <div>
          <SpecParts parts={parts} {...{ typed, setTyped, errorOf, sources }} />
        </div>
        <PreviewPane preview={preview} />
        <div>
          <MoreParts parts={more} {...{ typed, setTyped, errorOf, sources }} />
          <fieldset>
            <legend>Monitor settings</legend>
            <TextField
              label="Name"
              hint="Optional. A label for your own use."
              error={errorOf('name')}
              value={name}
              maxLength={120}
              change={setName}
            />
            <TextField
              label="Poll interval (seconds)"
              hint="Empty: the shortest interval of your plan."
              error={errorOf('cadence_s')}
              inputMode="numeric"
              value={cadence}
              change={setCadence}
            />
          </fieldset>
          <TargetFields targets={targets} setTargets={setTargets} error={errorOf('webhook_ids')} />
          <AttentionFields
            typed={attention}
            setTyped={setAttention}
            before={monitor?.attention ?? null}
            error={errorOf('attention')}
          />
          <RemainingError
            failure={action.failure}
            fieldNames={[
              ...fields.map((it) => it.name),
              'name',
              'cadence_s',
              'webhook_ids',
              'attention',
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
    </PageLayout>
  )
}

const PreviewPane = ({ preview }: { preview: PreviewState }) => (
  <section class="preview" aria-labelledby="preview" aria-busy={preview.busy}>
    <h2 id="preview">Preview</h2>
    <PreviewView {...preview} />
  </section>
)

/** An API error that belongs to no field of the form. */
function RemainingError({
  failure,
  fieldNames,
}: {
  failure: Failure | null
  fieldNames: string[]
}) {
  const field = fieldOf(failure?.field ?? null)
  return <ErrorNotice failure={field !== null && fieldNames.includes(field) ? null : failure} />
}

const numberOr = (text: string): number | string =>
  /^\d+$/.test(text.trim()) ? Number(text) : text.trim()

const changed = (now: Targets, before: Targets): boolean =>
  JSON.stringify(now) !== JSON.stringify(before)

function savedNotice(before: Monitor | null, after: Monitor): string {
  const unsure = after.warnings?.length
    ? ' Its feeds could not be verified on the platform; check the health of the monitor.'
    : ''
  return (before === null ? 'Monitor created.' : 'Saved.') + unsure
}
