import { Elysia, type HTTPHeaders } from 'elysia'
import * as z from 'zod'

import { ApiError, invalid } from '../../core/base/errors.ts'
import { sessionFields } from '../../core/forum/body-session.ts'
import { DRAFT_MS } from '../../core/forum/draft.ts'
import { invalidField } from '../../core/forum/session.ts'
import {
  type Draft,
  DRAFTS_OPEN_MAX,
  findDraft,
  insertDraft,
  listDrafts,
} from '../../store/customers/drafts.ts'
import type { Db } from '../../store/db/connection.ts'
import type { RouteContext } from '../context.ts'
import { answers, refuses } from '../openapi/route-docs.ts'
import type { DraftExecutor, Written } from './executor.ts'
import {
  approvalBody,
  draftBody,
  draftShapes,
  draftsQuery,
  toDraft,
  toDraftPage,
} from './shapes.ts'

const APPROVAL_MAX = 1024 * 1024
const tags = ['Drafts']

type Deps = { db: Db; executor: DraftExecutor }
type Set = { status?: number | string; headers: HTTPHeaders }

/** Says that MCP may ask the person at the client for approval of the new draft. */
const APPROVAL_HEADER = 'x-draft-approval'

/** Headers of the write's answer that are passed on. */
const FORWARDED_HEADERS = ['retry-after', 'x-credits-remaining']

/** Passes on the answer of a write that was not made. */
export function forwardAnswer({ status, headers, body }: Written, set: Set) {
  set.status = status
  for (const name of FORWARDED_HEADERS) {
    const value = headers.get(name)
    if (value !== null) set.headers[name] = value
  }
  return body
}

export function requireDraft(db: Db, id: string, customer_id: string | null): Draft {
  const draft = findDraft(db, id, customer_id)
  if (draft !== null) return draft
  throw new ApiError('NOT_FOUND', { message: `there is no draft "${id.slice(0, 80)}"` })
}

export function drafts(context: RouteContext, { db, executor }: Deps) {
  const { words, keyed, readJson, clock, random } = context
  const session_fields = sessionFields(words)

  const toRow = (draft: Draft) => toDraft(draft, clock.now())

  return new Elysia({ name: 'drafts' })
    .use(keyed)
    .post(
      '/drafts',
      async ({ holder, customer, body: { action, body, ...to }, set }) => {
        const session_field = session_fields.find((field) => field in body)
        if (session_field !== undefined)
          throw invalidField(
            `body.${session_field}`,
            'is not stored in a draft: send it with the approval',
          )
        const source = to.source === undefined || to.source === words.home ? null : to.source
        const outcome = await executor.dryRun({ action, body, source }, holder)
        if (outcome.status !== 200) return forwardAnswer(outcome, set)
        const id = `drf_${random.uuid()}`
        const created_at = clock.now()
        const expires_at = created_at + DRAFT_MS
        const row = { id, action, body, source, created_at, expires_at }
        const written = insertDraft(db, { ...row, customer_id: customer.id, key_id: holder.key.id })
        if (!written)
          throw new ApiError('drafts_exhausted', {
            message: `${DRAFTS_OPEN_MAX} drafts are waiting: approve or decline some of them first`,
            extra: { limit: DRAFTS_OPEN_MAX },
          })
        if (holder.key.scopes.includes('approve')) set.headers[APPROVAL_HEADER] = 'elicitation'
        return toRow(requireDraft(db, id, customer.id))
      },
      {
        body: draftBody,
        detail: {
          summary: 'Create a draft of a write for a person to approve; it holds no session',
          tags,
          operationId: 'makeDraft',
          ...answers(() => draftShapes().draft),
          ...refuses(
            'INVALID_FIELD',
            'FEATURE_DISABLED',
            'drafts_exhausted',
            'NOT_SUPPORTED_BY_SOURCE',
          ),
        },
      },
    )
    .get(
      '/drafts',
      ({ customer, query: { status, cursor = null, limit } }) => {
        const wanted = { customer_id: customer.id, waiting: status === 'waiting', after_id: cursor }
        const rows = listDrafts(db, { ...wanted, now: clock.now(), limit: limit + 1 })
        return toDraftPage(rows, limit, toRow)
      },
      {
        query: draftsQuery,
        detail: {
          summary: 'Your drafts, newest first',
          tags,
          operationId: 'listDrafts',
          ...answers(() => draftShapes().page),
        },
      },
    )
    .get(
      '/drafts/:id',
      ({ customer, params: { id } }) => toRow(requireDraft(db, id, customer.id)),
      {
        detail: {
          summary: 'One draft and its outcome',
          tags,
          operationId: 'findDraft',
          ...answers(() => draftShapes().draft),
          ...refuses('NOT_FOUND'),
        },
      },
    )
    .post(
      '/drafts/:id/approve',
      async ({ holder, customer, params: { id }, request, set }) => {
        const draft = requireDraft(db, id, customer.id)
        const session = sessionOnly(await readJson(request, APPROVAL_MAX), session_fields)
        const written = await executor.approveAs(draft, session, holder)
        const answer = forwardAnswer(written, set)
        return written.status === 200 ? toRow(requireDraft(db, id, customer.id)) : answer
      },
      {
        detail: {
          summary: 'Approve a draft: it is written once, as the account whose session you send',
          tags,
          operationId: 'approveDraft',
          requestBody: approvalBody(words),
          ...answers(() => draftShapes().draft),
          ...refuses(
            'INVALID_REQUEST',
            'INVALID_FIELD',
            'SESSION_REQUIRED',
            'INCOMPLETE_SESSION',
            'INVALID_PROXY',
            'BODY_TOO_LARGE',
            'insufficient_credits',
            'REAUTH_REQUIRED',
            'PERMISSION_DENIED',
            'BANNED_FROM_SUBFORUM',
            'FEATURE_DISABLED',
            'NOT_FOUND',
            'THREAD_LOCKED',
            'ARCHIVED',
            'draft_not_waiting',
            'upstream_timeout',
            'upstream_unavailable',
            'FORUM_REJECTED',
            'FORUM_RATELIMIT',
            'UPSTREAM_BLOCKED',
            'PROXY_ERROR',
            'OUTCOME_UNKNOWN',
            'NOT_SUPPORTED_BY_SOURCE',
          ),
        },
      },
    )
    .post(
      '/drafts/:id/decline',
      ({ customer, params: { id } }) => {
        executor.decline(requireDraft(db, id, customer.id))
        return toRow(requireDraft(db, id, customer.id))
      },
      {
        detail: {
          summary: 'Decline a draft: it is not written',
          tags,
          operationId: 'declineDraft',
          ...answers(() => draftShapes().draft),
          ...refuses('NOT_FOUND', 'draft_not_waiting'),
        },
      },
    )
}

/** Accepts the fields of a session only: an approver must not change the content. */
function sessionOnly(body: unknown, fields: readonly string[]): Record<string, unknown> {
  const given = z.record(z.string(), z.unknown()).safeParse(body)
  if (!given.success) throw invalid('body', 'body must be a JSON object')
  const other = Object.keys(given.data).find((name) => !fields.includes(name))
  if (other === undefined) return given.data
  throw invalid(other, `${other} is not a field of a session; allowed: ${fields.join(', ')}`)
}
