import { isIP } from 'node:net'

import { type DeliveryVerdict, judgeAttempt, type RetrySchedule } from '../core/delivery/retry.ts'
import { sign, signedHeaders } from '../core/delivery/signature.ts'
import { createResolver, type Guard } from '../net/guard.ts'
import type { Transport } from '../net/transport.ts'
import type { Clock, Log, Random, Resolve } from '../runtime/runtime.ts'
import type { Db } from '../store/db/connection.ts'
import {
  type DueEvent,
  insertOperatorEvent,
  KEEP_MS,
  listDueEvents,
  nextEventAt,
  QUIET_MS,
  recordEventAttempt,
} from '../store/delivery/operator-events.ts'
import { webhook as webhookKind } from './kinds/webhook.ts'
import { noticeFor, runbookUrl } from './operator-notices.ts'
import { toAttempt } from './send.ts'

/**
 * Resolves an address that the operator named. The address is trusted: it may be private, plain http and on any port.
 * It is dialled at the resolved IP like every other.
 */
export function createTrustedGuard(names: {
  resolve: Resolve
  clock: Clock
  timeout_ms: number
}): Guard {
  const resolveHost = createResolver(names)
  return async (text) => {
    const url = URL.parse(text)
    if (url === null) return { ok: false, refusal: 'malformed' }
    const host = url.hostname.replace(/^\[|\]$/g, '')
    const literal = isIP(host) > 0 ? host : null
    const [first, ...rest] = literal === null ? await resolveHost(host) : [literal]
    if (first === undefined) return { ok: false, refusal: 'unresolved' }
    const target = { url, host, literal, named: true, unless_allowed: null }
    return { ok: true, target, addresses: [first, ...rest] }
  }
}

/** An address without its credentials, and the header that carries them. */
function withoutCredentials(address: string): {
  url: string
  headers: Record<string, string>
} {
  const url = new URL(address)
  const { username, password } = url
  if (username === '' && password === '') return { url: address, headers: {} }
  url.username = ''
  url.password = ''
  const pair = `${decoded(username)}:${decoded(password)}`
  return {
    url: url.href,
    headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` },
  }
}

// A lone percent sign is taken literally.
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The operator may be asleep: the last attempt is a night after the first. */
const RETRY_SCHEDULE: RetrySchedule = {
  retry_delays_s: [0, 30, 300, 1800, 7200, 28_800],
  jitter: 0.2,
}
const AT_ONCE = 10
const IDLE_MS = 60_000

export type OperatorNotifierDeps = {
  db: Db
  clock: Clock
  random: Random
  log: Log
  transport: Transport
  /** URL to which events are sent; empty: they are only logged. */
  webhook: string
  /** Secret that signs the events; empty: unsigned. */
  secret: string
  user_agent: string
  /** [server].public_url, before the address of a runbook section; empty or absent: none is configured. */
  public_url?: string
  nudge: () => void
}

export type OperatorNotifier = {
  /** The log; operator events are also stored to be sent. */
  log: Log
  /** Stores the operator event of something that has content, which the log must not have. */
  notify: (event: string, fields: Readonly<Record<string, unknown>>) => void
  /** Sends due events, and returns the next instant to run, epoch ms. */
  turn(): Promise<number>
}

/**
 * Notifies the operator. Events are rows first and are sent from there, so a crash repeats at most one and loses none.
 * The same event for the same subject is sent once in six hours.
 */
export function createOperatorNotifier(deps: OperatorNotifierDeps): OperatorNotifier {
  const { db, clock, random, log, transport, webhook, secret } = deps

  function notify(event: string, fields: Readonly<Record<string, unknown>>) {
    const notice = webhook === '' ? null : noticeFor(event, fields)
    if (notice === null) return
    const id = `evt_${random.uuid()}`
    const { kind, subject, message } = notice
    const quiet_ms = notice.every_time ? 0 : notice.once ? KEEP_MS : QUIET_MS
    const created_at = new Date(clock.now()).toISOString()
    const body = new TextEncoder().encode(
      JSON.stringify({
        event_id: id,
        event,
        kind,
        subject,
        message,
        runbook_url: runbookUrl(kind, deps.public_url ?? ''),
        created_at,
      }),
    )
    try {
      if (insertOperatorEvent(db, { id, kind, subject, body }, clock.now(), quiet_ms)) deps.nudge()
    } catch {
      // A disk that refuses the row causes greater problems, and the event is already in the log.
      log('error', 'operator.write_failed', { kind })
    }
  }

  function headersOf(id: string, body: Uint8Array): Record<string, string> {
    const headers = { 'content-type': 'application/json', 'user-agent': deps.user_agent }
    const timestamp_s = Math.floor(clock.now() / 1000)
    if (secret === '') return { ...headers, 'x-service-delivery-id': id }
    // Only a secret in the form of Standard Webhooks can sign in their format.
    if (secret.startsWith('whsec_'))
      return { ...headers, ...signedHeaders(secret, id, timestamp_s, body) }
    return {
      ...headers,
      'x-service-signature': sign(secret, timestamp_s, body),
      'x-service-timestamp': String(timestamp_s),
      'x-service-delivery-id': id,
    }
  }

  async function send({ id, kind, subject, body, attempts }: DueEvent): Promise<void> {
    const { url, headers } = withoutCredentials(webhook)
    const all = { ...headersOf(id, body), ...headers }
    const answer = await transport({ url, headers: all, body, tried: attempts })
    const attempt = toAttempt(webhookKind, answer, clock.now())
    const verdict = judgeAttempt(attempt, attempts, RETRY_SCHEDULE, random.fraction())
    recordEventAttempt(db, { id, ...rowOf(verdict, clock.now()) })
    const lost = verdict.status !== 'delivered' && verdict.status !== 'pending'
    log(lost ? 'warn' : 'debug', 'operator.notified', {
      event_id: id,
      kind,
      target: subject,
      ...verdict,
    })
  }

  return {
    log(level, event, fields = {}) {
      log(level, event, fields)
      notify(event, fields)
    },
    notify,
    async turn() {
      if (webhook === '') return Infinity
      for (const event of listDueEvents(db, clock.now(), AT_ONCE)) await send(event)
      return nextEventAt(db) ?? clock.now() + IDLE_MS
    },
  }
}

function rowOf(verdict: DeliveryVerdict, now: number) {
  switch (verdict.status) {
    case 'delivered':
      return { status: 'delivered', next_attempt_at: null } as const
    case 'pending':
      return { status: 'pending', next_attempt_at: now + verdict.delay_ms } as const
    // A refusal is as final as the end of the retry schedule.
    case 'failed':
    case 'dead':
      return { status: 'dead', next_attempt_at: null } as const
  }
}
