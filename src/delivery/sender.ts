import { hash, timingSafeEqual } from 'node:crypto'

import { errorCode, loggedCode } from '../core/error-code.ts'
import { type AttemptEvent, judge, type Ladder } from '../core/ladder.ts'
import { createTargetPace } from '../core/target-pace.ts'
import { type Clock, createJumpWatch, type Log, type Random } from '../outside.ts'
import { type Db, transact } from '../store/db.ts'
import { type Free, nextDueAt } from '../store/outbox-due.ts'
import {
  claimDue,
  type Claimed,
  followJump,
  giveUp,
  putBack,
  reclaim,
  recordEnded,
} from '../store/outbox.ts'
import { createTogether } from '../store/together.ts'
import { pauseFailing } from '../store/webhook-standing.ts'
import type { Send } from './send.ts'

// The rows are the queue and the only one: what is kept in memory is which attempts are on their way, and outcomes
// that the disk would not take yet. A process that dies at any point repeats an attempt at worst.

const WRITE_AGAIN_MS = 1000
const PAUSE_CHECK_MS = 30_000
const IDLE_MS = 60_000
const BROKEN = /^SQLITE_(IOERR|CORRUPT|NOTADB|READONLY|CANTOPEN)/
/** After a fault of ours, so that it cannot spin. */
const PUT_BACK_MS = 5000

export type SenderDeps = {
  db: Db
  /** The id of this run; leases carry it. */
  boot: string
  send: Send
  clock: Clock
  random: Random
  log: Log
  ladder: Ladder
  concurrency: number
  per_target_concurrency: number
  pause_after_ms: number
  /** Wakes the loop that runs `turn`. */
  nudge: () => void
  /** Told of every attempt as it ends. */
  on_attempt?: (event: AttemptEvent) => void
}

/** Sends what is due, as a loop drives it. */
export type Sender = {
  /** Starts what is due and has room, waits for none of it, and returns the instant at which to look again. */
  turn(): Promise<number>
  /** Resolves when every attempt on its way has ended and been written down as far as the disk allows. */
  idle(): Promise<void>
  /** Whether an attempt of this delivery is on its way, or its outcome waits to be written. */
  carries(delivery_id: string): boolean
}

/** Records how an attempt ended, at this instant. */
type Write = (at: number) => void

type Flight = { webhook_id: string; landed: Promise<void> }

/** Frees what an earlier boot left behind, and makes the sender of this one. */
export function createSender(deps: SenderDeps): Sender {
  const { db, boot, clock, log, ladder } = deps
  const flights = new Map<string, Flight>()
  const unwritten: { id: string; write: Write }[] = []
  // What lands in one turn of the event loop is written in one commit: the sooner an answer is durable, the less is
  // sent twice by whoever comes after a kill.
  const together = createTogether(db)
  const pace = createTargetPace()
  let served_last = ''
  // Of the clock that only grows: one that was put back must not put this off.
  let check_pauses_at = -Infinity
  let broken: Error | null = null
  let wall = clock.now()
  let mono = clock.mono()
  const jumped = createJumpWatch(clock)
  /** How far the clock has jumped and the rows have yet to follow: there may be no room to write it down. */
  let jump_owed_ms = 0

  const interrupted = reclaim(db, ladder.retry_delays_s, wall)
  if (interrupted > 0) log('info', 'delivery.reclaimed', { count: interrupted })

  /** The wall clock; when it has jumped since the last look, every wait has been moved with it. */
  function now(): number {
    jump_owed_ms += jumped()
    wall = clock.now()
    mono = clock.mono()
    if (jump_owed_ms !== 0) {
      followJump(db, jump_owed_ms, wall)
      log('warn', 'delivery.clock_jumped', { jump_ms: jump_owed_ms })
    }
    jump_owed_ms = 0
    return wall
  }

  /** Writes an outcome. One the disk refuses is kept and written later: sending again would be the wrong repair. */
  function land(id: string, write: Write): boolean {
    try {
      const at = now()
      transact(db, () => write(at))
    } catch (error) {
      refused(id, error)
      return false
    }
    flights.delete(id)
    return true
  }

  function refused(id: string, error: unknown): void {
    log('error', 'delivery.write_failed', { delivery_id: id, code: loggedCode(error) })
    if (error instanceof Error && BROKEN.test(errorCode(error))) broken = error
  }

  async function fly(delivery: Claimed): Promise<void> {
    const { id, webhook_id } = delivery
    const write = await carry(delivery).catch((error: unknown): Write => {
      log('error', 'delivery.attempt_broke', {
        delivery_id: id,
        webhook_id,
        code: loggedCode(error),
      })
      return (at) => putBack(db, boot, id, at + PUT_BACK_MS)
    })
    try {
      const at = now()
      await together(() => write(at))
      flights.delete(id)
    } catch (error) {
      refused(id, error)
      unwritten.push({ id, write })
    }
    deps.nudge()
  }

  /** One attempt, from the frozen bytes to the write that records how it ended. */
  async function carry(delivery: Claimed): Promise<Write> {
    const { id, webhook_id } = delivery
    const digest = hash('sha256', delivery.body, 'buffer')
    if (
      digest.length !== delivery.body_sha256.length ||
      !timingSafeEqual(digest, delivery.body_sha256)
    ) {
      log('error', 'delivery.body_damaged', { delivery_id: id })
      return () => giveUp(db, boot, delivery, 'body_damaged')
    }
    const { attempt, ...times } = await deps.send(delivery, delivery)
    const verdict = judge(attempt, delivery.rung, ladder, deps.random.fraction())
    const http_status = attempt.kind === 'answered' ? attempt.status : null
    const fields = { delivery_id: id, webhook_id, attempt: delivery.attempts + 1, ...verdict }
    const lost = verdict.status === 'failed' || verdict.status === 'dead'
    log(lost ? 'warn' : 'debug', 'delivery.attempted', {
      ...fields,
      duration_ms: times.duration_ms,
    })
    deps.on_attempt?.({
      kind: delivery.kind,
      first: delivery.attempts === 0,
      first_round: delivery.round === 1,
      verdict,
      began_after_ms: times.started_at - delivery.created_at,
      ended_after_ms: times.ended_at - delivery.created_at,
    })
    return (at) => {
      const ours = recordEnded(db, boot, { delivery, verdict, http_status, ...times }, at)
      if (ours && verdict.status === 'failed' && verdict.gone)
        log('warn', 'webhook.paused', { webhook_id, reason: 'gone' })
    }
  }

  function writeAgain(): void {
    const waiting = unwritten.splice(0)
    unwritten.push(...waiting.filter(({ id, write }) => !land(id, write)))
  }

  function pause(at: number): void {
    if (mono < check_pauses_at) return
    check_pauses_at = mono + PAUSE_CHECK_MS
    for (const webhook_id of pauseFailing(db, deps.pause_after_ms, at))
      log('warn', 'webhook.paused', { webhook_id, reason: 'failing' })
  }

  function room(): Free {
    const taken = Map.groupBy(flights.values(), ({ webhook_id }) => webhook_id)
    return {
      slots: deps.concurrency - flights.size,
      of: (webhook_id, per_second) =>
        Math.min(
          deps.per_target_concurrency - (taken.get(webhook_id)?.length ?? 0),
          pace.room(webhook_id, per_second, mono),
        ),
      opensAt: (webhook_id, per_second) => wall + pace.nextAt(webhook_id, per_second, mono) - mono,
    }
  }

  return {
    async turn() {
      // The disk is not full but failing: whoever runs the loop has to hear of it.
      if (broken !== null) throw broken
      const at = now()
      writeAgain()
      pause(at)
      for (const delivery of claimDue(db, { boot, now: at, free: room(), served_last })) {
        served_last = delivery.webhook_id
        pace.started(delivery.webhook_id, delivery.max_per_second, mono)
        flights.set(delivery.id, { webhook_id: delivery.webhook_id, landed: fly(delivery) })
      }
      if (unwritten.length > 0) return at + WRITE_AGAIN_MS
      // With no slot free there is nothing to wait for but a landing, and that nudges.
      const free = room()
      return (free.slots > 0 ? nextDueAt(db, free) : null) ?? at + IDLE_MS
    },
    carries: (delivery_id) => flights.has(delivery_id),
    async idle() {
      await Promise.all([...flights.values()].map(({ landed }) => landed))
      writeAgain()
    },
  }
}
