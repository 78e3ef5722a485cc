import { useMemo, useState } from 'preact/hooks'

import { type Failure, send } from '../api.ts'
import { useWho } from '../around.ts'
import { useAsk, useSettled } from '../ask.ts'
import { useDeed } from '../deed.ts'
import { formParts, moreParts } from '../form-fields.ts'
import { TextField } from '../parts/field.tsx'
import { sentence, Trouble, Waiting } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { go, Link, pathOf } from '../route.tsx'
import { say } from '../say.ts'
import { fieldOf, toSpec, toTyped } from '../spec.ts'
import type { Monitor, MonitorList } from '../types.ts'
import { type PreviewState, PreviewView, usePreview } from './preview.tsx'
import { MoreParts, SpecParts } from './spec-fields.tsx'
import { TargetFields, type Targets } from './target-fields.tsx'

const SETTLE_MS = 600

/** A form for a monitor that is not there yet. */
export const MonitorNew = () => <MonitorForm monitor={null} />

/** The same form for one that is. */
export function MonitorEdit({ id }: { id: string }) {
  const { monitor_path } = useWho()
  const { value, failure, again } = useAsk<MonitorList>(`${monitor_path}/list`)
  const monitor = value?.monitors.find((it) => it.id === id)
  if (monitor !== undefined) return <MonitorForm key={id} monitor={monitor} />
  return (
    <Page title="Edit a monitor">
      <Trouble failure={failure} again={again} />
      {value === undefined && failure === null && <Waiting rows={6} />}
      {value && (
        <p>
          There is no such monitor. <Link to={pathOf('monitors')}>See your monitors</Link>
        </p>
      )}
    </Page>
  )
}

function MonitorForm({ monitor }: { monitor: Monitor | null }) {
  const { words, monitor_path } = useWho()
  const parts = useMemo(() => formParts(words), [words])
  const more = useMemo(() => moreParts(words), [words])
  const fields = useMemo(() => [...parts, ...more].flatMap((it) => it.fields), [parts, more])
  const [typed, setTyped] = useState(() => toTyped(monitor?.filter_spec ?? {}, fields))
  const [name, setName] = useState(monitor?.name ?? '')
  const [cadence, setCadence] = useState(monitor === null ? '' : String(monitor.cadence_s))
  const [targets, setTargets] = useState<Targets>(monitor?.webhook_ids ?? null)
  const spec = toSpec(typed, fields, monitor?.filter_spec)
  const settled = useSettled(JSON.stringify(spec), SETTLE_MS)
  const preview = usePreview(settled)
  const deed = useDeed()

  async function save(event: Event) {
    event.preventDefault()
    const body = {
      filter_spec: spec,
      name: name.trim() === '' ? null : name.trim(),
      ...(cadence.trim() !== '' && { cadence_s: numberOr(cadence) }),
    }
    const answer = await deed.run(() =>
      monitor === null
        ? // Nothing ticked means every active webhook to the API, so it is only said when something was.
          send<Monitor>(`${monitor_path}/add`, {
            ...body,
            ...(targets && { webhook_ids: targets }),
          })
        : send<Monitor>(`${monitor_path}/update`, {
            ...body,
            id: monitor.id,
            ...(changed(targets, monitor.webhook_ids) && { webhook_ids: targets ?? [] }),
          }),
    )
    if (!answer.ok) return
    say(saidOf(monitor, answer.value))
    go(pathOf('monitors', answer.value.id))
    scrollTo(0, 0)
  }

  const failure = deed.failure ?? preview.failure
  const errorOf = (field: string) =>
    fieldOf(failure?.field ?? null) === field && failure ? sentence(failure.message) : null
  return (
    <Page
      title={monitor === null ? 'New monitor' : 'Edit monitor'}
      lead={
        monitor === null
          ? 'Say what to look for, and see what it would match in what its feeds hold now.'
          : 'A changed filter holds for what is seen from now on; nothing is sent twice.'
      }
    >
      <form class="split" onSubmit={(event) => void save(event)} noValidate>
        <div>
          <SpecParts parts={parts} {...{ typed, setTyped, errorOf }} />
        </div>
        <PreviewPane preview={preview} />
        <div>
          <MoreParts parts={more} {...{ typed, setTyped, errorOf }} />
          <fieldset>
            <legend>The monitor itself</legend>
            <TextField
              label="Name"
              hint="For you alone; it may stay empty."
              error={errorOf('name')}
              value={name}
              maxLength={120}
              change={setName}
            />
            <TextField
              label="Look every (seconds)"
              hint="Empty: as often as your plan allows."
              error={errorOf('cadence_s')}
              inputMode="numeric"
              value={cadence}
              change={setCadence}
            />
          </fieldset>
          <TargetFields targets={targets} setTargets={setTargets} error={errorOf('webhook_ids')} />
          <Unplaced
            failure={deed.failure}
            known={[...fields.map((it) => it.name), 'name', 'cadence_s', 'webhook_ids']}
          />
          <div class="actions">
            <button type="submit" class="main" disabled={deed.busy}>
              {deed.busy ? 'Saving …' : monitor === null ? 'Create monitor' : 'Save'}
            </button>
            <Link
              to={monitor === null ? pathOf('monitors') : pathOf('monitors', monitor.id)}
              class="button"
            >
              Cancel
            </Link>
          </div>
        </div>
      </form>
    </Page>
  )
}

const PreviewPane = ({ preview }: { preview: PreviewState }) => (
  <section class="preview" aria-labelledby="preview" aria-busy={preview.busy}>
    <h2 id="preview">What it would match</h2>
    <PreviewView {...preview} />
  </section>
)

/** What the API said that belongs beside no field of the form. */
function Unplaced({ failure, known }: { failure: Failure | null; known: string[] }) {
  const field = fieldOf(failure?.field ?? null)
  return <Trouble failure={field !== null && known.includes(field) ? null : failure} />
}

const numberOr = (text: string): number | string =>
  /^\d+$/.test(text.trim()) ? Number(text) : text.trim()

const changed = (now: Targets, before: Targets): boolean =>
  JSON.stringify(now) !== JSON.stringify(before)

function saidOf(before: Monitor | null, after: Monitor): string {
  const unsure = after.warnings?.length
    ? ' The platform could not be asked whether the places exist; its health will tell.'
    : ''
  return (before === null ? 'Created: it watches from now on.' : 'Saved.') + unsure
}
