import type { Answer } from './answer.ts'
import { withEntities } from './json.ts'

/** An answer as the wire wants it, with further header lines. */
export function toResponse(
  answer: Answer,
  extra: readonly (readonly [string, string])[],
): Response {
  const headers = new Headers()
  for (const [name, value] of Object.entries(answer.headers))
    for (const line of typeof value === 'string' ? [value] : value) headers.append(name, line)
  for (const [name, value] of extra) headers.append(name, value)
  return new Response(answer.body, { status: answer.status, headers })
}

/** The same answer with entities in every string, as it is without `raw_json=1`. */
export const escaped = (answer: Answer): Answer =>
  typeof answer.body === 'string' ? { ...answer, body: withEntities(answer.body) } : answer

/**
 * The connection breaks: before anything was said, or in the middle of the body. A stream that fails is the
 * one way in which Bun.serve lets go of a socket; failing with nothing keeps it from logging the failure.
 */
export function broken(answer: Answer | null): Response {
  const bytes = new TextEncoder().encode(typeof answer?.body === 'string' ? answer.body : '')
  const body = new ReadableStream({
    async start(stream) {
      if (answer !== null) {
        stream.enqueue(bytes.slice(0, Math.ceil(bytes.length / 2)))
        // One turn of the event loop, so that the half is on its way before the cut.
        await new Promise((resolve) => setImmediate(resolve))
      }
      stream.error()
    },
  })
  if (answer === null) return new Response(body)
  return new Response(body, {
    status: answer.status,
    headers: { 'content-type': typeOf(answer) },
  })
}

function typeOf({ headers }: Answer): string {
  const type = headers['content-type']
  return typeof type === 'string' ? type : 'application/json'
}
