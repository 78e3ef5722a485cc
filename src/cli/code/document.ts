import * as z from 'zod'

import { WEBHOOK_KINDS } from '../../core/webhook-kind.ts'

/** The form of the file; one that a later forumd changes gets another number. */
export const VERSION = 1

const NAME_MAX = { webhook: 100, monitor: 120 }
const CADENCE_MAX_S = 86_400
const PER_SECOND = { least: 0.01, most: 1000 }

const text = (what: string, longest: number) => {
  const error = `${what} of 1 to ${longest} characters, without blanks around it`
  return z
    .string({ error })
    .max(longest, { error })
    .refine((it) => it.trim() === it && it !== '', { error })
}
const id = (prefix: string) => {
  const error = `an id such as ${prefix}_01912d68-783e-7a03-8467-5661c1243ad4, or nothing for a new one`
  return z
    .string({ error })
    .regex(new RegExp(`^${prefix}_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`), { error })
    .optional()
}
const flag = (initial: boolean) => z.boolean({ error: 'true or false' }).default(initial)
const table = <T extends z.ZodRawShape>(shape: T) => z.strictObject(shape, { error: 'a table' })
const list = <T extends z.ZodType>(of: T, most: number) =>
  z
    .array(of, { error: `a list of at most ${most}` })
    .max(most, { error: `a list of at most ${most}` })

const perSecond = `a number from ${PER_SECOND.least} to ${PER_SECOND.most}, or nothing for no bound`
const cadence = `whole seconds from 1 to ${CADENCE_MAX_S}, or nothing for as fast as the plan allows`

const webhook = table({
  id: id('wh'),
  name: text('a name', NAME_MAX.webhook).optional(),
  kind: z
    .enum(WEBHOOK_KINDS, { error: `one of ${WEBHOOK_KINDS.join(', ')}, or nothing` })
    .optional(),
  url: text('an address', 2048).optional(),
  active: flag(true),
  ordered: flag(false),
  max_per_second: z
    .number({ error: perSecond })
    .min(PER_SECOND.least, { error: perSecond })
    .max(PER_SECOND.most, { error: perSecond })
    .optional(),
})

const monitor = table({
  id: id('mon'),
  name: text('a name', NAME_MAX.monitor).optional(),
  // Read apart, by the same reader that the API has.
  filter_spec: z.unknown(),
  cadence_s: z
    .int({ error: cadence })
    .min(1, { error: cadence })
    .max(CADENCE_MAX_S, { error: cadence })
    .optional(),
  webhooks: list(text('the name or the id of a webhook', 120), 100).optional(),
  active: flag(true),
})

/** Customers with their webhooks and monitors, as a file declares them: what is left out has its default. */
export const documentSchema = table({
  version: z.literal(VERSION, { error: `${VERSION}: the form that this forumd reads` }),
  customers: list(
    table({
      name: text('the name of a customer', 64),
      webhooks: list(webhook, 1000).default([]),
      monitors: list(monitor, 100_000).default([]),
    }),
    100_000,
  ).default([]),
})

export type Document = z.output<typeof documentSchema>
export type DeclaredWebhook = z.output<typeof webhook>
export type DeclaredMonitor = z.output<typeof monitor>
