import * as z from 'zod'

import type { Path } from './positions.ts'
import { schema } from './schema.ts'

/** The keys that each table takes, by the table's own dotted name; `''` is the file, `plans.*` any plan. */
export const KEYS: ReadonlyMap<string, readonly string[]> = new Map(tablesOf(schema, ''))

function tablesOf(type: z.core.$ZodType, name: string): [string, string[]][] {
  if (type instanceof z.ZodPrefault || type instanceof z.ZodDefault)
    return tablesOf(type.unwrap(), name)
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
  const known = KEYS.get(name) ?? []
  const near = nearest(key, known)
  if (near !== null) return `did you mean "${near}"?`
  const elsewhere = [...KEYS].filter(([, keys]) => keys.includes(key)).map(([it]) => `[${it}]`)
  if (elsewhere.length > 0 && elsewhere.length <= 3)
    return `it belongs in ${elsewhere.join(' or ')}`
  return name === ''
    ? `the tables are ${known.map((it) => `[${it}]`).join(', ')}`
    : `[${table.join('.')}] takes ${known.join(', ')}`
}

/** The name of `known` that is at most a third of itself away from `key`, if there is one. */
export function nearest(key: string, known: readonly string[]): string | null {
  // A key of any length is compared as its beginning: nothing that long is near anything.
  const typed = key.slice(0, 64).toLowerCase().replaceAll('-', '_')
  const [best] = known
    .map((name) => ({ name, distance: distance(typed, name) }))
    .filter((it) => it.distance <= Math.max(1, Math.floor(it.name.length / 3)))
    .toSorted((a, b) => a.distance - b.distance)
  return best?.name ?? null
}

/** How many letters must be put in, left out, changed or swapped with the next to make `a` of `b`. */
function distance(a: string, b: string): number {
  let twoBack: number[] = []
  let back = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      const swapped =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
          ? (twoBack[j - 2] ?? 0) + 1
          : Infinity
      row.push(
        Math.min((back[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (back[j - 1] ?? 0) + same, swapped),
      )
    }
    twoBack = back
    back = row
  }
  return back[b.length] ?? 0
}
