import { useState } from 'preact/hooks'

import { send } from '../api.ts'
import { useWho } from '../around.ts'
import { useDeed } from '../deed.ts'
import { now } from '../outside.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { Notice, Trouble } from '../parts/notice.tsx'
import { say } from '../say.ts'
import { count, many } from '../show.ts'

const HOUR_MS = 3_600_000
const SPANS = [
  ['1', 'the last hour'],
  ['24', 'the last day'],
  ['168', 'the last week'],
  ['335', 'the last two weeks'],
] as const
const WHICH = [
  ['', 'failed and dead ones'],
  ['failed', 'failed ones'],
  ['dead', 'dead ones'],
] as const

type Queued = { queued: number; skipped: number }

/** Sends again what failed in a span of time: counted first, sent when that is agreed to. */
export function Redrive({ again }: { again: () => void }) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Send failed ones again
      </button>
      {open && <RedriveDialog close={() => setOpen(false)} again={again} />}
    </>
  )
}

function RedriveDialog({ close, again }: { close: () => void; again: () => void }) {
  const { monitor_path } = useWho()
  const [hours, setHours] = useState<string>('24')
  const [status, setStatus] = useState<string>('')
  const [counted, setCounted] = useState<Queued | null>(null)
  const deed = useDeed()
  const ask = (dry_run: boolean) =>
    deed.run(() =>
      send<Queued>(`${monitor_path}/deliveries/redeliver`, {
        since: new Date(now() - Number(hours) * HOUR_MS).toISOString(),
        ...(status !== '' && { status }),
        dry_run,
      }),
    )
  const chosen = (change: () => void) => {
    change()
    setCounted(null)
  }
  async function look() {
    const answer = await ask(true)
    if (answer.ok) setCounted(answer.value)
  }
  async function act() {
    const answer = await ask(false)
    if (!answer.ok) return
    say(`${many(answer.value.queued, 'delivery is', 'deliveries are')} on the way again.`)
    close()
    again()
  }
  return (
    <Dialog title="Send failed deliveries again" close={close}>
      <p>
        They keep their delivery_id and body, so that a receiver which has one already can tell.
      </p>
      <Field label="Of">
        {(tied) => (
          <Choice<string>
            {...tied}
            value={hours}
            options={SPANS}
            change={(it) => chosen(() => setHours(it))}
          />
        )}
      </Field>
      <Field label="Which">
        {(tied) => (
          <Choice<string>
            {...tied}
            value={status}
            options={WHICH}
            change={(it) => chosen(() => setStatus(it))}
          />
        )}
      </Field>
      <Trouble failure={deed.failure} />
      {counted && (
        <Notice tone="plain">
          {many(counted.queued, 'delivery', 'deliveries')} would be sent; {count(counted.skipped)}{' '}
          cannot be, because their target is gone, paused or switched off, or their content is too
          old to be kept.
        </Notice>
      )}
      <div class="actions">
        {counted === null ? (
          <button type="button" class="main" disabled={deed.busy} onClick={() => void look()}>
            Count them
          </button>
        ) : (
          <button
            type="button"
            class="main"
            disabled={deed.busy || counted.queued === 0}
            onClick={() => void act()}
          >
            Send {count(counted.queued)} again
          </button>
        )}
        <button type="button" onClick={close}>
          Cancel
        </button>
      </div>
    </Dialog>
  )
}
