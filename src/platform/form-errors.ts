import { pauseOf } from '../core/native-refusals.ts'
import type { Fault } from '../core/outcome.ts'
import { NATIVE_REFUSALS } from './native-refusals.ts'
import { listAt, numberAt, type Row } from './read.ts'

/** What the first error of a form's envelope means to somebody who only reads, or null when it has none. */
export function formRefusal(envelope: Row): Fault | null {
  const first: unknown = listAt(envelope, 'errors')[0]
  if (first === undefined) return null
  const [code, sentence]: unknown[] = Array.isArray(first) ? first : []
  if (code === 'RATELIMIT') {
    const pause_s = pauseOf(numberAt(envelope, 'ratelimit'), String(sentence))
    return { kind: 'throttled', retry_after_s: pause_s }
  }
  return (
    (typeof code === 'string' ? faultOf(code) : null) ?? { kind: 'unreadable', path: 'json.errors' }
  )
}

/** Null for codes about something we never asked. */
function faultOf(code: string): Fault | null {
  const known = Object.hasOwn(NATIVE_REFUSALS, code) ? NATIVE_REFUSALS[code] : undefined
  if (known === undefined) return null
  if (known === 'session_dead') return { kind: 'login_required' }
  if (known.meaning === 'NOT_FOUND') return { kind: 'not_found', reason: 'absent' }
  return known.meaning === 'PERMISSION_DENIED' ? { kind: 'forbidden', reason: null } : null
}
