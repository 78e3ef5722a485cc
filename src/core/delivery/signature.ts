const PREFIX = 'whsec_'
const SECRET_BYTES = 32

/**
 * Encodes 32 random bytes as a webhook secret: `whsec_` and base64.
 * @throws {RangeError} if `bytes` is not 32 bytes long
 */
export function toSecret(bytes: Uint8Array): string {
  if (bytes.length !== SECRET_BYTES) throw new RangeError(`a secret is ${SECRET_BYTES} bytes`)
  return PREFIX + Buffer.from(bytes).toString('base64')
}

/**
 * Header x-service-signature: `t=<unix seconds>,v1=<hex>`, an HMAC-SHA256 of the timestamp, a dot
 * and the body exactly as sent. The key is the whole secret as text.
 */
export function sign(secret: string, timestamp_s: number, body: Uint8Array): string {
  const hmac = new Bun.CryptoHasher('sha256', secret).update(`${timestamp_s}.`).update(body)
  return `t=${timestamp_s},v1=${hmac.digest('hex')}`
}

/**
 * Header webhook-signature of Standard Webhooks: `v1,<base64>` over the id, the timestamp and the
 * body, joined by dots. The key is the decoded secret.
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function signStandard(
  secret: string,
  id: string,
  timestamp_s: number,
  body: Uint8Array,
): string {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
  const hmac = new Bun.CryptoHasher('sha256', key).update(`${id}.${timestamp_s}.`).update(body)
  return `v1,${hmac.digest('base64')}`
}

/**
 * Headers that let a receiver verify sender, time and id of a body. With `old_secret` each
 * signature header has two values, the newer first, so that a receiver with either secret can
 * verify.
 */
export function signedHeaders(
  secret: string,
  id: string,
  timestamp_s: number,
  body: Uint8Array,
  old_secret: string | null = null,
): Record<string, string> {
  const secrets = old_secret === null ? [secret] : [secret, old_secret]
  const macs = secrets.map((it) => sign(it, timestamp_s, body).split(',')[1])
  return {
    'x-service-signature': [`t=${timestamp_s}`, ...macs].join(','),
    'x-service-timestamp': String(timestamp_s),
    'x-service-delivery-id': id,
    'webhook-id': id,
    'webhook-timestamp': String(timestamp_s),
    'webhook-signature': secrets.map((it) => signStandard(it, id, timestamp_s, body)).join(' '),
  }
}
