import { type Code, CODES } from '../core/errors.ts'
import type { Policy } from './policy.ts'

/** What only a call that goes to the platform can answer. */
const ASKED: Record<'GET' | 'POST', Code[]> = {
  GET: ['PROXY_ERROR', 'NOT_FOUND', 'upstream_timeout', 'upstream_unavailable'],
  POST: ['UPSTREAM_ERROR'],
}

/** The errors that a route of this policy can answer with, by status. */
export function refusals(
  method: string,
  policy: Policy,
  takes_fields: boolean,
): Record<string, unknown> {
  const { open, limit } = policy
  const metered = limit === 'reads'
  const managed = limit === 'management' || limit === 'webhook_test'
  const codes: Code[] = [
    ...(takes_fields ? (['INVALID_REQUEST'] as const) : []),
    ...(open ? [] : (['missing_token', 'invalid_token', 'rate_limited'] as const)),
    ...(metered ? (['insufficient_credits', 'PERMISSION_DENIED', 'HTTP_429'] as const) : []),
    ...(metered ? ASKED[method === 'GET' ? 'GET' : 'POST'] : []),
    ...(managed && takes_fields ? (['NOT_FOUND'] as const) : []),
    'internal_error',
  ]
  const statuses = Map.groupBy(codes, (code) => CODES[code].status)
  return Object.fromEntries(
    [...statuses].map(([status, same]) => [
      String(status),
      {
        description: same.map((code) => CODES[code].error ?? code).join(', '),
        ...(status === 429 || status === 503 || status === 408
          ? { headers: { 'Retry-After': { $ref: '#/components/headers/Retry-After' } } }
          : {}),
        content: {
          'application/json': {
            schema: { $ref: '#/components/schemas/Error' },
            example: {
              error: CODES[same[0] ?? 'internal_error'].error ?? 'q is required',
              code: same[0],
            },
          },
        },
      },
    ]),
  )
}

/** The heads of answers that mean something. */
export const HEADERS = {
  'X-Credits-Remaining': {
    description: 'What remains of the balance, in USD; on billed answers.',
    schema: { type: 'string', examples: ['0.498'] },
  },
  'Retry-After': {
    description: 'Seconds after which the call is worth repeating.',
    schema: { type: 'integer' },
  },
  'X-Request-Id': {
    description: 'Names this call; one that the caller sends is kept.',
    schema: { type: 'string' },
  },
}

/** The body of every error. */
export const ERROR_SCHEMA = {
  type: 'object',
  required: ['error', 'code'],
  properties: {
    error: { type: 'string', description: 'A code, or a sentence that names the field.' },
    code: { type: 'string' },
    message: { type: 'string' },
    field: { type: 'string', description: 'The field that is wrong.' },
    retry_after: { type: 'integer', description: 'Seconds.' },
    reason: { type: ['string', 'null'] },
  },
}
