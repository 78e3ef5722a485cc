import * as z from 'zod'

import { ConfigError, parseToml, refusalsOf, toProblem } from '../../config/load.ts'
import { type ConfigPath, findPositions } from '../../config/positions.ts'
import type { RefusedValue } from '../../config/references.ts'
import { type Attention, attentionSchema } from '../../core/delivery/attention.ts'
import { SIGNATURES } from '../../core/delivery/signature.ts'
import { WEBHOOK_EVENTS } from '../../core/delivery/target.ts'
import { decodeFilterSpec, renderFilterSpec } from '../../core/filter/parse.ts'
import type { Naming } from '../../core/forum/naming.ts'
import type { Plan } from '../../core/limits/plan.ts'
import { readRelevance, relevanceSchema } from '../../core/relevance/rules.ts'
import { EVENTS_FORM, isSecretAddress, kindOf, WEBHOOK_KINDS } from '../../delivery/kinds.ts'
import { type Customer, findCustomerByName } from '../../store/customers/customers.ts'
import type { Db } from '../../store/db/connection.ts'
import { listSetWebhooks, type SetWebhook } from '../../store/delivery/webhooks.ts'
import { countSlots, listMonitors, type Monitor } from '../../store/monitoring/monitors.ts'

const VERSION = 1

const NAME_MAX = { webhook: 100, monitor: 120 }
const CADENCE_MAX_S = 86_400
const PER_SECOND = { least: 0.01, most: 1000 }

const printedText = (what: string, longest: number) => {
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
const signatures = '["v1"] or ["v1", "v1a"]'
const cadence = `whole seconds from 1 to ${CADENCE_MAX_S}, or nothing for as fast as the plan allows`

const webhook = table({
  id: id('wh'),
  name: printedText('a name', NAME_MAX.webhook).optional(),
  kind: z
    .enum(WEBHOOK_KINDS, { error: `one of ${WEBHOOK_KINDS.join(', ')}, or nothing` })
    .optional(),
  url: printedText('an address', 2048).optional(),
  username: printedText('a user name', 1024).optional(),
  token: printedText('a token or a password', 1024).optional(),
  active: flag(true),
  ordered: flag(false),
  events: z
    .array(z.enum(WEBHOOK_EVENTS, { error: EVENTS_FORM }), { error: EVENTS_FORM })
    .max(WEBHOOK_EVENTS.length, { error: EVENTS_FORM })
    .optional(),
  max_per_second: z
    .number({ error: perSecond })
    .min(PER_SECOND.least, { error: perSecond })
    .max(PER_SECOND.most, { error: perSecond })
    .optional(),
  signatures: z
    .array(z.enum(SIGNATURES, { error: signatures }), { error: signatures })
    .refine((them) => them[0] === 'v1' && them.length === new Set(them).size, { error: signatures })
    .default(['v1']),
})

const monitor = table({
  id: id('mon'),
  name: printedText('a name', NAME_MAX.monitor).optional(),
  // Read apart, by the same reader that the API has.
  filter_spec: z.unknown(),
  cadence_s: z
    .int({ error: cadence })
    .min(1, { error: cadence })
    .max(CADENCE_MAX_S, { error: cadence })
    .optional(),
  webhooks: list(printedText('the name or the id of a webhook', 120), 100).optional(),
  active: flag(true),
  // Its targets name webhooks as `webhooks` does.
  attention: attentionSchema().optional(),
  relevance: relevanceSchema().optional(),
})

/** Customers with their webhooks and monitors, as a file declares them; an omitted field has its default. */
const documentSchema = table({
  version: z.literal(VERSION, {
    error: `${VERSION}: the format that this version of forumd reads`,
  }),
  customers: list(
    table({
      name: printedText('the name of a customer', 64),
      webhooks: list(webhook, 1000).default([]),
      monitors: list(monitor, 100_000).default([]),
    }),
    100_000,
  ).default([]),
})

export type Document = z.output<typeof documentSchema>
export type DeclaredWebhook = z.output<typeof webhook>
export type DeclaredMonitor = z.output<typeof monitor>

/** A parsed file of monitors and webhooks; `refuse` turns its problems into the error with their positions. */
export type ParsedDocument = {
  document: Document
  refuse: (problems: readonly RefusedValue[]) => ConfigError
}

const ALLOWED = 'the file must be TOML or JSON'

/** Reads TOML, or JSON when it begins as an object does: a bracket begins a table of TOML. Throws {@link ConfigError} with a line for every problem. */
export function parseDocument(file: string, text: string): ParsedDocument {
  const is_json = /^\s*\{/.test(text)
  const value = is_json ? fromJson(file, text) : parseToml(text, file, ALLOWED)
  const positionOf = is_json ? () => null : findPositions(text)
  const refuse = (problems: readonly RefusedValue[]) =>
    new ConfigError(
      file,
      problems
        .map((it) => toProblem(it, positionOf))
        .toSorted((a, b) => a.line - b.line || a.column - b.column),
    )
  const result = documentSchema.safeParse(value, { jitless: true })
  if (result.success) return { document: result.data, refuse }
  const about = { value, refused: [], originOf: () => null }
  throw refuse(refusalsOf(result.error.issues, about).map(withoutHint))
}

// A hint at the nearest key of the configuration would be misleading here.
const withoutHint = (refused: RefusedValue): RefusedValue =>
  refused.found === 'unknown key' ? { ...refused, allowed: allowedAt(refused.path) } : refused

function allowedAt(path: ConfigPath): string {
  if (path.includes('monitors'))
    return 'allowed: id, name, filter_spec, cadence_s, webhooks, active, attention, relevance'
  if (path.includes('webhooks'))
    return 'allowed: id, name, kind, url, username, token, active, ordered, events, max_per_second, signatures'
  return path.length > 1 ? 'allowed: name, webhooks, monitors' : 'allowed: version, customers'
}

function fromJson(file: string, text: string): Record<string, unknown> {
  try {
    return { ...JSON.parse(text.replace(/^\uFEFF/, '')) }
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error)
    throw new ConfigError(file, [{ line: 1, column: 1, key: '', found, allowed: ALLOWED }])
  }
}

/** The document that declares the current monitors and webhooks of customers, without defaults and secrets. */
export function toDocument(all: readonly CurrentState[], words: Naming) {
  return {
    version: VERSION,
    customers: all.map(({ customer, webhooks, monitors }) => {
      const referenceOf = referencing(webhooks)
      return {
        name: customer.name,
        webhooks: webhooks.map((it) => ({
          id: it.id,
          ...(it.name !== null && { name: it.name }),
          kind: it.kind,
          ...(!isSecretAddress(it) && { url: it.url }),
          ...(it.has_credentials && references(it)),
          ...(!it.active && { active: false }),
          ...(it.ordered && { ordered: true }),
          ...(it.events.length > 1 && { events: it.events }),
          ...(it.max_per_second !== null && { max_per_second: it.max_per_second }),
          ...(it.signatures.length > 1 && { signatures: it.signatures }),
        })),
        monitors: monitors.map((it) => ({
          id: it.id,
          ...(it.name !== null && { name: it.name }),
          ...(it.requested_cadence_s !== null && { cadence_s: it.requested_cadence_s }),
          ...(it.webhook_ids !== null && { webhooks: it.webhook_ids.map(referenceOf) }),
          ...(!it.active && { active: false }),
          ...(it.attention !== null && { attention: bareRules(it.attention, referenceOf) }),
          ...(it.relevance !== null && { relevance: readRelevance(it.relevance) }),
          filter_spec: renderFilterSpec(decodeFilterSpec(it.filter_spec), words),
        })),
      }
    }),
  }
}

/**
 * Names of variables in place of stored credentials, so that another installation asks for them rather than going
 * without. Here they are not read.
 */
function references({ id: webhook_id, kind }: SetWebhook) {
  const end = webhook_id.slice(-12).toUpperCase()
  return {
    ...(kindOf(kind).credential?.with_username && { username: `env:USER_${end}` }),
    token: `env:TOKEN_${end}`,
  }
}

/** Declared attention rules with the ids of their webhooks, in the same order. */
export const withIds = (
  attention: DeclaredMonitor['attention'],
  ids: readonly string[],
): Attention | null =>
  attention === undefined
    ? null
    : {
        ...attention,
        targets: attention.targets.map((it, at) => ({
          ...it,
          webhook_id: ids[at] ?? it.webhook_id,
        })),
      }

/** Attention rules without the fields that are off, which TOML could not express, with references to webhooks. */
function bareRules(stored: string, referenceOf: (id: string) => string): object {
  const rules: unknown = JSON.parse(stored, (key: string, value: unknown) => {
    if (key === 'webhook_id' && typeof value === 'string') return referenceOf(value)
    const is_off = value === null || value === false || (Array.isArray(value) && value.length === 0)
    return is_off ? undefined : value
  })
  return Object(rules)
}

function referencing(webhooks: readonly SetWebhook[]): (id: string) => string {
  const names = webhooks.map(({ name }) => name)
  return (wanted) => {
    const name = webhooks.find(({ id: webhook_id }) => webhook_id === wanted)?.name ?? null
    return name !== null && names.indexOf(name) === names.lastIndexOf(name) ? name : wanted
  }
}

export type CurrentState = {
  customer: Customer
  plan: Plan | null
  slots: { used: number; sitewide_used: number }
  webhooks: SetWebhook[]
  monitors: Monitor[]
}

/** Current monitors and webhooks of the customer of this name; null: no such customer. */
export function currentStateOf(
  db: Db,
  name: string,
  plans: Readonly<Record<string, Plan>>,
): CurrentState | null {
  const customer = findCustomerByName(db, name)
  if (customer === null) return null
  return {
    customer,
    plan: plans[customer.plan] ?? null,
    slots: countSlots(db, customer.id),
    webhooks: listSetWebhooks(db, customer.id),
    monitors: listMonitors(db, customer.id),
  }
}
