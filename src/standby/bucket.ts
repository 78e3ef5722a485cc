import { errorCode } from '../core/base/errors.ts'
import type { Fetch } from '../runtime/runtime.ts'

const SIGNED_S = 60
const BODY_MAX = 4096
/** The object has changed: 409 is another conditional write in progress, 404 a deleted object. */
const REFUSED = new Set([404, 409, 412])
const NO_VERSION = '"00000000000000000000000000000000"'

/** The object store gave no usable answer: a request may have been carried out or not. */
export class StoreUnreachable extends Error {}

/** The parts of `[standby].replica`. */
export function readAddress(address: string, env: Readonly<Record<string, string | undefined>>) {
  const url = new URL(address)
  const endpoint = url.searchParams.get('endpoint') ?? env['AWS_ENDPOINT_URL']
  const [accessKeyId = '', secretAccessKey = ''] =
    url.username === ''
      ? [env['AWS_ACCESS_KEY_ID'], env['AWS_SECRET_ACCESS_KEY']]
      : [decodeURIComponent(url.username), decodeURIComponent(url.password)]
  return {
    bucket: url.hostname,
    folder: decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, '') || 'forumd',
    region: url.searchParams.get('region') ?? env['AWS_REGION'] ?? 'us-east-1',
    ...(endpoint !== undefined && { endpoint }),
    accessKeyId,
    secretAccessKey,
  }
}

export type Address = ReturnType<typeof readAddress>
export type Bucket = ReturnType<typeof openBucket>

export const replicaName = (number: number): string => `replica-${number}`

/**
 * Opens the object of the lease and the replicas beside it. Each call ends within `timeout_ms` or throws StoreUnreachable.
 * @see https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
 */
export function openBucket(
  { folder, ...options }: Address,
  { timeout_ms, fetch }: { timeout_ms: number; fetch: Fetch },
) {
  const client = new Bun.S3Client(options)
  const lease = `${folder}/lease.json`

  async function call(
    method: 'GET' | 'PUT' | 'DELETE',
    at: string,
    more: { headers?: Record<string, string>; body?: string } = {},
  ) {
    try {
      // Bun's client cannot send conditions: it signs the address.
      const response = await fetch(client.presign(at, { method, expiresIn: SIGNED_S }), {
        method,
        redirect: 'manual',
        proxy: false,
        signal: AbortSignal.timeout(timeout_ms),
        ...more,
      })
      const text = (await response.text()).slice(0, BODY_MAX)
      return { status: response.status, etag: response.headers.get('etag') ?? '', text }
    } catch (error) {
      throw new StoreUnreachable(errorCode(error) || 'unreachable')
    }
  }

  async function put(at: string, body: string, etag: string | null): Promise<string | null> {
    const headers = { [etag === null ? 'if-none-match' : 'if-match']: etag ?? '*' }
    const answer = await call('PUT', at, { headers, body })
    if (REFUSED.has(answer.status)) return null
    if (answer.status === 200 && answer.etag !== '') return answer.etag
    throw new StoreUnreachable(`http_${answer.status}`)
  }

  async function list(prefix: string, delimiter?: string) {
    const late = Promise.withResolvers<never>()
    const fail = () => late.reject(new StoreUnreachable('timeout'))
    AbortSignal.timeout(timeout_ms).addEventListener('abort', fail)
    const listed = client
      .list({ prefix, ...(delimiter && { delimiter }) })
      .catch((error: unknown) => {
        throw new StoreUnreachable(errorCode(error) || 'unreachable')
      })
    return Promise.race([listed, late.promise])
  }

  return {
    /** The object with its version; null: there is none. */
    async read(): Promise<{ etag: string; text: string } | null> {
      const { status, ...object } = await call('GET', lease)
      if (status === 404) return null
      if (status === 200 && object.etag !== '') return object
      throw new StoreUnreachable(`http_${status}`)
    },
    /** Writes the object if its version is still `etag`, null for none. Returns the new version; null: it changed before. */
    write: (text: string, etag: string | null) => put(lease, text, etag),
    /** Numbers of the replicas that can be restored: Litestream writes a complete copy before anything else. */
    async replicas(): Promise<number[]> {
      const { commonPrefixes = [] } = await list(`${folder}/`, '/')
      return commonPrefixes.flatMap(({ prefix }) => {
        const number = /\/replica-(\d{1,15})\/$/.exec(prefix)?.[1]
        return number === undefined ? [] : [Number(number)]
      })
    },
    async removeReplica(number: number): Promise<void> {
      for (;;) {
        const { contents = [] } = await list(`${folder}/${replicaName(number)}/`)
        if (contents.length === 0) return
        for (const { key } of contents) await call('DELETE', key)
      }
    },
    /** Makes the conditional writes that a store has to refuse: without them two nodes could hold the lease. */
    async prove(): Promise<void> {
      const at = `${folder}/probe-${crypto.randomUUID()}`
      const first = await put(at, 'probe', null)
      try {
        const made = [await put(at, 'again', null), await put(at, 'stale', NO_VERSION)]
        if (first === null || made.some((it) => it !== null))
          throw new StoreUnreachable('it ignores If-Match and If-None-Match: use another store')
      } finally {
        await call('DELETE', at).catch(() => {})
      }
    },
  }
}
