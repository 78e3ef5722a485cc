import type { Attempt } from '../core/ladder.ts'
import { readMessage, type Showing } from '../core/shown.ts'
import { signedHeaders } from '../core/signature.ts'
import type { WebhookKind } from '../core/webhook-kind.ts'
import type { Transport } from '../net/transport.ts'
import type { Clock } from '../outside.ts'
import type { Told } from '../store/outbox.ts'
import type { Addressee } from '../store/targets.ts'
import { toAttempt } from './answer.ts'
import { discordBody } from './discord.ts'
import type { EmailOffice } from './email-office.ts'
import { slackBody } from './slack.ts'
import { told } from './told.ts'

/** One attempt, when it was by true time, and what the receiver said beside its status. */
type Sent = {
  attempt: Attempt
  started_at: number
  ended_at: number
  duration_ms: number
  told: Told | null
}

/** What is sent. `body` is the frozen body; chat services get theirs made from it. `attempts`: those before this one. */
type Sending = { id: string; body: Uint8Array; attempts?: number }

/** One attempt. */
export type Send = (to: Addressee, delivery: Sending) => Promise<Sent>

export type SendDeps = {
  transport: Transport
  clock: Clock
  /** How far true time is ahead of our clock, as the platform tells it. */
  clock_offset_ms: () => number
  openSecret: (webhook_id: string, sealed: Uint8Array) => string
  showing: Showing
  user_agent: string
  /** Left out where no mail server is named. */
  email?: EmailOffice | undefined
}

/** Makes the function that carries one delivery to one target, once. */
export function createSend(deps: SendDeps): Send {
  const { transport, clock, showing } = deps
  const trueNow = () => clock.now() + deps.clock_offset_ms()

  function dress(kind: Posted, to: Addressee, id: string, body: Uint8Array) {
    const headers = { 'content-type': 'application/json', 'user-agent': deps.user_agent }
    switch (kind) {
      case 'slack':
        return { headers, body: encode(slackBody(readMessage(body, showing))) }
      case 'discord':
        return { headers, body: encode(discordBody(readMessage(body, showing))) }
      case 'webhook': {
        // Receivers refuse what is 300 s off, so a wrong clock of ours must not reach the signature.
        const timestamp_s = Math.floor(trueNow() / 1000)
        const secret = deps.openSecret(to.webhook_id, to.secret)
        const signed = signedHeaders(secret, id, timestamp_s, body, oldSecret(to))
        return { headers: { ...headers, ...signed }, body }
      }
    }
  }

  /** The secret before the last rotation, while it is to go on signing. */
  function oldSecret({ webhook_id, old_secret = null, old_secret_until }: Addressee) {
    const over = old_secret === null || (old_secret_until ?? 0) <= clock.now()
    return over ? null : deps.openSecret(webhook_id, old_secret)
  }

  async function carry(
    to: Addressee,
    { id, body, attempts = 0 }: Sending,
  ): Promise<Pick<Sent, 'attempt' | 'told'>> {
    if (to.kind === 'email') {
      // A mail server that was taken out of the configuration may come back before the ladder ends.
      const attempt = await (deps.email?.deliver(to, body) ?? UNCONFIGURED)
      return { attempt, told: null }
    }
    const answer = await transport({
      url: to.url,
      tried: attempts,
      ...dress(to.kind, to, id, body),
    })
    return { attempt: toAttempt(to.kind, answer, trueNow()), told: told(answer) }
  }

  return async (to, delivery) => {
    const started_at = trueNow()
    const began = clock.mono()
    const carried = await carry(to, delivery)
    const duration_ms = Math.round(clock.mono() - began)
    const ended_at = started_at + duration_ms
    return { ...carried, started_at, ended_at, duration_ms }
  }
}

type Posted = Exclude<WebhookKind, 'email'>
const UNCONFIGURED: Attempt = { kind: 'failed', error: 'connect_failed' }

const encode = (body: object): Uint8Array => new TextEncoder().encode(JSON.stringify(body))
