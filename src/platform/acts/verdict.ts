import {
  type Acted,
  type Meaning,
  passing,
  REJECTED,
  type WriteFault,
} from '../../core/native-refusals.ts'
import type { Fault } from '../../core/outcome.ts'
import { type Answer, classify } from '../classify.ts'
import { type Fields, readRefusal, refusedBy } from '../native-refusals.ts'
import type { Done } from '../once.ts'

/** What was asked, as far as the meaning of a refusal depends on it. */
export type Asked = {
  /** Epoch ms. */
  now: number
  /** Which field of ours a native field is. */
  fields?: Fields
  /** What a status means to this call alone. */
  statuses?: Readonly<Record<number, Meaning>>
}

const UNKNOWN: WriteFault = { kind: 'unknown' }

/** What became of something that was sent once: the parsed answer, a refusal, or the honest word that nobody knows. */
export function judge(done: Done, asked: Asked): Acted<unknown> {
  if (!done.ok) return failed(done.left ? UNKNOWN : done.fault)
  const { value: answer } = done
  const said = parsed(answer)
  const refusal = readRefusal(said, asked.fields ?? {})
  if (refusal !== null && !isMishap(refusal, answer)) return failed(refusal)
  const own = asked.statuses?.[answer.status]
  if (own !== undefined) return failed(refusedBy(answer.status, own))
  const { status, body } = answer
  // Some calls that have nothing to say say nothing.
  if (status >= 200 && status < 300 && body.trim() === '') return { ok: true, value: null }
  const read = classify(said === undefined ? answer : asJson(answer), asked)
  return read.ok ? read : failed(meant(read.fault, answer))
}

/** A name that a failure of the platform's own has is no word about what it was asked for. */
const isMishap = (refusal: WriteFault, { status }: Answer): boolean =>
  status >= 500 && refusal.kind === 'refused' && refusal.meaning === 'FORUM_REJECTED'

const failed = (fault: WriteFault): Acted<never> => ({ ok: false, fault })

/** What an answer without a verdict of its own says about something that was to be done. */
function meant(fault: Fault, { status }: Answer): WriteFault {
  switch (fault.kind) {
    case 'throttled':
      return refusedBy(status, passing('FORUM_RATELIMIT'), { retry_after_s: fault.retry_after_s })
    case 'rejected':
      return refusedBy(fault.status, REJECTED)
    case 'blocked':
    case 'login_required':
    case 'forbidden':
    case 'not_found':
      return fault
    case 'unreadable':
      // A refusal all the same, of a kind that is not foreseen.
      return status >= 400 && status < 500 ? refusedBy(status, REJECTED) : UNKNOWN
    // It broke while it was at it, or said what nobody understands: done or not, who knows.
    case 'timeout':
    case 'unavailable':
    case 'proxy':
      return UNKNOWN
  }
}

/** Some calls call their JSON a page. To take it for one would be to say that nothing was done. */
const asJson = ({ headers, ...answer }: Answer): Answer => ({
  ...answer,
  headers: {
    get: (name) => (name === 'content-type' ? 'application/json' : headers.get(name)),
    getSetCookie: () => headers.getSetCookie(),
  },
})

/** JSON, or undefined. */
function parsed({ body }: Answer): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
