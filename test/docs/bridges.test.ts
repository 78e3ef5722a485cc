// Goal: the integrations in examples/ work with real deliveries. Method: a delivery over the
// loopback, and a local replacement for each service.
import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'

import { sign } from '../../src/core/delivery/signature.ts'
import { type Delivered, realDelivery } from '../support/loopback-daemon.ts'
import { runBridge } from '../support/receivers.ts'
import { root } from './documentation.ts'

setDefaultTimeout(60_000)

const examples = join(root, 'examples')
const TITLE = 'A quiet grinder — <b>loud</b>, “they” say'
let real: Delivered
beforeAll(async () => {
  real = await realDelivery(TITLE)
})

const now_s = () => Math.floor(Date.now() / 1000)
const signed = (body: Uint8Array = real.body) => ({
  'x-service-signature': sign(real.secret, now_s(), body),
})
/** The same delivery under another id. */
const renamed = (id: string) =>
  new TextEncoder().encode(real.text.replaceAll(JSON.parse(real.text).delivery_id, id))

type Call = { path: string; headers: Headers; body: Record<string, unknown> }

/**
 * A local replacement for a service that takes JSON: answers with the queued statuses, then 200.
 */
function service() {
  const calls: Call[] = []
  const answers: number[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const body = JSON.parse(await request.text())
      calls.push({ path: new URL(request.url).pathname, headers: request.headers, body })
      return Response.json({}, { status: answers.shift() ?? 200 })
    },
  })
  return {
    calls,
    answers,
    url: `http://127.0.0.1:${server.port}`,
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

describe.skipIf(Bun.which('node') === null && !process.env['CI'])('a bridge', () => {
  test('publishes a delivery to ntfy once, in its JSON format', async () => {
    await using ntfy = service()
    await using bridge = await runBridge('ntfy.mjs', {
      FORUMD_SECRET: real.secret,
      NTFY_URL: `${ntfy.url}/alerts`,
      NTFY_TOKEN: 'tk_secret',
    })
    const send = () =>
      fetch(bridge.url, { method: 'POST', headers: signed(), body: Buffer.from(real.body) })

    expect([(await send()).status, (await send()).status]).toEqual([204, 204])
    const [call, ...more] = ntfy.calls
    expect(more).toEqual([])
    expect(call?.headers.get('authorization')).toBe('Bearer tk_secret')
    expect(call).toMatchObject({
      path: '/',
      body: {
        topic: 'alerts',
        title: TITLE,
        message: 'My old one wakes the house.',
        tags: ['coffee', 'discussion'],
        click: JSON.parse(real.text).items[0].url,
      },
    })
  })

  test('answers 503 for a message that ntfy refused, so that it is retried', async () => {
    await using ntfy = service()
    ntfy.answers.push(429)
    await using bridge = await runBridge('ntfy.mjs', {
      FORUMD_SECRET: real.secret,
      NTFY_URL: `${ntfy.url}/alerts`,
    })
    const body = Buffer.from(renamed('dlv_again'))
    const send = () => fetch(bridge.url, { method: 'POST', headers: signed(body), body })

    expect([(await send()).status, (await send()).status]).toEqual([503, 204])
    expect(ntfy.calls.length).toBe(2)
  })

  test('does not forward unsigned requests', async () => {
    await using ntfy = service()
    await using bridge = await runBridge('ntfy.mjs', {
      FORUMD_SECRET: 'whsec_another',
      NTFY_URL: `${ntfy.url}/alerts`,
    })
    const { status } = await fetch(bridge.url, {
      method: 'POST',
      headers: signed(),
      body: Buffer.from(real.body),
    })

    expect({ status, calls: ntfy.calls }).toEqual({ status: 401, calls: [] })
  })

  test('sends to a Telegram chat as plain text', async () => {
    await using telegram = service()
    await using bridge = await runBridge('telegram.mjs', {
      FORUMD_SECRET: real.secret,
      TELEGRAM_TOKEN: '123:abc',
      TELEGRAM_CHAT: '-1001',
      TELEGRAM_API: telegram.url,
    })
    await fetch(bridge.url, { method: 'POST', headers: signed(), body: Buffer.from(real.body) })

    const [call] = telegram.calls
    expect(call?.path).toBe('/bot123:abc/sendMessage')
    expect(call?.body['chat_id']).toBe('-1001')
    expect(String(call?.body['text'])).toStartWith(`${TITLE}\ncoffee, by `)
    expect(call?.body).not.toHaveProperty('parse_mode')
  })
})

describe('the snippet for Home Assistant', () => {
  const path = `${examples}/home-assistant/forumd.yaml`

  test('is an automation with a webhook that takes POST from the local network only', async () => {
    const { automation } = Object(Bun.YAML.parse(await Bun.file(path).text()))

    expect(automation).toMatchObject([
      {
        mode: 'queued',
        triggers: [{ trigger: 'webhook', allowed_methods: ['POST'], local_only: true }],
        actions: [{ repeat: { sequence: [{ action: 'notify.notify' }] } }],
      },
    ])
  })

  test('reads only fields that a delivery has', async () => {
    const text = await Bun.file(path).text()
    const delivery = JSON.parse(real.text)
    const of_items = [...text.matchAll(/repeat\.item\.([\w.]+)/g)].map(([, it = '']) => it)
    const of_body = [...text.matchAll(/trigger\.json\['(\w+)'\]/g)].map(([, it = '']) => it)

    expect(of_body).toEqual(['items'])
    for (const field of of_body) expect(delivery).toHaveProperty(field)
    expect(of_items.length).toBeGreaterThan(4)
    for (const field of of_items)
      if (field !== 'link_title') expect(delivery.items[0]).toHaveProperty(field)
  })
})
