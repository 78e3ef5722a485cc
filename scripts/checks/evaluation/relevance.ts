import type { IntentTag } from '../../../src/core/enrichment/lexicon/cues.ts'
import type { Item } from '../../../src/core/forum/items.ts'
import { parseVerdict } from '../../../src/core/relevance/answer.ts'
import { judgedItemOf, messagesFor, requestBody } from '../../../src/core/relevance/request.ts'
import type { Pair } from './score.ts'
import type { Labelled } from './sets.ts'

/** Prompts for labels of the sets: an item is relevant if its annotator gave it the label. */
export const PROMPTS = {
  question: 'Posts whose author asks a question and wants an answer.',
  recommendation_request: 'Posts whose author asks others to recommend something to buy or use.',
  complaint: 'Posts whose author complains about a product, a service or a situation.',
  praise: 'Posts whose author praises something that they bought, used or visited.',
  promotion: 'Posts that advertise something of their author: a product, a channel, an offer.',
} as const satisfies Partial<Record<IntentTag, string>>

/** Sends a request and answers the body of the reply; null: there was none. */
export type AskAny = (body: string) => Promise<string | null>

/** Measured verdicts: pairs of labels, and answers without a verdict. */
export type Measured = { pairs: Pair[]; unjudged: number }

/** Judges items of a set one by one, exactly as a monitor's matches are. */
export async function measureRelevance(
  set: readonly Labelled[],
  {
    intent,
    model,
    min_score,
    ask,
  }: { intent: keyof typeof PROMPTS; model: string; min_score: number; ask: AskAny },
): Promise<Measured> {
  const measured: Measured = { pairs: [], unjudged: 0 }
  for (const { item, intent: label } of set) {
    if (label === null) continue
    const messages = messagesFor(PROMPTS[intent], judgedItemOf(rowFor(item), 'subforum'))
    const body = await ask(requestBody(model, messages, 'schema'))
    const verdict = body === null ? null : parseVerdict(body)
    if (verdict === null) {
      measured.unjudged += 1
      continue
    }
    const got = verdict.score >= min_score ? 'relevant' : 'irrelevant'
    measured.pairs.push({ due: label === intent ? 'relevant' : 'irrelevant', got })
  }
  return measured
}

const rowFor = (item: Item): Record<string, unknown> => ({ ...item })
