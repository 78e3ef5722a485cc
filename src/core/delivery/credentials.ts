/** Credentials at push services and brokers, stored apart from the address. */
import * as z from 'zod'

import { once } from '../base/lazy.ts'
import type { Ring } from '../base/secrets.ts'

const credentialsShape = once(() =>
  z.object({ username: z.string().nullable(), token: z.string() }),
)
/** Credentials at a service: an access token, or the password of a user. */
export type Credentials = z.infer<ReturnType<typeof credentialsShape>>

const placeOf = (webhook_id: string) => `webhooks.credentials:${webhook_id}`

export const sealCredentials = (
  ring: Pick<Ring, 'seal'>,
  webhook_id: string,
  credentials: Credentials,
): Uint8Array => ring.seal(placeOf(webhook_id), JSON.stringify(credentials))

/** @throws {SealBroken} if they were sealed by a key that is not in the ring */
export const openCredentials = (
  ring: Pick<Ring, 'unseal'>,
  webhook_id: string,
  sealed: Uint8Array,
): Credentials => credentialsShape().parse(JSON.parse(ring.unseal(placeOf(webhook_id), sealed)))
