import * as z from 'zod'

import { invalid } from '../../core/base/errors.ts'
import { once } from '../../core/base/lazy.ts'
import { parseInstant } from '../../core/base/time.ts'

/**
 * Schema created when the first call is checked with it, or when the document is generated. A start
 * needs none of them and would otherwise create a thousand. Elysia sees a Standard Schema.
 * @see https://standardschema.dev
 */
export type LazySchema<S extends z.ZodType = z.ZodType> = {
  readonly '~standard': z.core.$ZodStandardSchema<S>
  readonly made: () => S
}

export type SchemaOutput<L extends LazySchema> = z.output<ReturnType<L['made']>>

/** Wraps a schema so that `make` runs at first use. */
export function lazySchema<S extends z.ZodType>(make: () => S): LazySchema<S> {
  const schema = once(make)
  return {
    made: schema,
    '~standard': {
      version: 1,
      vendor: 'zod',
      validate: (value, options) => schema()['~standard'].validate(value, options),
    },
  }
}

/**
 * Unwraps the schema of a route; null if it has none.
 * @throws {TypeError} if the schema is not lazy, because every start would create it
 */
export function schemaOf(schema: unknown): z.ZodType | null {
  if (schema === undefined) return null
  if (!isLazySchema(schema)) throw new TypeError("a route's schema must be created with lazySchema")
  return schema.made()
}

const isLazySchema = (it: unknown): it is LazySchema =>
  typeof it === 'object' && it !== null && 'made' in it && '~standard' in it

// Every field has its own message, which names the field and what is allowed. The caller reads it.

const DIGITS = /^-?\d{1,15}$/

/** Required text of a path or a query, such as `q`. */
export const required = (name: string, { max = 512 }: { max?: number } = {}) =>
  z
    .string({
      error: ({ input }) =>
        input === undefined ? `${name} is required` : `${name} must be given once, as text`,
    })
    .refine((text) => text.trim() !== '', `${name} is required`)
    .max(max, `${name} must be at most ${max} characters`)

/** Optional text of a query; empty means absent. */
export const optionalText = (name: string, { max = 512 }: { max?: number } = {}) =>
  z
    .string({ error: `${name} must be given once, as text` })
    .max(max, `${name} must be at most ${max} characters`)
    .optional()

/**
 * Text that matches a pattern; `form` describes it for the caller: 'a post id of 1 to 13 letters
 * and digits'.
 */
export const patternText = (name: string, pattern: RegExp, form: string) =>
  z
    .string({
      error: ({ input }) =>
        input === undefined ? `${name} is required` : `${name} must be ${form}`,
    })
    .regex(pattern, `${name} must be ${form}`)

export const oneOf = <const V extends readonly [string, ...string[]]>(
  name: string,
  values: V,
  fallback: V[number],
) =>
  choice(name, values)
    .default(() => fallback)
    .meta({ default: fallback })

/** One of a list of words, or absent. */
export const maybeOneOf = <const V extends readonly [string, ...string[]]>(
  name: string,
  values: V,
) => choice(name, values).optional()

const choice = <const V extends readonly [string, ...string[]]>(name: string, values: V) =>
  z.enum(values, { error: `${name} must be one of ${values.join(', ')}` })

/** Integer of a query from `min` to `max`, with a default. */
export const queryInteger = (
  name: string,
  { min, max, fallback }: { min: number; max: number; fallback: number },
) =>
  digits(name, min, max)
    .default(fallback)
    .meta({ type: 'integer', minimum: min, maximum: max, default: fallback })

/** Integer of a query from `min` to `max`, or absent. */
export const maybeInteger = (name: string, { min, max }: { min: number; max: number }) =>
  digits(name, min, max).optional().meta({ type: 'integer', minimum: min, maximum: max })

const digits = (name: string, min: number, max: number) => {
  const sentence = `${name} must be a whole number from ${min} to ${max}`
  return z
    .string({ error: sentence })
    .refine((text) => DIGITS.test(text) && Number(text) >= min && Number(text) <= max, sentence)
    .transform(Number)
}

export const limit = (max: number, fallback: number) =>
  queryInteger('limit', { min: 1, max, fallback })

/** `true` or `false` in a query (also 1 and 0), with a default. */
export const queryFlag = (name: string, fallback: boolean) =>
  booleanText(name).default(fallback).meta({ type: 'boolean', default: fallback })

/** `true` or `false` in a query (also 1 and 0), or absent. */
export const maybeFlag = (name: string) => booleanText(name).optional().meta({ type: 'boolean' })

const booleanText = (name: string) => {
  const sentence = `${name} must be true or false`
  return z
    .string({ error: sentence })
    .refine((text) => ['true', 'false', '1', '0'].includes(text), sentence)
    .transform((text) => text === 'true' || text === '1')
}

/** ISO 8601 instant of a query as epoch ms, or absent. A date alone means midnight UTC. */
export const maybeInstant = (name: string) => {
  const sentence = `${name} must be an ISO 8601 timestamp such as 2026-01-31T12:00:00Z`
  return z
    .string({ error: sentence })
    .transform((text, context) => {
      const at = parseInstant(text)
      if (at !== null) return at
      context.addIssue(sentence)
      return z.NEVER
    })
    .optional()
    .meta({ type: 'string', format: 'date-time' })
}

/** Id in a body, or absent; see {@link idIn}. */
export const idField = (name: string) => z.string({ error: `${name} must be text` }).optional()

/**
 * The id in a body under either of its names: `id`, or one such as `monitor_id`.
 * @throws {ApiError} INVALID_REQUEST if it is absent or given twice
 */
export function idIn<Other extends 'monitor_id' | 'webhook_id'>(
  body: { id?: string | undefined } & { [name in Other]?: string | undefined },
  other: Other,
): string {
  const { id, [other]: same } = body
  if (id !== undefined && same !== undefined && id !== same)
    throw invalid(other, `${other} must equal id, or be left out`)
  const named = id ?? same
  if (named === undefined || named === '') throw invalid('id', 'id is required')
  return named
}

/**
 * Body schema: a JSON object with these fields and no others. The second argument is its metadata in
 * the document.
 */
export const bodySchema = <S extends z.ZodRawShape>(
  fields: () => S,
  meta?: z.core.GlobalMeta,
): LazySchema<z.ZodObject<S, z.core.$strict>> =>
  lazySchema(() => {
    const shape = fields()
    const body = z.strictObject(shape, {
      error: (issue) => {
        if (issue.code === 'unrecognized_keys')
          return `${issue.keys.join(', ')} is not a known field; allowed: ${Object.keys(shape).join(', ')}`
        return 'body must be a JSON object'
      },
    })
    return meta === undefined ? body : body.meta(meta)
  })

/** Query or path schema: unknown fields are ignored, as clients of other services send them. */
export const querySchema = <S extends z.ZodRawShape>(fields: () => S): LazySchema<z.ZodObject<S>> =>
  lazySchema(() => z.object(fields()))

// Paging of stored lists, newest first. Platform listings have cursors of their own.

const PAGE_MAX = 100
export const PAGE = 25

/** Query of such a list. */
export const pageQuery = () => ({
  cursor: patternText(
    'cursor',
    /^drf_[\w-]{1,64}$/,
    'the next_cursor of an earlier page',
  ).optional(),
  limit: limit(PAGE_MAX, PAGE),
})

/**
 * Rows of a page with their count and paging fields; `next_cursor` is null at the end. `rows` has
 * one row more than `rows_max` if there is another page.
 */
export function pageOf<R extends { id: string }>(rows: readonly R[], rows_max: number) {
  const page = rows.slice(0, rows_max)
  const next_cursor = rows.length > rows_max ? (page.at(-1)?.id ?? null) : null
  return { page, paging: { count: page.length, limit: rows_max, next_cursor } }
}

export const pagingShape = () => ({
  count: z.int().describe('Rows of this page.'),
  limit: z.int(),
  next_cursor: z.string().nullable().describe('Null at the end.'),
})
