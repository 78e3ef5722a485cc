import * as z from 'zod'

import {
  KINDS,
  LABEL_LENGTH_MAX,
  MATCHES,
  NAMES_MAX,
  POST_TYPES,
  Q_LENGTH_MAX,
  SEARCHED,
  TERM_LENGTH_MAX,
  TERMS_MAX,
  WINDOW_MAX_S,
} from './filter-fields.ts'
import { SEARCH_FIELDS } from './filter-text.ts'
import { INTENTS } from './intent.ts'
import { LANGUAGE_CODES } from './language.ts'
import { PATTERN_LENGTH_MAX, PATTERNS_MAX } from './regex.ts'
import { SENTIMENT_LABELS } from './sentiment.ts'
import type { Words } from './wire.ts'

const oneOrMany = (it: z.ZodType, least: 0 | 1 = 1) =>
  z.union([it, z.array(it).min(least).max(NAMES_MAX)]).optional()

/** The schema of a filter_spec for the interface's document; `parseFilterSpec` decides. */
export function filterSchema(words: Words) {
  const terms = z.array(z.string().min(1).max(TERM_LENGTH_MAX)).max(TERMS_MAX).optional()
  const texts = oneOrMany(z.string())
  const unwanted = oneOrMany(z.string(), 0)
  const flag = z.boolean().optional()
  const count = z.int().optional()
  return z
    .strictObject({
      [words.community]: texts.describe(
        'Names, prefix and case ignored. Without it, author and thread: the whole platform, posts only, with a keyword.',
      ),
      [words.exclude_communities]: unwanted.describe('Not in these; the whole platform only.'),
      kind: z
        .enum(KINDS)
        .default('post')
        .describe('What is watched; beside thread, comment is usual.'),
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
        .union([z.enum(SEARCH_FIELDS), z.array(z.enum(SEARCH_FIELDS)).min(1)])
        .default([...SEARCHED])
        .describe(
          "Where terms and patterns are looked for; on a comment, title is its thread's title.",
        ),
      match: z.enum(MATCHES).default('word').describe('Whole words, or parts of them too.'),
      fold_accents: z.boolean().default(false).describe('cafe is café, and the other way round.'),
      case_sensitive: z.boolean().default(false),
      regex: z
        .array(z.string().min(1).max(PATTERN_LENGTH_MAX))
        .max(PATTERNS_MAX)
        .optional()
        .describe("Any of these patterns matches; RE2's syntax."),
      author: texts.describe('By one of these.'),
      exclude_authors: unwanted.describe('By none of these.'),
      thread: texts.describe('Comments under these posts, by id.'),
      domain: texts.describe('Leads to one of these hosts, or to a host below it.'),
      exclude_domains: unwanted.describe('Leads to none of these.'),
      flair: texts.describe("One of these is the post's flair, whole; case ignored."),
      exclude_flair: unwanted.describe('None of these is.'),
      has_flair: flag,
      post_type: oneOrMany(z.enum(POST_TYPES)),
      nsfw: flag.describe('True: adult content only. False: none of it, as far as the feed tells.'),
      min_score: count.describe('Reached while the item is fresh.'),
      min_comments: count.describe('Reached while the post is fresh.'),
      min_relevance: z
        .int()
        .min(0)
        .max(100)
        .optional()
        .describe('Of relevance.score × 100; what is below is shown as suppressed.'),
      intent: oneOrMany(z.enum(INTENTS)),
      sentiment: oneOrMany(z.enum(SENTIMENT_LABELS)),
      language: oneOrMany(z.enum(LANGUAGE_CODES)).describe(
        'ISO 639-1; what nobody can tell matches none.',
      ),
      group: z
        .union([z.boolean(), z.string().min(1).max(LABEL_LENGTH_MAX)])
        .optional()
        .describe('Matches of one check travel together; a label names the bundle.'),
      group_window_s: z
        .int()
        .min(0)
        .max(WINDOW_MAX_S)
        .optional()
        .describe('Collects for longer than one check.'),
    })
    .describe('What a monitor matches. Between fields AND; at least one place or keyword.')
}
