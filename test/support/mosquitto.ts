import { mkdirSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'

import { generate, parser } from 'mqtt-packet'

import { certificate } from './certificate.ts'
import type { Folder } from './folder.ts'
import { freePort } from './port.ts'
import { startListening } from './receivers.ts'

/** Packages of Debian install it where only root looks. */
const PATH = `${process.env['PATH']}:/usr/sbin`
export const MOSQUITTO = Bun.which('mosquitto', { PATH })

export const USER = { username: 'ann', token: 'wa:ter/Kettle+Pass0' }
/** The only topic that the user may use. */
export const TOPIC = 'forum/alerts'

/** The real broker, with TLS at one port and without at another, one user, and one topic. */
export async function startMosquitto(folder: Folder) {
  if (MOSQUITTO === null) throw new Error('mosquitto is needed: apt-get install mosquitto')
  const { cert, key } = await certificate()
  const [tls, plain] = [freePort(), freePort()]
  const file = (name: string, text: string) => {
    writeFileSync(folder.file(name), text, { mode: 0o600 })
    return folder.file(name)
  }
  mkdirSync(folder.file('broker'))
  const config = file(
    'mosquitto.conf',
    `user root
allow_anonymous false
password_file ${folder.file('users')}
acl_file ${file('acl', `user ${USER.username}\ntopic readwrite ${TOPIC}\n`)}
persistence true
persistence_location ${folder.file('broker')}/
listener ${plain} 127.0.0.1
listener ${tls} 127.0.0.1
certfile ${file('cert.pem', cert)}
keyfile ${file('key.pem', key)}
`,
  )
  const made = Bun.spawnSync(
    ['mosquitto_passwd', '-c', '-b', folder.file('users'), USER.username, USER.token],
    { env: { PATH } },
  )
  if (made.exitCode !== 0) throw new Error(`no user of the broker: ${made.stderr.toString()}`)
  const start = () => startListening([MOSQUITTO ?? '', '-c', config], {}, plain)
  let running = await start()
  return {
    ca: cert,
    plain,
    tls,
    url: `mqtts://receiver.test:${tls}/${TOPIC}`,
    stop: () => running[Symbol.asyncDispose](),
    async restart() {
      running = await start()
    },
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  }
}

/** A subscriber with QoS 1 over plain TCP. */
export async function subscribe(port: number) {
  const got: { payload: string; dup: boolean; qos: number; properties: any }[] = []
  const ready = Promise.withResolvers<void>()
  const socket = connect(port, '127.0.0.1')
  const packets = parser({ protocolVersion: 5 })
  const send = (packet: Parameters<typeof generate>[0]) =>
    void socket.write(generate(packet, { protocolVersion: 5 }))
  packets.on('packet', (packet) => {
    if (packet.cmd === 'connack')
      send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: TOPIC, qos: 1 }] })
    if (packet.cmd === 'suback') ready.resolve()
    if (packet.cmd !== 'publish') return
    const { payload, dup, qos, properties, messageId = 0 } = packet
    got.push({ payload: payload.toString(), dup, qos, properties })
    send({ cmd: 'puback', messageId, reasonCode: 0 } as never)
  })
  socket.on('data', (chunk) => void packets.parse(Buffer.from(chunk)))
  socket.on('error', ready.reject)
  socket.on('connect', () =>
    send({
      cmd: 'connect',
      clientId: 'subscriber',
      protocolId: 'MQTT',
      protocolVersion: 5,
      clean: true,
      keepalive: 60,
      username: USER.username,
      password: Buffer.from(USER.token),
    }),
  )
  await ready.promise
  return { got, [Symbol.dispose]: () => void socket.destroy() }
}

/** Passes bytes on to a broker without TLS, records its PUBLISH packets, and keeps the acknowledgements back on request. */
export async function startRelay(to: number) {
  const published: { clientId: string; messageId: number; dup: boolean; payload: string }[] = []
  const sockets = new Set<Socket>()
  const held = new Set<Socket>()
  let silent = false
  const server = createServer((client) => {
    const broker = connect(to, '127.0.0.1')
    const packets = parser({ protocolVersion: 5 })
    let clientId = ''
    packets.on('packet', (packet) => {
      if (packet.cmd === 'connect') clientId = packet.clientId
      if (packet.cmd !== 'publish') return
      const { messageId = 0, dup, payload } = packet
      published.push({ clientId, messageId, dup, payload: payload.toString() })
    })
    client.on('data', (chunk) => {
      packets.parse(Buffer.from(chunk))
      broker.write(chunk)
    })
    // 4: PUBACK, in the upper half of the first byte of a packet; the broker sends each in a segment of its own.
    broker.on('data', (chunk) => {
      if (!silent || (chunk[0] ?? 0) >> 4 !== 4) client.write(chunk)
      else held.add(client)
    })
    for (const [one, other] of [
      [client, broker],
      [broker, client],
    ] as const) {
      sockets.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        held.delete(client)
        other.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    published,
    held: () => held.size,
    keepAcknowledgements: (keep: boolean) => void (silent = keep),
    [Symbol.dispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
