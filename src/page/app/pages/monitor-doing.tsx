import { useState } from 'preact/hooks'

import { send } from '../api.ts'
import { useWho } from '../around.ts'
import { useDeed } from '../deed.ts'
import { Confirm } from '../parts/dialog.tsx'
import { Trouble } from '../parts/notice.tsx'
import { go, Link, pathOf } from '../route.tsx'
import { say } from '../say.ts'
import type { Monitor } from '../types.ts'

/** What is done with a monitor: paused, resumed, edited, removed. */
export function MonitorDoing({ monitor, again }: { monitor: Monitor; again: () => void }) {
  const { monitor_path } = useWho()
  const { id, active, name } = monitor
  const [asking, setAsking] = useState(false)
  const deed = useDeed()
  async function flip() {
    const answer = await deed.run(() => send(`${monitor_path}/update`, { id, active: !active }))
    if (!answer.ok) return
    say(
      active
        ? 'Paused: it looks at nothing until you resume it.'
        : 'Resumed: it watches from now on.',
    )
    again()
  }
  return (
    <>
      <button type="button" disabled={deed.busy} onClick={() => void flip()}>
        {active ? 'Pause' : 'Resume'}
      </button>
      <Link to={pathOf('monitors', id, 'edit')} class="button">
        Edit
      </Link>
      <button type="button" class="danger-quiet" onClick={() => setAsking(true)}>
        Remove
      </button>
      <Trouble failure={deed.failure} />
      {asking && (
        <Confirm
          title="Remove this monitor?"
          does="Remove it"
          close={() => setAsking(false)}
          run={() => send(`${monitor_path}/remove`, { id })}
          done={() => {
            say('Removed. What it delivered stays readable.')
            go(pathOf('monitors'))
          }}
        >
          <p>
            <strong>{name ?? id}</strong> stops matching at once and its slot is free. It cannot be
            brought back; what it delivered stays readable.
          </p>
        </Confirm>
      )}
    </>
  )
}
