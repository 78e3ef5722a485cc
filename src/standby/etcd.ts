import * as z from 'zod'

import { errorCode } from '../core/base/errors.ts'
import { once } from '../core/base/lazy.ts'
import type { Fetch } from '../runtime/runtime.ts'
import { LeaseUnreachable, type Register } from './register.ts'

const kv_shape = once(() => z.object({ mod_revision: z.string(), value: z.string() }))
const range_shape = once(() => z.object({ kvs: z.array(kv_shape()).optional() }))
const txn_shape = once(() =>
  z.object({ succeeded: z.boolean().optional(), header: z.object({ revision: z.string() }) }),
)

/**
 * The register as one key of etcd, `etcd://host:2379/KEY`, or `etcds://` over TLS, through its JSON gateway. A
 * transaction that compares the key's revision is the swap.
 *
 * Rejected alternative: a lease of etcd with a keep-alive. Its expiry is counted by the cluster, which extends it with each
 * new leader, and a holder would still need its own count to stop in time.
 * @see https://etcd.io/docs/v3.5/dev-guide/api_grpc_gateway/
 */
export function openEtcd(
  address: string,
  { timeout_ms, fetch }: { timeout_ms: number; fetch: Fetch },
): Register {
  const url = new URL(address)
  const base = `${url.protocol === 'etcds:' ? 'https' : 'http'}://${url.host}/v3/kv`
  const key = encode(decodeURIComponent(url.pathname.slice(1)) || 'forumd/lease')

  async function call<T>(path: string, body: object, shape: z.ZodType<T>): Promise<T> {
    let status = 0
    try {
      const response = await fetch(`${base}/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        redirect: 'manual',
        proxy: false,
        signal: AbortSignal.timeout(timeout_ms),
      })
      status = response.status
      if (response.ok) return shape.parse(await response.json())
    } catch (error) {
      throw new LeaseUnreachable(errorCode(error) || 'unreachable')
    }
    throw new LeaseUnreachable(`http_${status}`)
  }

  return {
    // A range is linearizable unless it asks for `serializable`.
    async read() {
      const [found] = (await call('range', { key }, range_shape())).kvs ?? []
      return found === undefined
        ? null
        : { version: found.mod_revision, text: Buffer.from(found.value, 'base64').toString() }
    },
    async swap(expected, text) {
      const compare = [{ key, target: 'MOD', mod_revision: expected ?? '0' }]
      const success = [{ request_put: { key, value: encode(text) } }]
      const { succeeded, header } = await call('txn', { compare, success }, txn_shape())
      return succeeded === true ? header.revision : null
    },
    close: () => Promise.resolve(),
  }
}

const encode = (text: string): string => Buffer.from(text).toString('base64')
