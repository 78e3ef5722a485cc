import { Cron } from 'croner'

import { hasMainSource } from '../core/forum/naming.ts'
import { beginningAt } from '../core/limits/plan.ts'
import { type AuditTokens, refill } from '../core/polling/audit.ts'
import { FULL_PAGE, planBatches } from '../core/polling/batching.ts'
import { coverageContext } from '../gateway/streams.ts'
import { createJumpWatch } from '../runtime/runtime.ts'
import { type Db, transact } from '../store/db/connection.ts'
import { clampBundles, nextCloseAt, rebaseBundles } from '../store/monitoring/bundles.ts'
import { clampCandidates, rebaseCandidates } from '../store/monitoring/candidates.ts'
import { insertEvent, nextAuditDueAt, planAudits } from '../store/monitoring/checks.ts'
import {
  clampFeeds,
  nextFeedDueAt,
  pollUnreached,
  rebaseFeeds,
  updateFeedPace,
} from '../store/monitoring/feeds.ts'
import { claimDuePolls, listFeedLoads, writeBatches } from '../store/monitoring/poll-batches.ts'
import { attachConfigured, claimDueStreams, nextStreamDueAt } from '../store/monitoring/streams.ts'
import { closeBundles } from './deliver.ts'
import { createVerifier } from './erasure/verify.ts'
import type { Schedule } from './pages.ts'
import { createPollRunner, type MonitoringDeps, type Planner } from './poll.ts'
import { nextRecheckAt, recheckCandidates } from './recheck.ts'
import { createStreamRunner } from './stream-poll.ts'

const PLAN_EVERY_MS = 600_000
/** The intervals of audits follow what audits have cost, and what the platform allows. */
const AUDIT_PLAN_EVERY_MS = 20_000
/** Delay of planning after a change, so that changes in a row are planned together. */
const SOON_MS = 5_000

/** Creates the planner of batches and audits; the plan itself is stored in rows. */
function createPlanner({
  db,
  audit_interval_s = 0,
  requests_per_minute = () => Infinity,
}: Pick<MonitoringDeps, 'db' | 'audit_interval_s' | 'requests_per_minute'>): Planner {
  let due_at = -Infinity
  let audits_due_at = -Infinity
  let allowance = 0
  let saved: AuditTokens = { tokens: 0, mono: 0 }

  const changed = (mono: number): void => {
    due_at = Math.min(due_at, mono + SOON_MS)
  }

  return {
    changed,
    planIfDue(mono) {
      if (mono >= due_at) {
        transact(db, () => {
          const loads = listFeedLoads(db)
          writeBatches(db, loads, planBatches(loads))
        })
        due_at = mono + PLAN_EVERY_MS
      }
      if (mono >= audits_due_at) {
        const per_minute = requests_per_minute()
        // Without a usable account nothing is known of the budget: the last plan stays.
        if (per_minute > 0) {
          allowance = transact(db, () =>
            planAudits(db, { configured_s: audit_interval_s, per_minute }),
          )
        }
        audits_due_at = mono + AUDIT_PLAN_EVERY_MS
      }
    },
    mayAudit(mono) {
      saved = refill(saved, mono, allowance)
      return saved.tokens > 0
    },
    auditWait(mono) {
      saved = refill(saved, mono, allowance)
      if (saved.tokens > 0) return 0
      return allowance === 0 ? AUDIT_PLAN_EVERY_MS : (60_000 * (1 - saved.tokens)) / allowance
    },
    learn({ results }, new_items, mono) {
      for (const { audit, state } of results)
        if (audit !== null) saved = { ...saved, tokens: saved.tokens - state.pages }
      const first = results.some(({ stream }) => stream.last_check_at === null)
      const refused = results.some(({ ending }) => ending.kind === 'truncated')
      if (first || refused || new_items > FULL_PAGE) changed(mono)
    },
  }
}

export type Monitoring = {
  /** Starts due work as far as there are slots, without waiting for it; returns the next due time. */
  checkDue(): Promise<number>
  /** Checks for due feeds at once, because monitors have changed. */
  nudge(): void
  /** Polls at once what could not be polled while the platform was unreachable. */
  resume(): void
  /** False after a failed poll or recheck, until one has succeeded. */
  progressing(): boolean
  idle(): Promise<void>
}

/** Polls at once: enough that one slow answer does not delay the others, few enough for the platform. */
const POLLS_MAX = 4
/** Polls beside these whose patterns are evaluated; each holds the items that it has read. */
const JUDGED_POLLS_MAX = 32
/** A poll overdue by more than this at start means that the process was down. */
const DOWN_MIN_MS = 60_000
const DUE_CHECK_MS = 60_000
const WINDOW_MAX_MS = 3_600_000

/**
 * The loop that polls feeds, rechecks candidates and closes bundles. Due times are stored in rows; only work in progress
 * is in memory.
 */
export function createMonitoring(deps: MonitoringDeps): Monitoring {
  const { db, clock, log, signal } = deps
  const running = new Set<Promise<void>>()
  const busy = { feeds: new Set<number>(), batches: new Set<number>() }
  const busy_streams = new Set<number>()
  const jumped = createJumpWatch(clock)
  const planner = createPlanner(deps)
  const runPoll = createPollRunner(deps, planner)
  const runStep = createStreamRunner(deps)
  let active_polls = 0
  let judged_polls = 0
  let rechecking = false
  const { recheck_share = 0, requests_per_minute = () => Infinity } = deps
  const verifier =
    recheck_share > 0 ? createVerifier({ ...deps, recheck_share, requests_per_minute }) : null
  let verifying = false
  let next_poll_at = -Infinity
  let next_step_at = -Infinity
  let recovered = false
  /** Clock jump that the rows have yet to follow, ms: the disk may have been full. */
  let jump_owed_ms = 0
  let failure: { error: unknown } | null = null
  let is_progressing = true

  transact(db, () => {
    const now = clock.now()
    const active_since = beginningAt(now, deps.watch.clock_earliest_ms())
    const has_main = hasMainSource(deps.words)
    verifier?.clamp()
    const coverage = coverageContext(deps.watch, deps.streams)
    attachConfigured(db, [...deps.streams.keys()], { active_since, now, has_main }, coverage)
    wakeUp(db, now)
  })

  function followJump(jump_ms: number): void {
    const now = clock.now()
    next_poll_at = -Infinity
    next_step_at = -Infinity
    transact(db, () => {
      rebaseFeeds(db, jump_ms, now)
      rebaseBundles(db, jump_ms, now)
      rebaseCandidates(db, jump_ms, now)
      insertEvent(db, { kind: 'clock_jump', feed_id: null, at: now - jump_ms, until_at: now })
    })
    log('warn', 'monitor.clock_jumped', { jump_ms })
  }

  function start(work: Promise<void>, done: () => void): void {
    const task = work
      .then(
        () => {
          is_progressing = true
        },
        (error: unknown) => {
          failure = { error }
        },
      )
      .finally(() => {
        running.delete(task)
        done()
        deps.wake()
      })
    running.add(task)
  }

  function startDuePolls(now: number): void {
    const limit = POLLS_MAX - active_polls
    const claimed =
      limit <= 0
        ? []
        : transact(db, () =>
            claimDuePolls(db, {
              now,
              limit,
              in_progress: busy,
              may_audit: planner.mayAudit(clock.mono()),
            }),
          )
    for (const job of claimed) {
      const ids = job.targets.map(({ stream }) => stream.id)
      active_polls += 1
      const batch_id = job.batch?.id ?? null
      for (const id of ids) busy.feeds.add(id)
      if (batch_id !== null) busy.batches.add(batch_id)
      let released = false
      const release = (): void => {
        if (released || judged_polls >= JUDGED_POLLS_MAX) return
        released = true
        active_polls -= 1
        judged_polls += 1
        deps.wake()
      }
      start(runPoll(job, { release }), () => {
        if (released) judged_polls -= 1
        else active_polls -= 1
        for (const id of ids) busy.feeds.delete(id)
        if (batch_id !== null) busy.batches.delete(batch_id)
        // Feeds that the batch poll did not verify are polled individually now.
        if (batch_id !== null) next_poll_at = -Infinity
      })
    }
  }

  /** Starts the step of every due stream. Each source answers at its own pace, and takes no slot from the others. */
  function startDueSteps(now: number): void {
    const dueAt = () => nextStreamDueAt(db, busy_streams)
    const intervalMaxOf = (source: string) => deps.streams.get(source)?.interval_max_s ?? Infinity
    const due =
      dueAt() > now ? [] : transact(db, () => claimDueStreams(db, now, busy_streams, intervalMaxOf))
    for (const feed of due) {
      busy_streams.add(feed.id)
      start(runStep(feed), () => {
        busy_streams.delete(feed.id)
        next_step_at = -Infinity
      })
    }
    const due_at = dueAt()
    next_step_at = due_at === Infinity ? Infinity : deps.schedule(Math.max(now, due_at - 1))
  }

  async function startRecheck(): Promise<void> {
    const { matched, pending } = await recheckCandidates(deps)
    if (matched > 0) log('debug', 'candidates.matched', { matched, pending })
    if (pending > 0) deps.on_pending()
  }

  /** Time of the next check of stored items, which polls never wait for. */
  function nextVerifyAt(): number {
    if (verifier === null || verifying || active_polls >= POLLS_MAX) return Infinity
    return verifier.nextAt()
  }

  return {
    async checkDue() {
      jump_owed_ms += jumped()
      if (jump_owed_ms !== 0) followJump(jump_owed_ms)
      jump_owed_ms = 0
      if (failure !== null) {
        const { error } = failure
        failure = null
        is_progressing = false
        throw error
      }
      if (signal.aborted) return Infinity
      const now = clock.now()
      if (recovered) transact(db, () => pollUnreached(db, now))
      recovered = false
      if (closeBundles(deps, now) > 0) deps.on_pending()
      if (!rechecking && nextRecheckAt(db) <= now) {
        rechecking = true
        start(startRecheck(), () => {
          rechecking = false
        })
      }
      if (now >= next_poll_at) {
        planner.planIfDue(clock.mono())
        startDuePolls(now)
        // An audit that is due waits for its requests, and nothing is to be done before it has them.
        const audit_at = Math.max(nextAuditDueAt(db), now + planner.auditWait(clock.mono()))
        const due_at = Math.min(nextFeedDueAt(db), audit_at, now + DUE_CHECK_MS)
        next_poll_at = deps.schedule(Math.max(now, due_at - 1))
      }
      if (now >= next_step_at) startDueSteps(now)
      if (verifier !== null && nextVerifyAt() <= now) {
        verifying = true
        start(verifier.verify(), () => {
          verifying = false
        })
      }
      // With every slot taken nothing can start until one is free, which wakes the loop.
      const wake_at = active_polls >= POLLS_MAX ? Infinity : next_poll_at
      if (active_polls >= POLLS_MAX) next_poll_at = -Infinity
      return Math.min(
        wake_at,
        next_step_at,
        nextCloseAt(db),
        rechecking ? Infinity : nextRecheckAt(db),
        nextVerifyAt(),
      )
    },

    nudge() {
      next_poll_at = -Infinity
      next_step_at = -Infinity
      planner.changed(clock.mono())
      deps.wake()
    },

    resume() {
      recovered = true
      next_poll_at = -Infinity
      next_step_at = -Infinity
      deps.wake()
    },

    progressing: () => is_progressing,

    async idle() {
      while (running.size > 0) await Promise.all(running)
    },
  }
}

/** Records downtime, and clamps due times that a clock set back meanwhile would put far ahead. */
function wakeUp(db: Db, now: number): void {
  const due_at = Math.min(nextFeedDueAt(db), nextStreamDueAt(db))
  if (now - due_at > DOWN_MIN_MS)
    insertEvent(db, { kind: 'process_down', feed_id: null, at: due_at, until_at: now })
  clampFeeds(db, now)
  clampBundles(db, now, WINDOW_MAX_MS)
  clampCandidates(db, now)
  updateFeedPace(db, now)
}

/** Parses a cron pattern, seconds first, in a time zone. Only computes; the loop waits. */
export function createSchedule(pattern: string, time_zone: string): Schedule {
  // UTC needs no calendar of time zones, the most expensive thing to load at start.
  const zone = time_zone === 'UTC' ? { utcOffset: 0 } : { timezone: time_zone }
  const cron = new Cron(pattern, { paused: true, ...zone })
  return (now) => cron.nextRun(new Date(now))?.getTime() ?? Infinity
}
