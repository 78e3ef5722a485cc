import { readAttention } from '../../core/delivery/attention.ts'
import { decodeFilterSpec, renderFilterSpec } from '../../core/filter/parse.ts'
import type { Naming } from '../../core/forum/naming.ts'
import { readRelevance } from '../../core/relevance/rules.ts'
import { isSecretAddress } from '../../delivery/kinds.ts'
import type { SetWebhook } from '../../store/delivery/webhooks.ts'
import type { Monitor } from '../../store/monitoring/monitors.ts'
import { escapeControl } from '../output.ts'

/** A field of the file before and after a step; null: absent, or its default. */
export type FieldChange = { field: string; from: unknown; to: unknown }

export type MonitorSet = Pick<
  Monitor,
  | 'name'
  | 'filter_spec'
  | 'requested_cadence_s'
  | 'webhook_ids'
  | 'active'
  | 'attention'
  | 'relevance'
>

type WebhookSet = Omit<SetWebhook, 'id'>

type Values = Readonly<Record<string, unknown>>

export function monitorValues(
  { name, filter_spec, requested_cadence_s, webhook_ids, active, attention, relevance }: MonitorSet,
  words: Naming,
  nameOf: (webhook_id: string) => string,
): Values {
  const spec = renderFilterSpec(decodeFilterSpec(filter_spec), words)
  return {
    name,
    ...Object.fromEntries(
      Object.entries(spec).map(([field, value]) => [`filter_spec.${field}`, value]),
    ),
    cadence_s: requested_cadence_s,
    webhooks: webhook_ids?.map(nameOf) ?? null,
    active,
    attention: readAttention(attention),
    relevance: readRelevance(relevance),
  }
}

/** Fields of a webhook as the file has them. An address that grants access is cut to its host. */
export const webhookValues = (it: WebhookSet): Values => ({
  name: it.name,
  kind: it.kind,
  url: isSecretAddress(it) ? `${URL.parse(it.url)?.origin ?? ''}/…` : it.url,
  active: it.active,
  ordered: it.ordered,
  events: it.events.length > 1 ? it.events : null,
  max_per_second: it.max_per_second,
  signatures: it.signatures.length > 1 ? it.signatures : null,
})

/** The fields of a webhook that differ. A cut address that looks the same says that it is another. */
export function webhookChanges(before: WebhookSet, after: WebhookSet): FieldChange[] {
  const changes = changesOf(webhookValues(before), webhookValues(after))
  if (before.url === after.url || changes.some(({ field }) => field === 'url')) return changes
  const { url } = webhookValues(before)
  return [...changes, { field: 'url', from: url, to: `${String(url)} (another)` }]
}

/** The fields that differ; `before` null: those of a new object that are set, without its name, which a list shows anyway. */
export function changesOf(before: Values | null, after: Values): FieldChange[] {
  const { name: _, ...rest } = after
  if (before === null) return changesOf({}, rest)
  const fields = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...fields].flatMap((field) => {
    const [from, to] = [before[field] ?? null, after[field] ?? null]
    return JSON.stringify(from) === JSON.stringify(to) ? [] : [{ field, from, to }]
  })
}

/** Characters of a printed value: a filter may have hundreds of words. */
const VALUE_MAX = 200

function print(value: unknown): string {
  const text = value === null ? '(default)' : escapeControl(JSON.stringify(value))
  return text.length > VALUE_MAX ? `${text.slice(0, VALUE_MAX)}…` : text
}

export const changeLine = ({ field, from, to }: FieldChange, is_new: boolean): string =>
  is_new ? `${field}: ${print(to)}` : `${field}: ${print(from)} → ${print(to)}`
