// Converts a filter_spec to form values and back. Fields unknown to the form are preserved.
import type { FilterSpec, FormField, UserSession } from './types.ts'

/** Form values: texts as typed, or lists of selected options. */
export type Typed = { [field: string]: string | readonly string[] }

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

/** Converts form values to a spec. Fields of `base` that the form does not have are preserved. */
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

export function valueOf({ kind }: FormField, typed: string | readonly string[]): unknown {
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
      // Other text is sent unchanged: the API's error names the allowed values.
      return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
    case 'secret':
    case 'area':
    case 'check':
    case 'text':
    case 'one':
    case 'some':
      return text
  }
}

/** The non-empty entries; undefined: none. */
function listOf(parts: readonly string[]): readonly string[] | undefined {
  const entries = parts.filter((it) => it !== '')
  return entries.length > 0 ? entries : undefined
}

/** Maps the field of an API error to the form's field: `filter_spec.include_any[2]` to `include_any`. */
export function fieldOf(named: string | null): string | null {
  return named?.replace(/^filter_spec\./, '').replace(/[.[].*$/, '') ?? null
}

export const inFormWords = (message: string, { name, label }: FormField): string =>
  message.replace(/^filter_spec\.([a-z_]+)(?:\[(\d+)\])?/, (whole, field: string, at?: string) => {
    if (field !== name) return whole
    return at === undefined ? label : `${label}, entry ${Number(at) + 1},`
  })

export function inShort(spec: FilterSpec, { community }: UserSession['words']): string {
  const words = [
    ...asTexts(spec['q']),
    ...asTexts(spec['include_any']),
    ...asTexts(spec['include_all']),
  ]
  const places = asTexts(spec[community])
  const sources = asTexts(spec['source'])
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
    ...(sources.length > 0
      ? [
          `on ${sources[0] === 'all' ? 'all sources' : sources.slice(0, 3).join(', ')}${sources.length > 3 ? ' …' : ''}`,
        ]
      : []),
  ]
  return `${about} ${where.length > 0 ? where.join(' ') : 'on the whole platform'}`
}

const asTexts = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).flatMap((it: unknown) =>
    typeof it === 'string'
      ? it
      : typeof it === 'number' || typeof it === 'boolean'
        ? String(it)
        : [],
  )
