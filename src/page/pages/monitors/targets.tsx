import { useEffect, useRef } from 'preact/hooks'

import { Checkbox } from '../../components/base/field.tsx'
import type { Webhook } from '../../lib/types.ts'

/** null: every active webhook of the account. */
export type MonitorTargetIds = string[] | null

type TargetFieldsProps = {
  /** The webhooks of the account; undefined until they are loaded. */
  webhooks: readonly Webhook[] | undefined
  /** Opens the dialog of a new webhook. It has a form of its own, so it cannot be inside this one. */
  create: () => void
  targets: MonitorTargetIds
  setTargets: (targets: MonitorTargetIds) => void
  error: string | null
}

export function TargetFields({
  webhooks: loaded,
  create,
  targets,
  setTargets,
  error,
}: TargetFieldsProps) {
  const webhooks = loaded ?? []
  // A webhook that is created from here is meant for this monitor.
  const known = useRef(loaded)
  useEffect(() => {
    const { current } = known
    known.current = loaded
    const added = webhooks.filter((it) => current?.every(({ id }) => id !== it.id))
    if (targets !== null && added.length > 0) setTargets([...targets, ...added.map(({ id }) => id)])
  }, [loaded])
  const picked = targets ?? []
  return (
    <fieldset class={error ? 'wrong' : ''}>
      <legend>Targets</legend>
      {loaded && webhooks.length === 0 && (
        <p class="quiet">
          No webhooks yet. Create one to receive the matches, or read them from the monitor's Atom
          feed.
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
      <div class="actions">
        <button type="button" onClick={create}>
          New webhook
        </button>
      </div>
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
    </fieldset>
  )
}
