import { decodeFilterSpec } from '../../core/filter/parse.ts'
import { groupOf } from '../../core/filter/spec.ts'
import { utcDay } from '../../core/limits/plan.ts'
import { type CallLimits, type DayCalls, mayCall } from '../../core/relevance/calls.ts'
import {
  judgeRelevance,
  type ModelFault,
  type ModelReport,
  nextDayAt,
  type RelevanceResult,
  retryDelay,
  toJudgement,
} from '../../core/relevance/judgement.ts'
import { judgedItemOf, messagesFor } from '../../core/relevance/request.ts'
import { readRelevance, type RelevanceRules } from '../../core/relevance/rules.ts'
import { type Clock, createJumpWatch, type Log, type Random } from '../../runtime/runtime.ts'
import { transact } from '../../store/db/connection.ts'
import { keepLonger } from '../../store/erasure/kept-items.ts'
import {
  findWaitingMatch,
  listDueCustomers,
  listDueWaiting,
  listOverdueWaiting,
  nextWaitingAt,
  type WaitingMatch,
} from '../../store/relevance/due.ts'
import {
  callsOf,
  countCall,
  holdWaiting,
  type JudgementOutcome,
  listJudgedCustomers,
  releaseWaiting,
  settleWaiting,
  wakeWaiting,
} from '../../store/relevance/judgements.ts'
import { type RouteDeps, routeMatches, withholdMatch } from '../deliver.ts'
import { type AskModel, createModel, type Reading } from './model.ts'

// Matches of monitors with relevance rules wait in rows, and are judged one item a call, several calls at once. One call for
// several items would be cheaper, but then the text of one item could change the verdict of another.

export type ModelSettings = {
  model: string
  limits: CallLimits
  concurrency: number
  /** Longest wait of a match that is delivered without a verdict, ms. */
  max_wait_ms: number
}

export type JudgingDeps = RouteDeps & {
  clock: Clock
  random: Pick<Random, 'fraction'>
  log: Log
  signal: AbortSignal
  /** Null: no model is configured. */
  model: ModelSettings | null
  ask: AskModel
  /** Time after which content is erased, ms; Infinity: never. */
  retention_ms: number
  wake: () => void
  on_call?: (outcome: 'judged' | ModelFault) => void
  on_result?: (outcome: JudgementOutcome) => void
}

export type Judging = {
  /** Starts what is due as far as there are slots, without waiting for it; returns the next due time. */
  turn(): Promise<number>
  idle(): Promise<void>
  /** State and use of the model; null: none is configured. */
  report(): ModelReport | null
}

/** Waiting matches that are taken up at once, of all customers together. */
const BATCH = 100
/** Longest pause of the loop while the model is down and nothing else is due. */
const LOOK_MS = 60_000

type Call = { match: WaitingMatch; rules: RelevanceRules; day: number }

const keyOf = ({ watcher, item_id }: WaitingMatch) => ({ monitor_id: watcher.id, item_id })
const nameOf = ({ watcher, item_id }: WaitingMatch) => `${watcher.id} ${item_id}`

const rowIn = (body: string): Record<string, unknown> => JSON.parse(body)

const readyOf = ({ item_id, created_at, body }: WaitingMatch, judgement: object | null) => ({
  name: item_id,
  created_at,
  row: { ...rowIn(body), ...(judgement !== null && { judgement }) },
})

/** False if text, rules or monitor changed during the call: the match is taken up again as it is now. */
const isSameQuestion = (now: WaitingMatch, { match }: Call): boolean =>
  !now.is_orphan && now.body === match.body && now.watcher.relevance === match.watcher.relevance

/** Ends of the wait of a match, each in the transaction of its caller. */
function createEnds(deps: JudgingDeps) {
  const { db } = deps
  type Result = {
    outcome: JudgementOutcome
    rules: RelevanceRules | null
    judged: RelevanceResult | null
  }

  /** Stores the result; false if the match was erased or delivered meanwhile. */
  function end(match: WaitingMatch, { outcome, rules, judged }: Result, now: number): boolean {
    const result = { outcome, min_score: rules?.min_score ?? null, judged }
    if (!settleWaiting(db, keyOf(match), result, now)) return false
    keepLonger(db, match.item_id, now)
    deps.on_result?.(outcome)
    return true
  }

  const send = (match: WaitingMatch, judgement: object | null, now: number): void => {
    const group = groupOf(decodeFilterSpec(match.filter_spec))
    routeMatches(deps, match.watcher, [readyOf(match, judgement)], { group, now })
  }

  return {
    /** The monitor is gone, or the content has to go: the match is listed, and not sent. */
    abandon(match: WaitingMatch, now: number): void {
      if (!end(match, { outcome: 'abandoned', rules: null, judged: null }, now)) return
      const suppressed = { reason: 'unjudged' } as const
      withholdMatch(deps, match.watcher, readyOf(match, null), { suppressed, now })
    },

    /** The monitor has no rules any more. */
    sendUnasked(match: WaitingMatch, now: number): void {
      if (end(match, { outcome: 'abandoned', rules: null, judged: null }, now))
        send(match, null, now)
    },

    /** There is a verdict, or none and the monitor delivers without one. */
    settle(
      { match, rules }: Pick<Call, 'match' | 'rules'>,
      judged: RelevanceResult,
      now: number,
    ): void {
      const suppressed = judgeRelevance(judged, rules)
      const outcome =
        suppressed !== null ? 'irrelevant' : judged.kind === 'fault' ? 'unjudged' : 'relevant'
      if (!end(match, { outcome, rules, judged }, now)) return
      const judgement = toJudgement(judged, rules)
      if (suppressed === null) send(match, judgement, now)
      else withholdMatch(deps, match.watcher, readyOf(match, judgement), { suppressed, now })
    },
  }
}

/** Calls of the present UTC day, stored with their matches. */
function createDayCalls({ db, clock }: JudgingDeps, limits: CallLimits) {
  let stored = { day: -1, used: new Map<string, number>() }

  function today(): typeof stored {
    const day = utcDay(clock.now())
    if (day !== stored.day) stored = { day, used: callsOf(db, day) }
    return stored
  }

  return {
    /** Reads the calls again, after a transaction that counted some was rolled back. */
    reload: () => void (stored = { ...stored, day: -1 }),
    report: (): DayCalls => ({ limits, used: today().used, sharers: listJudgedCustomers(db) }),
    count(match: WaitingMatch, day: number, by: 1 | -1): void {
      countCall(db, keyOf(match), day, by)
      const { used, day: present } = today()
      const { customer_id } = match.watcher
      if (day === present) used.set(customer_id, Math.max(0, (used.get(customer_id) ?? 0) + by))
    },
  }
}

/** Creates the judging of matches. Due times are stored in rows; only calls under way are in memory. */
export function createJudging(deps: JudgingDeps): Judging {
  const { db, clock, random, signal, model: settings } = deps
  const running = new Map<string, Promise<void>>()
  const ends = createEnds(deps)
  const model = settings === null ? null : createModel({ ...deps, model: settings.model })
  const calls = createDayCalls(deps, settings?.limits ?? { all: 0, customer: 0 })
  let failure: { error: unknown } | null = null
  /** Customer of the call that was started last: the next turn begins after it. */
  let served_last = ''

  const jumped = createJumpWatch(clock)

  // Held matches follow limits and addresses that were changed while the daemon was down.
  transact(db, () => wakeWaiting(db, clock.now()))

  /** Without a verdict: holds the match until `next_attempt_at`, or delivers it, as its monitor says. */
  function fail(
    { match, rules }: Pick<Call, 'match' | 'rules'>,
    fault: ModelFault,
    { next_attempt_at, failed, now }: { next_attempt_at: number; failed: boolean; now: number },
  ): void {
    if (rules.when_down === 'deliver') ends.settle({ match, rules }, { kind: 'fault', fault }, now)
    else holdWaiting(db, keyOf(match), { next_attempt_at, fault, failed })
  }

  /** Why a match cannot be judged now, and when it is tried again; null: it can. */
  function faultNow({ since_at }: WaitingMatch, { when_down }: RelevanceRules, now: number) {
    if (settings === null || model === null)
      return { fault: 'not_configured' as const, next_attempt_at: now + LOOK_MS }
    const pause = model.pause()
    if (pause !== null) {
      const pause_ms = Math.max(1000, Math.min(LOOK_MS, Math.ceil(pause.pause_ms)))
      return { fault: pause.fault, next_attempt_at: now + pause_ms }
    }
    return when_down === 'deliver' && now - since_at >= settings.max_wait_ms
      ? { fault: 'too_slow' as const, next_attempt_at: now }
      : null
  }

  /** Does at once what needs no call. Returns what to call for, within the free slots. */
  function takeUp(matches: readonly WaitingMatch[], now: number): Call[] {
    // After a fault one call at a time shows if the model is back.
    const slots = model?.outage().is_up === false ? 1 : (settings?.concurrency ?? 0)
    const started: Call[] = []
    const day = calls.report()
    for (const match of matches) {
      const rules = readRelevance(match.watcher.relevance)
      if (match.is_orphan || now - match.since_at >= deps.retention_ms) {
        ends.abandon(match, now)
        continue
      }
      if (rules === null) {
        ends.sendUnasked(match, now)
        continue
      }
      const { customer_id } = match.watcher
      const fault =
        faultNow(match, rules, now) ??
        (mayCall(day, customer_id)
          ? null
          : { fault: 'limit_calls' as const, next_attempt_at: nextDayAt(now) })
      if (fault !== null) {
        const { next_attempt_at } = fault
        fail({ match, rules }, fault.fault, { next_attempt_at, failed: false, now })
        continue
      }
      if (running.size + started.length >= slots) continue
      const call = { match, rules, day: utcDay(now) }
      calls.count(match, call.day, 1)
      started.push(call)
      served_last = customer_id
    }
    return started
  }

  function takeUpNow(due: readonly WaitingMatch[], now: number): Call[] {
    try {
      return transact(db, () => takeUp(due, now))
    } catch (error) {
      calls.reload()
      throw error
    }
  }

  /** Records the result of a call. */
  function record(call: Call, reading: Reading, now: number): void {
    if (!reading.sent) calls.count(call.match, call.day, -1)
    if (reading.again) return
    if (model?.follow(reading, now)) releaseWaiting(db, now)
    const match = findWaitingMatch(db, keyOf(call.match))
    if (match === null || !isSameQuestion(match, call)) return
    const { judged, by_item: failed } = reading
    if (judged.kind === 'verdict') return ends.settle({ ...call, match }, judged, now)
    // If the service was not reached for this match, its turn comes with the next one.
    const pause_ms = failed
      ? retryDelay(match.failures + 1, random.fraction())
      : Math.max(1000, Math.min(LOOK_MS, Math.ceil(model?.pause()?.pause_ms ?? 0)))
    fail({ ...call, match }, judged.fault, { next_attempt_at: now + pause_ms, failed, now })
  }

  async function judge(call: Call): Promise<void> {
    const { match, rules } = call
    const item = judgedItemOf(rowIn(match.body), deps.words.community)
    const reading = await model?.ask(messagesFor(rules.prompt, item))
    if (reading === undefined) return
    const { judged } = reading
    // The row still waits, and the call stays counted: it may be billed.
    if (judged.kind === 'fault' && signal.aborted) return
    deps.on_call?.(judged.kind === 'verdict' ? 'judged' : judged.fault)
    transact(db, () => record(call, reading, clock.now()))
  }

  function start(call: Call): void {
    const name = nameOf(call.match)
    const task = judge(call)
      .catch((error: unknown) => {
        failure = { error }
        calls.reload()
      })
      .finally(() => {
        running.delete(name)
        deps.wake()
      })
    running.set(name, task)
  }

  /** Due matches by customer, beginning after the one that was served last. */
  function listDue(now: number): WaitingMatch[] {
    const customers = listDueCustomers(db, now)
    const next = customers.findIndex((id) => id > served_last)
    const in_turn = next > 0 ? [...customers.slice(next), ...customers.slice(0, next)] : customers
    const limit = Math.ceil(BATCH / Math.max(1, customers.length)) + running.size
    const queues = in_turn.map((customer_id) => listDueWaiting(db, { customer_id, now, limit }))
    // Behind a long queue there may be some that have waited for as long as they may.
    const late =
      settings === null || queues.every((it) => it.length < limit)
        ? []
        : listOverdueWaiting(db, { from_at: now - settings.max_wait_ms, limit: BATCH })
    const all = new Map([...queues.flat(), ...late].map((it) => [nameOf(it), it]))
    return [...all.values()].filter((it) => !running.has(nameOf(it)))
  }

  return {
    async turn() {
      if (failure !== null) {
        const { error } = failure
        failure = null
        throw error
      }
      if (signal.aborted) return Infinity
      const now = clock.now()
      if (jumped() !== 0) transact(db, () => wakeWaiting(db, now))
      const due = listDue(now)
      if (due.length === 0) {
        const next_at = nextWaitingAt(db)
        return next_at <= now ? Infinity : next_at
      }
      const before = running.size
      const started = takeUpNow(due, now)
      for (const call of started) start(call)
      // Everything due waits for a slot, whose call wakes the loop, or there may be more.
      const is_full = started.length === 0 && before > 0
      return is_full ? now + LOOK_MS : now
    },

    async idle() {
      while (running.size > 0) await Promise.all(running.values())
    },

    report: () =>
      settings === null || model === null
        ? null
        : { model: settings.model, ...model.outage(), calls: calls.report() },
  }
}
