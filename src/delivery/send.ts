import { boundedWait, retryAfter } from '../core/base/wait.ts'
import type { Credentials } from '../core/delivery/credentials.ts'
import { type DisplayOptions, readMessage } from '../core/delivery/message.ts'
import { type Attempt, isSuccess } from '../core/delivery/retry.ts'
import type { PublishMqtt } from '../net/mqtt.ts'
import type { Transport, TransportResponse } from '../net/transport.ts'
import type { Clock } from '../runtime/runtime.ts'
import type { ResponseExcerpt } from '../store/delivery/outbox.ts'
import type { Addressee } from '../store/delivery/targets.ts'
import type { EmailSender } from './email.ts'
import { kindOf } from './kinds.ts'
import { type HttpRequest, jsonOf, type Kind, type Outgoing, type Sent } from './kinds/kind.ts'

/** Reads a response by the verdict of the kind of target. */
export function toAttempt({ verdict }: Kind, answer: TransportResponse, now: number): Attempt {
  if (answer.kind === 'failed') return answer
  const { status, headers } = answer
  const body = new TextDecoder().decode(answer.body)
  const accepted = isSuccess(status) && (verdict?.accepts?.(body) ?? true)
  const named_s = status === 429 ? boundedWait(verdict?.waitS?.(jsonOf(body)) ?? undefined) : null
  return { kind: 'answered', status, accepted, retry_after_s: named_s ?? retryAfter(headers, now) }
}

/** Response headers that help with diagnosis and contain no secrets. */
const EXCERPT_HEADERS = [
  'content-type',
  'content-length',
  'date',
  'retry-after',
  'server',
  'x-request-id',
  'cf-ray',
]
const VALUE_MAX = 200
const START_BYTES = 2048
const START_MAX = 500

/** Receivers often echo the request, and some their own configuration. */
const SECRET =
  /whsec_[A-Za-z0-9+/=]+|f[ko]_[A-Za-z0-9]{8,}|\b(?:bearer|basic)\s+\S+|[A-Za-z0-9+/_=-]{24,}/gi
// Control and format characters belong in neither a terminal nor a page.
const CONTROLS = /[\p{Cc}\p{Cf}]+/gu

/**
 * The stored part of a response besides its status: some headers and the start of its body, redacted; null without a
 * response. `token` is one that the request carried.
 */
export function excerptResponse(answer: TransportResponse, token?: string): ResponseExcerpt | null {
  if (answer.kind === 'failed') return null
  const headers: Record<string, string> = {}
  for (const name of EXCERPT_HEADERS) {
    const value = answer.headers.get(name)
    if (value !== null) headers[name] = redact(value, token).slice(0, VALUE_MAX)
  }
  const start = new TextDecoder().decode(answer.body.subarray(0, START_BYTES))
  return { headers, body_start: redact(start, token).slice(0, START_MAX) }
}

/** Some tokens of services are too short to be recognised by their form. */
const redact = (text: string, token?: string): string =>
  (token ? text.replaceAll(token, '…') : text).replace(CONTROLS, ' ').replace(SECRET, '…').trim()

/** One attempt, its true time, and the receiver's response besides the status. */
type SendResult = Sent & { started_at: number; ended_at: number; duration_ms: number }

type ToSend = Pick<Outgoing, 'id' | 'body'> & Partial<Pick<Outgoing, 'attempts' | 'interrupted'>>

export type Send = (to: Addressee, delivery: ToSend) => Promise<SendResult>

export type SendDeps = {
  transport: Transport
  clock: Clock
  /** Milliseconds by which true time, taken from the platform, is ahead of our clock. */
  clock_offset_ms: () => number
  openSecret: (webhook_id: string, sealed: Uint8Array) => string
  openCredentials: (webhook_id: string, sealed: Uint8Array) => Credentials
  /** Publishes to brokers; loads its library on first use. */
  publish: PublishMqtt
  display: DisplayOptions
  user_agent: string
  /** Absent when no mail server is named. */
  email?: EmailSender | undefined
}

export function createSend(deps: SendDeps): Send {
  const { transport, clock, display, openSecret, publish, email } = deps
  const trueNow = () => clock.now() + deps.clock_offset_ms()

  async function post(
    kind: Kind,
    { attempts, credentials }: Outgoing,
    { headers, body, ...request }: HttpRequest,
  ): Promise<Sent> {
    const answer = await transport({
      ...request,
      tried: attempts,
      headers: { ...JSON_HEADERS, 'user-agent': deps.user_agent, ...headers },
      body: body instanceof Uint8Array ? body : encode(body),
    })
    const excerpt = excerptResponse(answer, credentials?.token)
    return { attempt: toAttempt(kind, answer, trueNow()), excerpt }
  }

  return async (to, { id, body, attempts = 0, interrupted = 0 }) => {
    const kind = kindOf(to.kind)
    const sealed = to.credentials
    const started_at = trueNow()
    const began = clock.mono()
    const delivery: Outgoing = {
      to,
      id,
      body,
      attempts,
      interrupted,
      started_at,
      credentials: sealed == null ? null : deps.openCredentials(to.webhook_id, sealed),
      message: () => readMessage(body, display),
    }
    const sent = await kind.send(delivery, {
      openSecret,
      publish,
      email,
      now: () => clock.now(),
      redact: (text) => redact(text, delivery.credentials?.token),
      post: (request) => post(kind, delivery, request),
    })
    const duration_ms = Math.round(clock.mono() - began)
    return { ...sent, started_at, ended_at: started_at + duration_ms, duration_ms }
  }
}

const JSON_HEADERS = { 'content-type': 'application/json' }
const encode = (body: object): Uint8Array => new TextEncoder().encode(JSON.stringify(body))
