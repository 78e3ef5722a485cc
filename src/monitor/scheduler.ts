import { Cron } from 'croner'

import { beginningAt } from '../core/limits/plan.ts'
import { type AuditTokens, refill } from '../core/polling/audit.ts'
import { FULL_PAGE, planBatches } from '../core/polling/batching.ts'
import { coverageContext } from '../gateway/watches.ts'
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
import { attachConfigured } from '../store/monitoring/source-feeds.ts'
import { closeBundles } from './deliver.ts'
import { createVerifier } from './erasure/verify.ts'
import { createPollRunner, type MonitoringDeps, type Planner, type Schedule } from './poll.ts'
import { nextRecheckAt, recheckCandidates } from './recheck.ts'

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
    learn({ steps }, new_items, mono) {
      const listed = steps.filter(({ listing }) => listing !== null)
      for (const { listing, requests } of listed)
        if (listing?.is_audit === true) saved = { ...saved, tokens: saved.tokens - requests }
      const first = listed.some(({ feed }) => feed.last_check_at === null)
      const refused = listed.some(({ cut }) => cut !== null)
      if (first || refused || new_items > FULL_PAGE) changed(mono)
    },
  }
}

export type Monitoring = {
  /** Starts due work as far as there are slots, without waiting for it; returns the next due time. */
  checkDue(): Promise<number>
  /** Checks for due feeds at once, because monitors have changed. */
  nudge(): void
  /** Follows a source that was added or removed. */
  followSources(): void
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
  const jumped = createJumpWatch(clock)
  const planner = createPlanner(deps)
  const runPoll = createPollRunner(deps, planner)
  let active_polls = 0
  let judged_polls = 0
  let rechecking = false
  const { recheck_share = 0, requests_per_minute = () => Infinity } = deps
  const verifier =
    recheck_share > 0 ? createVerifier({ ...deps, recheck_share, requests_per_minute }) : null
  let verifying = false
  let next_poll_at = -Infinity
  let recovered = false
  /** Clock jump that the rows have yet to follow, ms: the disk may have been full. */
  let jump_owed_ms = 0
  let failure: { error: unknown } | null = null
  let is_progressing = true

  /** Monitors of all sources watch those that there are now. */
  function followSources(): void {
    const now = clock.now()
    const active_since = beginningAt(now, deps.watch.clock_earliest_ms())
    const has_home = deps.words.home !== null
    const coverage = coverageContext(deps.watch, deps.watches)
    transact(db, () =>
      attachConfigured(db, deps.watches, { active_since, now, has_home }, coverage),
    )
  }

  transact(db, () => {
    verifier?.clamp()
    followSources()
    wakeUp(db, clock.now())
  })

  function followJump(jump_ms: number): void {
    const now = clock.now()
    next_poll_at = -Infinity
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

  const isFull = () => active_polls >= POLLS_MAX

  /** Each source that is read by ids answers at its own pace, and takes no slot from the others. */
  function startDuePolls(now: number): void {
    const claimed = transact(db, () =>
      claimDuePolls(db, {
        now,
        limit: POLLS_MAX - active_polls,
        in_progress: busy,
        may_audit: planner.mayAudit(clock.mono()),
        intervalMaxOf: (source) => deps.watches.get(source)?.interval_max_s ?? Infinity,
      }),
    )
    for (const job of claimed) {
      const feeds = job.targets.map(({ feed }) => feed)
      const by_ids = feeds[0]?.kind === 'all'
      const batch_id = job.batch?.id ?? null
      for (const { id } of feeds) busy.feeds.add(id)
      if (batch_id !== null) busy.batches.add(batch_id)
      let released = by_ids
      if (!by_ids) active_polls += 1
      const free = (): void => {
        if (isFull()) next_poll_at = -Infinity
        active_polls -= 1
      }
      const release = (): void => {
        if (released || judged_polls >= JUDGED_POLLS_MAX) return
        released = true
        free()
        judged_polls += 1
        deps.wake()
      }
      start(runPoll(job, { release }), () => {
        if (!released) free()
        else if (!by_ids) judged_polls -= 1
        for (const { id } of feeds) busy.feeds.delete(id)
        if (batch_id !== null) busy.batches.delete(batch_id)
        // Feeds that the batch poll did not verify are polled individually now.
        if (batch_id !== null || by_ids) next_poll_at = -Infinity
      })
    }
  }

  async function startRecheck(): Promise<void> {
    const { matched, pending } = await recheckCandidates(deps)
    if (matched > 0) log('debug', 'candidates.matched', { matched, pending })
  }

  /** Time of the next check of stored items, which polls never wait for. */
  function nextVerifyAt(): number {
    if (verifier === null || verifying || isFull()) return Infinity
    return verifier.nextAt()
  }

  return {
    followSources,
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
      closeBundles(deps, now)
      if (!rechecking && nextRecheckAt(db) <= now) {
        rechecking = true
        start(startRecheck(), () => {
          rechecking = false
        })
      }
      if (now >= next_poll_at) {
        planner.planIfDue(clock.mono())
        startDuePolls(now)
        // An audit that is due waits for its requests, and nothing is to be done before it has them. With every slot
        // taken no listing can start until one is free, which wakes the loop.
        const due_at = isFull()
          ? nextFeedDueAt(db, { in_progress: busy.feeds, listings: false })
          : Math.min(
              nextFeedDueAt(db, { in_progress: busy.feeds }),
              Math.max(nextAuditDueAt(db), now + planner.auditWait(clock.mono())),
              now + DUE_CHECK_MS,
            )
        next_poll_at = due_at === Infinity ? Infinity : deps.schedule(Math.max(now, due_at - 1))
      }
      if (verifier !== null && nextVerifyAt() <= now) {
        verifying = true
        start(verifier.verify(), () => {
          verifying = false
        })
      }
      return Math.min(
        next_poll_at,
        nextCloseAt(db),
        rechecking ? Infinity : nextRecheckAt(db),
        nextVerifyAt(),
      )
    },

    nudge() {
      next_poll_at = -Infinity
      planner.changed(clock.mono())
      deps.wake()
    },

    resume() {
      recovered = true
      next_poll_at = -Infinity
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
  const due_at = nextFeedDueAt(db)
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
