import { type Attention, hasAlarms, heldUntil, readAttention } from '../core/delivery/attention.ts'
import { alarmBody, type AlarmContent, deliveryId } from '../core/delivery/envelope.ts'
import { IDEMPOTENCY_MS } from '../core/limits/idempotency.ts'
import { type Clock, createJumpWatch, type Log } from '../runtime/runtime.ts'
import { pruneFeedback } from '../store/customers/feedback.ts'
import { pruneNamedWrites } from '../store/customers/idempotency.ts'
import { ACTIONS_KEEP_MS, pruneActions } from '../store/customers/operator-actions.ts'
import { type Chunks, runCooperatively } from '../store/db/chunked.ts'
import { type Db, transact } from '../store/db/connection.ts'
import { type AlarmEvent, insertDelivery } from '../store/delivery/deliveries.ts'
import { pruneWebhookHours } from '../store/delivery/health.ts'
import { blankBodies, packBodies } from '../store/delivery/messages.ts'
import { listStalled } from '../store/delivery/operator-events.ts'
import { listTargets } from '../store/delivery/targets.ts'
import { forgetOldSecrets } from '../store/delivery/webhooks.ts'
import { pruneTombstones } from '../store/erasure/erase.ts'
import { pruneKept } from '../store/erasure/kept-items.ts'
import { pruneInboxActions } from '../store/inbox/actions.ts'
import { pruneOld, RETENTION_DAYS } from '../store/maintenance/retention.ts'
import {
  type AlarmedMonitor,
  type AlarmKind,
  endAlarm,
  listAlarmedMonitors,
  listOpenAlarms,
  type OpenAlarm,
  openAlarm,
  rebaseAlarms,
  setRepeat,
} from '../store/monitoring/alarms.ts'
import { pruneEvents, pruneHours } from '../store/monitoring/checks.ts'
import {
  COVERAGE_DAYS_KEPT,
  type CoverageContext,
  keepCoverage,
  pruneDays,
} from '../store/monitoring/coverage-days.ts'
import { updateFeedPace } from '../store/monitoring/feeds.ts'
import { findMonitor, type Monitor } from '../store/monitoring/monitors.ts'
import { pruneJudgements } from '../store/relevance/judgements.ts'

const SETTLE_MS = 60_000
const PRUNE_MS = 3_600_000
/** Seen items that every feed keeps at least: a quiet place lists its old rows again and again. */
const KEEP_ITEMS = 2000
/** Age from which a delivery's body is compressed, ms; old bodies are rarely read. */
const PACK_AFTER_MS = 7 * 86_400_000
/** Bodies processed in one step, which takes some tens of milliseconds. */
const BODIES_AT_ONCE = 500
/** Bodies processed in one run. Upkeep runs once a minute, and this is more than a minute can add. */
const BODIES_PER_ITERATION = 10_000
const DAY_MS = 86_400_000
/** Days of the inbox's history where content is kept without an end. */
const INBOX_HISTORY_DAYS = 400
/** Time after which the platform's responses have shown whether a clock that is new or was just set is right. */
const UNSURE_MS = 10 * 60_000

/**
 * Creates the upkeep for a loop. It stops polling feeds without customers, deletes rows older than any health report
 * needs and expired idempotency records, and compresses old bodies. Returns the next instant to run, epoch ms.
 */
export function createUpkeep({
  db,
  clock,
  signal,
  clock_offset_ms,
  retention_days = 0,
  archive_days = 0,
  feedback_days = () => 0,
  coverage = () => ({ offset_ms: 0, limitOf: () => null }),
}: {
  db: Db
  clock: Clock
  /**
   * Milliseconds by which true time, taken from the platform, is ahead of our clock; absent: the local clock is
   * trusted at once.
   */
  clock_offset_ms?: () => number
  signal: AbortSignal
  /** Days after which the bodies of deliveries are blanked; 0: never. */
  retention_days?: number
  /** Days for which the archive keeps items, which are checked that long; 0: it keeps none. */
  archive_days?: number
  /**
   * Days without a change after which feedback is deleted; 0: never. Read each time, since a reload may change it.
   */
  feedback_days?: () => number
  coverage?: () => CoverageContext
}): () => Promise<number> {
  const jumped = createJumpWatch(clock)
  let sure_from = clock_offset_ms === undefined ? -Infinity : clock.mono() + UNSURE_MS
  let pruned_at = -Infinity

  async function forget(now: number): Promise<void> {
    forgetOldSecrets(db, now)
    await runCooperatively(
      inParts((limit) => packBodies(db, { before_at: now - PACK_AFTER_MS, now }, limit)),
      signal,
    )
    if (retention_days > 0)
      await runCooperatively(
        inParts((limit) =>
          blankBodies(db, { before_at: now - retention_days * DAY_MS, now }, limit),
        ),
        signal,
      )
    if (retention_days > 0)
      await runCooperatively(
        inParts((limit) =>
          transact(db, () =>
            pruneKept(db, {
              before_at: now - (Math.max(retention_days, archive_days) + 1) * DAY_MS,
              limit,
            }),
          ),
        ),
        signal,
      )
    if (retention_days > 0)
      await runCooperatively(
        inParts((limit) =>
          pruneJudgements(db, { before_at: now - retention_days * DAY_MS, limit }),
        ),
        signal,
      )
    if (Math.abs(now - pruned_at) < PRUNE_MS) return
    const before_at = now - RETENTION_DAYS * DAY_MS
    // Before anything is deleted: coverage reaches further back than gaps and events.
    await runCooperatively(keepCoverage(db, now, coverage()), signal)
    if (signal.aborted) return
    transact(db, () => {
      pruneDays(db, now - COVERAGE_DAYS_KEPT * DAY_MS)
      pruneHours(db, now)
      pruneWebhookHours(db, now)
      pruneEvents(db, before_at)
      pruneTombstones(db, now)
      pruneNamedWrites(db, now - IDEMPOTENCY_MS)
      pruneActions(db, now - ACTIONS_KEEP_MS)
      pruneInboxActions(db, {
        now,
        before_at: now - (retention_days > 0 ? retention_days : INBOX_HISTORY_DAYS) * DAY_MS,
      })
      if (feedback_days() > 0) pruneFeedback(db, now - feedback_days() * DAY_MS)
    })
    // Without a retention, matches are kept, like the bodies of deliveries.
    const matches_before_at = retention_days > 0 ? now - retention_days * DAY_MS : 0
    await runCooperatively(pruneOld(db, { before_at, matches_before_at, keep: KEEP_ITEMS }), signal)
    pruned_at = now
  }

  return async () => {
    const now = clock.now()
    transact(db, () => updateFeedPace(db, now))
    if (jumped() !== 0) sure_from = clock.mono() + UNSURE_MS
    // Deletion is final: a clock that is ahead must not age any row. Rows are dated by either clock.
    const ahead_ms = Math.min(0, clock_offset_ms?.() ?? 0)
    if (clock.mono() >= sure_from) await forget(now + ahead_ms)
    return now + SETTLE_MS
  }
}

/** Processes as many bodies as one run may, in steps. `work` returns the number of bodies it found. */
function* inParts(work: (limit: number) => number): Chunks<void> {
  for (let done = 0; done < BODIES_PER_ITERATION;) {
    const count = work(BODIES_AT_ONCE)
    if (count === 0) return
    done += count
    yield
  }
}

export function createStallWatch({
  db,
  clock,
  log,
}: {
  db: Db
  clock: Clock
  log: Log
}): () => void {
  const jumped = createJumpWatch(clock)
  let up_since = clock.now()
  let reported: readonly string[] = []
  return () => {
    const now = clock.now()
    // A clock jump or a suspended machine is no stall.
    if (jumped() !== 0) up_since = now
    const stalled = listStalled(db, { now, up_since })
    for (const watch of stalled)
      if (!reported.includes(watch)) log('warn', 'feed.stalled', { feed: watch })
    reported = stalled
  }
}

const ALARM_CHECK_MS = 60_000
/** Time after a start in which no alarm opens: the first polls may find the matches of the time before it. */
const QUIET_START_MS = 300_000
const MONITORS_AT_ONCE = 100
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

export type AlarmDeps = {
  db: Db
  instance_id: string
  clock: Clock
  log: Log
  /** Milliseconds by which true time is ahead of the local clock. */
  clock_offset_ms: () => number
  isDegraded: (monitor: Monitor) => boolean
  /** Called after deliveries were written. */
  on_pending: () => void
}

/**
 * Creates the iteration that opens, repeats and ends the alarms of monitors. Everything is in rows: an alarm and its
 * deliveries are one transaction, so a crash neither loses nor doubles one. Returns the next instant to run, epoch ms.
 */
export function createAlarms(deps: AlarmDeps): () => number {
  const { db, clock } = deps
  const jumped = createJumpWatch(clock)
  const settled_at = clock.mono() + QUIET_START_MS
  let next_check_mono = -Infinity
  let after = ''

  return () => {
    const jump_ms = jumped()
    if (jump_ms !== 0) rebaseAlarms(db, jump_ms)
    const mono = clock.mono()
    const now = clock.now()
    if (mono < next_check_mono) return now + next_check_mono - mono
    const monitors = listAlarmedMonitors(db, after, MONITORS_AT_ONCE)
    const written = monitors.reduce(
      (sum, it) => sum + checkMonitor(deps, it, { now, may_open: mono >= settled_at }),
      0,
    )
    if (written > 0) deps.on_pending()
    const last = monitors.length < MONITORS_AT_ONCE ? undefined : monitors.at(-1)
    after = last?.id ?? ''
    if (last !== undefined) return now
    next_check_mono = mono + ALARM_CHECK_MS
    return now + ALARM_CHECK_MS
  }
}

type Check = { now: number; may_open: boolean }

/** Checks the alarms of one monitor. Returns the number of deliveries written. */
function checkMonitor(deps: AlarmDeps, { id, customer_id, active }: AlarmedMonitor, check: Check) {
  const { db } = deps
  const { now } = check
  const monitor = active === 1 ? findMonitor(db, customer_id, id) : null
  const attention = readAttention(monitor?.attention ?? null)
  const open = listOpenAlarms(db, id)
  if (monitor === null || attention === null || !hasAlarms(attention)) {
    for (const alarm of open) endAlarm(db, alarm.id, now)
    return 0
  }
  const conditions: Record<AlarmKind, boolean | null> = {
    silent: attention.silent_after_h === null ? null : isSilent(monitor, attention, now),
    degraded: attention.alarm_on_degraded ? deps.isDegraded(monitor) : null,
  }
  return transact(db, () => {
    let written = 0
    let kind: AlarmKind
    for (kind in conditions)
      written += follow(deps, { monitor, attention, kind }, conditions[kind], {
        ...check,
        alarm: open.find((it) => it.kind === kind) ?? null,
      })
    return written
  })
}

type Rule = { monitor: Monitor; attention: Attention; kind: AlarmKind }

/** Opens, repeats or ends one alarm; `holds`: its condition, null when the monitor does not ask for it. */
function follow(
  deps: AlarmDeps,
  rule: Rule,
  holds: boolean | null,
  { alarm, now, may_open }: Check & { alarm: OpenAlarm | null },
): number {
  const { db, log } = deps
  const { monitor, attention, kind } = rule
  const every_ms = (attention.escalate?.every_min ?? 0) * MINUTE_MS
  const nextRepeat = (repeats: number): number | null =>
    attention.escalate !== null && repeats < attention.escalate.max ? now + every_ms : null
  if (alarm === null) {
    if (holds !== true || !may_open) return 0
    const opened = openAlarm(db, {
      monitor_id: monitor.id,
      kind,
      opened_at: now,
      next_repeat_at: nextRepeat(0),
    })
    log('info', 'alarm.opened', { monitor_id: monitor.id, kind })
    return write(deps, rule, opened, { event: 'monitor.alarm', step: '0', now })
  }
  if (holds !== true) {
    endAlarm(db, alarm.id, now)
    log('info', 'alarm.ended', { monitor_id: monitor.id, kind })
    return holds === null
      ? 0
      : write(deps, rule, alarm, { event: 'monitor.alarm_ended', step: 'ended', now })
  }
  if (alarm.next_repeat_at === null || alarm.next_repeat_at > now) return 0
  const repeats = alarm.repeats + 1
  const written = write(
    deps,
    rule,
    { ...alarm, repeats },
    { event: 'monitor.alarm', step: String(repeats), now },
  )
  // Where every target is quiet, or there is none, the repeat does not count.
  const counted = written > 0 ? repeats : alarm.repeats
  setRepeat(db, { id: alarm.id, repeats: counted, next_repeat_at: nextRepeat(counted) })
  return written
}

/** Writes the deliveries of an alarm to the targets of its monitor. Returns their number. */
function write(
  { db, instance_id, clock_offset_ms }: AlarmDeps,
  { monitor, attention, kind }: Rule,
  alarm: OpenAlarm,
  { event, step, now }: { event: AlarmEvent; step: string; now: number },
): number {
  const { id: monitor_id, customer_id, webhook_ids } = monitor
  const content: Omit<AlarmContent, 'delivery_id'> = {
    monitor_id,
    monitor_name: monitor.name,
    type: event,
    kind,
    since_at: alarm.opened_at,
    repeat: alarm.repeats,
    silent_after_h: attention.silent_after_h,
  }
  const repeated = event === 'monitor.alarm' && alarm.repeats > 0
  return listTargets(db, customer_id, webhook_ids, monitor_id).filter((target) => {
    const held_until = heldUntil(attention, target.id, now)
    // The alarm itself waits for the end of quiet hours; its repeats would only pile up behind it.
    if (target.paused || (repeated && held_until !== null)) return false
    const id = deliveryId(instance_id, monitor_id, target.id, [`alarm:${alarm.id}`, step])
    return insertDelivery(db, {
      id,
      customer_id,
      monitor_id,
      webhook_id: target.id,
      status: 'pending',
      event,
      now: now + clock_offset_ms(),
      due_at: now,
      body: alarmBody({ ...content, delivery_id: id }),
    })
  }).length
}

/** True if a monitor had no match for as long as its alarm allows. */
function isSilent(
  { last_match_at, active_since, created_at }: Monitor,
  { silent_after_h }: Attention,
  now: number,
): boolean {
  const since = Math.max(last_match_at ?? 0, Math.min(active_since, now), created_at)
  return silent_after_h !== null && now - since >= silent_after_h * HOUR_MS
}
