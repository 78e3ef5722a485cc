import * as z from 'zod'

import { ApiError, invalid } from '../../core/base/errors.ts'
import { once } from '../../core/base/lazy.ts'
import { iso } from '../../core/base/time.ts'
import { type Signature, SIGNATURES, toPublicKey } from '../../core/delivery/signature.ts'
import { settleEvents, WEBHOOK_EVENTS, type WebhookEvent } from '../../core/delivery/target.ts'
import { CREDENTIAL_KINDS, EVENTS_FORM, kindOf, WEBHOOK_KINDS } from '../../delivery/kinds.ts'
import {
  HEALTH_HOURS,
  HEALTH_STATES,
  WAITING_MAX,
  type WebhookHealth,
} from '../../store/delivery/health.ts'
import { PAUSE_REASONS, type Webhook } from '../../store/delivery/webhooks.ts'
import { bodySchema, idField } from '../http/fields.ts'

export const ids = () => ({ id: idField('id'), webhook_id: idField('webhook_id') })
export const namedBody = bodySchema(ids)

const NAME_MAX = 100
const NAME = `name must be text of 1 to ${NAME_MAX} characters, or null`

/** A webhook's name: text of 1 to 100 characters, or null. */
export const nameField = () =>
  z.string({ error: NAME }).trim().min(1, NAME).max(NAME_MAX, NAME).nullable().optional()

/** An optional boolean with its own message. */
export const truth = (name: string) =>
  z.boolean({ error: `${name} must be true or false` }).optional()

const CREDENTIAL_MAX = 1024

const credentialField = (name: 'token' | 'username') => {
  const error = `${name} must be text of 1 to ${CREDENTIAL_MAX} characters, or null`
  return z.string({ error }).min(1, error).max(CREDENTIAL_MAX, error).nullable().optional()
}
export const credentialFields = () => ({
  token: credentialField('token').describe(
    `Access token of kinds ${CREDENTIAL_KINDS}; password of kind mqtt. Never shown again.`,
  ),
  username: credentialField('username').describe('User of kind mqtt.'),
})

export const signaturesField = () => {
  const error = 'signatures must be ["v1"] or ["v1", "v1a"]'
  return z
    .array(z.enum(SIGNATURES, { error }), { error })
    .refine((them) => them[0] === 'v1' && them.length === new Set(them).size, error)
    .optional()
    .describe(
      'Signatures of kind webhook: v1, HMAC; v1a, Ed25519 beside it, which a receiver verifies with a public key alone.',
    )
}

/** @throws {ApiError} INVALID_REQUEST if not */
export function checkSigned(kind: string, signatures: readonly Signature[] | undefined): void {
  if (signatures !== undefined && kind !== 'webhook')
    throw invalid('signatures', `signatures is for kind webhook, and this is ${kind}`)
}

/**
 * One error for absent targets and those of other customers: the answers must not differ by a byte.
 */
export const absent = () =>
  new ApiError('NOT_FOUND', { message: 'there is no such webhook', absent: 'webhook' })

export const eventsField = () =>
  z
    .array(z.enum(WEBHOOK_EVENTS, { error: EVENTS_FORM }), { error: EVENTS_FORM })
    .max(WEBHOOK_EVENTS.length, { error: EVENTS_FORM })
    .optional()

/**
 * Events that a target of this kind can take.
 * @throws {ApiError} naming what is allowed
 */
export function eventsOf(kind: string, events: readonly WebhookEvent[]): WebhookEvent[] {
  const settled = settleEvents(kindOf(kind).takes_events ?? false, events)
  if (settled === null) throw invalid('events', EVENTS_FORM)
  return settled
}

export const toWebhook = ({
  id,
  kind,
  url,
  created_at,
  active,
  paused_at,
  pause_reason,
  has_credentials,
  public_key,
  ...settings
}: Webhook) => ({
  id,
  kind,
  url,
  created_at: iso(created_at),
  active: active && paused_at === null,
  paused_at: iso(paused_at),
  pause_reason,
  ...settings,
  ...(kindOf(kind).credential && { has_credentials }),
  // Only signed deliveries have signatures, and only asymmetric ones a public key.
  ...(public_key && { signatures: [...SIGNATURES], public_key: toPublicKey(public_key) }),
})

const sum = (counts: readonly number[]): number => counts.reduce((total, it) => total + it, 0)

export function toHealth(health: WebhookHealth) {
  const { state, last_failure, waiting, retrying, succeeded, failed } = health
  const succeeded_24h = sum(succeeded)
  const failed_24h = sum(failed)
  const all = succeeded_24h + failed_24h
  return {
    state,
    failing_since: iso(health.failing_since),
    success_rate_24h: all === 0 ? null : Math.round((succeeded_24h / all) * 10_000) / 10_000,
    succeeded_24h,
    failed_24h,
    last_success_at: iso(health.last_success_at),
    last_failure: last_failure && { ...last_failure, at: iso(last_failure.at) },
    waiting,
    retrying,
    next_attempt_at: iso(health.next_attempt_at),
    hours: { succeeded, failed },
  }
}

const healthShape = () => {
  const by_hour = z.array(z.int()).length(HEALTH_HOURS)
  return z.object({
    state: z
      .enum(HEALTH_STATES)
      .describe(
        'unused: no attempt yet. good: the last attempt succeeded. retrying: attempts fail and are repeated. failing: a delivery failed or was dead-lettered since the last success. paused: see pause_reason. off: disabled, or not confirmed.',
      ),
    failing_since: z
      .string()
      .nullable()
      .describe('The first failed attempt since the last success or successful test.'),
    success_rate_24h: z
      .number()
      .nullable()
      .describe('Share of attempts that succeeded, 0 to 1; null without attempts.'),
    succeeded_24h: z.int().describe('Attempts; tests are not counted.'),
    failed_24h: z.int().describe('Attempts, including those that are repeated.'),
    last_success_at: z.string().nullable(),
    last_failure: z
      .object({
        at: z.string(),
        delivery_id: z.string().nullable(),
        reason: z.string().nullable().describe('A last_error code.'),
        status_code: z.int().nullable(),
        body_start: z
          .string()
          .nullable()
          .describe("The beginning of the receiver's response, redacted."),
      })
      .nullable(),
    waiting: z
      .int()
      .describe(
        `Pending deliveries without a failed attempt; counted up to ${WAITING_MAX} with retrying.`,
      ),
    retrying: z.int().describe('Pending deliveries with a failed attempt.'),
    next_attempt_at: z.string().nullable(),
    hours: z
      .object({ succeeded: by_hour, failed: by_hour })
      .describe('Attempts by hour, oldest first; the last is the present hour.'),
  })
}

/** Response schemas of targets; used by the OpenAPI document only. */
export const shapes = once(() => {
  const signed = z.object({
    id: z.string(),
    kind: z.enum(WEBHOOK_KINDS),
    url: z.string(),
    created_at: z.string(),
    active: z.boolean().describe('True if it takes deliveries: enabled, confirmed and not paused.'),
    paused_at: z.string().nullable(),
    pause_reason: z.enum(PAUSE_REASONS).nullable(),
    name: z.string().nullable(),
    max_per_second: z.number().nullable(),
    ordered: z.boolean(),
    events: z.array(z.enum(WEBHOOK_EVENTS)),
    has_credentials: z
      .boolean()
      .optional()
      .describe(`Kinds ${CREDENTIAL_KINDS} only: true if a token or password is stored.`),
  })
  const keyed = {
    signatures: z.array(z.enum(SIGNATURES)).optional().describe('Absent: v1 alone.'),
    public_key: z
      .string()
      .optional()
      .describe('Key that v1a is verified with: whpk_ and base64. Absent without v1a.'),
  }
  const webhook = signed.extend(keyed).meta({ title: 'Webhook' })
  const created = webhook.extend({
    secret: z.string(),
    kind_inferred_from: z.string().nullable(),
    confirmation: z.string().optional().describe('Kind email only: sent, or an error code.'),
  })
  const report = z.object({
    ok: z.boolean(),
    status_code: z.int().nullable(),
    status: z.int().nullable().describe('The same as status_code.'),
    delivery_id: z.string(),
    duration_ms: z.int(),
    reason: z.string().nullable(),
    hint: z.string().nullable(),
    detail: z.string(),
    body_start: z
      .string()
      .nullable()
      .describe("The beginning of the receiver's response, redacted; null without one."),
  })
  return {
    webhook,
    created,
    rotated: z.object({
      id: z.string(),
      secret: z.string(),
      old_secret_until: z.string().nullable(),
      public_key: keyed.public_key,
    }),
    report,
    list: z.object({
      webhooks: z.array(
        webhook.extend({ health: healthShape() }).meta({ title: 'WebhookWithHealth' }),
      ),
    }),
    deleted: z.object({ deleted: z.boolean(), id: z.string() }),
  }
})
