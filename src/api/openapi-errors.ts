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

/** What everything that is done as a caller's account can answer. */
const ACTED: readonly Code[] = [
  'INVALID_FIELD',
  'INVALID_PROXY',
  'insufficient_credits',
  'FEATURE_DISABLED',
  'PERMISSION_DENIED',
  'UPSTREAM_BLOCKED',
  'PROXY_ERROR',
]
/** And what only those with a session can, not the way to one. */
const AS_SOMEBODY: readonly Code[] = [
  'INCOMPLETE_SESSION',
  'SESSION_REQUIRED',
  'REAUTH_REQUIRED',
  'NOT_FOUND',
  'upstream_timeout',
  'IDEMPOTENCY_MISMATCH',
  'IN_PROGRESS',
  'FORUM_REJECTED',
  'FORUM_RATELIMIT',
  'OUTCOME_UNKNOWN',
  'upstream_unavailable',
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
  const { open, limit, feature } = route.policy
  const metered = limit === 'reads'
  const managed = limit === 'management' || limit === 'webhook_test'
  const codes: Code[] = [
    ...(takes_fields ? (['INVALID_REQUEST'] as const) : []),
    ...(takes_body ? (['BODY_TOO_LARGE'] as const) : []),
    ...(open ? [] : (['missing_token', 'invalid_token', 'rate_limited'] as const)),
    ...(metered ? METERED : []),
    ...(metered ? ASKED[method === 'GET' ? 'GET' : 'POST'] : []),
    ...(feature === null ? [] : ACTED),
    ...(feature === null || feature === 'login' ? [] : AS_SOMEBODY),
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
        headers: {
          ...ANSWERED,
          ...(status === 429 || status === 503 || status === 408
            ? { 'Retry-After': { $ref: '#/components/headers/Retry-After' } }
            : {}),
        },
        content: {
          'application/json': {
            schema: { $ref: '#/components/schemas/Error' },
            example: exampleOf(same[0] ?? 'internal_error', words),
          },
        },
      },
    ]),
  )
}

const exampleOf = (code: Code, words: Words) => ({
  error: wireCode(words, CODES[code].error ?? 'q is required'),
  code: wireCode(words, code),
})

/** The heads of answers that mean something. */
export const HEADERS = {
  'X-Credits-Remaining': {
    description: 'What remains of the balance, in USD; on billed answers.',
    schema: { type: 'string', examples: ['0.498'] },
  },
  'X-Cache': {
    description:
      'Where a read came from: the cache, the platform, or a call of somebody else that was under way.',
    schema: { type: 'string', enum: ['hit', 'miss', 'shared'] },
  },
  'Idempotent-Replayed': {
    description: 'true where this is the first answer of this Idempotency-Key once more; free.',
    schema: { type: 'string' },
  },
  'Retry-After': {
    description: 'Seconds after which the call is worth repeating.',
    schema: { type: 'integer', format: 'int64' },
  },
  'Access-Control-Allow-Origin': {
    description: 'Pages of every origin may read the answer.',
    schema: { type: 'string', const: '*' },
  },
  'X-Request-Id': {
    description: 'Names this call; one that the caller sends is kept.',
    schema: { type: 'string' },
  },
}

/** The heads of every answer. */
export const ANSWERED = Object.fromEntries(
  ['X-Request-Id', 'Access-Control-Allow-Origin'].map((name) => [
    name,
    { $ref: `#/components/headers/${name}` },
  ]),
)

/** The body of every error. */
export const errorSchema = (words: Words) => ({
  type: 'object',
  required: ['error', 'code'],
  properties: {
    error: { type: 'string', description: 'A code, or a sentence that names the field.' },
    code: {
      description: 'What is the matter, for programs.',
      type: 'string',
      enum: Object.keys(CODES).map((code) => wireCode(words, code)),
    },
    message: { type: 'string' },
    field: { type: 'string', description: 'The field that is wrong.' },
    retry_after: { type: 'integer', format: 'int64', description: 'Seconds.' },
    reason: { type: ['string', 'null'], description: 'Why, where one code has several reasons.' },
    feature: { type: 'string', description: 'With FEATURE_DISABLED: what is switched off.' },
    upstream_code: { type: 'string', description: "The platform's own code of its refusal." },
    upstream_message: { type: ['string', 'null'], description: "The platform's own sentence." },
    terminal: { type: 'boolean', description: 'Whether the same would be refused again.' },
    hint: { type: 'string', description: 'What mends it.' },
    limit: {
      type: 'integer',
      format: 'int64',
      description: 'With 402 of a plan: how many it has room for.',
    },
    tier: { type: 'string', description: 'With 402 of a plan: its name.' },
    price_usd: { type: 'number', description: 'With 402 of the balance: what the call costs.' },
  },
})
