import { errorCode } from '../core/base/errors.ts'
import type { Fetch } from '../runtime/runtime.ts'
import { LeaseUnreachable, type Register } from './register.ts'

/** Lifetime of a signed address. */
const SIGNED_S = 60
/** 409: another conditional write of the same object was in progress; neither need have succeeded. */
const CONFLICT = 409
const REFUSED = 412
const ABSENT = 404
const BODY_MAX = 4096

type Env = Readonly<Record<string, string | undefined>>

/**
 * The register as one object of an S3-compatible store that supports conditional writes,
 * `s3://bucket/KEY?endpoint=https://…&region=…`. Credentials are those of the address (`s3://ID:SECRET@bucket/KEY`) or
 * of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. A PUT with If-Match, the first with If-None-Match, is the swap: a
 * store that ignores these headers would let two processes hold the lease, so the first use of the address tries it.
 *
 * Bun's client cannot send the headers, so it signs addresses only.
 * @see https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
 */
export function openS3(
  address: string,
  { timeout_ms, env, fetch }: { timeout_ms: number; env: Env; fetch: Fetch },
): Register {
  const url = new URL(address)
  const key = decodeURIComponent(url.pathname.slice(1)) || 'forumd-lease.json'
  const given = (name: string) => url.searchParams.get(name) ?? undefined
  const endpoint = given('endpoint') ?? env['AWS_ENDPOINT_URL']
  const secret = {
    accessKeyId: decodeURIComponent(url.username) || env['AWS_ACCESS_KEY_ID'] || '',
    secretAccessKey: decodeURIComponent(url.password) || env['AWS_SECRET_ACCESS_KEY'] || '',
    sessionToken: url.username === '' ? env['AWS_SESSION_TOKEN'] : undefined,
  }
  const client = new Bun.S3Client({
    bucket: url.hostname,
    region: given('region') ?? env['AWS_REGION'] ?? 'us-east-1',
    accessKeyId: secret.accessKeyId,
    secretAccessKey: secret.secretAccessKey,
    ...(endpoint !== undefined && { endpoint }),
    ...(secret.sessionToken !== undefined && { sessionToken: secret.sessionToken }),
  })
  let is_proven = false

  async function call(
    method: 'GET' | 'PUT' | 'DELETE',
    { at = key, headers = {}, body }: { at?: string; headers?: object; body?: string } = {},
  ): Promise<{ status: number; etag: string; text: string }> {
    try {
      const response = await fetch(client.presign(at, { method, expiresIn: SIGNED_S }), {
        method,
        headers: { ...headers },
        redirect: 'manual',
        proxy: false,
        signal: AbortSignal.timeout(timeout_ms),
        ...(body !== undefined && { body }),
      })
      const text = (await response.text()).slice(0, BODY_MAX)
      return { status: response.status, etag: response.headers.get('etag') ?? '', text }
    } catch (error) {
      throw new LeaseUnreachable(errorCode(error) || 'unreachable')
    }
  }

  async function put(expected: string | null, text: string, at = key): Promise<string | null> {
    const headers = expected === null ? { 'if-none-match': '*' } : { 'if-match': expected }
    const { status, etag } = await call('PUT', { at, headers, body: text })
    // 404: the object of that version was removed.
    if (status === REFUSED || status === CONFLICT || status === ABSENT) return null
    if (status !== 200 || etag === '') throw new LeaseUnreachable(`http_${status}`)
    return etag
  }

  /** Makes both writes that the store has to refuse. */
  async function prove(): Promise<void> {
    const at = `${key}.probe-${crypto.randomUUID()}`
    try {
      const first = await put(null, 'probe', at)
      const again = await put(null, 'probe again', at)
      const wrong = await put('"00000000000000000000000000000000"', 'probe', at)
      if (first === null || again !== null || wrong !== null)
        throw new LeaseUnreachable('the store ignores conditions of writes')
    } finally {
      await call('DELETE', { at }).catch(() => {})
    }
    is_proven = true
  }

  return {
    async read() {
      if (!is_proven) await prove()
      const { status, etag, text } = await call('GET')
      if (status === ABSENT) return null
      if (status !== 200 || etag === '') throw new LeaseUnreachable(`http_${status}`)
      return { version: etag, text }
    },
    async swap(expected, text) {
      if (!is_proven) await prove()
      return put(expected, text)
    },
    close: () => Promise.resolve(),
  }
}
