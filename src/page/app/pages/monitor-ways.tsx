import { useState } from 'preact/hooks'

import { send } from '../api.ts'
import { useWho } from '../around.ts'
import { useAsk } from '../ask.ts'
import { Copyable } from '../parts/copy.tsx'
import { Confirm } from '../parts/dialog.tsx'
import { Link, pathOf } from '../route.tsx'
import { say } from '../say.ts'
import type { Monitor, Webhook } from '../types.ts'

const LOOK_MS = 20_000

/** Where the matches of a monitor go. */
export function MonitorTargets({ monitor: { webhook_ids } }: { monitor: Monitor }) {
  const { monitor_path } = useWho()
  const { value } = useAsk<{ webhooks: Webhook[] }>(`${monitor_path}/webhook/list`, {
    fresh_ms: LOOK_MS,
  })
  const named = webhook_ids?.map((id) => value?.webhooks.find((it) => it.id === id)?.name ?? id)
  return (
    <section aria-labelledby="targets">
      <h2 id="targets">Where matches go</h2>
      <p>
        {named === undefined
          ? `To every active webhook of the account (${value?.webhooks.filter((it) => it.active).length ?? '…'}).`
          : named.length === 0
            ? 'Nowhere: its webhooks were deleted. Matches wait in the feed.'
            : named.join(', ')}{' '}
        <Link to={pathOf('webhooks')}>Webhooks</Link>
      </p>
    </section>
  )
}

/** The address at which a monitor's matches can be read as a feed. */
export function MonitorFeed({
  monitor: { id, feed_url },
  again,
}: {
  monitor: Monitor
  again: () => void
}) {
  const { monitor_path } = useWho()
  const [asking, setAsking] = useState(false)
  return (
    <section aria-labelledby="feed">
      <h2 id="feed">Feed</h2>
      <p>The matches as Atom, for any reader. Whoever knows this address can read them.</p>
      <div class="actions">
        <Copyable text={feed_url} label="Address of the feed" />
        <button type="button" onClick={() => setAsking(true)}>
          New address
        </button>
      </div>
      {asking && (
        <Confirm
          title="Give the feed a new address?"
          does="New address"
          close={() => setAsking(false)}
          run={() => send(`${monitor_path}/feed/rotate`, { id })}
          done={() => {
            say('The feed has a new address; the old one is dead.')
            again()
          }}
        >
          <p>The present address is dead at once: every reader needs the new one.</p>
        </Confirm>
      )}
    </section>
  )
}
