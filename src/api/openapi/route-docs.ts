import type { DocumentDecoration } from 'elysia'
import * as z from 'zod'

import type { ErrorCode } from '../../core/base/errors.ts'
import type { Naming } from '../../core/forum/naming.ts'
import { IDEMPOTENCY_HOURS, IDEMPOTENCY_NAME_MAX } from '../../core/limits/idempotency.ts'
import type { Policy } from '../http/routes.ts'

type Responses = NonNullable<DocumentDecoration['responses']>

// zod creates JSON Schema, Elysia expects the types of OpenAPI 3.0; both are equal at run time.
const responses_shape = z.custom<Responses>()

/** The schema is created with the document, so that the start is not delayed. */
export function answers(schema: () => z.ZodType): { responses: Responses } {
  const done = () => ({
    description: 'Done.',
    content: { 'application/json': { schema: jsonSchema(schema(), 'output') } },
  })
  return { responses: responses_shape.parse({ 200: done }) }
}

export const refuses = (...codes: ErrorCode[]): { refusals: ErrorCode[] } => ({ refusals: codes })

/** Field metadata that documents an untyped field with a lazily created schema. */
export const documentAs = (schema: () => z.ZodType) => ({ documented_as: schema })
const documented_shape = z.object({ documented_as: z.custom<() => z.ZodType>() })

export function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema: json }) => {
      // A transformed text loses its default and examples in the input schema; its metadata still
      // has them.
      const { default: fallback, examples } = z.globalRegistry.get(zodSchema) ?? {}
      if (io === 'input' && fallback !== undefined) Object.assign(json, { default: fallback })
      if (io === 'input' && examples !== undefined) Object.assign(json, { examples })
      if ('documented_as' in json) {
        Object.assign(json, jsonSchema(documented_shape.parse(json).documented_as(), 'input'))
        delete json['documented_as']
      }
      if (json.type === 'integer') json.format ??= 'int64'
      // The bounds of safe integers are noise in the document.
      if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum
      if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum
    },
  })
  return rest
}

// Documentation of writes besides their schemas.

/** True if a call takes an Idempotency-Key, so that a repeat has no effect. */
export const isNamed = ({ feature }: Policy): boolean => feature !== null && feature !== 'login'

/** True if a call takes a source: the reads, and the acts that further sources have. */
export const takesSource = ({ limit, feature }: Policy, path: string): boolean =>
  limit === 'reads' ||
  (feature !== null && feature !== 'profile' && /\/(?:login|comment|vote|dm)$/.test(path))

export const sourceParameter = ({ default_source }: Naming) => ({
  name: 'source',
  in: 'query',
  required: false,
  description:
    'Name of the source, as the list of sources gives it. Names, ids, links and the session are then those of that source.',
  schema: {
    type: 'string',
    default: default_source,
    pattern: '^[a-z0-9][a-z0-9-]{0,30}$',
    maxLength: 31,
  },
})

export const NAMING_PARAMETER = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: `Identifies this call for this key and route: a repeat within ${IDEMPOTENCY_HOURS} hours gets the first answer and changes nothing.`,
  schema: { type: 'string', minLength: 1, maxLength: IDEMPOTENCY_NAME_MAX },
}

/** Body `meta` with an example: a session and these fields. */
export const exampleBody = (words: Naming, fields: object) => ({
  examples: [
    { [words.session]: 'eyJhbGciOi…', loid: '0000000000000abc12.2.1600000000000', ...fields },
  ],
})
