import * as z from 'zod'

import { DEFAULT_LOCALE, LOCALE_RULE, parseLocale } from '../../core/locale.ts'
import { once } from '../../core/once.ts'
import { SESSION_PARTS, sessionField } from '../../core/session.ts'
import { DEFAULT_TIMEZONE, parseTimezone, TIMEZONE_RULE } from '../../core/timezone.ts'
import type { Words } from '../../core/wire.ts'
import { shownAs } from '../openapi.ts'

// What is sent as JSON: numbers are numbers here, and every sentence names its field.

/** Characters as the platform counts them: an emoji is one, not two halves. */
const charactersOf = (text: string): number => Array.from(text).length

/** A text of `min` to `max` characters that has to be there; of white space alone it is none. */
export const textOf = (name: string, { min = 1, max }: { min?: number; max: number }) => {
  const sentence = `${name} must be text of ${min} to ${max} characters`
  return z
    .string({ error: ({ input }) => (input === undefined ? `${name} is required` : sentence) })
    .refine((text) => min === 0 || text.trim() !== '', `${name} is required`)
    .refine((text) => charactersOf(text) <= max, sentence)
    .meta({ minLength: min, maxLength: max })
}

/** A text that is read as something else; `form` says what it has to be: 'a cursor'. */
export const readAs = <T>(name: string, form: string, read: (text: string) => T | null) => {
  const sentence = `${name} must be ${form}`
  return z
    .string({ error: ({ input }) => (input === undefined ? `${name} is required` : sentence) })
    .transform((text, context) => {
      const value = text === '' ? null : read(text)
      if (value !== null) return value
      context.addIssue(text === '' ? `${name} is required` : sentence)
      return z.NEVER
    })
}

/** A whole number from `min` to `max`, with the one that stands for none. */
export const count = (
  name: string,
  { min, max, fallback }: { min: number; max: number; fallback: number },
) => {
  const sentence = `${name} must be a whole number from ${min} to ${max}`
  return z.int({ error: sentence }).min(min, sentence).max(max, sentence).default(fallback)
}

const CURSOR_MAX = 1024

/** Where a list goes on; left out, null or empty: at its beginning. */
export const cursor = (form: string, reads: (text: string) => boolean) => {
  const sentence = `after must be ${form}, passed back as it was given`
  return z
    .string({ error: sentence })
    .max(CURSOR_MAX, sentence)
    .nullish()
    .transform((text, context) => {
      if (text === undefined || text === null || text === '') return null
      if (reads(text)) return text
      context.addIssue(sentence)
      return z.NEVER
    })
}

/** What a browser speaks, and where it stands: checked always, whether or not there will be a browser. */
export const standing = once(() => ({
  locale: canonical('locale', LOCALE_RULE, parseLocale, DEFAULT_LOCALE),
  timezone: canonical('timezone', TIMEZONE_RULE, parseTimezone, DEFAULT_TIMEZONE),
}))

function canonical(
  name: string,
  rule: string,
  parse: (text: string) => string | null,
  fallback: string,
) {
  const sentence = `${name} ${rule}`
  return z
    .string({ error: sentence })
    .nullish()
    .transform((text, context) => {
      if (text === undefined || text === null) return fallback
      const parsed = parse(text)
      if (parsed !== null) return parsed
      context.addIssue(sentence)
      return z.NEVER
    })
    .meta({ default: fallback })
}

const proxyShape = () =>
  z.union([
    z.string(),
    z.object({
      server: z.string(),
      username: z.string().nullish(),
      password: z.string().nullish(),
    }),
  ])

/** The way out of a call. Its reader says what is wrong with one. */
export const proxyField = (schemes: readonly string[]) =>
  z
    .unknown()
    .optional()
    .meta({
      ...shownAs(proxyShape),
      description: `The way out of this call alone: ${schemes.join(', ')}. An address scheme://user:password@host:port, or an object.`,
    })

/** The fields of the session, its proxy and its further cookies, for a body. Their reader comes before the schema. */
export function sessionShape(wire: Words, schemes: readonly string[]): Record<string, z.ZodType> {
  const parts = SESSION_PARTS.map((part) => {
    const text = z
      .string()
      .meta({ description: `The cookie ${sessionField(wire, part)} of your own account.` })
    const needed = part === 'session' || part === 'loid'
    return [sessionField(wire, part), needed ? text : text.nullish()]
  })
  return {
    ...Object.fromEntries(parts),
    cookies: z
      .unknown()
      .optional()
      .meta({
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'Further cookies of the account, sent on as they are.',
      }),
    proxy: proxyField(schemes),
  }
}
