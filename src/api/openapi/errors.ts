import { CODES, type ErrorCode } from '../../core/base/errors.ts'
import { type Naming, wireCode } from '../../core/forum/naming.ts'
import type { Policy } from '../http/routes.ts'

const PLATFORM_CODES: Record<'GET' | 'POST', ErrorCode[]> = {
  GET: ['PROXY_ERROR', 'NOT_FOUND', 'upstream_timeout', 'upstream_unavailable'],
  POST: ['UPSTREAM_ERROR'],
}

const METERED_CODES: readonly ErrorCode[] = [
  'insufficient_credits',
  'PERMISSION_DENIED',
  'HTTP_429',
  'too_many_concurrent_reads',
  'NOT_SUPPORTED_BY_SOURCE',
]

const ACCOUNT_CODES: readonly ErrorCode[] = [
  'INVALID_FIELD',
  'INVALID_PROXY',
  'insufficient_credits',
  'FEATURE_DISABLED',
  'PERMISSION_DENIED',
  'UPSTREAM_BLOCKED',
  'PROXY_ERROR',
  'NOT_SUPPORTED_BY_SOURCE',
]
const SESSION_CODES: readonly ErrorCode[] = [
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

const WITH_RETRY: ReadonlySet<number> = new Set([408, 429, 503])

type Route = {
  method: string
  policy: Policy
  takes_fields: boolean
  takes_body: boolean
  own: readonly ErrorCode[]
  words: Naming
}

export function refusals(route: Route): Record<string, unknown> {
  const { method, takes_fields, takes_body, own, words } = route
  const { open, limit, feature } = route.policy
  const metered = limit === 'reads'
  const managed = limit === 'management' || limit === 'webhook_test'
  const codes: ErrorCode[] = [
    ...(takes_fields ? (['INVALID_REQUEST'] as const) : []),
    ...(takes_body ? (['BODY_TOO_LARGE'] as const) : []),
    ...(open ? [] : (['missing_token', 'invalid_token'] as const)),
    'rate_limited',
    ...(metered ? METERED_CODES : []),
    ...(metered ? PLATFORM_CODES[method === 'GET' ? 'GET' : 'POST'] : []),
    ...(feature === null ? [] : ACCOUNT_CODES),
    ...(feature === null || feature === 'login' ? [] : SESSION_CODES),
    ...(managed && takes_fields ? (['NOT_FOUND'] as const) : []),
    ...own,
    // Routes that store something can meet a full disk.
    ...(metered || takes_body ? (['storage_unavailable'] as const) : []),
    ...(open ? [] : (['overloaded'] as const)),
    'internal_error',
  ]
  const statuses = Map.groupBy(codes, (code) => CODES[code].status)
  return Object.fromEntries(
    [...statuses].map(([status, same]) => [
      String(status),
      {
        description: same.map((code) => wireCode(words, CODES[code].error ?? code)).join(', '),
        headers: WITH_RETRY.has(status) ? answerHeaders('Retry-After') : answerHeaders(),
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

const exampleOf = (code: ErrorCode, words: Naming) => ({
  error: wireCode(words, CODES[code].error ?? 'q is required'),
  code: wireCode(words, code),
})

export const HEADERS = {
  'X-Credits-Remaining': {
    description: 'Remaining balance in USD, on billed answers.',
    schema: { type: 'string', examples: ['0.498'] },
  },
  'X-Cache': {
    description:
      'Source of a read: the cache, the platform, or a running request of another caller.',
    schema: { type: 'string', enum: ['hit', 'miss', 'shared'] },
  },
  'Idempotent-Replayed': {
    description: 'true if this repeats the first answer of this Idempotency-Key; free.',
    schema: { type: 'string' },
  },
  'Retry-After': {
    description: 'Seconds to wait before a retry.',
    schema: { type: 'integer', format: 'int64' },
  },
  'Access-Control-Allow-Origin': {
    description: 'Pages of every origin may read the answer.',
    schema: { type: 'string', const: '*' },
  },
  'X-Request-Id': {
    description: 'Id of this call; a given id is used.',
    schema: { type: 'string' },
  },
}

/** Headers of an answer: those of every answer, and these. */
export const answerHeaders = (...names: (keyof typeof HEADERS)[]): Record<string, unknown> =>
  Object.fromEntries(
    (['X-Request-Id', 'Access-Control-Allow-Origin', ...names] as const).map((name) => [
      name,
      { $ref: `#/components/headers/${name}` },
    ]),
  )

export const errorSchema = (words: Naming) => ({
  type: 'object',
  required: ['error', 'code'],
  properties: {
    error: { type: 'string', description: 'A code, or a sentence that names the field.' },
    code: {
      description: 'Error code, for programs.',
      type: 'string',
      enum: Object.keys(CODES).map((code) => wireCode(words, code)),
    },
    message: { type: 'string', description: 'Explanation for a person.' },
    field: { type: 'string', description: 'Name of the invalid field.' },
    errors: {
      type: 'array',
      description: 'Every invalid field, if there are several. The first is the one in field.',
      items: {
        type: 'object',
        required: ['field', 'message'],
        properties: {
          field: { type: 'string', description: 'Name of the invalid field.' },
          message: { type: 'string', description: 'Sentence that names what is allowed.' },
        },
      },
    },
    retry_after: { type: 'integer', format: 'int64', description: 'Seconds.' },
    reason: { type: ['string', 'null'], description: 'Reason, for codes with several reasons.' },
    feature: { type: 'string', description: 'With FEATURE_DISABLED: the disabled feature.' },
    upstream_code: { type: 'string', description: "The platform's own error code." },
    upstream_message: { type: ['string', 'null'], description: "The platform's own message." },
    terminal: { type: 'boolean', description: 'True if a repeat would be refused again.' },
    hint: { type: 'string', description: 'Suggested fix.' },
    limit: {
      type: 'integer',
      format: 'int64',
      description: 'With 402 of a plan: its limit.',
    },
    tier: { type: 'string', description: 'With 402 of a plan: its name.' },
    price_usd: { type: 'number', description: 'With 402 of the balance: the price of the call.' },
  },
})
