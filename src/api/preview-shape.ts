import * as z from 'zod'

import { STREAM_KINDS } from '../core/stream.ts'
import { worded, type Words } from '../core/wire.ts'

const text = () => z.string()
const count = () => z.int()

/** One condition's verdict on one item, as preview and why show it. */
export const criteriaShape = () =>
  z
    .array(
      z.object({
        criterion: text(),
        verdict: z.enum(['met', 'not_met', 'later', 'withheld']),
        detail: text().meta({ description: 'What of the item was looked at.' }),
      }),
    )
    .meta({ description: 'Every condition of the filter, in the order in which they are asked.' })

/** What a preview answers with, for the document. */
export const previewShape = (words: Words) =>
  z.object({
    filter_spec: z.looseObject({}),
    matches: z.array(z.looseObject({})).meta({ description: 'As a webhook would get them.' }),
    matched: count(),
    low_relevance: count().meta({ description: 'Matches below min_relevance.' }),
    not_yet: count().meta({ description: 'Below min_score or min_comments as yet.' }),
    scanned: count(),
    truncated: z.boolean().meta({ description: 'There were more items than could be looked at.' }),
    terms: z.array(
      z.object({ term: text(), role: z.enum(['wanted', 'excluded']), items: count() }),
    ),
    criteria: z
      .array(z.object({ criterion: text(), left: count() }))
      .meta({ description: 'Items left after each condition.' }),
    estimate_per_day: z.number().nullable().meta({ description: 'Null: nothing to tell it from.' }),
    feeds: z.array(
      z.looseObject(
        worded(words, {
          kind: z.enum(STREAM_KINDS),
          subforums: z.array(text()).nullable(),
          query: text().nullable(),
          place: text().nullable().meta({ description: 'A thread, or an author.' }),
          scanned: count().nullable(),
          matched: count().nullable(),
          oldest: text().nullable().meta({ format: 'date-time' }),
          error: text().nullable().meta({ description: 'Why this feed could not be read.' }),
        }),
      ),
    ),
    feeds_left_out: count().meta({
      description: 'Searches, threads and authors beyond those that were looked at.',
    }),
    item: z
      .object({
        item_id: text(),
        in_feeds: z.boolean(),
        verdict: z.enum(['matches', 'does_not_match', 'not_yet', 'withheld']),
        criteria: criteriaShape(),
        row: z.looseObject({}),
      })
      .nullable(),
  })
