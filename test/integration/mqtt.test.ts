// Goal: a match is published with QoS 1 at a real broker, over TLS and with a user; refusals are classified; over a restart of
// the broker and a crash of the sender it arrives, under the same ids. Method: mosquitto, and a relay that reads the packets.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createServer, type Socket } from 'node:net'

import { generate, parser } from 'mqtt-packet'

import type { Credentials } from '../../src/core/delivery/credentials.ts'
import type { Db } from '../../src/store/db/connection.ts'
import { findDelivery } from '../../src/store/monitoring/why.ts'
import { startDelivering } from '../support/delivery-fixture.ts'
import { tempFolder } from '../support/folder.ts'
import {
  MOSQUITTO,
  startMosquitto,
  startRelay,
  subscribe,
  TOPIC,
  USER,
} from '../support/mosquitto.ts'

const SECOND = 1000

type Broker = Awaited<ReturnType<typeof startMosquitto>>
let broker: Broker
const folder = tempFolder()
beforeAll(async () => {
  if (MOSQUITTO !== null || process.env['CI']) broker = await startMosquitto(folder)
})
afterAll(async () => {
  await broker?.[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})
const brokerTest = test.skipIf(MOSQUITTO === null && !process.env['CI'])

async function start(url: string, credentials: Credentials | null = USER, options = {}) {
  const it = await startDelivering({ allow_http: true, ...options })
  it.addWebhook('wh_mqtt', url, 'mqtt', credentials)
  return it
}
const bodyOf = (it: { db: Db }, id: string): string =>
  new TextDecoder().decode(findDelivery(it.db, 'cus_1', id)?.body)

brokerTest('a match is published with QoS 1, as the same JSON that a webhook gets', async () => {
  using subscriber = await subscribe(broker.plain)
  await using it = await start(broker.url)
  await it.deliver('dlv_1', 'wh_mqtt')

  expect(it.row('dlv_1')).toEqual({ status: 'delivered', attempts: 1, last_error: null })
  while (subscriber.got.length === 0) await Bun.sleep(1)
  const [got, ...more] = subscriber.got
  expect(more).toEqual([])
  expect(got).toMatchObject({ qos: 1, dup: false })
  expect(got?.payload).toBe(bodyOf(it, 'dlv_1'))
  expect(JSON.parse(got?.payload ?? '')).toMatchObject({ delivery_id: 'dlv_1' })
  expect(got?.properties).toMatchObject({
    contentType: 'application/json',
    userProperties: { 'delivery-id': 'dlv_1' },
  })
})

brokerTest.each<[string, (at: Broker) => string, Credentials | null, string]>([
  ['a wrong password', (at) => at.url, { username: 'ann', token: 'other' }, 'mqtt_135'],
  ['no user', (at) => at.url, null, 'mqtt_135'],
  ['a topic of others', (at) => at.url.replace('alerts', 'secrets'), USER, 'mqtt_135'],
])('%s fails without a retry', async (_what, url, credentials, last_error) => {
  await using it = await start(url(broker), credentials)
  await it.deliver('dlv_1', 'wh_mqtt')
  expect(it.row('dlv_1')).toEqual({ status: 'failed', attempts: 1, last_error } as never)
  const { body_start } = it.db
    .query<{ body_start: string }, []>('SELECT body_start FROM attempts')
    .get() ?? { body_start: '' }
  expect(body_start).toMatch(/^(CONNACK|PUBACK) 135/)
})

brokerTest('a certificate of another name is refused', async () => {
  await using it = await start(`mqtts://elsewhere.example:${broker.tls}/${TOPIC}`)
  await it.deliver('dlv_1', 'wh_mqtt')
  expect(it.row('dlv_1')).toMatchObject({ status: 'pending', last_error: 'tls_failed' })
})

brokerTest(
  'a broker that restarts between two attempts gets the message with the second',
  async () => {
    await using it = await start(broker.url)
    await broker.stop()
    await it.deliver('dlv_1', 'wh_mqtt')
    expect(it.row('dlv_1')).toMatchObject({ status: 'pending', last_error: 'connect_failed' })

    await broker.restart()
    using subscriber = await subscribe(broker.plain)
    await it.clock.advance(5 * SECOND)
    expect(it.row('dlv_1')).toMatchObject({ status: 'delivered', attempts: 2 })
    while (subscriber.got.length === 0) await Bun.sleep(1)
    expect(subscriber.got.map(({ payload }) => payload)).toEqual([bodyOf(it, 'dlv_1')])
  },
)

brokerTest(
  'a crash before the acknowledgement repeats the message under the same ids, marked',
  async () => {
    using relay = await startRelay(broker.plain)
    await using it = await start(`mqtt://receiver.test:${relay.port}/${TOPIC}`, USER, {
      held: relay.held,
    })
    relay.keepAcknowledgements(true)
    it.put('dlv_1', 'wh_mqtt')
    it.nudge()
    while (relay.held() === 0) await Bun.sleep(1)
    it.die()
    relay.keepAcknowledgements(false)
    await it.clock.advance(10 * SECOND)
    await it.reboot()

    expect(it.row('dlv_1')).toMatchObject({ status: 'delivered', attempts: 1 })
    const [first, second, ...more] = relay.published
    expect(more).toEqual([])
    expect(first).toMatchObject({
      dup: false,
      clientId: expect.stringMatching(/^forumd[0-9a-f]{16}$/),
    })
    expect(second).toEqual({ ...first, dup: true } as never)
  },
)

brokerTest('a broker that does not acknowledge ends the attempt at the time limit', async () => {
  using relay = await startRelay(broker.plain)
  await using it = await start(`mqtt://receiver.test:${relay.port}/${TOPIC}`, USER, {
    held: relay.held,
  })
  relay.keepAcknowledgements(true)
  it.put('dlv_1', 'wh_mqtt')
  it.nudge()
  while (relay.held() === 0) await Bun.sleep(1)
  await it.clock.advance(10 * SECOND)
  expect(it.row('dlv_1')).toMatchObject({ status: 'pending', last_error: 'timeout' })
})

/** A broker that answers each packet from a table. */
async function startScripted(
  answer: (packet: any, send: (bytes: Buffer) => void, socket: Socket) => void,
) {
  const packets: any[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    const read = parser({ protocolVersion: 5 })
    read.on('packet', (packet) => {
      packets.push(packet)
      answer(packet, (bytes) => void socket.write(bytes), socket)
    })
    socket.on('error', () => {})
    socket.on('data', (chunk) => void read.parse(Buffer.from(chunk)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    packets,
    url: `mqtt://receiver.test:${port}/${TOPIC}`,
    [Symbol.dispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

const v5 = { protocolVersion: 5 }
const welcome = (properties = {}) =>
  generate({ cmd: 'connack', sessionPresent: false, reasonCode: 0, properties }, v5)

test('a broker of 3.1.1 gets 3.1.1', async () => {
  using old = await startScripted((packet, send, socket) => {
    if (packet.cmd === 'connect' && packet.protocolVersion === 5) {
      send(Buffer.from([0x20, 2, 0, 1]))
      socket.end()
    } else if (packet.cmd === 'connect') send(Buffer.from([0x20, 2, 0, 0]))
    else if (packet.cmd === 'publish') {
      send(
        generate({ cmd: 'puback', messageId: packet.messageId } as never, { protocolVersion: 4 }),
      )
    }
  })
  await using it = await start(old.url)
  await it.deliver('dlv_1', 'wh_mqtt')
  expect(it.row('dlv_1')).toMatchObject({ status: 'delivered', attempts: 1 })
  const versions = old.packets.filter(({ cmd }) => cmd === 'connect')
  expect(versions.map(({ protocolVersion }) => protocolVersion)).toEqual([5, 4])
})

test.each<[string, Buffer[], string, string]>([
  [
    'that is busy',
    [generate({ cmd: 'connack', sessionPresent: false, reasonCode: 137 }, v5)],
    'pending',
    'mqtt_137',
  ],
  ['without QoS 1', [welcome({ maximumQoS: 0 })], 'failed', 'mqtt_155'],
  ['that takes only small packets', [welcome({ maximumPacketSize: 100 })], 'failed', 'mqtt_149'],
  [
    'that disconnects over a quota',
    [welcome(), generate({ cmd: 'disconnect', reasonCode: 151 } as never, v5)],
    'pending',
    'mqtt_151',
  ],
  ['with an unknown code', [Buffer.from([0x20, 3, 0, 7, 0])], 'pending', 'bad_answer'],
  ['that speaks HTTP', [Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')], 'pending', 'bad_answer'],
  ['that sends random bytes', [Buffer.alloc(100, 0x31)], 'pending', 'bad_answer'],
  [
    'that announces 256 MiB',
    [Buffer.concat([Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f]), Buffer.alloc(200_000)])],
    'pending',
    'bad_answer',
  ],
  [
    'that acknowledges another packet',
    [welcome(), generate({ cmd: 'puback', messageId: 3, reasonCode: 0 } as never, v5)],
    'pending',
    'bad_answer',
  ],
])('a broker %s', async (_what, answers, status, last_error) => {
  using odd = await startScripted((packet, send) => {
    const next = packet.cmd === 'connect' ? 0 : packet.cmd === 'publish' ? 1 : -1
    const bytes = answers[next]
    if (bytes !== undefined) send(bytes)
  })
  await using it = await start(odd.url)
  await it.deliver('dlv_1', 'wh_mqtt')
  expect(it.row('dlv_1')).toEqual({ status, attempts: 1, last_error } as never)
})

test('a broker that closes at once, and none at all', async () => {
  using shut = await startScripted((_packet, _send, socket) => socket.end())
  await using it = await start(shut.url)
  await it.deliver('dlv_1', 'wh_mqtt')
  expect(it.row('dlv_1')).toMatchObject({ status: 'pending', last_error: 'connection_closed' })
})

test.each([
  ['a private network that is not allowed', { allow_targets: [] }],
  ['a connection without TLS that is not allowed', { allow_http: false }],
])('%s: no connection is made', async (_what, options) => {
  using unseen = await startScripted(() => {})
  await using it = await start(unseen.url, USER, options)
  await it.deliver('dlv_1', 'wh_mqtt')
  expect(it.row('dlv_1')).toMatchObject({ status: 'pending', last_error: 'target_not_public' })
  expect(unseen.packets).toEqual([])
})
