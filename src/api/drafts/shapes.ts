import * as z from 'zod'

import { once } from '../../core/base/lazy.ts'
import { iso } from '../../core/base/time.ts'
import { DRAFT_ACTIONS, DRAFT_STATUSES, statusOf } from '../../core/forum/draft.ts'
import type { Naming } from '../../core/forum/naming.ts'
import { SESSION_PARTS, sessionField } from '../../core/forum/session.ts'
import type { Draft } from '../../store/customers/drafts.ts'
import {
  bodySchema,
  maybeOneOf,
  pageOf,
  pageQuery,
  pagingShape,
  querySchema,
} from '../http/fields.ts'
import { sessionFieldText } from '../writes/context.ts'

const SOURCE_MAX = 31
const BODY = "body must be an object: the write's own fields"
const BODY_TEXT = 'Fields of the proposed write, without a session.'

export const draftBody = bodySchema(() => ({
  action: z.enum(DRAFT_ACTIONS, {
    error: ({ input }) =>
      `action ${input === undefined ? 'is required: ' : 'must be '}one of ${DRAFT_ACTIONS.join(', ')}`,
  }),
  body: z
    .record(z.string(), z.unknown(), {
      error: ({ input }) => (input === undefined ? 'body is required' : BODY),
    })
    .describe(BODY_TEXT),
  source: z
    .string({ error: 'source must be the name of a source' })
    .max(SOURCE_MAX, `source must have at most ${SOURCE_MAX} characters`)
    .nullish()
    .describe('Name of the source to act on; absent or null: the source of the accounts.'),
}))

export const draftsQuery = querySchema(() => ({
  status: maybeOneOf('status', ['waiting']),
  ...pageQuery(),
}))

export const toDraft = (it: Draft, now: number) => ({
  id: it.id,
  action: it.action,
  body: it.body,
  source: it.source,
  status: statusOf(it, now),
  created_at: iso(it.created_at),
  expires_at: iso(it.expires_at),
  decided_at: iso(it.decided_at),
  customer: { id: it.customer_id, name: it.customer_name },
  answer: it.answer,
})

export function toDraftPage<S>(rows: readonly Draft[], rows_max: number, toRow: (it: Draft) => S) {
  const { page, paging } = pageOf(rows, rows_max)
  return { drafts: page.map(toRow), ...paging }
}

/** Documentation of an approval's body, which is read after its draft was found. */
export function approvalBody(words: Naming) {
  return {
    required: true,
    content: {
      'application/json': {
        schema: {
          type: 'object' as const,
          properties: {
            ...Object.fromEntries(
              SESSION_PARTS.map((part) => [
                sessionField(words, part),
                { type: 'string' as const, description: sessionFieldText(words, part) },
              ]),
            ),
            cookies: { type: 'object' as const, additionalProperties: { type: 'string' as const } },
            proxy: { description: 'Egress proxy of this write.' },
          },
          required: [words.session],
          additionalProperties: false,
        },
        example: { [words.session]: 'eyJhbGciOi…', loid: '0000000000000abc12.2.1600000000000' },
      },
    },
  }
}

// Used by the OpenAPI document only.
/** Response schemas of drafts, created at the first call. */
export const draftShapes = once(() => {
  const instant = z.iso.datetime()
  const open = z.record(z.string(), z.unknown())
  const draft = z
    .object({
      id: z.string(),
      action: z.enum(DRAFT_ACTIONS),
      body: open.describe(BODY_TEXT),
      source: z
        .string()
        .nullable()
        .describe('Source that it acts on; null: the source of the accounts.'),
      status: z.enum(DRAFT_STATUSES),
      created_at: instant,
      expires_at: instant,
      decided_at: instant.nullable(),
      customer: z.object({ id: z.string(), name: z.string() }),
      answer: open.nullable().describe('Answer of the write; null before it was made.'),
    })
    .meta({ title: 'Draft' })
  return { draft, page: z.object({ drafts: z.array(draft), ...pagingShape() }) }
})
