import * as z from 'zod'

import { nearest } from '../core/nearest.ts'
import { once } from '../core/once.ts'
import type { Path } from './positions.ts'
import { schema } from './schema.ts'

/** The keys that each table takes, by the table's own dotted name; `''` is the file, `plans.*` any plan. */
export const knownKeys = once(
  (): ReadonlyMap<string, readonly string[]> => new Map(tablesOf(schema, '')),
)

function tablesOf(type: z.core.$ZodType, name: string): [string, string[]][] {
  if (type instanceof z.ZodPrefault) return tablesOf(type.unwrap(), name)
  if (type instanceof z.ZodPipe) return tablesOf(type.in, name)
  if (type instanceof z.ZodRecord) return tablesOf(type.valueType, `${name}.*`)
  if (!(type instanceof z.ZodObject)) return []
  const inner = Object.entries(type.shape).flatMap(([key, value]) =>
    tablesOf(value, name === '' ? key : `${name}.${key}`),
  )
  return [[name, Object.keys(type.shape)], ...inner]
}

/** What an operator may have meant by a key that `table` does not take: a sentence. */
export function hintFor(table: Path, key: string): string {
  const name = table[0] === 'plans' && table.length === 2 ? 'plans.*' : table.join('.')
  const known = knownKeys().get(name) ?? []
  const near = nearest(key, known)
  if (near !== null) return `did you mean "${near}"?`
  const elsewhere = [...knownKeys()]
    .filter(([, keys]) => keys.includes(key))
    .map(([it]) => `[${it}]`)
  if (elsewhere.length > 0 && elsewhere.length <= 3)
    return `it belongs in ${elsewhere.join(' or ')}`
  return name === ''
    ? `the tables are ${known.map((it) => `[${it}]`).join(', ')}`
    : `[${table.join('.')}] takes ${known.join(', ')}`
}
