import * as z from 'zod'

import { invalid } from '../core/errors.ts'
import { parseInstant } from '../core/instant.ts'
import { type Late, late } from './late.ts'

// Every field carries its own sentence: it names the field, says what is allowed, and is what the caller reads.

const DIGITS = /^-?\d{1,15}$/

/** A text in a path or a query that has to be there, such as `q`. */
export const required = (name: string, { max = 512 }: { max?: number } = {}) =>
  z
    .string({
      error: ({ input }) =>
        input === undefined ? `${name} is required` : `${name} must be given once, as text`,
    })
    .refine((text) => text.trim() !== '', `${name} is required`)
    .max(max, `${name} must be at most ${max} characters`)

/** A text in a query that may be left out; empty is as good as left out. */
export const optionalText = (name: string, { max = 512 }: { max?: number } = {}) =>
  z
    .string({ error: `${name} must be given once, as text` })
    .max(max, `${name} must be at most ${max} characters`)
    .optional()

/** A text of a certain form; `form` says which, for the caller: 'a post id of 1 to 13 letters and digits'. */
export const formed = (name: string, pattern: RegExp, form: string) =>
  z
    .string({
      error: ({ input }) =>
        input === undefined ? `${name} is required` : `${name} must be ${form}`,
    })
    .regex(pattern, `${name} must be ${form}`)

/** One of a few words, with the word that stands for none. */
export const oneOf = <const V extends readonly [string, ...string[]]>(
  name: string,
  values: V,
  fallback: V[number],
) =>
  choice(name, values)
    .default(() => fallback)
    .meta({ default: fallback })

/** One of a few words, or left out. */
export const maybeOneOf = <const V extends readonly [string, ...string[]]>(
  name: string,
  values: V,
) => choice(name, values).optional()

const choice = <const V extends readonly [string, ...string[]]>(name: string, values: V) =>
  z.enum(values, { error: `${name} must be one of ${values.join(', ')}` })

/** A whole number in a query, from `min` to `max`, with the number that stands for none. */
export const whole = (
  name: string,
  { min, max, fallback }: { min: number; max: number; fallback: number },
) =>
  digits(name, min, max)
    .default(fallback)
    .meta({ type: 'integer', minimum: min, maximum: max, default: fallback })

/** A whole number in a query, from `min` to `max`, or left out. */
export const maybeWhole = (name: string, { min, max }: { min: number; max: number }) =>
  digits(name, min, max).optional().meta({ type: 'integer', minimum: min, maximum: max })

const digits = (name: string, min: number, max: number) => {
  const sentence = `${name} must be a whole number from ${min} to ${max}`
  return z
    .string({ error: sentence })
    .refine((text) => DIGITS.test(text) && Number(text) >= min && Number(text) <= max, sentence)
    .transform(Number)
}

/** How many rows are wanted. */
export const limit = (max: number, fallback: number) => whole('limit', { min: 1, max, fallback })

/** `true` or `false` in a query (1 and 0 too), with what stands for none. */
export const flag = (name: string, fallback: boolean) =>
  truth(name).default(fallback).meta({ type: 'boolean', default: fallback })

/** `true` or `false` in a query (1 and 0 too), or left out. */
export const maybeFlag = (name: string) => truth(name).optional().meta({ type: 'boolean' })

const truth = (name: string) => {
  const sentence = `${name} must be true or false`
  return z
    .string({ error: sentence })
    .refine((text) => ['true', 'false', '1', '0'].includes(text), sentence)
    .transform((text) => text === 'true' || text === '1')
}

/** An ISO 8601 instant in a query as epoch ms, or left out. A date alone is its midnight, UTC. */
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

/** An id in a body, or left out; see {@link idIn}. */
export const idField = (name: string) => z.string({ error: `${name} must be text` }).optional()

/**
 * The id that a body names, under either of its names: `id`, or one such as `monitor_id`. 400 where it names none, or two.
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

/** The body of a call: a JSON object that holds these fields and no other. `told` is what the document says of it. */
export const closed = <S extends z.ZodRawShape>(
  fields: () => S,
  told?: z.core.GlobalMeta,
): Late<z.ZodObject<S, z.core.$strict>> =>
  late(() => {
    const shape = fields()
    const body = z.strictObject(shape, {
      error: (issue) => {
        if (issue.code === 'unrecognized_keys')
          return `${issue.keys.join(', ')} is not a known field; allowed: ${Object.keys(shape).join(', ')}`
        return 'body must be a JSON object'
      },
    })
    return told === undefined ? body : body.meta(told)
  })

/** The query of a call, or what is named in its path: unknown fields are ignored. */
export const query = <S extends z.ZodRawShape>(fields: () => S): Late<z.ZodObject<S>> =>
  late(() => z.object(fields()))
