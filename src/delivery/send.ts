import * as z from 'zod'

import { once } from '../core/base/lazy.ts'
import { boundedWait, retryAfter } from '../core/base/wait.ts'
import { type DisplayOptions, readMessage } from '../core/delivery/message.ts'
import { type Attempt, isSuccess } from '../core/delivery/retry.ts'
import {
  type Credentials,
  dialable,
  isService,
  type ServiceKind,
} from '../core/delivery/services.ts'
import { signDelivery } from '../core/delivery/signature.ts'
import type { WebhookKind } from '../core/delivery/target.ts'
import type { PublishMqtt } from '../net/mqtt.ts'
import type { Transport, TransportResponse } from '../net/transport.ts'
import type { Clock } from '../runtime/runtime.ts'
import type { ResponseExcerpt } from '../store/delivery/outbox.ts'
import type { Addressee } from '../store/delivery/targets.ts'
import { discordBody } from './discord.ts'
import type { EmailSender } from './email.ts'
import { slackBody } from './slack.ts'

const discordLimit = once(() => z.object({ retry_after: z.number().nonnegative() }))

/** Interprets a response by the kind of target: Slack confirms with `ok`, Discord gives its retry delay in JSON. */
export function toAttempt(kind: WebhookKind, answer: TransportResponse, now: number): Attempt {
  if (answer.kind === 'failed') return answer
  const { status, headers } = answer
  const body = () => new TextDecoder().decode(answer.body)
  const accepted = isSuccess(status) && (kind !== 'slack' || body().trim() === 'ok')
  const discord_retry_s = kind === 'discord' && status === 429 ? discordRetryAfter(body()) : null
  const retry_after_s = discord_retry_s ?? retryAfter(headers, now)
  return { kind: 'answered', status, accepted, retry_after_s }
}

function discordRetryAfter(body: string): number | null {
  try {
    const limit = discordLimit().safeParse(JSON.parse(body))
    return boundedWait(limit.data?.retry_after)
  } catch {
    return null
  }
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
type SendResult = {
  attempt: Attempt
  started_at: number
  ended_at: number
  duration_ms: number
  excerpt: ResponseExcerpt | null
}

/**
 * A delivery to send. `body` is the stored body; bodies for chat services are made from it. `attempts`: earlier
 * attempts; `interrupted`: those whose outcome is not known.
 */
type OutgoingDelivery = { id: string; body: Uint8Array; attempts?: number; interrupted?: number }

export type Send = (to: Addressee, delivery: OutgoingDelivery) => Promise<SendResult>

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
  const { transport, clock, display } = deps
  const trueNow = () => clock.now() + deps.clock_offset_ms()

  function buildRequest(
    kind: Posted,
    to: Addressee,
    { id, body }: OutgoingDelivery,
    started_at: number,
  ) {
    const headers = { ...JSON_HEADERS, 'user-agent': deps.user_agent }
    switch (kind) {
      case 'slack':
        return { headers, body: encode(slackBody(readMessage(body, display))) }
      case 'discord':
        return { headers, body: encode(discordBody(readMessage(body, display))) }
      case 'webhook': {
        // Receivers reject timestamps that are 300 s off, so an error of the local clock must not reach the signature.
        const timestamp_s = Math.floor(started_at / 1000)
        const signed = signDelivery(deps, to, { id, body, timestamp_s, now: clock.now() })
        return { headers: { ...headers, ...signed }, body }
      }
    }
  }

  async function sendOnce(
    to: Addressee,
    { id, body, attempts = 0, interrupted = 0 }: OutgoingDelivery,
    started_at: number,
  ): Promise<Pick<SendResult, 'attempt' | 'excerpt'>> {
    if (to.kind === 'email') {
      // A mail server that was removed from the configuration may come back before the retry schedule ends.
      const attempt = await (deps.email?.deliver(to, body) ?? UNCONFIGURED)
      return { attempt, excerpt: null }
    }
    const { kind } = to
    if (isService(kind)) return serve(kind, to, { id, body, attempts, interrupted })
    const answer = await transport({
      url: to.url,
      tried: attempts,
      ...buildRequest(kind, to, { id, body }, started_at),
    })
    return { attempt: toAttempt(kind, answer, trueNow()), excerpt: excerptResponse(answer) }
  }

  /** One attempt at a push service or a broker. */
  async function serve(
    kind: ServiceKind,
    { webhook_id, url, credentials: sealed }: Addressee,
    { id, body, attempts, interrupted }: Required<OutgoingDelivery>,
  ): Promise<Pick<SendResult, 'attempt' | 'excerpt'>> {
    const credentials = sealed == null ? null : deps.openCredentials(webhook_id, sealed)
    if (kind === 'mqtt') {
      const address = dialable(url)
      const outcome = await deps.publish({
        address,
        topic: decodeURIComponent(new URL(address).pathname.slice(1)),
        payload: body,
        username: credentials?.username ?? null,
        password: credentials?.token ?? null,
        id,
        tried: attempts,
        repeated: attempts + interrupted > 0,
      })
      if (outcome.kind === 'failed') return { attempt: outcome, excerpt: null }
      const { answer, ...attempt } = outcome
      return { attempt, excerpt: { headers: {}, body_start: redact(answer, credentials?.token) } }
    }
    const { pushRequest, toPushAttempt } = await import('./services.ts')
    const message = readMessage(body, display)
    const request = pushRequest(kind, { message, url, credentials, delivery_id: id })
    const answer = await transport({
      ...request,
      tried: attempts,
      headers: { ...JSON_HEADERS, 'user-agent': deps.user_agent, ...request.headers },
      body: encode(request.body),
    })
    const attempt = toPushAttempt(kind, answer, trueNow())
    return { attempt, excerpt: excerptResponse(answer, credentials?.token) }
  }

  return async (to, delivery) => {
    const started_at = trueNow()
    const began = clock.mono()
    const result = await sendOnce(to, delivery, started_at)
    const duration_ms = Math.round(clock.mono() - began)
    const ended_at = started_at + duration_ms
    return { ...result, started_at, ended_at, duration_ms }
  }
}

type Posted = Exclude<WebhookKind, 'email' | ServiceKind>
const JSON_HEADERS = { 'content-type': 'application/json' }
const UNCONFIGURED: Attempt = { kind: 'failed', error: 'connect_failed' }

const encode = (body: object): Uint8Array => new TextEncoder().encode(JSON.stringify(body))
