import { type Code, CODES } from '../core/errors.ts'
import { wireCode, type Words } from '../core/wire.ts'
import type { Policy } from './policy.ts'

/** What only a call that goes to the platform can answer. */
const ASKED: Record<'GET' | 'POST', Code[]> = {
  GET: ['PROXY_ERROR', 'NOT_FOUND', 'upstream_timeout', 'upstream_unavailable'],
  POST: ['UPSTREAM_ERROR'],
}

const METERED: readonly Code[] = [
  'insufficient_credits',
  'PERMISSION_DENIED',
  'HTTP_429',
  'too_many_concurrent_reads',
]

type Route = {
  method: string
  policy: Policy
  takes_fields: boolean
  takes_body: boolean
  /** What only this route can answer with. */
  own: readonly Code[]
  words: Words
}

/** The errors that a route can answer with, by status. */
export function refusals(route: Route): Record<string, unknown> {
  const { method, takes_fields, takes_body, own, words } = route
  const { open, limit } = route.policy
  const metered = limit === 'reads'
  const managed = limit === 'management' || limit === 'webhook_test'
  const codes: Code[] = [
    ...(takes_fields ? (['INVALID_REQUEST'] as const) : []),
    ...(takes_body ? (['BODY_TOO_LARGE'] as const) : []),
    ...(open ? [] : (['missing_token', 'invalid_token', 'rate_limited'] as const)),
    ...(metered ? METERED : []),
    ...(metered ? ASKED[method === 'GET' ? 'GET' : 'POST'] : []),
    ...(managed && takes_fields ? (['NOT_FOUND'] as const) : []),
    ...own,
    // What is written down for the caller may find the disk full.
    ...(metered || takes_body ? (['storage_unavailable'] as const) : []),
    'internal_error',
  ]
  const statuses = Map.groupBy(codes, (code) => CODES[code].status)
  return Object.fromEntries(
    [...statuses].map(([status, same]) => [
      String(status),
      {
        description: same.map((code) => wireCode(words, CODES[code].error ?? code)).join(', '),
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
    reason: { type: ['string', 'null'], description: 'Why, where one code has several reasons.' },
    hint: { type: 'string', description: 'What mends it.' },
    limit: { type: 'integer', description: 'With 402 of a plan: how many it has room for.' },
    tier: { type: 'string', description: 'With 402 of a plan: its name.' },
    price_usd: { type: 'number', description: 'With 402 of the balance: what the call costs.' },
  },
}
