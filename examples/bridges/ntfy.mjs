// Publishes the items of forumd's deliveries to an ntfy topic, one message per item.
// FORUMD_SECRET=whsec_… PORT=9001 NTFY_URL=https://ntfy.sh/my-topic [NTFY_TOKEN=tk_…] node ntfy.mjs
import { serve } from '../receivers/receiver.mjs'

const { NTFY_URL, NTFY_TOKEN } = process.env
const { origin, pathname } = new URL(NTFY_URL)

async function publish(item) {
  const response = await fetch(origin, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(NTFY_TOKEN && { authorization: `Bearer ${NTFY_TOKEN}` }),
    },
    body: JSON.stringify({
      topic: pathname.slice(1),
      title: item.title ?? `A comment on ${item.link_title}`,
      message: (item.body ?? item.text).slice(0, 1000) || `by ${item.author}`,
      tags: [item.subforum, item.enrichment.intent.tag],
      click: item.url,
    }),
    signal: AbortSignal.timeout(8000),
  })
  if (!response.ok) throw new Error(`ntfy answered ${response.status}`)
}

serve(async ({ items }) => {
  for (const item of items) await publish(item)
})
