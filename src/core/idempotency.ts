import { createHash } from 'node:crypto'

import { invalid } from './errors.ts'

/** The header by which a caller names a write, so that a repeat of it changes nothing. */
export const IDEMPOTENCY_HEADER = 'idempotency-key'

/** How long a first answer is kept, as people are told it. */
export const IDEMPOTENCY_HOURS = 24
/** The same in milliseconds. */
export const IDEMPOTENCY_MS = IDEMPOTENCY_HOURS * 3_600_000

/** How many characters a name may have. */
export const IDEMPOTENCY_NAME_MAX = 128
// Printable ASCII: what a header can carry unharmed.
const NAME = /^[\x20-\x7e]+$/

/** The name a call was given; null where it has none. 400 for what is none. */
export function readIdempotencyKey(header: string | null): string | null {
  if (header === null) return null
  if (NAME.test(header) && header.length <= IDEMPOTENCY_NAME_MAX) return header
  throw invalid(
    IDEMPOTENCY_HEADER,
    `${IDEMPOTENCY_HEADER} must be 1 to ${IDEMPOTENCY_NAME_MAX} printable ASCII characters`,
  )
}

/** Tells one body from another, whatever the order of its fields. Nothing of the body can be read out of it. */
export const bodyHash = (body: unknown): Uint8Array =>
  new Uint8Array(createHash('sha256').update(canonical(body)).digest())

/** JSON with the fields of every object in order. */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const fields = Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, inner]) => `${JSON.stringify(name)}:${canonical(inner)}`)
  return `{${fields.join(',')}}`
}

/** The claim that a call has on its name, as it stands when another call of that name comes. */
export type Claim = {
  body_hash: Uint8Array
  answered: boolean
  /** The first call is still at it. */
  running: boolean
}

/**
 * What becomes of a call whose name is claimed: the first answer again; refused, for another body was meant or the first
 * call still runs; or unknown, because the first call ended without leaving its answer.
 */
export function judgeRepeat(
  { body_hash, answered, running }: Claim,
  body: Uint8Array,
): 'replay' | 'mismatch' | 'in_progress' | 'unknown' {
  if (!Buffer.from(body_hash).equals(body)) return 'mismatch'
  if (answered) return 'replay'
  return running ? 'in_progress' : 'unknown'
}
