import { useWho } from '../around.ts'
import { useAsk } from '../ask.ts'
import { Check } from '../parts/field.tsx'
import { Link, pathOf } from '../route.tsx'
import type { Webhook } from '../types.ts'

/** Null: every active webhook of the account. */
export type Targets = string[] | null

type TargetFieldsProps = {
  targets: Targets
  setTargets: (targets: Targets) => void
  error: string | null
}

/** Where the matches of a monitor go. */
export function TargetFields({ targets, setTargets, error }: TargetFieldsProps) {
  const { monitor_path } = useWho()
  const { value } = useAsk<{ webhooks: Webhook[] }>(`${monitor_path}/webhook/list`)
  const webhooks = value?.webhooks ?? []
  const picked = targets ?? []
  return (
    <fieldset class={error ? 'wrong' : ''}>
      <legend>Where matches go</legend>
      {value && webhooks.length === 0 && (
        <p class="quiet">
          There is no webhook yet: matches wait in the monitor's feed.{' '}
          <Link to={pathOf('webhooks')}>Register one</Link>
        </p>
      )}
      <label class="check">
        <input
          type="radio"
          name="targets"
          checked={targets === null}
          onChange={() => setTargets(null)}
        />
        <span>Every active webhook, those to come too</span>
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
            <Check
              key={it.id}
              label={
                <>
                  {it.name ?? it.url} <span class="quiet">{it.kind}</span>
                  {it.paused_at !== null && <span class="quiet"> (paused)</span>}
                </>
              }
              checked={picked.includes(it.id)}
              // One that is paused takes nothing new; where it is a target already it may stay.
              disabled={it.paused_at !== null && !picked.includes(it.id)}
              change={(on) =>
                setTargets(on ? [...picked, it.id] : picked.filter((other) => other !== it.id))
              }
            />
          ))}
          {picked.length === 0 && <p class="hint">Nothing ticked means every active webhook.</p>}
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
