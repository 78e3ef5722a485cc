import { parseVerdict } from '../../core/relevance/answer.ts'
import {
  afterFault,
  MODEL_UP,
  type ModelFault,
  type RelevanceResult,
} from '../../core/relevance/judgement.ts'
import { type messagesFor, REQUEST_FORMS, requestBody } from '../../core/relevance/request.ts'
import type { Clock, Log, Random } from '../../runtime/runtime.ts'

/** Reply of the service. `sent` false: no part of the request reached it. */
export type ModelReply =
  | { kind: 'answered'; status: number; body: string; retry_after_s: number | null }
  | { kind: 'failed'; fault: 'unreachable' | 'timeout' | 'too_large'; sent: boolean }

/** Sends one request to the service, exactly once and within its time limit. Never throws. */
export type AskModel = (body: string) => Promise<ModelReply>

export type Reading = {
  judged: RelevanceResult
  /** False: no part of the request reached the service. */
  sent: boolean
  /** True: the form of the request was refused, and another one is tried. */
  again: boolean
  /** True: the item alone may have caused the fault. */
  by_item: boolean
  asked_ms: number
}

type ModelDeps = {
  clock: Clock
  random: Pick<Random, 'fraction'>
  log: Log
  model: string
  ask: AskModel
}

/** Creates the use of the operator's model: forms of a request that it takes, and pauses while it fails. */
export function createModel({ clock, random, log, model, ask }: ModelDeps) {
  let state = MODEL_UP
  let form = 0
  /** True after an answer: a refusal is then by the item, not by the form of the request. */
  let is_proven = false

  function read(reply: ModelReply): Reading {
    const faulty = (fault: ModelFault, by_item: boolean, asked_ms = 0): Reading => {
      const sent = reply.kind === 'answered' || reply.sent
      return { judged: { kind: 'fault', fault }, sent, again: false, by_item, asked_ms }
    }
    if (reply.kind === 'failed') return faulty(reply.fault, reply.fault !== 'unreachable')
    const { status, body } = reply
    if (status >= 200 && status < 300) {
      const verdict = parseVerdict(body)
      if (verdict === null) return faulty('invalid_answer', true)
      is_proven = true
      const judged = { kind: 'verdict', model, ...verdict } as const
      return { judged, sent: true, again: false, by_item: false, asked_ms: 0 }
    }
    const is_form = status === 400 || status === 422
    if (is_form && !is_proven) {
      form = (form + 1) % REQUEST_FORMS.length
      if (form > 0) return { ...faulty('refused', true), again: true }
    }
    return faulty('refused', is_form || status === 413, (reply.retry_after_s ?? 0) * 1000)
  }

  return {
    ask: async (messages: ReturnType<typeof messagesFor>): Promise<Reading> =>
      read(await ask(requestBody(model, messages, REQUEST_FORMS[form] ?? 'bare'))),

    /** Follows the result of a call that was not `again`; true when the model works again after an outage. */
    follow({ judged, by_item, asked_ms }: Reading, now: number): boolean {
      const before = state
      if (judged.kind === 'verdict') {
        state = MODEL_UP
        if (before.opens === 0) return false
        log('info', 'relevance.recovered', { duration_ms: now - (before.since_at ?? now) })
        return true
      }
      const at = { now, mono: clock.mono(), fraction: random.fraction(), asked_ms, by_item }
      state = afterFault(before, judged.fault, at)
      if (before.opens === 0 && state.opens > 0)
        log('warn', 'relevance.unavailable', { reason: judged.fault })
      return false
    },

    /** Why no call may be made now, and for how long; null: one may. */
    pause(): { fault: ModelFault; pause_ms: number } | null {
      const pause_ms = state.until - clock.mono()
      return pause_ms > 0 ? { fault: state.fault ?? 'unreachable', pause_ms } : null
    },

    /** State for the report. */
    outage: () => {
      const is_up = state.opens === 0
      return {
        is_up,
        fault: is_up ? null : state.fault,
        since_at: is_up ? null : state.since_at,
      }
    },
  }
}
