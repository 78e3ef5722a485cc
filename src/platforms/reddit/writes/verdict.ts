import type { Fault } from '../../../core/base/result.ts'
import {
  type Acted,
  type Meaning,
  passing,
  REJECTED,
  type WriteFault,
} from '../../../core/forum/native-refusals.ts'
import { readRefusal, type RefusalFields, refusedBy } from '../native-refusals.ts'
import { classify, type NativeResponse } from '../response.ts'
import type { Done } from '../unretried-request.ts'

/** The part of a request that the meaning of a refusal depends on. */
export type WriteRequest = {
  /** Epoch ms. */
  now: number
  /** Maps native fields to ours. */
  fields?: RefusalFields
  /** Meaning of a status for this call only. */
  statuses?: Readonly<Record<number, Meaning>>
}

const UNKNOWN: WriteFault = { kind: 'unknown' }

/** Result of a write that was sent once: the parsed answer, a refusal, or `unknown`. */
export function judgeWrite(done: Done, request: WriteRequest): Acted<unknown> {
  if (!done.ok) return failed(done.left ? UNKNOWN : done.fault)
  const { value: answer } = done
  const payload = parsed(answer)
  const refusal = readRefusal(payload, request.fields ?? {})
  if (refusal !== null && !isMishap(refusal, answer)) return failed(refusal)
  const own = request.statuses?.[answer.status]
  if (own !== undefined) return failed(refusedBy(answer.status, own))
  const { status, body } = answer
  // Some calls have an empty body on success.
  if (status >= 200 && status < 300 && body.trim() === '') return { ok: true, value: null }
  const read = classify(payload === undefined ? answer : asJson(answer), request)
  return read.ok ? read : failed(meant(read.fault, answer))
}

/** A 5xx status with an unknown code is a failure of the platform, not a refusal of the write. */
const isMishap = (refusal: WriteFault, { status }: NativeResponse): boolean =>
  status >= 500 && refusal.kind === 'refused' && refusal.meaning === 'FORUM_REJECTED'

const failed = (fault: WriteFault): Acted<never> => ({ ok: false, fault })

function meant(fault: Fault, { status }: NativeResponse): WriteFault {
  switch (fault.kind) {
    case 'throttled':
      return refusedBy(status, passing('FORUM_RATELIMIT'), { retry_after_s: fault.retry_after_s })
    case 'rejected':
      return refusedBy(fault.status, REJECTED)
    case 'blocked':
    case 'login_required':
    case 'forbidden':
    case 'not_found':
    case 'unsupported':
      return fault
    case 'unreadable':
      // A refusal all the same, of an unknown kind.
      return status >= 400 && status < 500 ? refusedBy(status, REJECTED) : UNKNOWN
    // It failed midway, or the answer is unreadable: the write may have been done.
    case 'timeout':
    case 'unavailable':
    case 'proxy':
      return UNKNOWN
  }
}

/**
 * Some calls declare their JSON as HTML. Classified as a page, the write would count as not done.
 */
const asJson = ({ headers, ...answer }: NativeResponse): NativeResponse => ({
  ...answer,
  headers: {
    get: (name) => (name === 'content-type' ? 'application/json' : headers.get(name)),
    getSetCookie: () => headers.getSetCookie(),
  },
})

function parsed({ body }: NativeResponse): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
