import * as z from 'zod'

import { ApiError } from '../../core/base/errors.ts'
import { once } from '../../core/base/lazy.ts'
import { iso } from '../../core/base/time.ts'
import { isService, SERVICE_KINDS } from '../../core/delivery/services.ts'
import { WEBHOOK_KINDS } from '../../core/delivery/target.ts'
import { PAUSE_REASONS, type Webhook } from '../../store/delivery/webhooks.ts'
import { bodySchema, idField } from '../http/fields.ts'

/** Both fields that name a target in a body. */
export const ids = () => ({ id: idField('id'), webhook_id: idField('webhook_id') })
/** Body that only names a target. */
export const namedBody = bodySchema(ids)

/**
 * One error for absent targets and those of other customers: the answers must not differ by a byte.
 */
export const absent = () =>
  new ApiError('NOT_FOUND', { message: 'there is no such webhook', absent: 'webhook' })

/** Target as the API shows it. */
export const toWebhook = ({
  id,
  kind,
  url,
  created_at,
  active,
  paused_at,
  pause_reason,
  has_credentials,
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
  ...(isService(kind) && { has_credentials }),
})

/** Response schemas of targets; used by the OpenAPI document only. */
export const shapes = once(() => {
  const webhook = z.object({
    id: z.string(),
    kind: z.enum(WEBHOOK_KINDS),
    url: z.string(),
    created_at: z.string(),
    active: z
      .boolean()
      .meta({ description: 'True if it takes deliveries: enabled, confirmed and not paused.' }),
    paused_at: z.string().nullable(),
    pause_reason: z.enum(PAUSE_REASONS).nullable(),
    name: z.string().nullable(),
    max_per_second: z.number().nullable(),
    ordered: z.boolean(),
    has_credentials: z
      .boolean()
      .optional()
      .meta({
        description: `Kinds ${SERVICE_KINDS.join(', ')} only: true if a token or password is stored.`,
      }),
  })
  const created = webhook.extend({
    secret: z.string(),
    kind_inferred_from: z.string().nullable(),
    confirmation: z
      .string()
      .optional()
      .meta({ description: 'Kind email only: sent, or an error code.' }),
  })
  const report = z.object({
    ok: z.boolean(),
    status_code: z.int().nullable(),
    status: z.int().nullable().meta({ description: 'The same as status_code.' }),
    delivery_id: z.string(),
    duration_ms: z.int(),
    reason: z.string().nullable(),
    hint: z.string().nullable(),
    detail: z.string(),
  })
  return {
    webhook,
    created,
    rotated: z.object({
      id: z.string(),
      secret: z.string(),
      old_secret_until: z.string().nullable(),
    }),
    report,
    list: z.object({ webhooks: z.array(webhook) }),
    deleted: z.object({ deleted: z.boolean(), id: z.string() }),
  }
})
