import { Elysia } from 'elysia'
import * as z from 'zod'

import { type AddressRefusal, guardLines, REFUSALS } from '../../core/base/address.ts'
import { ApiError, invalid } from '../../core/base/errors.ts'
import { iso } from '../../core/base/time.ts'
import type { Credentials } from '../../core/delivery/credentials.ts'
import type { TestReport } from '../../core/delivery/retry.ts'
import { newTargetSecret, toPublicKey, withSigningKey } from '../../core/delivery/signature.ts'
import { dialable } from '../../core/delivery/target.ts'
import {
  addressForm,
  checkCredentials,
  fits,
  kindOf,
  kindOfUrl,
  type ReadTarget,
  readTarget,
  WEBHOOK_KINDS,
} from '../../delivery/kinds.ts'
import type { Db } from '../../store/db/connection.ts'
import { webhookHealth } from '../../store/delivery/health.ts'
import { awaitsConfirmation } from '../../store/delivery/targets.ts'
import {
  deleteWebhook,
  findWebhook,
  insertWebhook,
  listWebhooks,
  rotateSecret,
  updateWebhook,
} from '../../store/delivery/webhooks.ts'
import type { RouteContext } from '../context.ts'
import { bodySchema, idIn, type SchemaOutput } from '../http/fields.ts'
import { answers, refuses } from '../openapi/route-docs.ts'
import { countConfirmationMail, normaliseMailto } from './mail-consent.ts'
import {
  absent,
  checkSigned,
  credentialFields,
  eventsField,
  eventsOf,
  ids,
  namedBody,
  nameField,
  shapes,
  signaturesField,
  toHealth,
  toWebhook,
  truth,
} from './shapes.ts'

const SECRET_BYTES = 32
const PER_SECOND_MIN = 0.01
const PER_SECOND_MAX = 1000
const OVERLAP_MAX_S = 86_400

const PER_SECOND = `max_per_second must be a number from ${PER_SECOND_MIN} to ${PER_SECOND_MAX}, or null for no bound`
const OVERLAP = `overlap_s must be a whole number from 0 to ${OVERLAP_MAX_S}`

const urlField = () => z.string({ error: 'url must be text' })

export const updateBody = bodySchema(() => ({
  ...ids(),
  url: urlField().optional(),
  ...credentialFields(),
  name: nameField(),
  active: truth('active'),
  max_per_second: z
    .number({ error: PER_SECOND })
    .min(PER_SECOND_MIN, PER_SECOND)
    .max(PER_SECOND_MAX, PER_SECOND)
    .nullable()
    .optional(),
  ordered: truth('ordered'),
  signatures: signaturesField(),
  events: eventsField(),
}))

const rotateBody = bodySchema(() => ({
  ...ids(),
  overlap_s: z.int({ error: OVERLAP }).min(0, OVERLAP).max(OVERLAP_MAX_S, OVERLAP).default(0),
}))

const edits = (context: RouteContext, deps: WebhookDeps) => {
  const { db, sealSecret, openSecret, sealCredentials, nudge } = deps
  return new Elysia({ name: 'webhook edits' })
    .use(context.keyed)
    .post(
      '/update',
      async ({ customer, body: { id, webhook_id, token, username, signatures, ...edit } }) => {
        const wanted = idIn({ id, webhook_id }, 'webhook_id')
        const before = findWebhook(db, customer.id, wanted)
        if (!before) throw absent()
        checkSigned(before.kind, signatures)
        const is_asymmetric = signatures?.includes('v1a') ?? before.public_key !== null
        const { url = before.url, credentials } =
          edit.url === undefined || edit.url === before.url
            ? { credentials: newCredentials(before, { token, username }) }
            : await newAddress({ kind: before.kind, url: edit.url, token, username }, deps)
        const events = edit.events && eventsOf(before.kind, edit.events)
        const sealed = credentials && sealCredentials(wanted, credentials)
        const webhook = updateWebhook(db, customer.id, wanted, {
          ...edit,
          events,
          url,
          credentials: sealed,
          ...(is_asymmetric !== (before.public_key !== null) && {
            signing: {
              reseal(secret: Uint8Array) {
                const seed = is_asymmetric ? context.random.bytes(SECRET_BYTES) : null
                const { stored, public_key } = withSigningKey(openSecret(wanted, secret), seed)
                return { secret: sealSecret(wanted, stored), public_key }
              },
            },
          }),
        })
        if (!webhook) throw absent()
        nudge()
        return toWebhook(webhook)
      },
      {
        body: updateBody,
        detail: {
          summary:
            'Update a target: address, name, active state, rate limit, ordering, credentials',
          description:
            'signatures adds a key for asymmetric signatures, or removes it. A new url has the same kind and is checked as at creation; id and secret stay, pending deliveries go to it, and its health begins again. Send a test afterwards. The address of kind email cannot change, because its owner has agreed. Pending deliveries of a disabled target fail as webhook_paused and can be redelivered. A paused target stays paused until a test succeeds. token replaces the stored credentials, for kind mqtt together with username; a new url does not keep them.',
          tags: ['Monitoring'],
          ...refuses('webhook_url_rejected', 'webhook_kind_mismatch'),
          ...answers(() => shapes().webhook),
        },
      },
    )
    .post(
      '/rotate',
      ({ customer, body: { overlap_s, ...named } }) => {
        const id = idIn(named, 'webhook_id')
        const before = findWebhook(db, customer.id, id)
        if (!before) throw absent()
        const { secret, stored, public_key } = newTargetSecret(
          context.random,
          before.public_key !== null,
        )
        const until = overlap_s === 0 ? null : context.clock.now() + overlap_s * 1000
        const sealed = { secret: sealSecret(id, stored), public_key, now: context.clock.now() }
        if (!rotateSecret(db, customer.id, { id, ...sealed, until })) throw absent()
        return {
          id,
          secret,
          ...(public_key && { public_key: toPublicKey(public_key) }),
          old_secret_until: iso(until),
        }
      },
      {
        body: rotateBody,
        detail: {
          summary: 'Rotate the secret of a target; it is shown only once',
          description:
            'For overlap_s seconds deliveries are signed with both secrets: the header carries two v1 values.',
          tags: ['Monitoring'],
          ...answers(() => shapes().rotated),
        },
      },
    )
}

/**
 * The new address of a target, which has the kind that the target was created with. Stored credentials are not kept: they
 * would be sent to a host that they were not given for.
 */
async function newAddress(
  given: SchemaOutput<typeof createBody> & { kind: string },
  deps: WebhookDeps,
): Promise<Pick<Resolved, 'url'> & { credentials: Credentials | null }> {
  if (given.kind === 'email')
    throw invalid(
      'url',
      'url of kind email cannot change, because the owner of the address has agreed; create another webhook',
    )
  const { url, credentials } = await resolveKind(given, deps)
  return { url, credentials }
}

export type WebhookDeps = {
  db: Db
  sealSecret: (webhook_id: string, secret: string) => Uint8Array
  openSecret: (webhook_id: string, sealed: Uint8Array) => string
  sealCredentials: (webhook_id: string, credentials: Credentials) => Uint8Array
  /** Checks if an address may be a target; null: it may. Resolves its name. */
  checkTarget: (url: string) => Promise<AddressRefusal | null>
  /** Sends a test delivery; null if the customer has no such target. */
  testTarget: (customer_id: string, webhook_id: string) => Promise<TestReport | null>
  /** True if a mail server is configured, which targets of kind email need. */
  mails?: boolean
  /** Called after a target and its pending deliveries were removed. */
  nudge: () => void
}

const WEBHOOKS_MAX = 1000

export const createBody = bodySchema(() => ({
  kind: z
    .enum(WEBHOOK_KINDS, { error: `kind must be one of ${WEBHOOK_KINDS.join(', ')}` })
    .optional(),
  url: z.string({
    error: ({ input }) => (input === undefined ? 'url is required' : 'url must be text'),
  }),
  name: nameField(),
  events: eventsField(),
  ...credentialFields(),
  signatures: signaturesField(),
}))

export const webhooks = (context: RouteContext, deps: WebhookDeps) =>
  new Elysia({ name: 'webhooks', prefix: `${context.words.monitor}/webhook` })
    .use(context.keyed)
    .use(edits(context, deps))
    .post('/create', ({ customer, body }) => create(context, deps, customer.id, body), {
      body: createBody,
      detail: {
        summary: 'Register a target; its secret is shown only once',
        tags: ['Monitoring'],
        description:
          'Kind email takes mailto: and one address. It is active once its recipient has agreed on the page linked in the confirmation mail. The answer has confirmation: sent, or an error code; a test sends the mail again. An address gets at most three such mails a day. Some kinds take token, and mqtt username too; credentials within url are removed from it and stored encrypted. Kinds slack, discord and mattermost take services at other hosts that use their format.',
        ...refuses('webhook_url_rejected', 'webhook_kind_mismatch', 'email_not_configured'),
        ...answers(() => shapes().created),
      },
    })
    .get(
      '/list',
      ({ customer }) => {
        const health = webhookHealth(deps.db, customer.id, context.clock.now())
        const listed = listWebhooks(deps.db, customer.id).flatMap((it) => {
          const of_target = health.get(it.id)
          return of_target === undefined ? [] : { ...toWebhook(it), health: toHealth(of_target) }
        })
        return { webhooks: listed }
      },
      {
        detail: {
          summary: 'Your targets and their health, without their secrets',
          tags: ['Monitoring'],
          ...answers(() => shapes().list),
        },
      },
    )
    .post(
      '/test',
      async ({ customer, body }) => {
        const id = idIn(body, 'webhook_id')
        const webhook = findWebhook(deps.db, customer.id, id)
        if (webhook !== null && awaitsConfirmation(deps.db, id))
          countConfirmationMail(deps.db, {
            customer_id: customer.id,
            url: webhook.url,
            now: context.clock.now(),
          })
        const report = await deps.testTarget(customer.id, id)
        if (!report) throw absent()
        return { ...report, status: report.status_code }
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
        if (!deleteWebhook(deps.db, customer.id, id, context.clock.now())) throw absent()
        deps.nudge()
        return { deleted: true, id }
      },
      {
        body: namedBody,
        detail: {
          summary: 'Remove a target and drop its pending deliveries',
          tags: ['Monitoring'],
          ...answers(() => shapes().deleted),
        },
      },
    )

async function create(
  { clock, random }: RouteContext,
  deps: WebhookDeps,
  customer_id: string,
  body: SchemaOutput<typeof createBody>,
) {
  const { db, sealSecret } = deps
  // Before the address is resolved: a wrong field needs no network.
  const events = body.events && eventsOf(body.kind ?? kindOfUrl(body.url).name, body.events)
  const { kind, url, inferred_from, credentials } = await resolveKind(body, deps)
  if (listWebhooks(db, customer_id).length >= WEBHOOKS_MAX)
    throw invalid(
      'url',
      `url: there are ${WEBHOOKS_MAX} webhooks, which is all that is allowed; delete one first`,
    )

  checkSigned(kind, body.signatures)
  const email = kind === 'email'
  if (email) countConfirmationMail(db, { customer_id, url, now: clock.now() })

  // Created before the write: if the answer is lost after the commit, the target can be deleted.
  const id = `wh_${random.uuid()}`
  const { secret, stored, public_key } = newTargetSecret(
    random,
    body.signatures?.includes('v1a') ?? false,
  )
  insertWebhook(db, {
    id,
    customer_id,
    kind,
    url,
    secret: sealSecret(id, stored),
    public_key,
    credentials: credentials && deps.sealCredentials(id, credentials),
    created_at: clock.now(),
    name: body.name ?? null,
    events,
    awaits_confirmation: email,
  })
  const webhook = findWebhook(db, customer_id, id)
  if (!webhook) throw new Error('a webhook that was just written is not there')
  const answer = { ...toWebhook(webhook), secret, kind_inferred_from: inferred_from }
  if (!email) return answer
  const report = await deps.testTarget(customer_id, id)
  return { ...answer, confirmation: report?.reason ?? 'sent' }
}

type Resolved = {
  kind: string
  url: string
  inferred_from: string | null
  credentials: Credentials | null
}

async function resolveKind(
  { kind: given, url: text, token, username }: SchemaOutput<typeof createBody>,
  deps: WebhookDeps,
): Promise<Resolved> {
  const kind = given === undefined ? kindOfUrl(text) : kindOf(given)
  const { name, schemes } = kind
  const is_mail = name === 'email'
  if (is_mail && deps.mails !== true)
    throw new ApiError('email_not_configured', {
      field: given === undefined ? 'url' : 'kind',
      message: `kind email needs [smtp], which this server does not have; other kinds are ${WEBHOOK_KINDS.filter((it) => it !== 'email').join(', ')}`,
    })
  const { url, credentials } = accepted(
    readTarget(kind, is_mail ? normaliseMailto(text) : text, { token, username }),
  )
  if (!is_mail)
    await checkAddress(
      dialable(url),
      deps,
      schemes === undefined ? 'https://' : `${schemes.at(-1)}//`,
    )
  if (!fits(kind, text))
    throw new ApiError('webhook_kind_mismatch', {
      field: 'kind',
      message: `kind ${name} takes ${addressForm(kind)}`,
    })
  const is_inferred = given === undefined && kind.infers !== undefined && !is_mail
  return { kind: name, url, credentials, inferred_from: is_inferred ? new URL(url).hostname : null }
}

function accepted(read: ReadTarget): Extract<ReadTarget, { ok: true }> {
  if (read.ok) return read
  if (read.field !== 'url') throw invalid(read.field, read.message)
  throw new ApiError('webhook_url_rejected', {
    field: 'url',
    message: read.message,
    extra: { reason: 'malformed' },
  })
}

/** The credentials that an edit sets; undefined: none. */
const newCredentials = (
  { kind, url }: { kind: string; url: string },
  given: { token?: string | null | undefined; username?: string | null | undefined },
): Credentials | null | undefined =>
  given.token === undefined && given.username === undefined
    ? undefined
    : accepted(checkCredentials(kindOf(kind), url, given)).credentials

async function checkAddress(
  address: string,
  { checkTarget }: WebhookDeps,
  scheme = 'https://',
): Promise<void> {
  const refusal = await checkTarget(address)
  if (refusal === null) return
  const lines = guardLines(address, refusal)
  throw new ApiError('webhook_url_rejected', {
    field: 'url',
    message: `url ${REFUSALS[refusal].replace('https://', scheme)}`,
    extra: {
      reason: refusal,
      ...(lines && {
        hint: `the operator of this service can allow it by these lines of its configuration:\n${lines.join('\n')}`,
      }),
    },
  })
}
