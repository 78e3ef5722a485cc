import type { Item } from '../forum/items.ts'
import { evaluateDirectly, type EvaluatePatterns, type PatternSet } from './evaluate.ts'

/** `subject`: id of the filter's owner, such as a monitor. */
export type PatternNeed = { subject: string; set: PatternSet; item: Item }

/**
 * Results of patterns, which are computed elsewhere and looked up here. Matching is synchronous,
 * inside a transaction. An unknown result is recorded as a need; the caller rolls back, has it
 * computed, and matches again.
 */
export type Verdicts = {
  evaluate: EvaluatePatterns
  attribute(subject: string, work: () => void): void
  lacking(): boolean
  takeNeeds(): PatternNeed[]
  know(set: PatternSet, item: Item, index: number): void
}

/** Creates a table of results that live as long as their items. */
export function createVerdicts(): Verdicts {
  const known = new WeakMap<Item, Map<string, number>>()
  let needs: PatternNeed[] = []
  let subject = ''

  return {
    evaluate(set, item) {
      const index = known.get(item)?.get(set.key)
      if (index === undefined) needs.push({ subject, set, item })
      return index ?? null
    },
    attribute(id, work) {
      subject = id
      try {
        work()
      } finally {
        subject = ''
      }
    },
    lacking: () => needs.length > 0,
    takeNeeds() {
      const taken = needs
      needs = []
      return taken
    },
    know(set, item, index) {
      const results = known.get(item)
      if (results === undefined) known.set(item, new Map([[set.key, index]]))
      else results.set(set.key, index)
    },
  }
}

/** Evaluates everything in this thread; see {@link evaluateDirectly}. */
export const DIRECT_VERDICTS: Verdicts = {
  evaluate: evaluateDirectly,
  attribute: (_, work) => work(),
  lacking: () => false,
  takeNeeds: () => [],
  know: () => {},
}
