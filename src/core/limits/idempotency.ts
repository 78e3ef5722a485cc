import { hash } from 'node:crypto'

import { invalid } from '../base/errors.ts'

/** Header with which a caller names a write, so that a repeat has no further effect. */
export const IDEMPOTENCY_HEADER = 'idempotency-key'

/** Hours for which the first answer is kept. */
export const IDEMPOTENCY_HOURS = 24
/** {@link IDEMPOTENCY_HOURS} in milliseconds. */
export const IDEMPOTENCY_MS = IDEMPOTENCY_HOURS * 3_600_000

export const IDEMPOTENCY_NAME_MAX = 128
// Printable ASCII, which headers transport unchanged.
const NAME = /^[\x20-\x7e]+$/

/**
 * Parses the idempotency key of a call; null if absent.
 * @throws {ApiError} 400 for a malformed key
 */
export function readIdempotencyKey(header: string | null): string | null {
  if (header === null) return null
  if (NAME.test(header) && header.length <= IDEMPOTENCY_NAME_MAX) return header
  throw invalid(
    IDEMPOTENCY_HEADER,
    `${IDEMPOTENCY_HEADER} must be 1 to ${IDEMPOTENCY_NAME_MAX} printable ASCII characters`,
  )
}

/** Hash of a body, independent of the order of its fields. The body cannot be recovered from it. */
export const bodyHash = (body: unknown): Uint8Array =>
  new Uint8Array(hash('sha256', canonical(body), 'buffer'))

/** JSON with sorted object fields. */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const fields = Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, inner]) => `${JSON.stringify(name)}:${canonical(inner)}`)
  return `{${fields.join(',')}}`
}

export type IdempotencyClaim = {
  body_hash: Uint8Array
  answered: boolean
  /** True while the first call is in progress. */
  running: boolean
}

/**
 * Decides a repeated call. `replay`: return the first answer. `mismatch`: the body differs.
 * `in_progress`: the first call still runs. `unknown`: the first call ended without an answer.
 */
export function judgeRepeat(
  { body_hash, answered, running }: IdempotencyClaim,
  body: Uint8Array,
): 'replay' | 'mismatch' | 'in_progress' | 'unknown' {
  if (!Buffer.from(body_hash).equals(body)) return 'mismatch'
  if (answered) return 'replay'
  return running ? 'in_progress' : 'unknown'
}
