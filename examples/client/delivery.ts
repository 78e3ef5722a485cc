import type { paths } from './schema.d.ts'

type Rows =
  paths['/forum/monitor/deliveries']['get']['responses'][200]['content']['application/json']

/** The body of a webhook request. Deduplicate by `delivery_id`, which is the same for every attempt. */
export type Delivery = Rows['deliveries'][number]['payload'] & {
  delivery_id: string
  monitor_id: string
}

const TOLERANCE_S = 300

/**
 * Verifies and parses a webhook request. `body` is the raw body, `secret` that of the webhook, `now_ms` the time in epoch
 * ms.
 *
 * @throws {Error} the signature is invalid or more than 300 s from now; answer with 401
 */
export async function openDelivery({
  secret,
  headers,
  body,
  now_ms = Date.now(),
}: {
  secret: string
  headers: Headers
  body: Uint8Array<ArrayBuffer>
  now_ms?: number
}): Promise<Delivery> {
  const pairs = (headers.get('x-service-signature') ?? '').split(',').map((part) => part.split('='))
  const t = pairs.find(([name]) => name === 't')?.[1] ?? ''
  if (!/^\d{1,12}$/.test(t)) throw new Error('the signature names no time')
  if (Math.abs(now_ms / 1000 - Number(t)) > TOLERANCE_S)
    throw new Error(`the signature is more than ${TOLERANCE_S} s from now`)

  const key = await crypto.subtle.importKey(
    'raw',
    new TextEncoder().encode(secret),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['verify'],
  )
  const signed = new Uint8Array([...new TextEncoder().encode(`${t}.`), ...body])
  // During a secret rotation there are two signatures; `verify` compares in constant time.
  for (const [name, value = ''] of pairs)
    if (name === 'v1' && (await crypto.subtle.verify('HMAC', key, bytesOf(value), signed)))
      return JSON.parse(new TextDecoder().decode(body))
  throw new Error('the signature is not of this secret and these bytes')
}

const bytesOf = (hex: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array((hex.match(/[0-9a-f]{2}/g) ?? []).map((pair) => Number.parseInt(pair, 16)))
