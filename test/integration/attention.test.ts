// Goal: quiet hours, digests and alarms through the whole daemon, on a clock that is held, with restarts.
import { expect, test } from 'bun:test'

import { startTestDaemon } from '../support/test-daemon.ts'

const MINUTE = 60_000
const START = Date.parse('2026-01-05T06:30:00Z')

/** A daemon that starts half an hour before the digest, a webhook, and a monitor of cats. */
async function watched(attention: object) {
  const daemon = await startTestDaemon({ start_at: START })
  daemon.sandbox.post({ subforum: 'cats', title: 'an old cat' })
  await daemon.clock.advance(MINUTE)
  const { url } = daemon.receiver
  const webhook = await daemon.send('/forum/monitor/webhook/create', { kind: 'webhook', url })
  const monitor = await daemon.send('/forum/monitor/add', {
    filter_spec: { subforum: 'cats', include_any: ['cat'] },
    attention,
  })
  expect([webhook.status, monitor.status]).toEqual([200, 200])
  await daemon.clock.advance(2 * MINUTE)
  return { daemon, id: String(monitor.body.id), webhook_id: String(webhook.body.id), monitor }
}

type Daemon = Awaited<ReturnType<typeof startTestDaemon>>
const bodiesOf = (daemon: Daemon) => daemon.receiver.received.map(({ text }) => JSON.parse(text))
const titlesOf = (daemon: Daemon): string[] =>
  bodiesOf(daemon).flatMap(({ items }) => items.map((it: { title: string }) => it.title))

test('a digest collects matches through restarts, and is sent once, signed and grouped', async () => {
  const { daemon, id } = await watched({
    time_zone: 'Europe/Berlin',
    digest: { every: 'day', at: '08:00' },
  })
  await using _ = daemon
  for (let n = 1; n <= 6; n++) {
    daemon.sandbox.post({ subforum: 'cats', title: `cat ${n}` })
    await daemon.clock.advance(3 * MINUTE)
    if (n % 2 === 0) await daemon.restart()
  }
  expect(titlesOf(daemon)).toEqual([])
  const pulled = await daemon.call(`/forum/monitor/items?id=${id}`)
  expect(pulled.body.items).toHaveLength(6)

  await daemon.clock.advance(START + 30 * MINUTE - daemon.clock.now() - 1000)
  expect(titlesOf(daemon)).toEqual([])
  await daemon.clock.advance(2000)
  expect(titlesOf(daemon)).toEqual([1, 2, 3, 4, 5, 6].map((n) => `cat ${n}`))
  const digest = {
    monitor_name: null,
    from: '2026-01-04T07:00:00.000Z',
    to: '2026-01-05T07:00:00.000Z',
    time_zone: 'Europe/Berlin',
  }
  expect(bodiesOf(daemon)).toMatchObject([{ count: 6, grouped: true, digest }])
})

test('a match in quiet hours is listed as held, and sent at their end', async () => {
  const { daemon } = await watched({ quiet_hours: [{ from: '06:00', to: '07:00' }] })
  await using _ = daemon
  daemon.sandbox.post({ subforum: 'cats', title: 'a cat' })
  await daemon.clock.advance(3 * MINUTE)
  const listed = async () => (await daemon.call('/forum/monitor/deliveries')).body.deliveries
  expect(await listed()).toMatchObject([
    { status: 'pending', attempts: 0, held_until: '2026-01-05T07:00:00.000Z' },
  ])
  await daemon.restart()
  await daemon.clock.advance(START + 30 * MINUTE - daemon.clock.now() - 1000)
  expect(titlesOf(daemon)).toEqual([])
  await daemon.clock.advance(2000)
  expect(titlesOf(daemon)).toEqual(['a cat'])
  expect(await listed()).toMatchObject([{ status: 'delivered', held_until: null }])
})

test('an update that ends quiet hours sends at once', async () => {
  const { daemon, id } = await watched({ quiet_hours: [{ from: '06:00', to: '20:00' }] })
  await using _ = daemon
  daemon.sandbox.post({ subforum: 'cats', title: 'a cat' })
  await daemon.clock.advance(3 * MINUTE)
  expect(titlesOf(daemon)).toEqual([])
  const updated = await daemon.send('/forum/monitor/update', { id, attention: null })
  expect(updated.body.attention).toBeNull()
  await daemon.clock.advance(2000)
  expect(titlesOf(daemon)).toEqual(['a cat'])
})

test('a silent monitor sends a signed alarm, repeats it until it is acknowledged, and sends its end', async () => {
  const { daemon, id, monitor } = await watched({
    silent_after_h: 1,
    escalate: { every_min: 5 },
  })
  await using _ = daemon
  expect(monitor.body.attention).toMatchObject({
    time_zone: 'UTC',
    quiet_hours: [],
    digest: null,
    escalate: { every_min: 5, max: 10 },
  })
  const health = async () => (await daemon.call(`/forum/monitor/health?id=${id}`)).body
  await daemon.clock.advance(64 * MINUTE)
  expect(bodiesOf(daemon).map(({ type, alarm }) => `${type} ${alarm.repeat}`)).toEqual([
    'monitor.alarm 0',
    'monitor.alarm 1',
  ])
  expect((await health()).last_match_at).toBeNull()
  expect((await health()).alarms).toMatchObject([
    { kind: 'silent', repeats: 1, acknowledged_at: null },
  ])
  for (const { headers } of daemon.receiver.received)
    expect(headers.get('x-service-signature')).toMatch(/./)

  const acknowledged = await daemon.send('/forum/monitor/acknowledge', { id })
  expect(acknowledged.body).toEqual({ id, acknowledged: 1 })
  expect((await daemon.send('/forum/monitor/acknowledge', { id })).body.acknowledged).toBe(0)
  await daemon.clock.advance(12 * MINUTE)
  expect(daemon.receiver.received).toHaveLength(2)
  daemon.sandbox.post({ subforum: 'cats', title: 'a cat' })
  await daemon.clock.advance(3 * MINUTE)
  expect(bodiesOf(daemon).slice(2)).toMatchObject([
    { count: 1 },
    { count: 0, type: 'monitor.alarm_ended', alarm: { kind: 'silent' } },
  ])
  expect((await health()).alarms).toEqual([])
  const other = daemon.mint('bob')
  const body = JSON.stringify({ id })
  const foreign = await daemon.call('/forum/monitor/acknowledge', { method: 'POST', body }, other)
  expect(foreign.status).toBe(404)
})

test('a field that is wrong is named, and a webhook that does not exist is refused', async () => {
  const { daemon, id } = await watched({})
  await using _ = daemon
  const update = (attention: unknown) => daemon.send('/forum/monitor/update', { id, attention })
  const wrong = await update({ digest: { every: 'day', at: '8' } })
  expect([wrong.status, wrong.body.field]).toEqual([400, 'attention.digest.at'])
  expect(JSON.stringify(wrong.body)).toContain('attention.digest.at must be a local time')
  const unknown = await update({ targets: [{ webhook_id: 'wh_none' }] })
  expect([unknown.body.error, unknown.body.field]).toEqual([
    'webhook_not_found',
    'attention.targets',
  ])
  const text = await update('quiet')
  expect([text.status, text.body.field]).toEqual([400, 'attention'])
})
