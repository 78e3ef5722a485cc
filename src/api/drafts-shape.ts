import * as z from 'zod'

import { DRAFT_ACTIONS, DRAFT_STATUSES, statusOf } from '../core/draft.ts'
import { iso } from '../core/instant.ts'
import { once } from '../core/once.ts'
import { SESSION_PARTS, sessionField } from '../core/session.ts'
import type { Words } from '../core/wire.ts'
import type { Draft } from '../store/drafts.ts'
import { closed, maybeOneOf, query } from './fields.ts'
import { besideShape, pageOf, pageQuery } from './pages.ts'

const BODY = "body must be an object: the write's own fields"

/** A new draft: what is to be done, and the fields that the write itself would have. */
export const draftBody = closed(() => ({
  action: z.enum(DRAFT_ACTIONS, {
    error: ({ input }) =>
      `action ${input === undefined ? 'is required: ' : 'must be '}one of ${DRAFT_ACTIONS.join(', ')}`,
  }),
  body: z.record(z.string(), z.unknown(), {
    error: ({ input }) => (input === undefined ? 'body is required' : BODY),
  }),
}))

/** Which drafts are listed. */
export const draftsQuery = query(() => ({
  status: maybeOneOf('status', ['waiting']),
  ...pageQuery('drf'),
}))

/** A draft as its customer sees it. */
export const toDraft = (it: Draft, now: number) => ({
  id: it.id,
  action: it.action,
  body: it.body,
  status: statusOf(it, now),
  created_at: iso(it.created_at),
  expires_at: iso(it.expires_at),
  decided_at: iso(it.decided_at),
  customer: { id: it.customer_id, name: it.customer_name },
  answer: it.answer,
})

/** The same as the operator sees it: with the account of the pool that it was approved for. */
export const toOperatorsDraft = (it: Draft, now: number) => ({
  ...toDraft(it, now),
  account: it.account,
})

/** A page of drafts, as `show` shows each. */
export function toDraftPage<S>(rows: readonly Draft[], rows_max: number, show: (it: Draft) => S) {
  const { shown, beside } = pageOf(rows, rows_max)
  return { drafts: shown.map(show), ...beside }
}

/** What the document says of an approval's body, which is read after its draft was found. */
export function approvalBody(words: Words) {
  const parts = SESSION_PARTS.map((part) => sessionField(words, part))
  return {
    required: true,
    content: {
      'application/json': {
        schema: {
          type: 'object' as const,
          properties: {
            ...Object.fromEntries(
              parts.map((name) => [
                name,
                { type: 'string' as const, description: `The cookie ${name} of your own account.` },
              ]),
            ),
            cookies: { type: 'object' as const, additionalProperties: { type: 'string' as const } },
            proxy: { description: 'The way out of this write.' },
          },
          required: [words.session, 'loid'],
          additionalProperties: false,
        },
        example: { [words.session]: 'eyJhbGciOi…', loid: '0000000000000abc12.2.1600000000000' },
      },
    },
  }
}

// For the document alone.
/** The answers of the drafts, as zod schemas; made at the first call. */
export const draftShapes = once(() => {
  const instant = z.iso.datetime()
  const open = z.record(z.string(), z.unknown())
  const draft = z.object({
    id: z.string(),
    action: z.enum(DRAFT_ACTIONS),
    body: open,
    status: z.enum(DRAFT_STATUSES),
    created_at: instant,
    expires_at: instant,
    decided_at: instant.nullable(),
    customer: z.object({ id: z.string(), name: z.string() }),
    answer: open
      .nullable()
      .meta({ description: 'What the platform call was answered with; null before it.' }),
  })
  return { draft, page: z.object({ drafts: z.array(draft), ...besideShape() }) }
})
