// FORUMD_SECRET=whsec_… PORT=9000 node receiver.mjs
import { createHmac, timingSafeEqual } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'

/** Verifies that the raw `body` (a Buffer) was signed with `secret`, at most 300 s from `now_s`. */
function verify(secret, header, body, now_s) {
  const pairs = header.split(',').map((part) => part.split('='))
  const t = pairs.find(([name]) => name === 't')?.[1] ?? ''
  const fresh = /^[0-9]{1,12}$/.test(t) && Math.abs(now_s - Number(t)) <= 300
  // Anyone could sign with an empty secret.
  if (!secret || !fresh) return false
  const mac = createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex')
  const wanted = Buffer.from(mac)
  return pairs.some(([name, value = '']) => {
    const given = Buffer.from(value)
    return name === 'v1' && given.length === wanted.length && timingSafeEqual(given, wanted)
  })
}

// Processed ids. In production store them durably, such as in a table with a unique key.
const seen = new Map()

/** Passes one delivery to `handle`, once. If `handle` fails, a 503 requests another attempt. */
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

/** Listens for deliveries. An aborted connection does not affect the others. */
export function serve(handle) {
  const server = createServer((request, response) => {
    take(request, response, handle).catch(() => response.destroy())
  })
  server.listen(Number(process.env.PORT), '127.0.0.1')
}

// Runs only as the main module; bridges import `listen` with their own handler.
if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  serve(async ({ delivery_id, items }) => {
    for (const item of items) console.log(`${delivery_id} ${item.title ?? item.body}`)
  })
