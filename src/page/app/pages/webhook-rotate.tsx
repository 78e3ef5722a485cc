import { useState } from 'preact/hooks'

import { send } from '../api.ts'
import { useWho } from '../around.ts'
import { useDeed } from '../deed.ts'
import { Copyable } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { Notice, Trouble } from '../parts/notice.tsx'
import { Time } from '../parts/time.tsx'
import type { Webhook } from '../types.ts'

const OVERLAPS = [
  ['0', 'not at all'],
  ['600', '10 minutes'],
  ['3600', 'an hour'],
  ['86400', 'a day'],
] as const

type Rotated = { secret: string; old_secret_until: string | null }

/** Gives a target a new secret, shown this once. */
export function WebhookRotate({ webhook, close }: { webhook: Webhook; close: () => void }) {
  const { monitor_path } = useWho()
  const [overlap, setOverlap] = useState<string>('3600')
  const [made, setMade] = useState<Rotated | null>(null)
  const deed = useDeed()
  async function rotate() {
    const answer = await deed.run(() =>
      send<Rotated>(`${monitor_path}/webhook/rotate`, {
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
        <Copyable text={made.secret} label="Secret" />
        <div class="actions">
          <button type="button" class="main" onClick={close}>
            I have kept it
          </button>
        </div>
      </Dialog>
    )
  return (
    <Dialog title="Give it a new secret?" close={close}>
      <p>
        For a while deliveries can be signed with both secrets, so that your receiver can change
        over without losing any.
      </p>
      <Field label="The old one goes on for">
        {(tied) => (
          <Choice<string> {...tied} value={overlap} options={OVERLAPS} change={setOverlap} />
        )}
      </Field>
      <Trouble failure={deed.failure} />
      <div class="actions">
        <button type="button" class="main" disabled={deed.busy} onClick={() => void rotate()}>
          Make a new secret
        </button>
        <button type="button" onClick={close}>
          Cancel
        </button>
      </div>
    </Dialog>
  )
}
