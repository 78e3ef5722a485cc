import { allCalls } from '../../core/relevance/calls.ts'
import type { ModelReport } from '../../core/relevance/judgement.ts'
import type { Clock } from '../../runtime/runtime.ts'
import type { Db } from '../../store/db/connection.ts'
import { measureWaiting } from '../../store/relevance/judgements.ts'
import type { Metrics } from './registry.ts'

export function registerRelevanceGauges(
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
