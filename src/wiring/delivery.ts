import type { Config } from '../config/schema.ts'
import type { Ring } from '../core/base/secrets.ts'
import { type Credentials, openCredentials, sealCredentials } from '../core/delivery/credentials.ts'
import type { Links } from '../core/forum/links.ts'
import type { Naming } from '../core/forum/naming.ts'
import { createEmailSender } from '../delivery/email.ts'
import { createSend, type SendDeps } from '../delivery/send.ts'
import { createMailer } from '../delivery/smtp.ts'
import type { Guard } from '../net/guard.ts'
import { createTransport } from '../net/transport.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { authority } from './platform.ts'

/**
 * Settings for requests to receivers: the time-out, and certificate authorities trusted in addition to the public
 * ones.
 */
export type Receivers = { timeout_ms: number; ca?: string }

/** @throws {Error} of the file system, if the authorities' file cannot be read */
export function receiversOf({ delivery }: Config): Receivers {
  const ca = authority(delivery.ca_file)
  return { timeout_ms: delivery.timeout_s * 1000, ...(ca !== undefined && { ca }) }
}

/** The context that a target's sealed secret is bound to. */
const secretPlace = (webhook_id: string) => `webhooks.secret:${webhook_id}`

/** Loads the library with the first message to a broker: most daemons send none. */
function createLazyPublisher(
  deps: Pick<Runtime, 'clock' | 'fence'> & { guard: Guard } & Receivers,
): SendDeps['publish'] {
  let loading: Promise<SendDeps['publish']> | null = null
  const load = async () => (await import('../net/mqtt.ts')).createMqttPublisher(deps)
  return async (message) => {
    const publish = await (loading ??= load())
    return publish(message)
  }
}

type DeliveryContext = {
  config: Config
  runtime: Runtime
  ring: Ring
  words: Naming
  receivers: Receivers
}

type Needs = {
  guard: Guard
  links: Links
  public_url: () => string
  /** Milliseconds by which true time is ahead of the local clock. */
  clock_offset_ms: () => number
}

/** Creates the senders of deliveries: mail where a server is named, all else over a guarded transport. */
export function createDelivery(
  { config, runtime, ring, words, receivers }: DeliveryContext,
  { guard, links, public_url, clock_offset_ms }: Needs,
) {
  const { clock } = runtime
  const { timeout_ms, ca } = receivers
  const display = { community: words.community, media_hosts: config.delivery.media_hosts }
  const email =
    config.smtp.url === ''
      ? undefined
      : createEmailSender({
          mailer: createMailer({ ...config.smtp, timeout_ms, ca, clock }),
          links,
          display,
          public_url,
        })
  const openSecret = (id: string, sealed: Uint8Array) => ring.unseal(secretPlace(id), sealed)
  return {
    email,
    openSecret,
    send: createSend({
      transport: createTransport({ ...runtime, ...receivers, guard }),
      clock,
      clock_offset_ms,
      openSecret,
      openCredentials: (id, sealed) => openCredentials(ring, id, sealed),
      publish: createLazyPublisher({ ...runtime, guard, ...receivers }),
      display,
      email,
      user_agent: config.requests.user_agent,
    }),
    sealSecret: (id: string, secret: string) => ring.seal(secretPlace(id), secret),
    sealCredentials: (id: string, credentials: Credentials) =>
      sealCredentials(ring, id, credentials),
  }
}
