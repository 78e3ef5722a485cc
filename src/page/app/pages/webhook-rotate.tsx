import { useState } from 'preact/hooks'

import { send } from '../api.ts'
import { useWho } from '../around.ts'
import { useDeed } from '../deed.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { FormDialog } from '../parts/form-dialog.tsx'
import { Notice } from '../parts/notice.tsx'
import { Secret } from '../parts/secret.tsx'
import { Time } from '../parts/time.tsx'
import type { SecretRotated, Webhook } from '../types.ts'

const OVERLAPS = [
  ['0', 'not at all'],
  ['600', '10 minutes'],
  ['3600', 'an hour'],
  ['86400', 'a day'],
] as const

/** Gives a target a new secret, shown this once. */
export function WebhookRotate({ webhook, close }: { webhook: Webhook; close: () => void }) {
  const { monitor_path } = useWho()
  const [overlap, setOverlap] = useState<string>('3600')
  const [made, setMade] = useState<SecretRotated | null>(null)
  const deed = useDeed()
  async function rotate() {
    const answer = await deed.run(() =>
      send<SecretRotated>(`${monitor_path}/webhook/rotate`, {
        id: webhook.id,
        overlap_s: Number(overlap),
      }),
    )
    if (answer.ok) setMade(answer.value)
  }
  if (made !== null)
    return (
      <Dialog title="New secret" close={close}>
        <Notice tone="warn">
          <p>
            <strong>Shown this once.</strong>{' '}
            {made.old_secret_until === null ? (
              'The old one is not used any more.'
            ) : (
              <>
                The old one signs too, and ends <Time at={made.old_secret_until} />.
              </>
            )}
          </p>
        </Notice>
        <Secret text={made.secret} close={close} />
      </Dialog>
    )
  return (
    <FormDialog
      title="Give it a new secret?"
      does="Make a new secret"
      busy={deed.busy}
      failure={deed.failure}
      submit={rotate}
      close={close}
    >
      <p>
        For a while deliveries can be signed with both secrets, so that your receiver can change
        over without losing any.
      </p>
      <Field label="The old one goes on for">
        {(tied) => (
          <Choice<string> {...tied} value={overlap} options={OVERLAPS} change={setOverlap} />
        )}
      </Field>
    </FormDialog>
  )
}
