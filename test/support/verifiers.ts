import { Webhook } from 'standardwebhooks'
import { Stripe } from 'stripe'

const stripe = new Stripe('sk_test_none')
const TOLERANCE_S = 300

/** A sent request, and the time at which its receiver verifies it. */
export type Signed = {
  headers: Readonly<Record<string, string>>
  body: Uint8Array
  /** Milliseconds since the epoch. */
  at: number
}

/** Verifies a request with Stripe's library. */
export function stripeTakes({ headers, body, at }: Signed, secret: string): Promise<boolean> {
  const header = headers['x-service-signature'] ?? ''
  return stripe.webhooks
    .constructEventAsync(Buffer.from(body), header, secret, TOLERANCE_S, undefined, at)
    .then(() => true)
    .catch(() => false)
}

/** Verifies a request with the library of the Standard Webhooks project. */
export function standardTakes({ headers, body, at }: Signed, secret: string): boolean {
  // It reads the clock itself and takes no time as an argument.
  const real_now = Date.now
  Date.now = () => at
  try {
    // Text only: of bytes it would make text, and so take some that differ.
    new Webhook(secret).verify(Buffer.from(body), { ...headers }, { jsonParse: false })
    return true
  } catch {
    return false
  } finally {
    Date.now = real_now
  }
}
