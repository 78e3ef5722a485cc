import * as z from 'zod'

import { once } from '../base/lazy.ts'

// Rules by which a monitor has its matches judged by the operator's model before they are delivered.

/** Consequence for a match that cannot be judged: it is delivered without a verdict, or held and judged later. */
const WHEN_DOWN = ['deliver', 'hold'] as const

const PROMPT_MAX = 2000
const MIN_SCORE = 0.5

const promptSentence = `relevance.prompt must be text of 1 to ${PROMPT_MAX} characters that says what is relevant`
const scoreSentence = 'relevance.min_score must be a number from 0 to 1'
const downSentence = `relevance.when_down must be one of ${WHEN_DOWN.join(', ')}`

const shape = once(() => ({
  prompt: z
    .string({ error: promptSentence })
    .trim()
    .min(1, promptSentence)
    .max(PROMPT_MAX, promptSentence)
    .describe('Describes to the model which items are relevant.'),
  min_score: z
    .number({ error: scoreSentence })
    .min(0, scoreSentence)
    .max(1, scoreSentence)
    .default(MIN_SCORE)
    .describe('Matches with a lower score are suppressed as irrelevant.'),
  when_down: z
    .enum(WHEN_DOWN, { error: downSentence })
    .default('deliver')
    .describe(
      'While the model cannot judge, or a limit of the day is reached: deliver without a verdict, or hold until there is one.',
    ),
}))

/** Schema of the field `relevance` of a monitor; defaults are filled in. */
export const relevanceSchema = once(() =>
  z
    .strictObject(shape(), {
      error: (issue) =>
        issue.code === 'unrecognized_keys'
          ? `relevance does not have the field ${issue.keys.join(', ')}; allowed: ${Object.keys(shape()).join(', ')}`
          : 'relevance must be an object or null',
    })
    .meta({ title: 'Relevance' }),
)

export type RelevanceRules = z.output<ReturnType<typeof relevanceSchema>>

/** Parses stored rules, which were validated before they were stored. */
export const readRelevance = (text: string | null): RelevanceRules | null =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- encodeRelevance wrote it
  text === null ? null : (JSON.parse(text) as RelevanceRules)

/** Stored text of relevance rules; null: none. */
export const encodeRelevance = (rules: RelevanceRules | null): string | null =>
  rules === null ? null : JSON.stringify(rules)
