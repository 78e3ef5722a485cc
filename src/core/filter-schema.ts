import * as z from 'zod'

import {
  KINDS,
  NAMES_MAX,
  Q_LENGTH_MAX,
  SEARCHED,
  TERM_LENGTH_MAX,
  TERMS_MAX,
} from './filter-fields.ts'
import { SEARCH_FIELDS } from './filter-text.ts'
import type { Words } from './wire.ts'

/** The schema of a filter_spec for the interface's document; `parseFilterSpec` decides. */
export function filterSchema(words: Words) {
  const terms = z.array(z.string().min(1).max(TERM_LENGTH_MAX)).max(TERMS_MAX).optional()
  return z
    .strictObject({
      [words.community]: z
        .union([z.string(), z.array(z.string()).min(1).max(NAMES_MAX)])
        .optional()
        .describe(
          `Names, prefix and case ignored. Absent: the whole platform, posts only, with a keyword.`,
        ),
      kind: z.enum(KINDS).default('post').describe('What is watched.'),
      q: z
        .string()
        .min(1)
        .max(Q_LENGTH_MAX)
        .optional()
        .describe('A phrase, or a boolean query: ("rate limit" OR throttl*) AND -hiring title:bun'),
      include_any: terms.describe('At least one of these occurs.'),
      include_all: terms.describe('Every one of these occurs.'),
      exclude_terms: terms.describe('None of these occurs. Exclusions win.'),
      search_in: z
        .array(z.enum(SEARCH_FIELDS))
        .min(1)
        .default([...SEARCHED])
        .describe("Where terms are looked for; on a comment, title is its thread's title."),
    })
    .describe('What a monitor matches. Between fields AND; at least one place or keyword.')
}
