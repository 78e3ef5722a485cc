import { judge, type Ladder, type Verdict } from '../core/ladder.ts'
import { sign, signedHeaders } from '../core/signature.ts'
import type { Transport } from '../net/transport.ts'
import type { Clock, Log, Random } from '../outside.ts'
import type { Db } from '../store/db.ts'
import {
  type DueEvent,
  insertOperatorEvent,
  listDueEvents,
  nextEventAt,
  recordEventAttempt,
} from '../store/operator-events.ts'
import { toAttempt } from './answer.ts'
import { withoutCredentials } from './operator-address.ts'
import { toldBy } from './operator-kinds.ts'

/** Who runs the daemon may be asleep: the last try is a night after the first. */
const LADDER: Ladder = { retry_delays_s: [0, 30, 300, 1800, 7200, 28_800], jitter: 0.2 }
const AT_ONCE = 10
const IDLE_MS = 60_000

export type OperatorDeps = {
  db: Db
  clock: Clock
  random: Random
  log: Log
  transport: Transport
  /** Where events go; empty: nowhere, they are only logged. */
  webhook: string
  /** What they are signed with; empty: not at all. */
  secret: string
  user_agent: string
  /** Wakes the loop that runs `turn`. */
  nudge: () => void
}

/** Hears the log for the operator, and sends what is worth waking somebody for. */
export type Operator = {
  /** The log, with what the operator should hear of written down to be sent. */
  log: Log
  /** Sends what is due, and returns the instant at which to look again. */
  turn(): Promise<number>
}

/**
 * Tells the operator: events are rows first and sent from there, so that a crash repeats one at worst and loses none.
 * The same of the same subject is told once in six hours.
 */
export function createOperator(deps: OperatorDeps): Operator {
  const { db, clock, random, log, transport, webhook, secret } = deps

  function tell(event: string, fields: Readonly<Record<string, unknown>>) {
    const told = webhook === '' ? null : toldBy(event, fields)
    if (told === null) return
    const id = `evt_${random.uuid()}`
    const { kind, subject, message } = told
    const created_at = new Date(clock.now()).toISOString()
    const body = new TextEncoder().encode(
      JSON.stringify({ event_id: id, kind, subject, message, created_at }),
    )
    try {
      if (insertOperatorEvent(db, { id, kind, subject, body }, clock.now())) deps.nudge()
    } catch {
      // A disk that takes no event has stopped more than this, and the log has it already.
      log('error', 'operator.write_failed', { kind })
    }
  }

  function headersOf(id: string, body: Uint8Array): Record<string, string> {
    const headers = { 'content-type': 'application/json', 'user-agent': deps.user_agent }
    const timestamp_s = Math.floor(clock.now() / 1000)
    if (secret === '') return { ...headers, 'x-service-delivery-id': id }
    // Standard Webhooks can be keyed with a secret of its own form only.
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
    const attempt = toAttempt('webhook', answer, clock.now())
    const verdict = judge(attempt, attempts, LADDER, random.fraction())
    recordEventAttempt(db, { id, ...rowOf(verdict, clock.now()) })
    const lost = verdict.status !== 'delivered' && verdict.status !== 'pending'
    log(lost ? 'warn' : 'debug', 'operator.told', {
      event_id: id,
      kind,
      target: subject,
      ...verdict,
    })
  }

  return {
    log(level, event, fields = {}) {
      log(level, event, fields)
      tell(event, fields)
    },
    async turn() {
      if (webhook === '') return Infinity
      for (const event of listDueEvents(db, clock.now(), AT_ONCE)) await send(event)
      return nextEventAt(db) ?? clock.now() + IDLE_MS
    },
  }
}

function rowOf(verdict: Verdict, now: number) {
  switch (verdict.status) {
    case 'delivered':
      return { status: 'delivered', next_attempt_at: null, last_error: null } as const
    case 'pending': {
      const next_attempt_at = now + verdict.delay_ms
      return { status: 'pending', next_attempt_at, last_error: verdict.error } as const
    }
    // A refusal is as final as the end of the ladder.
    case 'failed':
    case 'dead':
      return { status: 'dead', next_attempt_at: null, last_error: verdict.error } as const
  }
}
