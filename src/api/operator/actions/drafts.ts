import * as z from 'zod'

import { DRAFT_HOURS } from '../../../core/forum/draft.ts'
import { findCustomer } from '../../../store/customers/customers.ts'
import { type Draft, listDrafts } from '../../../store/customers/drafts.ts'
import { forwardAnswer, requireDraft } from '../../drafts/routes.ts'
import { toDraft, toDraftPage } from '../../drafts/shapes.ts'
import { maybeOneOf, pageQuery } from '../../http/fields.ts'
import { action, type ActionDeps, type Call } from '../action.ts'

const EXAMPLE = 'drf_0199a000-0000-7000-8000-000000000001'
const ROW_TEXT_MAX = 60
const FIELD_MAX = 12_000

const toRow = ({ clock }: Pick<ActionDeps, 'clock'>, it: Draft) => ({
  ...toDraft(it, clock.now()),
  account: it.account,
})
type Row = ReturnType<typeof toRow>

const clipped = (value: unknown, max: number): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > max ? `${text.slice(0, max)}… (${text.length} characters)` : text
}

/** The draft as a card; a field may hold a picture, so it is shortened. */
const toCard = ({ id, action: act, customer, body, status, account, expires_at, answer }: Row) => ({
  id,
  action: act,
  customer: customer.name,
  ...Object.fromEntries(Object.entries(body).map(([name, it]) => [name, clipped(it, FIELD_MAX)])),
  status,
  account,
  expires_at,
  answer: answer && clipped(answer, FIELD_MAX),
})

type ListInput = { status?: 'waiting'; cursor?: string | null; limit: number }

const page = (call: Call<ListInput>) => {
  const { db, clock, input } = call
  const { status, cursor = null, limit } = input
  const wanted = { customer_id: null, waiting: status === 'waiting', after_id: cursor }
  const rows = listDrafts(db, { ...wanted, now: clock.now(), limit: limit + 1 })
  return toDraftPage(rows, limit, (it) => toRow(call, it))
}

export const draftList = action<ListInput>({
  command: 'draft list',
  summary: 'lists drafts of all customers, newest first',
  route: 'GET /drafts',
  operands: [],
  fields: () => ({
    status: maybeOneOf('status', ['waiting']).describe('waiting: those without a decision only'),
    ...pageQuery(),
  }),
  examples: ['forumd draft list --status waiting'],
  run: page,
  print: ({ drafts }: ReturnType<typeof page>) => ({
    rows: drafts.map(({ id, customer, action: act, status, body: { text, ...rest } }) => ({
      id,
      customer: customer.name,
      action: act,
      status,
      // The text before its place.
      what: clipped(JSON.stringify(text === undefined ? rest : { text, ...rest }), ROW_TEXT_MAX),
    })),
    none: 'There is no such draft.',
  }),
})

export const draftShow = action<{ id: string }>({
  command: 'draft show',
  summary: 'shows a draft in full',
  route: 'GET /drafts/:id',
  operands: ['id'],
  examples: [`forumd draft show ${EXAMPLE}`],
  run: (call) => toRow(call, requireDraft(call.db, call.input.id, null)),
  print: toCard,
})

/** Records the decision in its transaction. */
const recording =
  (
    { db, record }: Call<object>,
    what: 'draft.approved' | 'draft.declined',
    draft: Draft,
    account: string | null,
  ) =>
  () =>
    record({
      action: what,
      subject: draft.id,
      subject_name: draft.action,
      detail: { customer: findCustomer(db, draft.customer_id)?.name ?? null, account },
    })

const ACCOUNT_RULE =
  'account is required: the name of an account of the pool, or of the source of the draft'

export const draftApprove = action<{ id: string; account: string }>({
  command: 'draft approve',
  summary: 'writes a draft as an account of the operator',
  route: 'POST /drafts/:id/approve',
  operands: ['id', 'account'],
  needs_daemon: true,
  fields: () => ({ account: z.string(ACCOUNT_RULE) }),
  examples: [`forumd draft approve ${EXAMPLE} main`],
  notes: `The running daemon writes it once and bills its customer. ACCOUNT is an account of the pool, or the source of the draft. A draft expires after ${DRAFT_HOURS} hours.`,
  async run(call) {
    const { db, drafts, input, set } = call
    const { id, account } = input
    const draft = requireDraft(db, id, null)
    const note = recording(call, 'draft.approved', draft, account)
    const written = await drafts.approveFor(draft, account, note)
    const refused = forwardAnswer(written, set)
    return written.status === 200 ? toRow(call, requireDraft(db, id, null)) : refused
  },
  print: ({ id, account }: Row) => `${id} is written as ${account}`,
})

export const draftDecline = action<{ id: string }>({
  command: 'draft decline',
  summary: 'declines a draft: it is not written',
  route: 'POST /drafts/:id/decline',
  operands: ['id'],
  examples: [`forumd draft decline ${EXAMPLE}`],
  run(call) {
    const draft = requireDraft(call.db, call.input.id, null)
    call.drafts.decline(draft, recording(call, 'draft.declined', draft, null))
    return toRow(call, requireDraft(call.db, draft.id, null))
  },
  print: ({ id }: Row) => `${id} is declined`,
})
