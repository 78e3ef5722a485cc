import { decodeFilterSpec } from '../../core/filter/parse.ts'
import { groupOf } from '../../core/filter/spec.ts'
import { utcDay } from '../../core/limits/plan.ts'
import { parseUsage, parseVerdict } from '../../core/relevance/answer.ts'
import {
  afterFault,
  callCost,
  isLimit,
  judgeRelevance,
  MODEL_UP,
  type ModelFault,
  type ModelLimits,
  type ModelPrices,
  type ModelReport,
  nextDayAt,
  type RelevanceResult,
  retryDelay,
  toJudgement,
} from '../../core/relevance/judgement.ts'
import {
  cacheKey,
  judgedItemOf,
  messagesFor,
  REQUEST_FORMS,
  requestBody,
  tokensAtMost,
} from '../../core/relevance/request.ts'
import { readRelevance, type RelevanceRules } from '../../core/relevance/rules.ts'
import { type Clock, createJumpWatch, type Log, type Random } from '../../runtime/runtime.ts'
import { transact } from '../../store/db/connection.ts'
import { keepLonger } from '../../store/erasure/kept-items.ts'
import {
  findWaitingMatch,
  listDueWaiting,
  listOverdueWaiting,
  type WaitingMatch,
} from '../../store/relevance/due.ts'
import {
  findCached,
  insertJudgement,
  type JudgementOutcome,
} from '../../store/relevance/judgements.ts'
import {
  findModelDay,
  type Reservation,
  reserveCall,
  settleCall,
} from '../../store/relevance/spending.ts'
import {
  deleteWaiting,
  holdWaiting,
  nextWaitingAt,
  releaseWaiting,
  wakeWaiting,
} from '../../store/relevance/waiting.ts'
import { type RouteDeps, routeMatches, withholdMatch } from '../deliver.ts'

// Matches of monitors with relevance rules wait in rows, and are judged one item a call, several calls at once. One call for
// several items would be cheaper, but then the text of one item could change the verdict of another.

/** Reply of the service. `sent` false: no part of the request reached it. */
export type ModelReply =
  | { kind: 'answered'; status: number; body: string; retry_after_s: number | null }
  | { kind: 'failed'; fault: 'unreachable' | 'timeout' | 'too_large'; sent: boolean }

/** Sends one request to the service, exactly once and within its time limit. Never throws. */
export type AskModel = (body: string) => Promise<ModelReply>

/** Settings of the operator's model. */
export type ModelSettings = {
  model: string
  limits: ModelLimits
  prices: ModelPrices
  /** Calls at once, and matches that are taken up at once. */
  concurrency: number
  batch: number
  /** Age up to which a verdict is used again, ms. */
  cache_ms: number
  /** Longest wait of a match that is delivered without a verdict, ms. */
  max_wait_ms: number
}

export type JudgingDeps = RouteDeps & {
  clock: Clock
  random: Pick<Random, 'fraction'>
  log: Log
  /** Aborts when the daemon stops. */
  signal: AbortSignal
  /** Null: no model is configured. */
  model: ModelSettings | null
  ask: AskModel
  /** Time after which content is erased, ms; Infinity: never. */
  retention_ms: number
  /** False: the lease of this node is too short to act. */
  mayAct?: () => boolean
  on_pending: () => void
  /** Wakes the loop. */
  wake: () => void
  on_call?: (outcome: 'judged' | ModelFault) => void
  /** `abandoned`: its monitor was removed, or its content was to be erased. */
  on_result?: (outcome: JudgementOutcome | 'abandoned') => void
}

/** Judges waiting matches, driven by a loop. */
export type Judging = {
  /** Starts what is due as far as there are slots, without waiting for it; returns the next due time. */
  turn(): Promise<number>
  /** Resolves when no call is under way. */
  idle(): Promise<void>
  /** State and use of the model; null: none is configured. */
  report(): ModelReport | null
}

/** Longest pause of the loop while the model is down and nothing else is due. */
const LOOK_MS = 60_000

type Call = { match: WaitingMatch; rules: RelevanceRules; key: Uint8Array; most: Most }
type Most = { tokens: number; cost_micros: number }
type Started = Call & { body: string; reserved: Reservation }

/** Meaning of a reply for its match and for the model. */
type Reading = {
  judged: RelevanceResult
  /** True: the form of the request was refused, and another one is tried. */
  again: boolean
  by_item: boolean
  asked_ms: number
}

const keyOf = ({ watcher, item_id }: WaitingMatch) => ({ monitor_id: watcher.id, item_id })
const nameOf = ({ watcher, item_id }: WaitingMatch) => `${watcher.id} ${item_id}`

const rowIn = (body: string): Record<string, unknown> => JSON.parse(body)

/** The item as it is delivered. */
const readyOf = ({ item_id, created_at, body }: WaitingMatch, judgement: object | null) => ({
  name: item_id,
  created_at,
  row: { ...rowIn(body), ...(judgement !== null && { judgement }) },
})

/** False if text, rules or monitor changed during the call: the match is taken up again as it is now. */
const isSameQuestion = (now: WaitingMatch, { match }: Call): boolean =>
  !now.is_orphan && now.body === match.body && now.watcher.relevance === match.watcher.relevance

const faulty = (it: ModelFault, by_item: boolean, asked_ms = 0): Reading => ({
  judged: { kind: 'fault', fault: it },
  again: false,
  by_item,
  asked_ms,
})

/** Creates the judging of matches. Due times are stored in rows; only calls under way are in memory. */
export function createJudging(deps: JudgingDeps): Judging {
  const { db, clock, log, random, signal, model } = deps
  const running = new Map<string, Promise<void>>()
  let state = MODEL_UP
  let failure: { error: unknown } | null = null
  let form = 0
  /** True after an answer: a refusal is then by the item, not by the form of the request. */
  let is_proven = false

  const jumped = createJumpWatch(clock)

  // Held matches follow limits and addresses that were changed while the daemon was down.
  transact(db, () => wakeWaiting(db, clock.now()))

  /** Takes a match out of the queue to store its body; false if it was erased or delivered meanwhile. */
  function take(match: WaitingMatch, now: number): boolean {
    if (!deleteWaiting(db, keyOf(match))) return false
    keepLonger(db, match.item_id, now)
    return true
  }

  const send = (match: WaitingMatch, judgement: object | null, now: number): number => {
    const group = groupOf(decodeFilterSpec(match.filter_spec))
    return routeMatches(deps, match.watcher, [readyOf(match, judgement)], { group, now })
  }

  /** Ends the wait of a match that is not judged any more. Returns the number of deliveries to be sent. */
  function abandon(match: WaitingMatch, now: number): number {
    if (!take(match, now)) return 0
    deps.on_result?.('abandoned')
    return withholdMatch(deps, match.watcher, readyOf(match, null), {
      suppressed: { reason: 'unjudged' },
      now,
    })
  }

  /** Delivers, suppresses or holds a match by its result. Returns the number of deliveries to be sent. */
  function settle(
    { match, rules, key }: Pick<Call, 'match' | 'rules'> & { key: Uint8Array | null },
    judged: RelevanceResult,
    now: number,
    failed: boolean,
  ): number {
    if (judged.kind === 'fault' && rules.when_down === 'hold') {
      const { fault } = judged
      const pause_ms = failed
        ? retryDelay(match.failures + 1, random.fraction())
        : Math.max(1000, Math.min(LOOK_MS, Math.ceil(state.until - clock.mono())))
      const next_attempt_at = !failed && isLimit(fault) ? nextDayAt(now) : now + pause_ms
      holdWaiting(db, keyOf(match), { next_attempt_at, fault, failed })
      return 0
    }
    if (!take(match, now)) return 0
    const suppressed = judgeRelevance(judged, rules)
    const outcome =
      suppressed !== null ? 'irrelevant' : judged.kind === 'fault' ? 'unjudged' : 'relevant'
    const of = { ...keyOf(match), min_score: rules.min_score, key }
    insertJudgement(db, of, { outcome, judged, now })
    deps.on_result?.(outcome)
    const judgement = toJudgement(judged, rules)
    return suppressed === null
      ? send(match, judgement, now)
      : withholdMatch(deps, match.watcher, readyOf(match, judgement), { suppressed, now })
  }

  /** Why a match cannot be judged now; null: it can. */
  function faultNow({ since_at }: WaitingMatch, { when_down }: RelevanceRules, now: number) {
    if (model === null) return 'not_configured' as const
    if (clock.mono() < state.until) return state.fault ?? 'unreachable'
    const is_late = when_down === 'deliver' && now - since_at >= model.max_wait_ms
    return is_late ? ('too_slow' as const) : null
  }

  /** Does at once what needs no call. Returns what to call for, within the free slots. */
  function takeUp(matches: readonly WaitingMatch[], now: number) {
    // After a fault one call at a time shows if the model is back.
    const slots = state.opens > 0 ? 1 : (model?.concurrency ?? 0)
    const started: Started[] = []
    let pending = 0
    for (const match of matches) {
      const rules = readRelevance(match.watcher.relevance)
      if (match.is_orphan || now - match.since_at >= deps.retention_ms) {
        pending += abandon(match, now)
        continue
      }
      if (rules === null) {
        if (take(match, now)) pending += send(match, null, now)
        continue
      }
      const fail = (fault: ModelFault) =>
        void (pending += settle({ match, rules, key: null }, { kind: 'fault', fault }, now, false))
      if (model === null) {
        fail('not_configured')
        continue
      }
      const messages = messagesFor(
        rules.prompt,
        judgedItemOf(rowIn(match.body), deps.words.community),
      )
      const key = cacheKey(model.model, messages)
      const cached = findCached(db, { key, since_at: now - model.cache_ms })
      if (cached !== null) {
        const judged = { kind: 'verdict', ...cached, cached: true } as const
        pending += settle({ match, rules, key }, judged, now, false)
        continue
      }
      const fault = faultNow(match, rules, now)
      if (fault !== null) {
        fail(fault)
        continue
      }
      if (running.size + started.length >= slots) continue
      const { input, output } = tokensAtMost(messages)
      const most = {
        tokens: input + output,
        cost_micros: callCost(model.prices, { input, output }),
      }
      const reserved = reserveCall(db, model.limits, most, now)
      if (reserved === null || typeof reserved === 'string') fail(reserved ?? 'limit_calls')
      else {
        const body = requestBody(model.model, messages, REQUEST_FORMS[form] ?? 'bare')
        started.push({ match, rules, key, most, body, reserved })
      }
    }
    return { started, pending }
  }

  /** Reads a reply, and remembers which form of a request the service takes. */
  function read(reply: ModelReply): Reading {
    if (reply.kind === 'failed') return faulty(reply.fault, reply.fault !== 'unreachable')
    const { status, body } = reply
    if (status >= 200 && status < 300) {
      const verdict = parseVerdict(body)
      if (verdict === null || model === null) return faulty('invalid_answer', true)
      is_proven = true
      const judged = { kind: 'verdict', model: model.model, cached: false, ...verdict } as const
      return { judged, again: false, by_item: false, asked_ms: 0 }
    }
    const is_form = status === 400 || status === 422
    if (is_form && !is_proven) {
      form = (form + 1) % REQUEST_FORMS.length
      if (form > 0) return { ...faulty('refused', true), again: true }
    }
    return faulty('refused', is_form || status === 413, (reply.retry_after_s ?? 0) * 1000)
  }

  /** Cost of a call: as the service says, else the most that it can have cost. */
  function costOf(reply: ModelReply, { reserved, most }: Started) {
    const worst = { tokens: reserved.tokens, cost_micros: reserved.cost_micros, surplus: false }
    if (reply.kind === 'failed')
      return reply.sent
        ? { ...worst, sent: true }
        : { tokens: 0, cost_micros: 0, surplus: false, sent: false }
    const usage = parseUsage(reply.body)
    const is_ok = reply.status >= 200 && reply.status < 300
    if (usage === null || model === null)
      return is_ok
        ? { ...worst, sent: true }
        : { tokens: 0, cost_micros: 0, surplus: false, sent: true }
    const tokens = usage.input + usage.output
    const cost_micros = callCost(model.prices, usage)
    const surplus = tokens > most.tokens || cost_micros > most.cost_micros
    return { tokens, cost_micros, surplus, sent: true }
  }

  function follow({ judged, by_item, asked_ms }: Reading, now: number): void {
    const before = state
    if (judged.kind === 'verdict') {
      state = MODEL_UP
      if (before.opens === 0) return
      log('info', 'relevance.recovered', { duration_ms: now - (before.since_at ?? now) })
      releaseWaiting(db, now)
      return
    }
    const at = { now, mono: clock.mono(), fraction: random.fraction(), asked_ms, by_item }
    state = afterFault(before, judged.fault, at)
    if (before.opens === 0 && state.opens > 0)
      log('warn', 'relevance.unavailable', { reason: judged.fault })
  }

  async function judge(started: Started): Promise<void> {
    const reply = await deps.ask(started.body)
    // The row still waits, and the call stays counted: it may be billed.
    if (reply.kind === 'failed' && (signal.aborted || deps.mayAct?.() === false)) return
    const now = clock.now()
    const reading = read(reply)
    const { judged, again } = reading
    const cost = costOf(reply, started)
    if (cost.surplus) log('warn', 'relevance.overcharged', { count: cost.tokens })
    deps.on_call?.(judged.kind === 'verdict' ? 'judged' : judged.fault)
    const pending = transact(db, () => {
      settleCall(db, started.reserved, cost)
      if (again) return 0
      follow(reading, now)
      const match = findWaitingMatch(db, keyOf(started.match))
      if (match === null || !isSameQuestion(match, started)) return 0
      // The service was not reached for this match: its turn comes with the next one.
      const failed = judged.kind === 'fault' && reading.by_item
      return settle({ ...started, match }, judged, now, failed)
    })
    if (pending > 0) deps.on_pending()
  }

  function start(call: Started): void {
    const name = nameOf(call.match)
    const task = judge(call)
      .catch((error: unknown) => {
        failure = { error }
      })
      .finally(() => {
        running.delete(name)
        deps.wake()
      })
    running.set(name, task)
  }

  function listDue(now: number): WaitingMatch[] {
    const limit = (model?.batch ?? 100) + running.size
    const due = listDueWaiting(db, { now, limit })
    // Behind a long queue there may be some that have waited for as long as they may.
    const late =
      due.length < limit || model === null
        ? []
        : listOverdueWaiting(db, { from_at: now - model.max_wait_ms, limit })
    const all = new Map([...due, ...late].map((it) => [nameOf(it), it]))
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
      if (due.length === 0) return nextWaitingAt(db) <= now ? Infinity : nextWaitingAt(db)
      const before = running.size
      const { started, pending } = transact(db, () => takeUp(due, now))
      for (const call of started) start(call)
      if (pending > 0) deps.on_pending()
      // Everything due waits for a slot, whose call wakes the loop, or there may be more.
      const is_full = started.length === 0 && before > 0 && due.length > 0
      return is_full ? now + LOOK_MS : now
    },

    async idle() {
      while (running.size > 0) await Promise.all(running.values())
    },

    report() {
      if (model === null) return null
      const { calls, tokens, cost_micros } = findModelDay(db, utcDay(clock.now()))
      const is_up = state.opens === 0
      return {
        model: model.model,
        is_up,
        fault: is_up ? null : state.fault,
        since_at: is_up ? null : state.since_at,
        used: { calls, tokens, cost_micros },
        limits: model.limits,
      }
    },
  }
}
