import { createHmac, timingSafeEqual } from 'node:crypto'

import type { Outside } from '../outside.ts'
import type { Stage } from './stage.ts'

const TOLERANCE_S = 300

/** The receiver: checks each signature by the published recipe, with code of its own. */
export function startInbox({ clock }: Outside, stage: Stage) {
  const names = new Map<string, string>()
  const ids = new Set<string>()
  let secret = ''
  let verified = 0
  let refused = 0

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const text = await request.text()
      const { timestamp, mac } = /^t=(?<timestamp>\d+),v1=(?<mac>[0-9a-f]{64})$/.exec(
        request.headers.get('x-service-signature') ?? '',
      )?.groups ?? { timestamp: '0', mac: '' }
      const expected = createHmac('sha256', secret).update(`${timestamp}.${text}`).digest()
      const given = Buffer.from(mac ?? '', 'hex')
      const age_s = Math.abs(clock.now() / 1000 - Number(timestamp))
      if (
        given.length !== expected.length ||
        !timingSafeEqual(given, expected) ||
        age_s > TOLERANCE_S
      ) {
        refused += 1
        stage.trouble('receiver.refused', { reason: 'the signature does not fit' })
        return new Response('', { status: 400 })
      }
      verified += 1
      const { delivery_id, monitor_id, items } = JSON.parse(text)
      ids.add(delivery_id)
      const [item] = items
      stage.delivered({
        monitor: names.get(monitor_id) ?? monitor_id,
        delivery_id,
        item,
        after_ms: clock.now() - Date.parse(item.created),
      })
      return new Response('', { status: 204 })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}/hook`,
    expect(text: string) {
      secret = text
    },
    name: (id: string, text: string) => void names.set(id, text),
    seen: () => ({ matches: ids.size, verified, refused }),
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}
