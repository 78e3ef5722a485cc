import { readFileSync } from 'node:fs'

import { type RefusedValue, resolveReferences } from '../../config/references.ts'
import { ApiError } from '../../core/base/errors.ts'
import { encodeAttention } from '../../core/delivery/attention.ts'
import type { Credentials } from '../../core/delivery/credentials.ts'
import type { Signature } from '../../core/delivery/signature.ts'
import { settleEvents } from '../../core/delivery/target.ts'
import { checkSources, placesOf, type WatchableSource } from '../../core/filter/feeds.ts'
import type { FilterSpec } from '../../core/filter/fields.ts'
import { decodeFilterSpec, encodeFilterSpec, parseFilterSpec } from '../../core/filter/parse.ts'
import type { Naming } from '../../core/forum/naming.ts'
import { encodeRelevance } from '../../core/relevance/rules.ts'
import { EVENTS_FORM, kindOf } from '../../delivery/kinds.ts'
import type { WebhookChange } from '../../store/delivery/webhooks.ts'
import type { Monitor } from '../../store/monitoring/monitors.ts'
import type { CommandContext } from '../command.ts'
import {
  type CurrentState,
  type DeclaredMonitor,
  type DeclaredWebhook,
  withIds,
} from './document.ts'
import { type AddressRules, settleTarget } from './target.ts'
import {
  changesOf,
  type FieldChange,
  type MonitorSet,
  monitorValues,
  webhookChanges,
  webhookValues,
} from './values.ts'

type About = { customer_id: string; id: string; name: string | null }

type Untouched = About & { action: 'keep' | 'left' | 'remove' }

/** One step. `left`: it exists, and the file does not declare it. */
type Step = WebhookStep | MonitorStep

/** The address that a text of the document refers to: itself, or the value of `env:NAME`. */
export function urlFrom(
  text: string,
  env: CommandContext['env'],
): ReturnType<AddressRules['readUrl']> {
  const { value, refused } = resolveReferences(
    { url: text },
    {
      env,
      readFile: (path) => readFileSync(path, 'utf8'),
      credentials_dir: env['CREDENTIALS_DIRECTORY'] ?? null,
    },
  )
  return refused[0] ?? String(value['url'])
}

/** The settings of a declared webhook; `signatures` are a key to be made or deleted. */
type WebhookEdit = WebhookChange & { signatures: readonly Signature[] }

type WebhookAddress = { url: string; credentials: Credentials | null }

export type WebhookStep = { what: 'webhook' } & (
  | Untouched
  | (About & {
      action: 'create'
      kind: string
      edit: WebhookEdit
      changes: FieldChange[]
    } & WebhookAddress)
  | (About & {
      action: 'change'
      fields: string[]
      edit: WebhookEdit
      /** Null: the address stays, and so do the credentials. */
      address: WebhookAddress | null
      changes: FieldChange[]
    })
)

export type MonitorStep = { what: 'monitor' } & (
  | Untouched
  | (About & { action: 'create'; spec: FilterSpec; set: MonitorSet; changes: FieldChange[] })
  | (About & {
      action: 'change'
      fields: string[]
      spec: FilterSpec
      set: MonitorSet
      changes: FieldChange[]
    })
)

export type CustomerPlan = { customer: string; steps: Step[] }

export type PlanContext = AddressRules & {
  words: Naming
  /** Configured sources beside `home` that can be monitored, by name. */
  sources: ReadonlyMap<string, WatchableSource>
  isTaken: (what: 'webhooks' | 'monitors', id: string) => boolean
  /** True for a pattern that is not too expensive on text made against it. */
  affords: (pattern: string, case_sensitive: boolean) => boolean
  has_model: boolean
  newId: (prefix: 'wh' | 'mon') => string
  /** Removes monitors and webhooks that the file does not declare. */
  prune: boolean
}

type Named = { id: string; name: string | null }
type Declared = { id?: string | undefined; name?: string | undefined }

type Found<T> =
  | { before: T | null }
  /** `of`: the invalid field; null: the whole entry. */
  | { of: 'id' | 'name' | null; why: string; allowed: string }

/** Finds the row of a declared entry by its id, else by its name; null: a new one. Each row may be declared once. */
function createMatch<T extends Named>(
  what: 'webhooks' | 'monitors',
  existing: readonly T[],
  isTaken: (what: 'webhooks' | 'monitors', id: string) => boolean,
): (declared: Declared) => Found<T> {
  const meant = new Set<string>()

  function once(key: string, of: 'id' | 'name', before: T | null): Found<T> {
    const keys = [key, ...(before === null ? [] : [before.id])]
    if (keys.some((it) => meant.has(it)))
      return { of, why: `found ${JSON.stringify(key)} twice`, allowed: 'each is declared once' }
    for (const it of keys) meant.add(it)
    return { before }
  }

  return ({ id, name }) => {
    if (id !== undefined) {
      const before = existing.find((it) => it.id === id) ?? null
      if (before === null && isTaken(what, id))
        return {
          of: 'id',
          why: `found ${id}, which belongs to another customer or was removed`,
          allowed: 'allowed: an id of this customer; omit it to create a new one',
        }
      return once(id, 'id', before)
    }
    if (name === undefined)
      return { of: null, why: 'neither id nor name', allowed: 'needed: a name that identifies it' }
    const [before, other] = existing.filter((it) => it.name === name)
    if (before !== undefined && other !== undefined)
      return {
        of: 'name',
        why: `found ${JSON.stringify(name)}, the name of both ${before.id} and ${other.id}`,
        allowed: 'needed: the id of one of them',
      }
    return once(name, 'name', before ?? null)
  }
}

type MonitorPlanInput = { planning: PlanContext; problems: Problems; path: DocumentPath }

export function planMonitors(
  declared: readonly DeclaredMonitor[],
  { customer, monitors }: CurrentState,
  webhooks: readonly WebhookReference[],
  { planning, problems, path }: MonitorPlanInput,
): { steps: MonitorStep[]; added: { used: number; sitewide_used: number } } {
  const steps: MonitorStep[] = []
  const added = { used: 0, sitewide_used: 0 }
  const meant = new Set<string>()
  const match = createMatch('monitors', monitors, planning.isTaken)
  const take = (spec: FilterSpec | null, by: number) => {
    added.used += by
    if (spec !== null && isSitewide(spec)) added.sitewide_used += by
  }

  const nameOf = (id: string) => webhooks.find((it) => it.id === id)?.name ?? id
  const values = (set: MonitorSet) => monitorValues(set, planning.words, nameOf)

  for (const [index, it] of declared.entries()) {
    const at = [...path, index]
    const found = match(it)
    if ('why' in found) {
      problems.add(found.of === null ? at : [...at, found.of], found.why, found.allowed)
      continue
    }
    const { before } = found
    if (before !== null) meant.add(before.id)
    const spec = readSpec(it.filter_spec, planning, problems, at)
    const webhook_ids = resolve(it.webhooks, webhooks, problems, [...at, 'webhooks'])
    // One by one, because a repeated name counts once.
    const own_ids = (it.attention?.targets ?? []).flatMap(
      ({ webhook_id }) =>
        resolve([webhook_id], webhooks, problems, [...at, 'attention', 'targets']) ?? [],
    )
    if (spec === null || webhook_ids === undefined) continue
    const filter_spec = encodeFilterSpec(spec)
    if (filter_spec !== before?.filter_spec) checkPatterns(spec, planning, problems, at)
    if (it.relevance !== undefined && !planning.has_model)
      problems.add(
        [...at, 'relevance'],
        'found rules for a model, and none is configured',
        'set [relevance] base_url and model, or leave this table out',
      )
    const set: MonitorSet = {
      name: it.name ?? null,
      filter_spec,
      requested_cadence_s: it.cadence_s ?? null,
      webhook_ids,
      active: it.active,
      attention: encodeAttention(withIds(it.attention, own_ids)),
      relevance: encodeRelevance(it.relevance ?? null),
    }
    const id = before?.id ?? it.id ?? planning.newId('mon')
    const about = { customer_id: customer.id, id, name: set.name, what: 'monitor' as const }
    if (before === null) {
      take(spec, 1)
      steps.push({ ...about, action: 'create', spec, set, changes: changesOf(null, values(set)) })
      continue
    }
    added.sitewide_used += Number(isSitewide(spec)) - Number(wasSitewide(before))
    const fields = changedFields(before, set)
    steps.push(
      fields.length === 0
        ? { ...about, action: 'keep' }
        : {
            ...about,
            action: 'change',
            fields,
            spec,
            set,
            changes: changesOf(values(before), values(set)),
          },
    )
  }
  for (const it of monitors.filter(({ id }) => !meant.has(id))) {
    const { id, name } = it
    const action = planning.prune ? 'remove' : 'left'
    steps.push({ customer_id: customer.id, id, name, what: 'monitor', action })
    if (!planning.prune) continue
    added.used -= 1
    added.sitewide_used -= Number(wasSitewide(it))
  }
  return { steps, added }
}

const isSitewide = (spec: FilterSpec): boolean =>
  placesOf(spec).some(({ kind }) => kind === 'search')
const wasSitewide = ({ filter_spec }: Monitor): boolean => isSitewide(decodeFilterSpec(filter_spec))

/** Names in the file of the fields that differ. */
const FIELDS = {
  name: 'name',
  filter_spec: 'filter_spec',
  requested_cadence_s: 'cadence_s',
  webhook_ids: 'webhooks',
  active: 'active',
  attention: 'attention',
  relevance: 'relevance',
} as const

function changedFields(before: Monitor, set: MonitorSet): string[] {
  const fields: string[] = []
  let field: keyof typeof FIELDS
  for (field in FIELDS)
    if (JSON.stringify(before[field]) !== JSON.stringify(set[field])) fields.push(FIELDS[field])
  return fields
}

function readSpec(
  value: unknown,
  { words, sources }: PlanContext,
  problems: Problems,
  at: DocumentPath,
): FilterSpec | null {
  if (value === undefined) {
    problems.add([...at, 'filter_spec'], 'missing', 'needed: the filter of the monitor')
    return null
  }
  try {
    const spec = parseFilterSpec(value, words)
    checkSources(spec, sources, words)
    return spec
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { field = 'filter_spec', message = error.code } = error.details
    problems.add([...at, ...field.split('.')], 'refused', message)
    return null
  }
}

/** Refuses what the creation of a monitor refuses: patterns that take too long on text made against them. */
function checkPatterns(
  { regex, case_sensitive }: FilterSpec,
  { affords }: PlanContext,
  problems: Problems,
  at: DocumentPath,
): void {
  for (const [index, pattern] of regex.entries())
    if (!affords(pattern, case_sensitive))
      problems.add(
        [...at, 'filter_spec', 'regex', index],
        `found ${JSON.stringify(pattern)}, which takes too long on some texts`,
        'allowed: shorter repetitions, such as .{0,40} instead of .{200}, or begin it with a word',
      )
}

/** The ids of the webhooks that a monitor names; undefined when one of them does not exist after the plan. */
function resolve(
  names: readonly string[] | undefined,
  webhooks: readonly WebhookReference[],
  problems: Problems,
  path: DocumentPath,
): string[] | null | undefined {
  if (names === undefined) return null
  const ids: string[] = []
  for (const [index, wanted] of names.entries()) {
    const by_id = webhooks.find(({ id }) => id === wanted)
    const [found, other] = by_id ? [by_id] : webhooks.filter(({ name }) => name === wanted)
    if (found !== undefined && other === undefined) ids.push(found.id)
    else
      problems.add(
        [...path, index],
        `found ${JSON.stringify(wanted)}, and ${found === undefined ? 'not the name of a webhook' : 'the name of several webhooks'}`,
        `allowed: ${webhooks.map(({ id, name }) => name ?? id).join(', ') || 'none, because there is no webhook'}`,
      )
  }
  return ids.length < names.length ? undefined : [...new Set(ids)]
}

type WebhookPlanInput = { planning: PlanContext; problems: Problems; path: DocumentPath }

export type WebhookReference = { id: string; name: string | null; index: number | null }

export function planWebhooks(
  declared: readonly DeclaredWebhook[],
  { customer, webhooks }: CurrentState,
  { planning, problems, path }: WebhookPlanInput,
): { steps: WebhookStep[]; references: WebhookReference[] } {
  const steps: WebhookStep[] = []
  const references: WebhookReference[] = []
  const match = createMatch('webhooks', webhooks, planning.isTaken)
  for (const [index, it] of declared.entries()) {
    const at = [...path, index]
    const found = match(it)
    if ('why' in found) {
      problems.add(found.of === null ? at : [...at, found.of], found.why, found.allowed)
      continue
    }
    const name = it.name ?? null
    const { active, ordered, max_per_second = null, signatures } = it
    const { before } = found
    const id = before?.id ?? it.id ?? planning.newId('wh')
    const about = { customer_id: customer.id, id, name }
    references.push({ id, name, index })
    const url = settleTarget(it, before, planning, (field, why, allowed) =>
      problems.add([...at, field], why, allowed),
    )
    if (url === null) continue
    if (signatures.includes('v1a') && url.kind !== 'webhook') {
      problems.add(
        [...at, 'signatures'],
        `found v1a for kind ${url.kind}`,
        'allowed: for kind webhook',
      )
      continue
    }
    const events = settleEvents(kindOf(url.kind).takes_events ?? false, it.events ?? ['match'])
    if (events === null) {
      problems.add([...at, 'events'], JSON.stringify(it.events), EVENTS_FORM)
      continue
    }
    const edit = { name, active, ordered, max_per_second, events, signatures }
    if (before === null) {
      const has_credentials = url.credentials !== null
      const changes = changesOf(null, webhookValues({ ...edit, ...url, has_credentials }))
      steps.push({ ...about, what: 'webhook', action: 'create', ...url, edit, changes })
      continue
    }
    const { url: wanted, credentials } = url
    const address = wanted === before.url ? null : { url: wanted, credentials }
    const has_credentials = address === null ? before.has_credentials : credentials !== null
    const fields = Object.entries({ ...edit, url: wanted }).flatMap(([field, value]) =>
      JSON.stringify(Reflect.get(before, field)) === JSON.stringify(value) ? [] : [field],
    )
    steps.push(
      fields.length === 0
        ? { ...about, what: 'webhook', action: 'keep' }
        : {
            ...about,
            what: 'webhook',
            action: 'change',
            fields,
            edit,
            address,
            changes: webhookChanges(before, { ...edit, ...url, has_credentials }),
          },
    )
  }
  for (const { id, name } of webhooks.filter(
    (it) => !references.some((other) => other.id === it.id),
  )) {
    const action = planning.prune ? 'remove' : 'left'
    steps.push({ customer_id: customer.id, id, name, what: 'webhook', action })
    if (!planning.prune) references.push({ id, name, index: null })
  }
  return { steps, references }
}

/** Path in a document: keys and list indexes from the root. */
export type DocumentPath = readonly (string | number)[]

/** Collects semantic problems of a file, to report all of them at once. */
export type Problems = {
  add(path: DocumentPath, found: string, allowed: string): void
  readonly all: readonly RefusedValue[]
}

export function createProblems(): Problems {
  const all: RefusedValue[] = []
  return { all, add: (path, found, allowed) => void all.push({ path, found, allowed }) }
}
