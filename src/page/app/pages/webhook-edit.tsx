import { useState } from 'preact/hooks'

import { send } from '../api.ts'
import { useWho } from '../around.ts'
import { useDeed } from '../deed.ts'
import { Check, TextField } from '../parts/field.tsx'
import { FormDialog } from '../parts/form-dialog.tsx'
import { placed } from '../parts/notice.tsx'
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

  async function save() {
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
  const { errorOf, rest } = placed(deed.failure, ['name', 'max_per_second'])
  return (
    <FormDialog
      title="Edit webhook"
      does="Save"
      busy={deed.busy}
      failure={rest}
      submit={save}
      close={close}
    >
      <TextField
        label="Name"
        hint="For you alone; it may stay empty."
        error={errorOf('name')}
        value={name}
        maxLength={100}
        change={setName}
      />
      <TextField
        label="At most a second"
        hint="Deliveries a second, such as 0.5; empty for no bound."
        error={errorOf('max_per_second')}
        inputMode="decimal"
        value={pace}
        change={setPace}
      />
      <Check label="On: it takes deliveries" checked={active} change={setActive} />
      <Check
        label="One after another, each monitor's in their order"
        checked={ordered}
        change={setOrdered}
      />
    </FormDialog>
  )
}
