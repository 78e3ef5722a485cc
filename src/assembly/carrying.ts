import type { Config } from '../config/schema.ts'
import type { Links } from '../core/links.ts'
import type { Ring } from '../core/seal.ts'
import type { Words } from '../core/wire.ts'
import { createEmailOffice } from '../delivery/email-office.ts'
import { createMailer } from '../delivery/mailer.ts'
import { createSend } from '../delivery/send.ts'
import type { Guard } from '../net/guard.ts'
import { createTransport } from '../net/transport.ts'
import type { Outside } from '../outside.ts'
import { authority } from '../upstream.ts'

/** How whoever receives is spoken to: within which time, and whose certificates are trusted beside the public ones. */
export type Receivers = { timeout_ms: number; ca?: string }

/** What the configuration says of receivers. Throws what the file system says of the authorities it names. */
export function receiversOf({ delivery }: Config): Receivers {
  const ca = authority(delivery.ca_file)
  return { timeout_ms: delivery.timeout_s * 1000, ...(ca !== undefined && { ca }) }
}

/** What a target's sealed secret is bound to. */
const secretPlace = (webhook_id: string) => `webhooks.secret:${webhook_id}`

type Around = {
  config: Config
  outside: Outside
  ring: Ring
  words: Words
  receivers: Receivers
}

type Needs = {
  guard: Guard
  links: Links
  public_url: () => string
  /** How far true time is ahead of our clock. */
  clock_offset_ms: () => number
}

/** What carries a delivery to its target: mail where a server is named, all else over a guarded transport. */
export function createCarrying(
  { config, outside, ring, words, receivers }: Around,
  { guard, links, public_url, clock_offset_ms }: Needs,
) {
  const { clock } = outside
  const { timeout_ms, ca } = receivers
  const showing = { community: words.community, media_hosts: config.platform.media_hosts }
  const email =
    config.smtp.url === ''
      ? undefined
      : createEmailOffice({
          mailer: createMailer({ ...config.smtp, timeout_ms, ca, clock }),
          links,
          showing,
          public_url,
        })
  return {
    email,
    send: createSend({
      transport: createTransport({ ...outside, ...receivers, guard }),
      clock,
      clock_offset_ms,
      openSecret: (id, sealed) => ring.unseal(secretPlace(id), sealed),
      showing,
      email,
      user_agent: config.platform.user_agent,
    }),
    sealSecret: (id: string, secret: string) => ring.seal(secretPlace(id), secret),
  }
}
