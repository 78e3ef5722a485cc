import type { DocumentDecoration } from 'elysia'
import * as z from 'zod'

import type { Code } from '../core/errors.ts'

type Responses = NonNullable<DocumentDecoration['responses']>

// zod writes JSON Schema, Elysia types it as OpenAPI's older cousin; what is the same at run time is said to be so here.
const responses_shape = z.custom<Responses>()

/**
 * What goes into a route's `detail` to document its 200: a zod schema of the body, and one true example. The schema is
 * asked for when the document is made, for a start should not wait for all of them.
 */
export function answers(schema: () => z.ZodType, example?: unknown): { responses: Responses } {
  const done = () => ({
    description: 'Done.',
    content: {
      'application/json': {
        schema: jsonSchema(schema(), 'output'),
        ...(example === undefined ? {} : { example }),
      },
    },
  })
  return { responses: responses_shape.parse({ 200: done }) }
}

/** What goes into a route's `detail` to document the errors that only it can answer with. */
export const refuses = (...codes: Code[]): { refusals: Code[] } => ({ refusals: codes })

/** What goes into the meta of a field that takes anything, to document it as a schema that is asked for only then. */
export const shownAs = (schema: () => z.ZodType) => ({ shown_as: schema })
const shown_shape = z.object({ shown_as: z.custom<() => z.ZodType>() })

/** A schema as JSON Schema: of what comes in, or of what is answered. */
export function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema: shown }) => {
      // What is read from text loses its default and its examples on the way in; its meta still knows them.
      const { default: fallback, examples } = z.globalRegistry.get(zodSchema) ?? {}
      if (io === 'input' && fallback !== undefined) Object.assign(shown, { default: fallback })
      if (io === 'input' && examples !== undefined) Object.assign(shown, { examples })
      if ('shown_as' in shown) {
        Object.assign(shown, jsonSchema(shown_shape.parse(shown).shown_as(), io))
        delete shown['shown_as']
      }
      if (shown.type === 'integer') shown.format ??= 'int64'
      // That a whole number is one that JavaScript can hold tells a reader nothing.
      if (shown.minimum === Number.MIN_SAFE_INTEGER) delete shown.minimum
      if (shown.maximum === Number.MAX_SAFE_INTEGER) delete shown.maximum
    },
  })
  return rest
}
