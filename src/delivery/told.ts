import type { Answer } from '../net/transport.ts'
import type { Told } from '../store/outbox.ts'

/** Headers that help to understand an answer, and hold nobody's secret. */
const SHOWN = [
  'content-type',
  'content-length',
  'date',
  'retry-after',
  'server',
  'x-request-id',
  'cf-ray',
]
const VALUE_MAX = 200
const START_BYTES = 2048
const START_MAX = 500

/** Receivers like to answer with what they were sent, and some with what they were set up with. */
const SECRET =
  /whsec_[A-Za-z0-9+/=]+|f[ko]_[A-Za-z0-9]{8,}|\b(?:bearer|basic)\s+\S+|[A-Za-z0-9+/_=-]{24,}/gi
// Not one of them belongs into a terminal or a page.
const CONTROLS = /[\p{Cc}\p{Cf}]+/gu

/** What is kept of an answer beside its status: some headers and the start of its body, redacted; null without one. */
export function told(answer: Answer): Told | null {
  if (answer.kind === 'failed') return null
  const headers: Record<string, string> = {}
  for (const name of SHOWN) {
    const value = answer.headers.get(name)
    if (value !== null) headers[name] = plain(value).slice(0, VALUE_MAX)
  }
  const start = new TextDecoder().decode(answer.body.subarray(0, START_BYTES))
  return { headers, body_start: plain(start).slice(0, START_MAX) }
}

const plain = (text: string): string => text.replace(CONTROLS, ' ').replace(SECRET, '…').trim()
