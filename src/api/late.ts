import type * as z from 'zod'

import { once } from '../core/once.ts'

/**
 * A schema that is made when the first call is checked with it, or when the document tells of it. A start, which
 * needs none of them, would make a thousand. To Elysia it is any Standard Schema.
 */
export type Late<S extends z.ZodType = z.ZodType> = {
  readonly '~standard': z.core.$ZodStandardSchema<S>
  readonly made: () => S
}

/** What a call is checked with, as soon as there is one. */
export type Checked<L extends Late> = z.output<ReturnType<L['made']>>

/** The schema that `make` makes, later. */
export function late<S extends z.ZodType>(make: () => S): Late<S> {
  const made = once(make)
  return {
    made,
    '~standard': {
      version: 1,
      vendor: 'zod',
      validate: (value, options) => made()['~standard'].validate(value, options),
    },
  }
}

/** The schema behind what a route has; null where it has none. Throws when it has one that every start would make. */
export function madeOf(schema: unknown): z.ZodType | null {
  if (schema === undefined) return null
  if (!isLate(schema)) throw new TypeError("a route's schema is to be made late: see late.ts")
  return schema.made()
}

const isLate = (it: unknown): it is Late =>
  typeof it === 'object' && it !== null && 'made' in it && '~standard' in it
