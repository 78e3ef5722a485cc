import * as z from 'zod'

import { type AnyFaultInput, faultRuleSchema } from '../faults/rules.ts'
import { page, type SandboxResponse } from '../server/response.ts'

/** Faults of every kind; `rate_limit` takes the form of each. */
const COMMON_FAULTS = [
  'answer',
  'block_403_html',
  'empty_200',
  'html',
  '5xx',
  'slow',
  'reset',
  'truncated',
  'lost_answer',
  'stale',
  'rate_limit',
]

/** All faults of a kind. */
export const faultsOf = (own: readonly string[]): readonly string[] => [...COMMON_FAULTS, ...own]

/** Schema of a fault to inject, for a kind with these faults. */
export const sourceFaultSchema = (own: readonly string[]): z.ZodType<AnyFaultInput> =>
  faultRuleSchema
    .omit({ verdict: true, code: true, worded: true })
    .extend({ fault: z.enum(faultsOf(own)) })

const html = (title: string, text: string) =>
  `<!DOCTYPE html>\n<html lang="en">\n<head><title>${title}</title></head>\n<body><h1>${title}</h1><p>${text}</p></body>\n</html>\n`

/** Response that replaces the real one; null if the fault only modifies it. */
export function sourceReplacement(input: AnyFaultInput): SandboxResponse | null {
  const { status, retry_after_s, body = '' } = input
  switch (input.fault) {
    case 'answer': {
      const bytes =
        input.body_base64 === undefined ? body : Buffer.from(input.body_base64, 'base64')
      return { status: status ?? 200, headers: input.headers ?? {}, body: bytes }
    }
    // The page of a shield in front of the server.
    case 'block_403_html':
      return page(html('Just a moment...', 'Enable JavaScript and cookies to continue'), 403)
    case 'empty_200':
      return { status: 200, headers: { 'content-type': 'application/json' }, body: '' }
    case 'html':
      return page(typeof body === 'string' && body !== '' ? body : html('Welcome', ''), status)
    case '5xx': {
      const answer = page(html('502 Bad Gateway', 'nginx'), status ?? 502)
      if (retry_after_s === undefined) return answer
      return { ...answer, headers: { ...answer.headers, 'retry-after': String(retry_after_s) } }
    }
    default:
      return null
  }
}

/** Instant whose state a stale answer shows; Infinity: the present. */
export function asOf(input: AnyFaultInput | null, since: number, now: number): number {
  if (input?.fault !== 'stale') return Infinity
  return input.age_s === undefined ? since : now - input.age_s * 1000
}
