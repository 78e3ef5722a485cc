import { expect, setDefaultTimeout, test } from 'bun:test'

import { sign, signStandard } from '../../src/core/delivery/signature.ts'
import { startTestDaemon } from '../support/test-daemon.ts'
import { beside } from './operator-fixture.ts'

// Each test starts a daemon, and the machine may be busy.
setDefaultTimeout(30_000)

const MINUTE = 60_000
const SIGNED = [
  'content-type',
  'user-agent',
  'x-service-signature',
  'x-service-timestamp',
  'x-service-delivery-id',
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
]

/** A delivery that arrived with its second attempt. */
async function start(signatures: readonly string[] = ['v1']) {
  const daemon = await startTestDaemon()
  daemon.sandbox.post({ subforum: 'cats', title: 'an old laser' })
  await daemon.clock.advance(MINUTE)
  const hook = (
    await daemon.send('/forum/monitor/webhook/create', { url: daemon.receiver.url, signatures })
  ).body
  await daemon.send('/forum/monitor/add', {
    filter_spec: { subforum: 'cats', include_any: ['laser'] },
  })
  await daemon.clock.advance(2 * MINUTE)
  daemon.receiver.answers.push(503)
  daemon.sandbox.post({
    subforum: 'cats',
    title: "the cat's laser",
    created_at: daemon.clock.now(),
  })
  await daemon.clock.advance(5 * MINUTE)
  const [delivery] = (await daemon.call('/forum/monitor/deliveries')).body.deliveries
  const id = String(delivery.delivery_id)
  const ask = (key = daemon.key) =>
    daemon.call(`/forum/monitor/deliveries/request?delivery_id=${id}`, {}, key)
  return { daemon, hook, id, ask }
}

test.each([[['v1']], [['v1', 'v1a']]])(
  'the headers of each attempt are those that the receiver got, with signatures %p',
  async (signatures) => {
    const { daemon, ask } = await start(signatures)
    await using _ = daemon
    const { status, body } = await ask()

    expect([status, body.attempts.length]).toEqual([200, 2])
    for (const [at, { headers }] of body.attempts.entries()) {
      const sent = daemon.receiver.received[at]
      expect(Object.keys(headers).toSorted()).toEqual(SIGNED.toSorted())
      expect(headers).toEqual(
        Object.fromEntries(SIGNED.map((name) => [name, sent?.headers.get(name)])),
      )
    }
  },
)

test('the request of now has a new signature that verifies, over the same body', async () => {
  const { daemon, hook, id, ask } = await start()
  await using _ = daemon
  const { body } = await ask()
  const bytes = new TextEncoder().encode(body.body)
  const t = Math.floor(daemon.clock.now() / 1000)

  expect(body).toMatchObject({ delivery_id: id, method: 'POST', url: daemon.receiver.url })
  expect(body.headers['x-service-signature']).toBe(sign(hook.secret, t, bytes))
  expect(body.headers['webhook-signature']).toBe(signStandard(hook.secret, id, t, bytes))
  expect(JSON.stringify(body)).not.toContain(hook.secret)
})

test('a signature by a rotated secret is null; the other headers stay', async () => {
  const { daemon, hook, ask } = await start()
  await using _ = daemon
  const before = (await ask()).body.attempts[1].headers
  await daemon.send('/forum/monitor/webhook/rotate', { id: hook.id, overlap_s: 0 })
  const { headers } = (await ask()).body.attempts[1]

  expect(headers).toEqual({ ...before, 'x-service-signature': null, 'webhook-signature': null })
})

test('a stranger, another kind, a deleted webhook and a wrong id are refused', async () => {
  const { daemon, hook, ask } = await start()
  await using _ = daemon
  expect((await ask(daemon.mint('bob'))).status).toBe(404)
  const wrong = await daemon.call('/forum/monitor/deliveries/request?delivery_id=7')
  expect([wrong.status, wrong.body.field]).toEqual([400, 'delivery_id'])
  const none = await daemon.call('/forum/monitor/deliveries/request')
  expect([none.status, none.body.field]).toEqual([400, 'delivery_id'])
  await daemon.send('/forum/monitor/webhook/delete', { id: hook.id })
  const { status, body } = await ask()
  expect([status, body.field]).toEqual([400, 'delivery_id'])
})

test('a delivery whose content was erased has no request', async () => {
  const { daemon, ask } = await start()
  await using _ = daemon
  expect((await ask()).status).toBe(200)
  beside(daemon, ({ db }) => db.run('UPDATE messages SET body = NULL'))
  const { status, body } = await ask()
  expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining('no longer stored')])
})
