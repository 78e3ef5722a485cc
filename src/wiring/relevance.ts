import type { Metrics } from '../api/metrics/registry.ts'
import type { Config } from '../config/schema.ts'
import type { Naming } from '../core/forum/naming.ts'
import { allCalls } from '../core/relevance/calls.ts'
import type { ModelReport } from '../core/relevance/judgement.ts'
import {
  createJudging,
  type JudgingDeps,
  type ModelSettings,
} from '../monitor/relevance/judging.ts'
import { createEgress } from '../net/egress.ts'
import type { Guard } from '../net/guard.ts'
import { createModelClient } from '../net/model.ts'
import type { Clock, Runtime } from '../runtime/runtime.ts'
import type { Db } from '../store/db/connection.ts'
import { measureWaiting } from '../store/relevance/judgements.ts'

const DAY_MS = 86_400_000

/** The settings of the operator's model; null: none is configured. */
function modelOf({ relevance: it }: Config): ModelSettings | null {
  if (it.base_url === '') return null
  return {
    model: it.model,
    limits: { all: it.max_calls_per_day, customer: it.max_customer_calls_per_day },
    concurrency: it.concurrency,
    max_wait_ms: it.max_wait_s * 1000,
  }
}

type RelevanceContext = {
  config: Config
  runtime: Runtime
  words: Naming
  guard: Guard
  metrics: Metrics
}

type Needs = Omit<
  JudgingDeps,
  | 'clock'
  | 'random'
  | 'words'
  | 'model'
  | 'ask'
  | 'retention_ms'
  | 'on_call'
  | 'on_result'
  | 'on_written'
>

export function createRelevance(
  { config, runtime, words, guard, metrics }: RelevanceContext,
  needs: Needs,
) {
  const { clock, random } = runtime
  const { base_url, key, timeout_s } = config.relevance
  const ask = createModelClient(
    { egress: createEgress({ ...runtime, guard }), clock, signal: needs.signal },
    { base_url, key, timeout_ms: timeout_s * 1000 },
  )
  const judging = createJudging({
    ...needs,
    clock,
    random,
    words,
    model: modelOf(config),
    ask,
    retention_ms: config.retention.days > 0 ? config.retention.days * DAY_MS : Infinity,
    on_written: (status, kind) => metrics.count('deliveries_written_total', { status, kind }),
    on_call: (outcome) => metrics.count('relevance_calls_total', { outcome }),
    on_result: (outcome) => metrics.count('relevance_results_total', { outcome }),
  })
  registerRelevanceGauges(metrics, { db: needs.db, clock, model: judging.report })
  return judging
}

function registerRelevanceGauges(
  metrics: Metrics,
  { db, clock, model }: { db: Db; clock: Clock; model: () => ModelReport | null },
): void {
  metrics.onScrapeAll(['relevance_waiting', 'relevance_oldest_waiting_seconds'], () => {
    const { waiting, since_at } = measureWaiting(db)
    const age_ms = since_at === null ? 0 : Math.max(0, clock.now() - since_at)
    return { relevance_waiting: waiting, relevance_oldest_waiting_seconds: age_ms / 1000 }
  })
  metrics.onScrapeAll(['relevance_model_up', 'relevance_day_calls', 'relevance_day_limit'], () => {
    const report = model()
    return {
      relevance_model_up: report === null ? null : report.is_up ? 1 : 0,
      relevance_day_calls: report && allCalls(report.calls),
      relevance_day_limit: report && report.calls.limits.all,
    }
  })
}
