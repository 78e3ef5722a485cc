// Sends the items of forumd's deliveries to a Telegram chat, one message per item.
// FORUMD_SECRET=whsec_… PORT=9002 TELEGRAM_TOKEN=123:abc TELEGRAM_CHAT=-1001 node telegram.mjs
import { serve } from '../receivers/receiver.mjs'

const { TELEGRAM_TOKEN, TELEGRAM_CHAT, TELEGRAM_API = 'https://api.telegram.org' } = process.env

async function send(item) {
  const heading = item.title ?? `A comment on ${item.link_title}`
  const text = (item.body ?? item.text).slice(0, 1000)
  const response = await fetch(`${TELEGRAM_API}/bot${TELEGRAM_TOKEN}/sendMessage`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    // Without parse_mode the text is plain, so platform content is not interpreted as markup.
    body: JSON.stringify({
      chat_id: TELEGRAM_CHAT,
      text: `${heading}\n${item.subforum}, by ${item.author}\n\n${text}\n\n${item.url}`,
    }),
    signal: AbortSignal.timeout(8000),
  })
  if (!response.ok) throw new Error(`Telegram answered ${response.status}`)
}

serve(async ({ items }) => {
  for (const item of items) await send(item)
})
