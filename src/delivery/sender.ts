import { errorCode, loggedCode } from '../core/base/errors.ts'
import {
  type AttemptEvent,
  type DeliveryVerdict,
  judgeAttempt,
  limitWait,
  type RetrySchedule,
} from '../core/delivery/retry.ts'
import { createTargetPace } from '../core/delivery/target.ts'
import { createFileShortage, type FileShortage } from '../runtime/file-shortage.ts'
import { createOutages } from '../runtime/outages.ts'
import {
  type Clock,
  createJumpWatch,
  type Fence,
  type Log,
  type Random,
} from '../runtime/runtime.ts'
import { afterCommit, type Db, isStorageError, transact } from '../store/db/connection.ts'
import {
  abandon,
  claimDue,
  type ClaimedDelivery,
  type EndedAttempt,
  nextDueDeliveryAt,
  postpone,
  recordAttempts,
  recoverClaims,
  requeue,
  type SendCapacity,
  shiftForJump,
  storeClaims,
  type Written,
} from '../store/delivery/outbox.ts'
import { pauseFailing } from '../store/delivery/webhooks.ts'
import type { Send } from './send.ts'

// The rows are the only queue. Memory holds just the attempts in flight and the outcomes that are not stored yet. A
// process that dies at any point repeats an attempt at worst.

const WRITE_RETRY_MS = 1000
const PAUSE_CHECK_MS = 30_000
const IDLE_MS = 60_000
const BROKEN = /^SQLITE_(IOERR|CORRUPT|NOTADB|READONLY|CANTOPEN)/
/** Delay after a failure of this process, ms, so that the loop does not spin. */
const REQUEUE_MS = 5000
const NONE: ReadonlySet<number> = new Set()
/** The subject of outcomes that could not be stored. */
const OWN_DISK = 'disk'

export type SenderDeps = {
  db: Db
  /** The id of this run; its claims carry it. */
  run_id: string
  send: Send
  clock: Clock
  random: Random
  log: Log
  retry_schedule: RetrySchedule
  concurrency: number
  per_target_concurrency: number
  pause_after_ms: number
  nudge: () => void
  on_attempt?: (event: AttemptEvent) => void
  /** Shared with the requests to the platform; default: a record of its own. */
  files?: FileShortage
  /** Absent without a standby. */
  fence?: Fence | undefined
}

export type Sender = {
  /**
   * Starts the due deliveries that fit into the capacity without waiting for them. Returns the next instant to run,
   * epoch ms.
   */
  turn(): Promise<number>
  /**
   * Stores ended attempts and claims what is due, such as what a poll has just written, within its transaction: they have one
   * commit, after which the attempts begin. What does not fit is left to the next turn. Returns how many of those written are
   * claimed.
   */
  claimWithin(written: Written): number
  /** Resolves when every attempt in flight has ended and its outcome is stored, as far as the disk allows. */
  idle(): Promise<void>
  /** True while an attempt of this delivery is in flight, or its outcome waits to be stored. */
  isInFlight(delivery_id: string): boolean
}

/** An attempt that has ended, or a change of a delivery for which none was made, stored at an instant. */
type Ending = EndedAttempt | ((at: number) => void)
type Outcome = { id: string; ending: Ending }

/** `is_over`: it has ended, and its outcome is being stored. */
type InFlight = {
  webhook_id: string
  row: number
  attempts: number
  done: Promise<void>
  is_over: boolean
}

export function createSender(deps: SenderDeps): Sender {
  const { db, run_id, clock, log, retry_schedule } = deps
  const in_flight = new Map<string, InFlight>()
  let unstored: Outcome[] = []
  /** True while due deliveries wait for others to end. */
  let is_behind = false
  /** Outcomes that the disk refused. */
  const unwritten: Outcome[] = []
  const pace = createTargetPace()
  const outages = createOutages(clock)
  const files = deps.files ?? createFileShortage(deps)
  let served_last = ''
  // By the monotonic clock: setting the wall clock back must not delay the check.
  let check_pauses_at = -Infinity
  let broken: Error | null = null
  let clock_now = clock.now()
  let mono = clock.mono()
  const jumped = createJumpWatch(clock)
  /** The part of a clock jump that the rows do not reflect yet: the disk may have been too full to store it. */
  let jump_owed_ms = 0

  const interrupted = recoverClaims(db, retry_schedule.retry_delays_s, clock_now)
  if (interrupted > 0) log('info', 'delivery.claims_recovered', { count: interrupted })

  /** The wall clock. After a jump since the last call, all stored instants are shifted by it. */
  function now(): number {
    jump_owed_ms += jumped()
    clock_now = clock.now()
    mono = clock.mono()
    if (jump_owed_ms !== 0) {
      shiftForJump(db, jump_owed_ms, clock_now)
      log('warn', 'delivery.clock_jumped', { jump_ms: jump_owed_ms })
    }
    jump_owed_ms = 0
    return clock_now
  }

  /** Stores outcomes within a transaction. */
  function write(outcomes: readonly Outcome[], at: number): void {
    const ended = outcomes.flatMap(({ ending }) => (typeof ending === 'function' ? [] : [ending]))
    for (const webhook_id of recordAttempts(db, ended, at))
      afterCommit(db, () => log('warn', 'webhook.paused', { webhook_id, reason: 'gone' }))
    const changes = outcomes.filter(({ ending }) => typeof ending === 'function')
    for (const { ending } of changes) if (typeof ending === 'function') ending(at)
    // Their deliveries have no more attempts than when they were claimed.
    if (changes.length > 0) {
      const gone = new Set(changes.map(({ id }) => id))
      storeClaims(
        db,
        run_id,
        [...in_flight].flatMap(([id, it]) => (gone.has(id) ? [] : [it])),
      )
    }
  }

  /**
   * Stores outcomes, each in its own transaction. One that the disk refuses is queued and stored later, because sending again
   * would repeat the delivery.
   */
  function commitEach(outcomes: readonly Outcome[]): void {
    for (const [index, outcome] of outcomes.entries()) {
      const { id } = outcome
      let has_begun = false
      try {
        const at = now()
        transact(db, () => {
          has_begun = true
          write([outcome], at)
        })
        onStored(id)
      } catch (error) {
        onWriteRefused(error, id)
        unwritten.push(outcome)
        if (has_begun) continue
        // No outcome is at fault: a lock of another process is waited for once, not for each.
        unwritten.push(...outcomes.slice(index + 1))
        return
      }
    }
  }

  function setOver(outcomes: readonly Outcome[], is_over: boolean): void {
    for (const { id } of outcomes) Object.assign(in_flight.get(id) ?? {}, { is_over })
  }

  /**
   * Stores the outcomes of ended attempts in one transaction with `next`, such as the claims of the deliveries that follow
   * them: the commits are what a busy sender waits for. If it fails each is stored by itself, so that none is lost because of
   * another.
   */
  function settle<T>(next: () => T extends PromiseLike<unknown> ? never : T): T {
    const outcomes = unstored
    unstored = []
    if (outcomes.length === 0) return next()
    setOver(outcomes, true)
    let has_begun = false
    let found: T
    try {
      found = transact(db, () => {
        has_begun = true
        write(outcomes, clock_now)
        return next()
      })
    } catch (error) {
      setOver(outcomes, false)
      if (has_begun) commitEach(outcomes)
      else {
        onWriteRefused(error)
        unwritten.push(...outcomes)
      }
      return next()
    }
    for (const { id } of outcomes) onStored(id)
    return found
  }

  /** Stores ended attempts in a transaction of a poll, which their failure does not end: a turn stores them then. */
  function settleWithin(): void {
    const outcomes = unstored
    if (outcomes.length === 0) return
    setOver(outcomes, true)
    try {
      transact(db, () => write(outcomes, clock_now))
    } catch (error) {
      setOver(outcomes, false)
      if (isStorageError(error)) throw error
      return
    }
    afterCommit(db, () => {
      unstored = []
      for (const { id } of outcomes) onStored(id)
    })
  }

  /** Stores the outcomes that no turn has stored, because the loop has ended. */
  function settleRest(): void {
    try {
      if (unstored.length > 0) now()
      settle(() => {})
    } catch (error) {
      onWriteRefused(error)
    }
  }

  function onStored(id: string): void {
    in_flight.delete(id)
    const ended = outages.recovered(OWN_DISK)
    if (ended !== null) log('info', 'delivery.writes_recovered', ended)
  }

  /** A disk that refuses one outcome refuses all: one line says so, and one its end. */
  function onWriteRefused(error: unknown, delivery_id?: string): void {
    const count = outages.failed(OWN_DISK)
    if (count !== null)
      log('error', 'delivery.write_failed', {
        ...(delivery_id !== undefined && { delivery_id }),
        code: loggedCode(error),
        ...(count > 0 && { count }),
      })
    if (error instanceof Error && BROKEN.test(errorCode(error))) broken = error
  }

  async function attempt(delivery: ClaimedDelivery): Promise<void> {
    const { id, webhook_id } = delivery
    const ending = await send(delivery).catch((error: unknown): Ending => {
      log('error', 'delivery.attempt_error', {
        delivery_id: id,
        webhook_id,
        code: loggedCode(error),
      })
      return (at) => requeue(db, delivery, at + REQUEUE_MS)
    })
    if (unstored.push({ id, ending }) === 1) settleSoon()
  }

  /**
   * Attempts that end in one iteration of the event loop are stored together, by the turn that follows at once: the sooner an
   * outcome is durable, the fewer deliveries are repeated after a kill.
   */
  function settleSoon(): void {
    setImmediate(() => {
      deps.nudge()
      setImmediate(settleRest)
    })
  }

  /** One attempt, from the stored bytes to what is to be recorded of it. */
  async function send(delivery: ClaimedDelivery): Promise<Ending> {
    const { id, webhook_id } = delivery
    if (!delivery.is_whole) {
      log('error', 'delivery.body_damaged', { delivery_id: id })
      return () => abandon(db, delivery, 'body_damaged')
    }
    deps.fence?.check()
    const { attempt: outcome, ...times } = await deps.send(delivery, delivery)
    if (outcome.kind === 'failed' && outcome.error === 'out_of_files') {
      files.lacking()
      // Nothing was sent, and nothing was learned about the receiver: the retry schedule must not advance.
      return (at) => postpone(db, delivery, at + REQUEUE_MS)
    }
    files.enough()
    const verdict = judgeAttempt(
      outcome,
      delivery.retry_index,
      retry_schedule,
      deps.random.fraction(),
    )
    const limit = limitWait(outcome)
    if (limit !== null) pace.refused(webhook_id, limit.wait_s * 1000, clock.mono(), limit.reason)
    else if (verdict.status === 'delivered') pace.accepted(webhook_id)
    const http_status = outcome.kind === 'answered' ? outcome.status : null
    const fields = { delivery_id: id, webhook_id, attempt: delivery.attempts + 1, ...verdict }
    log('debug', 'delivery.attempted', { ...fields, duration_ms: times.duration_ms })
    logOutage(webhook_id, verdict)
    deps.on_attempt?.({
      kind: delivery.kind,
      first: delivery.attempts === 0,
      is_original: delivery.round === 1,
      verdict,
      began_after_ms: times.started_at - delivery.created_at,
      ended_after_ms: times.ended_at - delivery.created_at,
    })
    return { delivery, verdict, http_status, ...times }
  }

  /**
   * Logs the first failed attempt at a target and its recovery. One line per attempt would fill the log while a
   * receiver is down.
   */
  function logOutage(webhook_id: string, verdict: DeliveryVerdict): void {
    if (verdict.status === 'delivered') {
      const ended = outages.recovered(webhook_id)
      if (ended !== null) log('info', 'webhook.recovered', { webhook_id, ...ended })
      return
    }
    const count = outages.failed(webhook_id)
    if (count !== null)
      log('warn', 'webhook.failing', {
        webhook_id,
        error: verdict.error,
        ...(count > 0 && { count }),
      })
  }

  function retryWrites(): void {
    commitEach(unwritten.splice(0))
  }

  function pauseFailingTargets(at: number): void {
    if (mono < check_pauses_at) return
    check_pauses_at = mono + PAUSE_CHECK_MS
    for (const webhook_id of pauseFailing(db, deps.pause_after_ms, at))
      log('warn', 'webhook.paused', { webhook_id, reason: 'failing' })
  }

  function capacity(): SendCapacity {
    const taken = new Map<string, number>()
    const rows = new Map<string, Set<number>>()
    let slots = deps.concurrency
    for (const { webhook_id, row, is_over } of in_flight.values()) {
      const own = rows.get(webhook_id)
      if (own === undefined) rows.set(webhook_id, new Set([row]))
      else own.add(row)
      if (is_over) continue
      slots--
      taken.set(webhook_id, (taken.get(webhook_id) ?? 0) + 1)
    }
    const roomAt = (webhook_id: string) =>
      deps.per_target_concurrency - (taken.get(webhook_id) ?? 0)
    return {
      slots,
      of: (webhook_id, per_second) =>
        Math.min(roomAt(webhook_id), pace.capacity(webhook_id, per_second, mono)),
      opensAt: (webhook_id, per_second) =>
        roomAt(webhook_id) <= 0
          ? Infinity
          : clock_now + pace.nextAt(webhook_id, per_second, mono) - mono,
      inFlight: (webhook_id) => rows.get(webhook_id) ?? NONE,
    }
  }

  /** The deliveries that fit, claimed for this run. */
  const claim = (at: number, among?: readonly string[]): ClaimedDelivery[] => {
    const running = [...in_flight.values()].filter(({ is_over }) => !is_over)
    is_behind = false
    const onLeft = () => void (is_behind = true)
    return claimDue(db, { run_id, now: at, free: capacity(), served_last, running, among, onLeft })
  }

  function start(claimed: readonly ClaimedDelivery[]): void {
    for (const delivery of claimed) {
      const { id, row, attempts, webhook_id } = delivery
      served_last = webhook_id
      pace.started(webhook_id, delivery.max_per_second, mono)
      in_flight.set(id, { webhook_id, row, attempts, done: attempt(delivery), is_over: false })
    }
  }

  return {
    claimWithin({ rows, webhook_ids }) {
      jump_owed_ms += jumped()
      // Waits that have yet to be shifted would end too early.
      if (jump_owed_ms !== 0 || broken !== null || unwritten.length > 0) return 0
      mono = clock.mono()
      clock_now = clock.now()
      settleWithin()
      // If no other waits, only the deliveries just written are due.
      const claimed = claim(clock_now, is_behind ? undefined : webhook_ids)
      if (claimed.length > 0) afterCommit(db, () => start(claimed))
      return claimed.filter(({ row }) => rows.has(row)).length
    },
    async turn() {
      // The disk is not full but failing: the loop has to see the error.
      if (broken !== null) throw broken
      const at = now()
      retryWrites()
      pauseFailingTargets(at)
      start(settle(() => claim(at)))
      if (unwritten.length > 0) return at + WRITE_RETRY_MS
      // Without a free slot the next event is the end of an attempt, which nudges the loop.
      const free = capacity()
      return (free.slots > 0 ? nextDueDeliveryAt(db, free) : null) ?? at + IDLE_MS
    },
    isInFlight: (delivery_id) => in_flight.has(delivery_id),
    async idle() {
      await Promise.all([...in_flight.values()].map(({ done }) => done))
      settleRest()
      retryWrites()
    },
  }
}
