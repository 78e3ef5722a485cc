import { fail, type Fault, ok, type Outcome } from '../core/outcome.ts'
import type { Clock, Fetch } from '../outside.ts'
import type { Answer } from './classify.ts'

export type Errand = {
  url: string
  headers: Record<string, string>
  /** From connecting to the last byte. */
  timeout_ms: number
  signal?: AbortSignal | undefined
}

/** The largest answer that is read; a tree of thousands of comments is half of it. */
export const BODY_MAX = 8 * 1024 * 1024

/** One request and its whole answer. Nothing is followed, nothing is thrown, nothing outlives its time. */
export function createTransport(deps: { fetch: Fetch; clock: Clock; ca?: string | undefined }) {
  const { fetch, clock, ca } = deps
  const tls = ca === undefined ? {} : { tls: { ca } }

  return async (errand: Errand): Promise<Outcome<Answer>> => {
    const [cut, done] = [new AbortController(), new AbortController()]
    let late = false
    void clock.sleep(errand.timeout_ms, done.signal).then(() => {
      if (done.signal.aborted) return
      late = true
      cut.abort()
    })
    const giveUp = () => cut.abort()
    errand.signal?.addEventListener('abort', giveUp)
    if (errand.signal?.aborted) cut.abort()
    try {
      const response = await fetch(errand.url, {
        headers: errand.headers,
        redirect: 'manual',
        // Proxy variables of the environment are not ours to obey.
        proxy: false,
        signal: cut.signal,
        ...tls,
      })
      const body = await readBody(response)
      if (body === null) return fail({ kind: 'unreadable', path: 'body' })
      return ok({ status: response.status, headers: response.headers, body })
    } catch {
      return fail(late || errand.signal?.aborted ? { kind: 'timeout' } : NO_ANSWER)
    } finally {
      done.abort()
      errand.signal?.removeEventListener('abort', giveUp)
    }
  }
}

const NO_ANSWER: Fault = { kind: 'unavailable', status: null, retry_after_s: null }

/** The body as text; null once it turns out to be larger than anybody should send. */
async function readBody(response: Response): Promise<string | null> {
  const told = response.headers.get('content-length')
  const packed = response.headers.has('content-encoding')
  // A plain body of a told length cannot grow while it is read.
  if (told !== null && !packed && Number(told) <= BODY_MAX) return response.text()
  if (!response.body) return ''
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body) {
    size += chunk.byteLength
    // Leaving the loop gives the connection up.
    if (size > BODY_MAX) return null
    chunks.push(chunk)
  }
  return new TextDecoder().decode(Buffer.concat(chunks))
}
