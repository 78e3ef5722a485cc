import { useState } from 'preact/hooks'

import { useWho } from '../around.ts'
import { useAsk } from '../ask.ts'
import { Icon } from '../parts/icon.tsx'
import { Empty, Trouble, Waiting } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import type { Webhook } from '../types.ts'
import { WebhookCard } from './webhook-card.tsx'
import { WebhookNew } from './webhook-new.tsx'

const LOOK_MS = 20_000

/** Where matches are sent: register, test, rotate, switch off, delete. */
export function Webhooks() {
  const { monitor_path } = useWho()
  const list = useAsk<{ webhooks: Webhook[] }>(`${monitor_path}/webhook/list`, {
    every_ms: LOOK_MS,
  })
  const [making, setMaking] = useState(false)
  const webhooks = list.value?.webhooks
  const button = (
    <button type="button" class="main" onClick={() => setMaking(true)}>
      <Icon name="plus" /> New webhook
    </button>
  )
  return (
    <Page title="Webhooks" beside={button} lead="Where matches are sent: signed, at least once.">
      <Trouble failure={list.failure} again={list.again} />
      {webhooks === undefined && list.failure === null && <Waiting rows={3} />}
      {webhooks?.length === 0 && (
        <Empty title="No webhook yet">
          <p>
            Give an https address of yours, of a Slack or Discord channel, or <code>mailto:</code>{' '}
            and an address. A monitor without webhooks keeps its matches in its feed.
          </p>
          <button type="button" class="main" onClick={() => setMaking(true)}>
            <Icon name="plus" /> Register the first
          </button>
        </Empty>
      )}
      <ul class="cards">
        {webhooks?.map((it) => (
          <WebhookCard key={it.id} webhook={it} again={list.again} />
        ))}
      </ul>
      {making && <WebhookNew close={() => setMaking(false)} again={list.again} />}
    </Page>
  )
}
