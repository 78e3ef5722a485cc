import { Elysia } from 'elysia'
import * as z from 'zod'

import { type Refusal, REFUSALS } from '../core/address.ts'
import type { TestReport } from '../core/delivery-test.ts'
import { ApiError, invalid } from '../core/errors.ts'
import {
  isChat,
  KIND_FORMS,
  kindOfUrl,
  WEBHOOK_KINDS,
  type WebhookKind,
} from '../core/webhook-kind.ts'
import type { Db } from '../store/db.ts'
import { deleteWebhook, findWebhook, insertWebhook, listWebhooks } from '../store/webhooks.ts'
import { checkMailTargets, settleMailto } from './confirm-bounds.ts'
import { closed, idIn } from './fields.ts'
import type { Infra } from './infra.ts'
import type { Checked } from './late.ts'
import { answers, refuses } from './openapi.ts'
import { atBothPlaces } from './places.ts'
import { edits, newSecret } from './webhooks-edit.ts'
import { absent, namedBody, shapes, toWebhook } from './webhooks-shape.ts'

export type WebhookDeps = {
  db: Db
  sealSecret: (webhook_id: string, secret: string) => Uint8Array
  /** Whether an address may be a target; null when it may. Asks the resolver. */
  checkTarget: (url: string) => Promise<Refusal | null>
  /** Sends a test delivery; null when the customer has no such target. */
  testTarget: (customer_id: string, webhook_id: string) => Promise<TestReport | null>
  /** Whether a mail server is named, so that there can be targets of kind email. */
  mails?: boolean
  /** Called after a target is gone, and with it what waited for it. */
  nudge: () => void
}

const WEBHOOKS_MAX = 1000

const createBody = closed(() => ({
  kind: z
    .enum(WEBHOOK_KINDS, { error: `kind must be one of ${WEBHOOK_KINDS.join(', ')}` })
    .optional(),
  url: z.string({
    error: ({ input }) => (input === undefined ? 'url is required' : 'url must be text'),
  }),
}))

/** Targets: create, list, update, rotate, test, delete, under both places where monitoring answers. */
export const webhooks = (infra: Infra, deps: WebhookDeps) =>
  atBothPlaces(infra.words, (place) => group(`${place}/webhook`, infra, deps))

const group = (prefix: string, infra: Infra, deps: WebhookDeps) =>
  new Elysia({ name: `webhooks ${prefix}`, prefix })
    .use(infra.keyed)
    .use(edits(prefix, infra, deps))
    .post('/create', ({ customer, body }) => create(infra, deps, customer.id, body), {
      body: createBody,
      detail: {
        summary: 'Register a target; its secret is shown this once',
        tags: ['Monitoring'],
        description:
          'Kind email takes mailto: and one address, is active once its reader has followed the link in the confirmation mail, and answers with confirmation: sent, or why it was not; a test sends it again.',
        ...refuses('webhook_url_rejected', 'webhook_kind_mismatch', 'email_not_configured'),
        ...answers(() => shapes().created),
      },
    })
    .get(
      '/list',
      ({ customer }) => ({ webhooks: listWebhooks(deps.db, customer.id).map(toWebhook) }),
      {
        detail: {
          summary: 'Your targets, without their secrets',
          tags: ['Monitoring'],
          ...answers(() => shapes().list),
        },
      },
    )
    .post(
      '/test',
      async ({ customer, body }) => {
        const report = await deps.testTarget(customer.id, idIn(body, 'webhook_id'))
        if (!report) throw absent()
        return report
      },
      {
        body: namedBody,
        detail: {
          summary: 'Send a test delivery, signed like a real one',
          tags: ['Monitoring'],
          ...answers(() => shapes().report),
        },
      },
    )
    .post(
      '/delete',
      ({ customer, body }) => {
        const id = idIn(body, 'webhook_id')
        if (!deleteWebhook(deps.db, customer.id, id, infra.clock.now())) throw absent()
        deps.nudge()
        return { deleted: true, id }
      },
      {
        body: namedBody,
        detail: {
          summary: 'Remove a target; what waits for it is given up',
          tags: ['Monitoring'],
          ...answers(() => shapes().deleted),
        },
      },
    )

async function create(
  { clock, random }: Infra,
  deps: WebhookDeps,
  customer_id: string,
  body: Checked<typeof createBody>,
) {
  const { db, sealSecret } = deps
  const { kind, url, inferred_from } = await settleKind(body, deps)
  if (listWebhooks(db, customer_id).length >= WEBHOOKS_MAX)
    throw invalid(
      'url',
      `url: there are ${WEBHOOKS_MAX} webhooks, which is all that is allowed; delete one first`,
    )

  const email = kind === 'email'
  if (email) checkMailTargets(db, { customer_id, url, now: clock.now() })

  // Made before anything is written: an answer that is lost after the commit leaves a target that can be deleted.
  const id = `wh_${random.uuid()}`
  const secret = newSecret(random)
  insertWebhook(db, {
    id,
    customer_id,
    kind,
    url,
    secret: sealSecret(id, secret),
    created_at: clock.now(),
    awaits_confirmation: email,
  })
  const webhook = findWebhook(db, customer_id, id)
  if (!webhook) throw new Error('a webhook that was just written is not there')
  const shown = { ...toWebhook(webhook), secret, kind_inferred_from: inferred_from }
  if (!email) return shown
  const report = await deps.testTarget(customer_id, id)
  return { ...shown, confirmation: report?.reason ?? 'sent' }
}

/** The kind a new target is of, once its address has been found fit to be one. */
async function settleKind(
  { kind, url }: Checked<typeof createBody>,
  { checkTarget, mails }: WebhookDeps,
): Promise<{ kind: WebhookKind; url: string; inferred_from: string | null }> {
  const of_url = URL.canParse(url) ? kindOfUrl(new URL(url)) : null
  if (kind === 'email' || (kind === undefined && of_url === 'email')) {
    if (mails === true) return { kind: 'email', url: settleMailto(url), inferred_from: null }
    throw new ApiError('email_not_configured', {
      field: kind === undefined ? 'url' : 'kind',
      message:
        'kind email needs [smtp], which this server does not have; use webhook, slack or discord',
    })
  }

  const refusal = await checkTarget(url)
  if (refusal)
    throw new ApiError('webhook_url_rejected', {
      field: 'url',
      message: `url ${REFUSALS[refusal]}`,
      extra: { reason: refusal },
    })
  if (kind !== undefined && kind !== of_url)
    throw new ApiError('webhook_kind_mismatch', {
      field: 'kind',
      message: `kind ${kind} takes ${KIND_FORMS[kind]}`,
    })
  const told = kind === undefined && of_url !== null && isChat(of_url)
  return { kind: of_url ?? 'webhook', url, inferred_from: told ? new URL(url).hostname : null }
}
