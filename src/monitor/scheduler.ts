import { Cron } from 'croner'

import { HOME } from '../core/forum/items.ts'
import { beginningAt } from '../core/limits/plan.ts'
import { type AuditTokens, refill } from '../core/polling/audit.ts'
import { FULL_PAGE, planBatches } from '../core/polling/batching.ts'
import { coverageContext, earliestOf, type ListingWatch } from '../gateway/watch.ts'
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

type PlannerDeps = Pick<MonitoringDeps, 'db' | 'audit_interval_s' | 'watches'>

/** A planner for each source whose listings are polled: their budgets have nothing in common. */
function createPlanners(deps: PlannerDeps): Planner {
  const planners = new Map<string, Planner>()
  function plannerOf(source: string): Planner | undefined {
    const known = planners.get(source)
    const watch = deps.watches.get(source)
    if (known !== undefined || watch?.proof !== 'time_listing') return known
    const made = createPlanner(deps, watch)
    planners.set(source, made)
    return made
  }
  const all = () => [...deps.watches.keys()].flatMap((it) => plannerOf(it) ?? [])
  return {
    changed: (mono) => all().forEach((it) => it.changed(mono)),
    planIfDue: (mono) => all().forEach((it) => it.planIfDue(mono)),
    mayAudit: (source, mono) => plannerOf(source)?.mayAudit(source, mono) ?? false,
    auditWait: (mono) => Math.min(Infinity, ...all().map((it) => it.auditWait(mono))),
    learn(advance, new_items, mono) {
      const source = advance.steps[0]?.feed.source
      if (source !== undefined) plannerOf(source)?.learn(advance, new_items, mono)
    },
  }
}

/** Creates the planner of batches and audits of a source; the plan itself is stored in rows. */
function createPlanner(
  { db, audit_interval_s = 0 }: PlannerDeps,
  { name: source, per_minute: perMinute }: ListingWatch,
): Planner {
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
          const loads = listFeedLoads(db, source)
          writeBatches(db, loads, planBatches(loads))
        })
        due_at = mono + PLAN_EVERY_MS
      }
      if (mono >= audits_due_at) {
        const per_minute = perMinute()
        // Without a usable account nothing is known of the budget: the last plan stays.
        if (per_minute > 0) {
          allowance = transact(db, () =>
            planAudits(db, { source, configured_s: audit_interval_s, per_minute }),
          )
        }
        audits_due_at = mono + AUDIT_PLAN_EVERY_MS
      }
    },
    mayAudit(_, mono) {
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

/** Polls of a source at once: enough that one slow answer does not delay the others, few enough for the platform. */
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
  const planner = createPlanners(deps)
  const runPoll = createPollRunner(deps, planner)
  const active_polls = new Map<string, number>()
  let judged_polls = 0
  let rechecking = false
  const { recheck_share = 0 } = deps
  const verifier = recheck_share > 0 ? createVerifier({ ...deps, recheck_share }) : null
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
    const active_since = beginningAt(now, earliestOf(deps.watches))
    const coverage = coverageContext(deps.watches)
    transact(db, () => attachConfigured(db, deps.watches, { active_since, now }, coverage))
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

  const slotsOf = (source: string): number => POLLS_MAX - (active_polls.get(source) ?? 0)
  /** Sources of which no listing can start until a slot is free, which wakes the loop. */
  const fullSources = (): string[] => [...active_polls.keys()].filter((it) => slotsOf(it) <= 0)

  /** Each source that is read by ids answers at its own pace, and takes no slot from the others. */
  function startDuePolls(now: number): void {
    const claimed = transact(db, () =>
      claimDuePolls(db, {
        now,
        full: fullSources(),
        slotsOf,
        in_progress: busy,
        mayAudit: (source) => planner.mayAudit(source, clock.mono()),
        intervalMaxOf(source) {
          const watch = deps.watches.get(source)
          return watch?.proof === 'time_listing' ? Infinity : (watch?.interval_max_s ?? Infinity)
        },
      }),
    )
    for (const job of claimed) {
      const feeds = job.targets.map(({ feed }) => feed)
      const by_ids = feeds[0]?.kind === 'all'
      const batch_id = job.batch?.id ?? null
      for (const { id } of feeds) busy.feeds.add(id)
      if (batch_id !== null) busy.batches.add(batch_id)
      const source = feeds[0]?.source ?? HOME
      let released = by_ids
      const occupy = (count: number): void => {
        if (slotsOf(source) <= 0) next_poll_at = -Infinity
        active_polls.set(source, (active_polls.get(source) ?? 0) + count)
      }
      if (!by_ids) occupy(1)
      const free = (): void => occupy(-1)
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
    if (verifier === null || verifying || slotsOf(HOME) <= 0) return Infinity
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
        const full = fullSources()
        // An audit that is due waits for its requests, and nothing is to be done before it has them.
        const due_at = Math.min(
          nextFeedDueAt(db, { in_progress: busy.feeds, full }),
          Math.max(nextAuditDueAt(db, full), now + planner.auditWait(clock.mono())),
          full.length > 0 ? Infinity : now + DUE_CHECK_MS,
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
