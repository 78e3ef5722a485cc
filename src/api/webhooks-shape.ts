import * as z from 'zod'

import { ApiError } from '../core/errors.ts'
import { iso } from '../core/instant.ts'
import { once } from '../core/once.ts'
import { WEBHOOK_KINDS } from '../core/webhook-kind.ts'
import { PAUSE_REASONS, type Webhook } from '../store/webhooks.ts'
import { closed, idField } from './fields.ts'

/** The names of a target in a body. */
export const ids = () => ({ id: idField('id'), webhook_id: idField('webhook_id') })
/** A body that names a target and nothing else. */
export const namedBody = closed(ids)

/** One error for what is absent and what is somebody else's: the answers must not differ by a byte. */
export const absent = () => new ApiError('NOT_FOUND', { message: 'there is no such webhook' })

/** A target as it is shown. */
export const toWebhook = ({
  id,
  kind,
  url,
  created_at,
  active,
  paused_at,
  pause_reason,
  ...wishes
}: Webhook) => ({
  id,
  kind,
  url,
  created_at: iso(created_at),
  active,
  paused_at: iso(paused_at),
  pause_reason,
  ...wishes,
})

/** What routes about targets answer; for the document alone. */
export const shapes = once(() => {
  const webhook = z.object({
    id: z.string(),
    kind: z.enum(WEBHOOK_KINDS),
    url: z.string(),
    created_at: z.string(),
    active: z.boolean(),
    paused_at: z.string().nullable(),
    pause_reason: z.enum(PAUSE_REASONS).nullable(),
    name: z.string().nullable(),
    max_per_second: z.number().nullable(),
    ordered: z.boolean(),
  })
  const created = webhook.extend({
    secret: z.string(),
    kind_inferred_from: z.string().nullable(),
    confirmation: z
      .string()
      .optional()
      .meta({ description: 'Kind email only: sent, or the code of why it was not.' }),
  })
  const report = z.object({
    ok: z.boolean(),
    status_code: z.int().nullable(),
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
