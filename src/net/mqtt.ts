import { hash } from 'node:crypto'
import { connect, type Socket } from 'node:net'

import { generate, type IConnackPacket, type Packet, parser, writeToStream } from 'mqtt-packet'

import type { AddressTarget } from '../core/base/address.ts'
import { errorCode } from '../core/base/errors.ts'
import type { AttemptError } from '../core/delivery/retry.ts'
import type { Clock } from '../runtime/runtime.ts'
import type { Guard } from './guard.ts'
import { isOutOfFiles } from './out-of-files.ts'
import { errorOf, fromNext, tls, UNREACHED } from './transport.ts'

// One connection, one message: the rows are the only queue, so a session that outlives the attempt would hold nothing.
// Rejected alternative: the `mqtt` client, whose own queue, reconnection and resolver would bypass guard and schedule.

// By default the library fills a table of 65,536 buffers with the first packet.
writeToStream.cacheNumbers = false

export type MqttMessage = {
  /** `https` for TLS, `http` without; its path is not used. */
  address: string
  topic: string
  payload: Uint8Array
  username: string | null
  password: string | null
  /** Names the message: every attempt has the same client id and packet id, derived from it. */
  id: string
  /** Number of earlier attempts: each one starts with another of the addresses. */
  tried: number
  /** True if the broker may have it from an earlier attempt. */
  repeated: boolean
}

/**
 * Outcome of an attempt. `code`: reason code of MQTT 5, 0 if the broker acknowledged; those of
 * 3.1.1 are mapped to it. `refused`: the same message will be refused again.
 */
export type MqttOutcome =
  | { kind: 'published'; code: number; accepted: boolean; refused: boolean; answer: string }
  | { kind: 'failed'; error: AttemptError }

/** Publishes one message with QoS 1 and waits for its acknowledgement. Never throws. */
export type PublishMqtt = (message: MqttMessage) => Promise<MqttOutcome>

const ANSWER_BYTES_MAX = 64 * 1024
const ANSWER_MAX = 200
const KEEPALIVE_S = 60
const OLD_VERSION = 132
const REFUSING = 128
const QOS_UNSUPPORTED = 155
const TOO_LARGE = 149

/** CONNACK return codes of 3.1.1 as reason codes of MQTT 5. */
const FROM_3_1_1: Record<number, number> = { 1: OLD_VERSION, 2: 133, 3: 136, 4: 134, 5: 135 }

/**
 * Reason codes after which a repeat is of no use: about credentials, rights, topic, size and format.
 * @see https://docs.oasis-open.org/mqtt/mqtt/v5.0/os/mqtt-v5.0-os.html#_Toc3901031
 */
const FINAL = new Set([
  129,
  130,
  132,
  133,
  134,
  135,
  138,
  140,
  144,
  TOO_LARGE,
  153,
  QOS_UNSUPPORTED,
])

const failed = (error: AttemptError): MqttOutcome => ({ kind: 'failed', error })

function published(
  command: 'connack' | 'puback' | 'disconnect',
  code: number,
  properties?: object,
): MqttOutcome {
  // 16, to a PUBLISH: it was accepted, and nothing is subscribed to the topic.
  const accepted = command === 'puback' && code < REFUSING
  if (code < REFUSING && !accepted) return failed('bad_answer')
  const given = properties !== undefined && 'reasonString' in properties && properties.reasonString
  const reason = typeof given === 'string' ? given : ''
  return {
    kind: 'published',
    code,
    accepted,
    refused: FINAL.has(code),
    answer: `${command.toUpperCase()} ${code} ${reason}`.trim().slice(0, ANSWER_MAX),
  }
}

/** Reason code of MQTT 5 in a CONNACK of either version. */
function connackCode({ reasonCode, returnCode = 0 }: IConnackPacket): number {
  // A broker of 3.1.1 answers a CONNECT of MQTT 5 in its own format, in which 1 is the version.
  if (reasonCode !== undefined) return reasonCode === 1 ? OLD_VERSION : reasonCode
  return FROM_3_1_1[returnCode] ?? returnCode
}

/** Creates the publisher. Addresses are resolved, checked and dialled as for any other target. */
export function createMqttPublisher({
  clock,
  guard,
  timeout_ms,
  ca,
}: {
  clock: Clock
  guard: Guard
  timeout_ms: number
  ca?: string
}): PublishMqtt {
  // In Bun, a custom CA replaces all others.
  const trust = ca === undefined ? {} : { ca: [...tls().getCACertificates('bundled'), ca] }

  function dial({ url, host, literal }: AddressTarget, address: string): Dialled {
    const secure = url.protocol === 'https:'
    // The port is absent from a URL if it is the scheme's own.
    const port = Number(url.port) || (secure ? 443 : 80)
    if (!secure) return { socket: connect({ host: address, port }), ready: 'connect' }
    // A certificate lists an IP address itself; SNI is for names only.
    const name = literal === null ? { servername: host } : {}
    const socket = tls().connect({ host: address, port, ...name, ...trust })
    return { socket, ready: 'secureConnect' }
  }

  async function attempt(message: MqttMessage, over: AbortSignal): Promise<MqttOutcome> {
    const guarded = await guard(message.address)
    if (!guarded.ok) {
      if (guarded.refusal !== 'unresolved') return failed('target_not_public')
      return failed(isOutOfFiles() ? 'out_of_files' : 'dns_failed')
    }
    const { target, addresses } = guarded
    let outcome = failed('connect_failed')
    for (const address of fromNext(addresses, message.tried)) {
      if (over.aborted) return failed('timeout')
      const first = await converse(() => dial(target, address), message, 5, over)
      if (first.unreached) {
        outcome = first.outcome
        continue
      }
      const is_older = first.outcome.kind === 'published' && first.outcome.code === OLD_VERSION
      return is_older
        ? (await converse(() => dial(target, address), message, 4, over)).outcome
        : first.outcome
    }
    return outcome
  }

  return async (message) => {
    const over = new AbortController()
    const done = new AbortController()
    const timeout = clock.sleep(timeout_ms, done.signal).then(() => failed('timeout'))
    try {
      return await Promise.race([attempt(message, over.signal), timeout])
    } finally {
      done.abort('ended')
      over.abort('ended')
    }
  }
}

/** A connection, and the event after which it may carry bytes. */
type Dialled = { socket: Socket; ready: 'connect' | 'secureConnect' }
type Conversation = { outcome: MqttOutcome; unreached: boolean }

/** CONNECT, PUBLISH, its acknowledgement, DISCONNECT, in one protocol version. */
async function converse(
  dial: () => Dialled,
  message: MqttMessage,
  version: 4 | 5,
  over: AbortSignal,
): Promise<Conversation> {
  const { promise, resolve } = Promise.withResolvers<Conversation>()
  const end = (outcome: MqttOutcome, unreached = false) => resolve({ outcome, unreached })
  const digest = hash('sha256', message.id, 'buffer')
  const messageId = digest.readUInt16BE(0) || 1
  const protocol = { protocolVersion: version }
  const broker = parser(protocol)
  const { socket, ready } = dial()
  const send = (packet: Packet) => void socket.write(generate(packet, protocol))
  let received = 0

  broker.on('error', () => end(failed('bad_answer')))
  broker.on('packet', (packet) => {
    const reason = 'properties' in packet ? packet.properties : undefined
    if (packet.cmd === 'connack') {
      const { maximumQoS, maximumPacketSize = Infinity } = packet.properties ?? {}
      const publish = publication(message, messageId, version)
      const code = connackCode(packet)
      if (code !== 0) end(published('connack', code, reason))
      else if (maximumQoS === 0) end(published('connack', QOS_UNSUPPORTED))
      else if (generate(publish, protocol).length > maximumPacketSize)
        end(published('connack', TOO_LARGE))
      else send(publish)
    } else if (packet.cmd === 'puback' && packet.messageId === messageId)
      end(published('puback', packet.reasonCode ?? 0, reason))
    else if (packet.cmd === 'disconnect')
      end(published('disconnect', packet.reasonCode || REFUSING, reason))
    else end(failed('bad_answer'))
  })
  let connected = false
  const began = () => {
    connected = true
    send({
      cmd: 'connect',
      // 3.1.1 obliges a broker to accept 23 letters and digits. The same id ends a connection of an earlier attempt.
      clientId: `forumd${digest.toString('hex').slice(0, 16)}`,
      protocolId: 'MQTT',
      protocolVersion: version,
      clean: true,
      keepalive: KEEPALIVE_S,
      ...(message.username !== null && { username: message.username }),
      ...(message.password !== null && { password: Buffer.from(message.password) }),
    })
  }
  socket.on('data', (chunk) => {
    received += chunk.length
    if (received > ANSWER_BYTES_MAX) return end(failed('bad_answer'))
    try {
      broker.parse(Buffer.from(chunk))
    } catch {
      // The library throws for some malformed packets.
      end(failed('bad_answer'))
    }
  })
  socket.on(ready, began)
  socket.on('error', (error) => {
    const code = errorCode(error)
    end(failed(errorOf(code)), !connected && UNREACHED.has(code))
  })
  socket.on('close', () => end(failed(connected ? 'connection_closed' : 'connect_failed')))
  over.addEventListener('abort', () => end(failed('timeout')), { once: true })

  const ended = await promise
  if (ended.outcome.kind === 'published')
    socket.end(generate({ cmd: 'disconnect' }, protocol), () => socket.destroy())
  else socket.destroy()
  return ended
}

function publication(
  { topic, payload, id, repeated }: MqttMessage,
  messageId: number,
  version: 4 | 5,
): Packet {
  return {
    cmd: 'publish',
    topic,
    payload: Buffer.from(payload),
    qos: 1,
    messageId,
    dup: repeated,
    retain: false,
    ...(version === 5 && {
      properties: {
        payloadFormatIndicator: true,
        contentType: 'application/json',
        userProperties: { 'delivery-id': id },
      },
    }),
  }
}
