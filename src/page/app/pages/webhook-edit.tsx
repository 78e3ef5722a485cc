import { useState } from 'preact/hooks'

import { send } from '../api.ts'
import { useWho } from '../around.ts'
import { useDeed } from '../deed.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Check, Field } from '../parts/field.tsx'
import { sentence, Trouble } from '../parts/notice.tsx'
import { say } from '../say.ts'
import type { Webhook } from '../types.ts'

type WebhookEditProps = { webhook: Webhook; close: () => void; again: () => void }

/** What a customer wishes of a target: its name, whether it is on, its pace, its order. */
export function WebhookEdit({ webhook, close, again }: WebhookEditProps) {
  const { monitor_path } = useWho()
  const [name, setName] = useState(webhook.name ?? '')
  const [active, setActive] = useState(webhook.active)
  const [pace, setPace] = useState(String(webhook.max_per_second ?? ''))
  const [ordered, setOrdered] = useState(webhook.ordered)
  const deed = useDeed()
  const paceText = pace.trim()

  async function save(event: Event) {
    event.preventDefault()
    const answer = await deed.run(() =>
      send(`${monitor_path}/webhook/update`, {
        id: webhook.id,
        name: name.trim() === '' ? null : name.trim(),
        // Whether it is on is only said when it was changed: a mail that waits for its reader stays as it is.
        ...(active !== webhook.active && { active }),
        max_per_second:
          paceText === '' ? null : /^\d+(\.\d+)?$/.test(paceText) ? Number(paceText) : paceText,
        ordered,
      }),
    )
    if (!answer.ok) return
    say('Saved.')
    close()
    again()
  }
  const { failure } = deed
  const errorOf = (field: string) => (failure?.field === field ? sentence(failure.message) : null)
  const placed = failure?.field === 'name' || failure?.field === 'max_per_second'
  return (
    <Dialog title="Edit webhook" close={close}>
      <form onSubmit={(event) => void save(event)} noValidate>
        <Field label="Name" hint="For you alone; it may stay empty." error={errorOf('name')}>
          {(tied) => (
            <input
              {...tied}
              value={name}
              maxLength={100}
              onInput={(event) => setName(event.currentTarget.value)}
            />
          )}
        </Field>
        <Field
          label="At most a second"
          hint="Deliveries a second, such as 0.5; empty for no bound."
          error={errorOf('max_per_second')}
        >
          {(tied) => (
            <input
              {...tied}
              inputMode="decimal"
              value={pace}
              onInput={(event) => setPace(event.currentTarget.value)}
            />
          )}
        </Field>
        <Check label="On: it takes deliveries" checked={active} change={setActive} />
        <Check
          label="One after another, each monitor's in their order"
          checked={ordered}
          change={setOrdered}
        />
        <Trouble failure={placed ? null : failure} />
        <div class="actions">
          <button type="submit" class="main" disabled={deed.busy}>
            Save
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  )
}
