// A filter_spec as a form, and back. What the form does not know of is kept as it is.

import type { FormField } from './form-fields.ts'
import type { Who } from './own-types.ts'
import type { FilterSpec } from './types.ts'

/** What stands in the form: texts as they were typed, lists of what was ticked. */
export type Typed = { [field: string]: string | readonly string[] }

/** What a spec looks like in the form. */
export function toTyped(spec: FilterSpec, fields: readonly FormField[]): Typed {
  return Object.fromEntries(fields.map((field) => [field.name, typedOf(field, spec[field.name])]))
}

function typedOf({ kind }: FormField, value: unknown): string | readonly string[] {
  const list = asTexts(value)
  if (kind === 'some') return list
  if (kind === 'names') return list.join(', ')
  if (kind === 'lines') return list.join('\n')
  if (kind === 'label' && typeof value === 'boolean') return value ? 'yes' : ''
  return list[0] ?? ''
}

/** The spec that a form says. `base` is the one it began with: what the form has no field for stays in it. */
export function toSpec(
  typed: Typed,
  fields: readonly FormField[],
  base: FilterSpec = {},
): FilterSpec {
  const spec: FilterSpec = Object.fromEntries(
    Object.entries(base).filter(([name]) => !fields.some((it) => it.name === name)),
  )
  for (const field of fields) {
    const value = valueOf(field, typed[field.name] ?? '')
    if (value !== undefined) spec[field.name] = value
  }
  return spec
}

function valueOf({ kind }: FormField, typed: string | readonly string[]): unknown {
  if (typeof typed !== 'string') return typed.length > 0 ? typed : undefined
  const text = typed.trim()
  if (text === '') return undefined
  switch (kind) {
    case 'names':
      return listOf(text.split(/[\s,]+/))
    case 'lines':
      return listOf(typed.split('\n').map((it) => it.trim()))
    case 'flag':
      return text === 'true'
    case 'label':
      return /^(?:yes|true)$/i.test(text) ? true : text
    case 'number':
      // What is no number goes as it is: the API says what is allowed.
      return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
    case 'text':
    case 'one':
    case 'some':
      return text
  }
}

/** The entries there are; a field of commas alone is as good as empty. */
function listOf(parts: readonly string[]): readonly string[] | undefined {
  const entries = parts.filter((it) => it !== '')
  return entries.length > 0 ? entries : undefined
}

/** The form's field that an error of the API is about: `filter_spec.include_any[2]` is `include_any`. */
export function fieldOf(named: string | null): string | null {
  return named?.replace(/^filter_spec\./, '').replace(/[.[].*$/, '') ?? null
}

/** What the API says of a field of a spec, with the field called as the form calls it. */
export const inFormWords = (message: string, { name, label }: FormField): string =>
  message.replace(/^filter_spec\.([a-z_]+)(?:\[(\d+)\])?/, (whole, field: string, at?: string) => {
    if (field !== name) return whole
    return at === undefined ? label : `${label}, entry ${Number(at) + 1},`
  })

/** A spec in one line, for a list. */
export function inShort(spec: FilterSpec, { community }: Who['words']): string {
  const words = [
    ...asTexts(spec['q']),
    ...asTexts(spec['include_any']),
    ...asTexts(spec['include_all']),
  ]
  const places = asTexts(spec[community])
  const about =
    words.length > 0 ? words.slice(0, 4).join(', ') + (words.length > 4 ? ' …' : '') : 'everything'
  const where = [
    ...(places.length > 0
      ? [`in ${places.slice(0, 3).join(', ')}${places.length > 3 ? ' …' : ''}`]
      : []),
    ...(spec['author'] === undefined
      ? []
      : [`by ${asTexts(spec['author']).slice(0, 3).join(', ')}`]),
    ...(spec['thread'] === undefined ? [] : ['in chosen threads']),
  ]
  return `${about} ${where.length > 0 ? where.join(' ') : 'on the whole platform'}`
}

/** One entry, several or none, as texts. */
const asTexts = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).flatMap((it: unknown) =>
    typeof it === 'string'
      ? it
      : typeof it === 'number' || typeof it === 'boolean'
        ? String(it)
        : [],
  )
