import type { ModelReport } from '../../core/relevance/judgement.ts'
import type { Clock } from '../../runtime/runtime.ts'
import type { Db } from '../../store/db/connection.ts'
import { measureWaiting } from '../../store/relevance/waiting.ts'
import type { Metrics } from './registry.ts'

/** Registers the gauges of matches that wait for a verdict, and of the operator's model. */
export function registerRelevanceGauges(
  metrics: Metrics,
  { db, clock, model }: { db: Db; clock: Clock; model: () => ModelReport | null },
): void {
  metrics.onScrapeAll(['relevance_waiting', 'relevance_oldest_waiting_seconds'], () => {
    const { waiting, since_at } = measureWaiting(db)
    const age_ms = since_at === null ? 0 : Math.max(0, clock.now() - since_at)
    return { relevance_waiting: waiting, relevance_oldest_waiting_seconds: age_ms / 1000 }
  })
  metrics.onScrapeAll(['relevance_model_up', 'relevance_day_used', 'relevance_day_limit'], () => {
    const report = model()
    if (report === null)
      return { relevance_model_up: null, relevance_day_used: [], relevance_day_limit: [] }
    const { is_up, used, limits } = report
    const byKind = ({ calls, tokens, cost_micros }: typeof used) =>
      [
        [{ what: 'calls' }, calls],
        [{ what: 'tokens' }, tokens],
        [{ what: 'cost_micro_usd' }, cost_micros],
      ] as const
    return {
      relevance_model_up: is_up ? 1 : 0,
      relevance_day_used: byKind(used),
      relevance_day_limit: byKind(limits),
    }
  })
}
