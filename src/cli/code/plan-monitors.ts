import { ApiError } from '../../core/errors.ts'
import { placesOf } from '../../core/filter-places.ts'
import type { FilterSpec } from '../../core/filter-spec.ts'
import { decodeFilterSpec, encodeFilterSpec, parseFilterSpec } from '../../core/filter.ts'
import type { Words } from '../../core/wire.ts'
import type { Monitor } from '../../store/monitors.ts'
import type { DeclaredMonitor } from './document.ts'
import type { Held } from './held.ts'
import { createMatch } from './match.ts'
import type { Known } from './plan-webhooks.ts'
import type { MonitorSet, MonitorStep, Planning } from './plan.ts'
import type { Path, Problems } from './problems.ts'

type About = { planning: Planning; problems: Problems; path: Path }

/** The steps for a customer's monitors, and what they take of its plan beyond what it has. */
export function planMonitors(
  declared: readonly DeclaredMonitor[],
  { customer, monitors }: Held,
  webhooks: readonly Known[],
  { planning, problems, path }: About,
): { steps: MonitorStep[]; added: { used: number; sitewide_used: number } } {
  const steps: MonitorStep[] = []
  const added = { used: 0, sitewide_used: 0 }
  const meant = new Set<string>()
  const match = createMatch('monitors', monitors, planning.isTaken)
  const take = (spec: FilterSpec | null, by: number) => {
    added.used += by
    if (spec !== null && isSitewide(spec)) added.sitewide_used += by
  }

  for (const [index, it] of declared.entries()) {
    const at = [...path, index]
    const found = match(it)
    if ('why' in found) {
      problems.add(found.of === null ? at : [...at, found.of], found.why, found.allowed)
      continue
    }
    const { before } = found
    if (before !== null) meant.add(before.id)
    const spec = readSpec(it.filter_spec, planning.words, problems, at)
    const webhook_ids = resolve(it.webhooks, webhooks, problems, [...at, 'webhooks'])
    if (spec === null || webhook_ids === undefined) continue
    const set: MonitorSet = {
      name: it.name ?? null,
      filter_spec: encodeFilterSpec(spec),
      requested_cadence_s: it.cadence_s ?? null,
      webhook_ids,
      active: it.active,
    }
    const id = before?.id ?? it.id ?? planning.newId('mon')
    const about = { customer_id: customer.id, id, name: set.name, what: 'monitor' as const }
    if (before === null) {
      take(spec, 1)
      steps.push({ ...about, action: 'create', spec, set })
      continue
    }
    added.sitewide_used += Number(isSitewide(spec)) - Number(wasSitewide(before))
    const fields = changedFields(before, set)
    steps.push(
      fields.length === 0
        ? { ...about, action: 'keep' }
        : { ...about, action: 'change', fields, spec, set },
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

/** The names that the file has for what differs. */
const FIELDS = {
  name: 'name',
  filter_spec: 'filter_spec',
  requested_cadence_s: 'cadence_s',
  webhook_ids: 'webhooks',
  active: 'active',
} as const

function changedFields(before: Monitor, set: MonitorSet): string[] {
  const fields: string[] = []
  let field: keyof typeof FIELDS
  for (field in FIELDS)
    if (JSON.stringify(before[field]) !== JSON.stringify(set[field])) fields.push(FIELDS[field])
  return fields
}

function readSpec(value: unknown, words: Words, problems: Problems, at: Path): FilterSpec | null {
  if (value === undefined) {
    problems.add([...at, 'filter_spec'], 'missing', 'needed: what the monitor matches')
    return null
  }
  try {
    return parseFilterSpec(value, words)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { field = 'filter_spec', message = error.code } = error.details
    problems.add([...at, ...field.split('.')], 'refused', message)
    return null
  }
}

/** The ids of the webhooks that a monitor names; undefined when it names one that there will not be. */
function resolve(
  names: readonly string[] | undefined,
  webhooks: readonly Known[],
  problems: Problems,
  path: Path,
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
        `found ${JSON.stringify(wanted)}, and ${found === undefined ? 'no webhook is' : 'several webhooks are'} called so`,
        `allowed: ${webhooks.map(({ id, name }) => name ?? id).join(', ') || 'none, for there is no webhook'}`,
      )
  }
  return ids.length < names.length ? undefined : [...new Set(ids)]
}
