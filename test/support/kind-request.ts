import type { Credentials } from '../../src/core/delivery/credentials.ts'
import type { DeliveryMessage } from '../../src/core/delivery/message.ts'
import { kindOf } from '../../src/delivery/kinds.ts'
import type { HttpRequest } from '../../src/delivery/kinds/kind.ts'

/** The request that a kind makes of a message. */
export async function kindRequest(
  kind: string,
  message: DeliveryMessage,
  url: string,
  credentials: Credentials | null = null,
): Promise<Omit<HttpRequest, 'body'> & { body: Record<string, any> }> {
  let made: HttpRequest | undefined
  await kindOf(kind).send(
    {
      to: { webhook_id: 'wh_1', kind, url, secret: new Uint8Array() },
      id: 'dlv_1',
      body: new Uint8Array(),
      attempts: 0,
      interrupted: 0,
      started_at: 0,
      credentials,
      message: () => message,
    },
    {
      openSecret: () => '',
      publish: () => Promise.reject(new Error('nothing is published')),
      redact: (text) => text,
      now: () => 0,
      post(request) {
        made = request
        return Promise.resolve({ attempt: { kind: 'failed', error: 'timeout' }, excerpt: null })
      },
    },
  )
  if (made === undefined) throw new Error(`${kind} made no request`)
  return { ...made, body: Object(made.body) }
}
