import { Webhook } from 'standardwebhooks'
import { Stripe } from 'stripe'

const stripe = new Stripe('sk_test_none')
const TOLERANCE_S = 300

/** A request as it left, and the instant at which its receiver looks at it. */
export type Signed = {
  headers: Readonly<Record<string, string>>
  body: Uint8Array
  /** Milliseconds since the epoch. */
  at: number
}

/** Whether Stripe's own verifier takes a request for one signed with this secret. */
export function stripeTakes({ headers, body, at }: Signed, secret: string): Promise<boolean> {
  const header = headers['x-service-signature'] ?? ''
  return stripe.webhooks
    .constructEventAsync(Buffer.from(body), header, secret, TOLERANCE_S, undefined, at)
    .then(() => true)
    .catch(() => false)
}

/** Whether the verifier of the Standard Webhooks project takes a request for one signed with this secret. */
export function standardTakes({ headers, body, at }: Signed, secret: string): boolean {
  // It reads the clock itself and has no other way to be told the time.
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
