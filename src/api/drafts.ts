import { Elysia, type HTTPHeaders } from 'elysia'
import * as z from 'zod'

import { sessionFields } from '../core/body-session.ts'
import { DRAFT_MS } from '../core/draft.ts'
import { ApiError, invalid } from '../core/errors.ts'
import { once } from '../core/once.ts'
import { invalidField } from '../core/session.ts'
import type { Db } from '../store/db.ts'
import { type Draft, DRAFTS_OPEN_MAX, findDraft, insertDraft, listDrafts } from '../store/drafts.ts'
import type { DraftDesk, Written } from './drafts-desk.ts'
import {
  approvalBody,
  draftBody,
  draftShapes,
  draftsQuery,
  toDraft,
  toDraftPage,
  toOperatorsDraft,
} from './drafts-shape.ts'
import type { Infra } from './infra.ts'
import { answers, refuses } from './openapi.ts'

const APPROVAL_MAX = 1024 * 1024
const tags = ['Drafts']

const accountBody = once(() => z.object({ account: z.string() }).strict())

type Deps = { db: Db; desk: DraftDesk }
type Set = { status?: number | string; headers: HTTPHeaders }

/** What the call that was made of a draft tells of itself. */
const TOLD = ['retry-after', 'x-credits-remaining']

/** Answers as the write was answered, where it was not done. */
function passOn({ status, headers, body }: Written, set: Set) {
  set.status = status
  for (const name of TOLD) {
    const value = headers.get(name)
    if (value !== null) set.headers[name] = value
  }
  return body
}

function found(db: Db, id: string, customer_id: string | null): Draft {
  const draft = findDraft(db, id, customer_id)
  if (draft !== null) return draft
  throw new ApiError('NOT_FOUND', { message: 'there is no such draft' })
}

/** The routes of a customer's drafts: what its programs want to write, and what it decides. */
export function drafts(infra: Infra, { db, desk }: Deps) {
  const { words, keyed, readJson, clock, random } = infra
  const ofSession = sessionFields(words)

  const show = (draft: Draft) => toDraft(draft, clock.now())

  return new Elysia({ name: 'drafts' })
    .use(keyed)
    .post(
      '/drafts',
      async ({ holder, customer, body: { action, body }, set }) => {
        const held = ofSession.find((field) => field in body)
        if (held !== undefined)
          throw invalidField(`body.${held}`, 'is not kept: whoever approves the draft sends it')
        const rehearsed = await desk.rehearse({ action, body }, holder)
        if (rehearsed.status !== 200) return passOn(rehearsed, set)
        const id = `drf_${random.uuid()}`
        const created_at = clock.now()
        const expires_at = created_at + DRAFT_MS
        const row = { id, action, body, created_at, expires_at }
        const written = insertDraft(db, { ...row, customer_id: customer.id, key_id: holder.key.id })
        if (!written)
          throw new ApiError('drafts_exhausted', {
            message: `${DRAFTS_OPEN_MAX} drafts wait already: approve or decline some of them first`,
            extra: { limit: DRAFTS_OPEN_MAX },
          })
        return show(found(db, id, customer.id))
      },
      {
        body: draftBody,
        detail: {
          summary: 'Propose a write that a person is to approve; it holds no session',
          tags,
          operationId: 'makeDraft',
          ...answers(() => draftShapes().draft),
          ...refuses('INVALID_FIELD', 'FEATURE_DISABLED', 'drafts_exhausted'),
        },
      },
    )
    .get(
      '/drafts',
      ({ customer, query: { status, cursor = null, limit } }) => {
        const wanted = { customer_id: customer.id, waiting: status === 'waiting', after_id: cursor }
        const rows = listDrafts(db, { ...wanted, now: clock.now(), limit: limit + 1 })
        return toDraftPage(rows, limit, show)
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
    .get('/drafts/:id', ({ customer, params: { id } }) => show(found(db, id, customer.id)), {
      detail: {
        summary: 'One draft, and what became of it',
        tags,
        operationId: 'findDraft',
        ...answers(() => draftShapes().draft),
        ...refuses('NOT_FOUND'),
      },
    })
    .post(
      '/drafts/:id/approve',
      async ({ holder, customer, params: { id }, request, set }) => {
        const draft = found(db, id, customer.id)
        const session = sessionOnly(await readJson(request, APPROVAL_MAX), ofSession)
        const written = await desk.approveAs(draft, session, holder)
        const answer = passOn(written, set)
        return written.status === 200 ? show(found(db, id, customer.id)) : answer
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
          ),
        },
      },
    )
    .post(
      '/drafts/:id/decline',
      ({ customer, params: { id } }) => {
        desk.decline(found(db, id, customer.id))
        return show(found(db, id, customer.id))
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

/** A session's fields and no other: nothing of what is written may be changed by who approves it. */
function sessionOnly(body: unknown, fields: readonly string[]): Record<string, unknown> {
  const given = z.record(z.string(), z.unknown()).safeParse(body)
  if (!given.success) throw invalid('body', 'body must be a JSON object')
  const other = Object.keys(given.data).find((name) => !fields.includes(name))
  if (other === undefined) return given.data
  throw invalid(other, `${other} is not a field of a session; allowed: ${fields.join(', ')}`)
}

/** The same for the operator: every customer's drafts, approved for an account of the pool. */
export function operatorDrafts({ readJson, clock }: Infra, { db, desk }: Deps) {
  const show = (draft: Draft) => toOperatorsDraft(draft, clock.now())

  return new Elysia({ name: 'operator drafts', prefix: '/operator', detail: { hide: true } })
    .get(
      '/drafts',
      ({ query: { status, cursor = null, limit } }) => {
        const wanted = { customer_id: null, waiting: status === 'waiting', after_id: cursor }
        const rows = listDrafts(db, { ...wanted, now: clock.now(), limit: limit + 1 })
        return toDraftPage(rows, limit, show)
      },
      { query: draftsQuery },
    )
    .get('/drafts/:id', ({ params: { id } }) => show(found(db, id, null)))
    .post('/drafts/:id/approve', async ({ params: { id }, request, set }) => {
      const draft = found(db, id, null)
      const named = accountBody().safeParse(await readJson(request, APPROVAL_MAX))
      if (!named.success)
        throw invalid('account', 'account is required: the name of an account of the pool')
      const written = await desk.approveFor(draft, named.data.account)
      const answer = passOn(written, set)
      return written.status === 200 ? show(found(db, id, null)) : answer
    })
    .post('/drafts/:id/decline', ({ params: { id } }) => {
      desk.decline(found(db, id, null))
      return show(found(db, id, null))
    })
}
