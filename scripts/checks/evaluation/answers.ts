import { enrich } from '../../../src/core/enrichment/enrich.ts'
import type { IntentTag } from '../../../src/core/enrichment/lexicon/cues.ts'
import type { Sentiment } from '../../../src/core/enrichment/sentiment.ts'
import { parseFilterSpec } from '../../../src/core/filter/parse.ts'
import type { Item } from '../../../src/core/forum/items.ts'
import { createNaming } from '../../../src/core/forum/naming.ts'
import type { Pair } from './score.ts'
import type { Labelled } from './sets.ts'

export type Task = 'sentiment' | 'intent'
export type Answer = { sentiment: Sentiment['label']; intent: IntentTag }

const spec = parseFilterSpec(
  { subforum: ['cats'] },
  createNaming({ platform: 'forum', community: 'subforum' }),
)

/** Result of the enrichment for an item. */
export function ours(item: Item): Answer {
  const { sentiment, intent } = enrich(spec, item)
  return { sentiment: sentiment.label, intent: intent.tag }
}

/** Baseline: ten words and a question mark. Any heuristic has to beat it. */
export function simple(item: Item): Answer {
  const text = (item.kind === 'post' ? `${item.title}\n${item.text}` : item.body).toLowerCase()
  const good = text.match(/\b(?:good|great|best|love|nice)\b/g)?.length ?? 0
  const bad = text.match(/\b(?:bad|worst|hate|terrible|awful)\b/g)?.length ?? 0
  const sentiment =
    good + bad === 0 ? 'neutral' : good === bad ? 'mixed' : good > bad ? 'positive' : 'negative'
  if (text.includes('?')) return { sentiment, intent: 'question' }
  const intent = { positive: 'praise', negative: 'complaint', mixed: 'discussion' } as const
  return { sentiment, intent: sentiment === 'neutral' ? 'discussion' : intent[sentiment] }
}

/** The items of a set that have a label for a task, each with the result of `answer`. */
export function pairsOf(
  set: readonly Labelled[],
  task: Task,
  answer: (item: Item) => Answer,
): Pair[] {
  return set.flatMap(({ item, [task]: due }) =>
    due === null ? [] : [{ due, got: answer(item)[task] }],
  )
}
