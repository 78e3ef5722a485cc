import type { Me } from '../core/items.ts'
import { isObject } from '../core/object.ts'
import { ok, type Outcome } from '../core/outcome.ts'
import { rowAt, textAt, unreadable, wordAt } from './read.ts'

/** Where the platform tells who we are; bearers ask at an address of their own. */
export const ME = { path_kind: 'me', path: '/api/me.json', bearer_path: '/api/v1/me' } as const

/**
 * Who is looking. A dead session is answered with a success that names nobody, and bearers get the person without its
 * wrapping.
 */
export function readMe(value: unknown): Outcome<Me | null> {
  if (value === '{}') return ok(null)
  if (!isObject(value)) return unreadable('')
  const person = rowAt(value, 'data') ?? value
  const name = wordAt(person, 'name')
  if (name === null) return ok(null)
  const id = textAt(person, 'id')
  if (id === null) return unreadable('data.id')
  return ok({
    id,
    name,
    is_suspended: person['is_suspended'] === true,
    is_locked: person['force_password_reset'] === true,
  })
}
