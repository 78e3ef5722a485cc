// FORUMD_SECRET=whsec_… PORT=9000 node receiver.mjs
import { createHmac, timingSafeEqual } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'

/** Whether `body` (a Buffer, as it came) was signed with `secret`, at most 300 s from `now_s`. */
function verify(secret, header, body, now_s) {
  const pairs = header.split(',').map((part) => part.split('='))
  const t = pairs.find(([name]) => name === 't')?.[1] ?? ''
  const fresh = /^[0-9]{1,12}$/.test(t) && Math.abs(now_s - Number(t)) <= 300
  // With an empty secret anybody could sign.
  if (!secret || !fresh) return false
  const mac = createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex')
  const wanted = Buffer.from(mac)
  return pairs.some(([name, value = '']) => {
    const given = Buffer.from(value)
    return name === 'v1' && given.length === wanted.length && timingSafeEqual(given, wanted)
  })
}

// Ids that were dealt with. Keep them where they survive a restart, such as a table with a unique key.
const seen = new Map()

/** Takes one delivery and gives it to `handle`, once. What it cannot handle is asked for again by a 503. */
async function take(request, response, handle) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  const header = request.headers['x-service-signature'] ?? ''
  const answer = (status) => response.writeHead(status).end()
  if (!verify(process.env.FORUMD_SECRET, header, body, Math.floor(Date.now() / 1000)))
    return answer(401)

  const delivery = JSON.parse(body)
  const id = delivery.delivery_id
  if (!seen.has(id)) seen.set(id, handle(delivery))
  try {
    await seen.get(id)
    answer(204)
  } catch (error) {
    seen.delete(id)
    console.error(`${id}: ${error.message}`)
    answer(503)
  }
}

/** Listens for deliveries. A connection that breaks in the middle ends alone. */
export function serve(handle) {
  const server = createServer((request, response) => {
    take(request, response, handle).catch(() => response.destroy())
  })
  server.listen(Number(process.env.PORT), '127.0.0.1')
}

// Run by itself, and not by a bridge that gives it something else to do.
if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  serve(async ({ delivery_id, items }) => {
    for (const item of items) console.log(`${delivery_id} ${item.title ?? item.body}`)
  })
